/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/objects/stored.h"

#include <string.h>

/* An object that is no archive is its own original: its name is the digest. */
static void take_plain(const struct pointer *pointer, struct stored *out)
{
	memcpy(out->original_oid, pointer->oid, sizeof(out->original_oid));
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
	digest_to_hex(info->original_sha256, out->original_oid);
	out->is_known = true;
	brevis_archive_free(archive);
}

void stored_look(const struct object_store *store, const struct pointer *pointer,
		 struct stored *out)
{
	struct object_file file;

	memset(out, 0, sizeof(*out));
	if (pointer->size == 0) {
		out->is_here = out->is_known = true;
		memcpy(out->original_oid, STORED_EMPTY_OID, sizeof(out->original_oid));
		return;
	}
	if (object_file_open(&file, store, pointer->oid) < 0)
		return;
	out->is_here = file.source.size == pointer->size;
	out->is_cut = !out->is_here;
	out->is_archive = out->is_here && file.is_archive;
	if (out->is_archive)
		take_archive(&file, out);
	else if (out->is_here)
		take_plain(pointer, out);
	object_file_close(&file);
}
