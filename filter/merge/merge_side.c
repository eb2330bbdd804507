/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/merge/merge_side.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "filter/objects/proof.h"
#include "filter/cli/report.h"
#include "filter/objects/stored.h"
#include "filter/stream.h"

static int fail(const struct merge_side *side)
{
	return report_error("cannot read %s, which git wrote for this merge: %s; merge again",
			    side->file, strerror(errno));
}

/* Opens the blob's file. Returns -1 with errno set. */
static int open_blob(struct object_file *file, const struct merge_side *side)
{
	int fd = open(side->file, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	if (object_file_from_fd(file, fd) == 0)
		return 0;
	close(fd);
	return -1;
}

int merge_side_read(struct merge_side *side)
{
	uint8_t head[POINTER_SIZE_LIMIT];
	struct object_file file;
	int result = -1;

	if (open_blob(&file, side) != 0)
		return fail(side);
	side->blob = file.source.size ? MERGE_RAW : MERGE_EMPTY;
	if (file.source.size < sizeof(head)) {
		if (file.source.read_at(&file, head, (size_t)file.source.size, 0) != 0) {
			errno = file.failure;
			fail(side);
			goto out;
		}
		if (pointer_parse(head, (size_t)file.source.size, &side->pointer))
			side->blob = side->pointer.size ? MERGE_POINTER : MERGE_EMPTY;
	}
	result = 0;
out:
	object_file_close(&file);
	return result;
}

static void take(struct merge_side *side, uint64_t size, const uint8_t sha256[BREVIS_SHA256_SIZE])
{
	side->size = size;
	digest_to_hex(sha256, side->oid);
	side->is_known = true;
}

/* What begins as an archive and is none is content like any other. */
static int look_at_raw(struct merge_side *side)
{
	uint8_t sha256[BREVIS_SHA256_SIZE];
	struct brevis_archive *archive = NULL;
	struct object_file file;
	int result = 0;

	if (open_blob(&file, side) != 0)
		return fail(side);
	side->is_here = true;
	if (file.is_archive && brevis_archive_open(&file.source, &archive, NULL) == BREVIS_OK) {
		const struct brevis_archive_info *info = brevis_archive_info(archive);

		side->is_archive = true;
		take(side, info->original_size, info->original_sha256);
	} else if (source_digest(&file.source, sha256) == 0) {
		take(side, file.source.size, sha256);
	} else {
		result = fail(side);
	}
	brevis_archive_free(archive);
	object_file_close(&file);
	return result;
}

int merge_side_look(const struct workspace *ws, struct merge_side *side)
{
	const struct pointer nothing = {.size = 0};
	struct stored stored;

	if (side->blob == MERGE_RAW)
		return side->is_known ? 0 : look_at_raw(side);
	stored_look(ws->store, side->blob == MERGE_EMPTY ? &nothing : &side->pointer, &stored);
	side->is_here = stored.is_here;
	side->is_archive = stored.is_archive;
	side->is_known = stored.is_known;
	side->size = stored.is_known ? stored.original_size : side->pointer.size;
	memcpy(side->oid, stored.is_known ? stored.original_oid : side->pointer.oid,
	       sizeof(side->oid));
	return 0;
}

bool merge_side_is_same_blob(const struct merge_side *a, const struct merge_side *b)
{
	return a->blob == MERGE_POINTER && b->blob == MERGE_POINTER &&
	       pointer_equal(&a->pointer, &b->pointer);
}

bool merge_side_equal(const struct merge_side *a, const struct merge_side *b)
{
	if (merge_side_is_same_blob(a, b))
		return true;
	/* Of an object that is not here only its hash is known. If that is the hash of the other's
	 * content, it is no archive, but the content. */
	if (!a->is_known && !b->is_known)
		return false;
	return a->size == b->size && strcmp(a->oid, b->oid) == 0;
}

/* Opens what holds the content. Returns -1 with errno set. */
static int open_content(struct object_file *file, const struct workspace *ws,
			const struct merge_side *side)
{
	return side->blob == MERGE_RAW ? open_blob(file, side)
				       : object_file_open(file, ws->store, side->pointer.oid);
}

int merge_side_prove(struct workspace *ws, const char *path, const struct merge_side *side)
{
	bool has_object = side->blob == MERGE_POINTER;
	struct brevis_archive *archive = NULL;
	struct brevis_error err = {.message = ""};
	const struct brevis_archive_info *info;
	struct object_file file;
	struct stat st;
	int result = -1;

	if (!side->is_archive)
		return 0;
	if (open_content(&file, ws, side) != 0)
		return report_error("%s: the object of %s cannot be read: %s; `git brevis fsck` "
				    "looks at it",
				    path, side->title, strerror(errno));
	if (brevis_archive_open(&file.source, &archive, &err) != BREVIS_OK)
		goto out;
	info = brevis_archive_info(archive);
	if (has_object && fstat(file.fd, &st) == 0 &&
	    known_vouches(ws->known, info->original_size, info->original_sha256, &side->pointer,
			  &st.st_ctim)) {
		result = 0;
		goto out;
	}
	thread_share_take(&ws->share, ws->threads);
	if (archive_restores(archive, ws->share.threads, info->original_size, info->original_sha256,
			     &err))
		result = 0;
	thread_share_return(&ws->share);
	if (result == 0 && has_object)
		known_add(ws->known, info->original_size, info->original_sha256, &side->pointer);
out:
	if (result != 0)
		report_error("%s: the archive of %s is damaged: %s; `git brevis fsck` finds what "
			     "can be mended",
			     path, side->title, err.message);
	brevis_archive_free(archive);
	object_file_close(&file);
	return result;
}

/* An archive, or whatever else, that git itself holds. */
static int restore_raw(struct workspace *ws, const struct merge_side *side, brevis_write_fn write,
		       void *ctx, struct brevis_error *err)
{
	struct brevis_decode_options options = {0};
	struct brevis_archive *archive = NULL;
	struct object_file file;
	int result;

	err->message[0] = 0;
	if (open_blob(&file, side) != 0)
		return -1;
	if (side->is_archive) {
		thread_share_take(&ws->share, ws->threads);
		options.threads = ws->share.threads;
		result = brevis_archive_open(&file.source, &archive, err) == BREVIS_OK
				 ? brevis_archive_decode(archive, &options, write, ctx, err)
				 : -1;
		thread_share_return(&ws->share);
	} else {
		result = source_copy(&file.source, file.source.size, write, ctx);
	}
	brevis_archive_free(archive);
	object_file_close(&file);
	return result == 0 ? 0 : -1;
}

int merge_side_restore(struct workspace *ws, const char *path, const struct merge_side *side,
		       brevis_write_fn write, void *ctx)
{
	struct brevis_error err;

	if (side->blob == MERGE_EMPTY)
		return 0;
	if (side->blob == MERGE_RAW)
		return restore_raw(ws, side, write, ctx, &err) == 0
			       ? 0
			       : report_error("%s: what git holds for %s cannot be read%s%s; "
					      "merge again",
					      path, side->title, *err.message ? ": " : "",
					      err.message);
	switch (smudge_pointer(ws, path, &side->pointer, write, ctx)) {
	case SMUDGE_DONE:
		return 0;
	case SMUDGE_MISSING:
		return report_error("%s: the object of %s vanished; `git brevis pull` downloads "
				    "it again",
				    path, side->title);
	default:
		return -1;
	}
}

int merge_side_copy(const struct merge_side *side, brevis_write_fn write, void *ctx)
{
	struct object_file file;
	int result;

	if (open_blob(&file, side) != 0)
		return fail(side);
	result = source_copy(&file.source, file.source.size, write, ctx);
	if (result < 0)
		fail(side);
	object_file_close(&file);
	return result == 0 ? 0 : -1;
}
