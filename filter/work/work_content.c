/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/work/work_content.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "filter/objects/conflict_text.h"
#include "filter/objects/stored.h"
#include "filter/stream.h"
#include "filter/work/work_file.h"

bool work_file_matches(const struct workspace *ws, const struct pointer *pointer, const char *path,
		       uint64_t size)
{
	uint8_t sha256[BREVIS_SHA256_SIZE];
	char oid[OID_HEX_SIZE + 1];
	struct pointer known;
	struct stored stored;
	uint64_t read;

	stored_look(ws->store, pointer, &stored);
	if (stored.is_known && stored.original_size != size)
		return false;
	if (work_file_digest(repository_work_tree(ws->repository), path, &read, sha256) < 0)
		return false;
	digest_to_hex(sha256, oid);
	if (stored.is_known)
		return read == size && strcmp(oid, stored.original_oid) == 0;
	return known_find(ws->known, read, sha256, &known) && pointer_equal(&known, pointer);
}

bool work_file_is_conflict_text(const char *top, const char *path)
{
	char text[POINTER_SIZE_LIMIT];
	int fd = work_file_open(top, path);
	struct stat st;
	bool result = false;

	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0 && st.st_size > 0 && (size_t)st.st_size < sizeof(text) &&
	    stream_read_at(fd, text, (size_t)st.st_size, 0) == 0)
		result = is_conflict_text(text, (size_t)st.st_size);
	close(fd);
	return result;
}
