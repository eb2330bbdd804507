/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/stored.h"

#include <string.h>

#include "filter/work_file.h"

static int hex_digit(char c)
{
	return c <= '9' ? c - '0' : c - 'a' + 10;
}

/* An object that is no archive is its own original: its name is the digest. */
static void take_plain(const struct pointer *pointer, struct stored *out)
{
	for (size_t i = 0; i < BREVIS_SHA256_SIZE; i++)
		out->original_sha256[i] = (uint8_t)(hex_digit(pointer->oid[2 * i]) << 4 |
						    hex_digit(pointer->oid[2 * i + 1]));
	out->original_size = pointer->size;
	out->is_known = true;
}

static void take_archive(const struct object_file *file, struct stored *out)
{
	const struct brevis_archive_info *info;
	struct brevis_archive *archive;

	if (brevis_archive_open(&file->source, &archive, NULL) != BREVIS_OK)
		return;
	info = brevis_archive_info(archive);
	out->original_size = info->original_size;
	memcpy(out->original_sha256, info->original_sha256, BREVIS_SHA256_SIZE);
	out->is_known = true;
	brevis_archive_free(archive);
}

void stored_look(const struct workspace *ws, const struct pointer *pointer, struct stored *out)
{
	struct object_file file;

	memset(out, 0, sizeof(*out));
	if (pointer->size == 0 || object_file_open(&file, ws->store, pointer->oid) < 0)
		return;
	out->is_here = file.source.size == pointer->size;
	out->is_archive = out->is_here && object_file_is_archive(&file);
	if (out->is_archive)
		take_archive(&file, out);
	else if (out->is_here)
		take_plain(pointer, out);
	object_file_close(&file);
}

bool stored_matches(const struct workspace *ws, const struct pointer *pointer, const char *path,
		    uint64_t size)
{
	uint8_t sha256[BREVIS_SHA256_SIZE];
	struct pointer known;
	struct stored stored;
	uint64_t read;

	stored_look(ws, pointer, &stored);
	if (stored.is_known && stored.original_size != size)
		return false;
	if (work_file_digest(repository_work_tree(ws->repository), path, &read, sha256) < 0)
		return false;
	if (stored.is_known)
		return read == size && memcmp(sha256, stored.original_sha256, sizeof(sha256)) == 0;
	return known_find(ws->known, read, sha256, &known) && pointer_equal(&known, pointer);
}
