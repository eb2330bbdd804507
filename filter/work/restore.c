/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/work/restore.h"

#include <stdlib.h>
#include <string.h>

#include "filter/cli/report.h"
#include "filter/objects/judgement.h"
#include "filter/objects/lfs.h"
#include "filter/objects/stored.h"

/* A file that is to be written. */
struct due_file {
	char *path;
	char blob[BLOB_HEX_SIZE + 1];
	bool executable;
	struct pointer pointer;
	struct work_look look;
};

static struct due_file *due_files(const struct restore *r, size_t *count)
{
	*count = r->due.size / sizeof(struct due_file);
	return (struct due_file *)(void *)r->due.data;
}

int restore_want(struct restore *r, const struct tracked_file *file)
{
	struct lfs_want want = {.pointer = file->pointer};
	char *path;

	if (object_store_has(r->ws->store, &file->pointer))
		return 0;
	path = strdup(file->path);
	want.path = path;
	buffer_append(&r->wanted, &want, sizeof(want));
	if (path && !buffer_failed(&r->wanted))
		return 0;
	free(path);
	return report_error("out of memory");
}

int restore_add(struct restore *r, const struct tracked_file *file, const struct work_look *look)
{
	struct due_file due = {.executable = file->executable,
			       .pointer = file->pointer,
			       .look = *look,
			       .path = strdup(file->path)};

	memcpy(due.blob, file->blob, sizeof(due.blob));
	buffer_append(&r->due, &due, sizeof(due));
	if (due.path && !buffer_failed(&r->due))
		return 0;
	free(due.path);
	return report_error("out of memory");
}

int restore_download(struct restore *r)
{
	const struct lfs_want *want = (const struct lfs_want *)(void *)r->wanted.data;
	int missing = 0;

	if (r->wanted.size)
		missing = lfs_download(r->ws, want, r->wanted.size / sizeof(*want));
	if (missing < 0)
		return -1;
	r->failed += (size_t)missing;
	return 0;
}

void restore_clear(struct restore *r)
{
	struct lfs_want *want = (struct lfs_want *)(void *)r->wanted.data;
	struct due_file *due;
	size_t count;

	due = due_files(r, &count);
	for (size_t i = 0; i < count; i++)
		free(due[i].path);
	for (size_t i = 0; i < r->wanted.size / sizeof(*want); i++)
		free((char *)(uintptr_t)want[i].path);
	buffer_release(&r->wanted);
	buffer_release(&r->due);
	buffer_release(&r->written);
}

static void report_missing(const struct restore *r, const struct due_file *due)
{
	struct judgement judgement;

	object_look(r->ws->store, &due->pointer, &judgement);
	judgement_report(&judgement, r->ws->store, due->path, &due->pointer);
}

/* Says how many bytes there are to write, and how many are stored instead. */
static void begin_progress(struct restore *r)
{
	uint64_t original = 0;
	uint64_t size = 0;
	size_t count;
	struct due_file *due = due_files(r, &count);

	for (size_t i = 0; i < count && progress_is_wanted(); i++) {
		struct stored stored;

		stored_look(r->ws->store, &due[i].pointer, &stored);
		if (!stored.is_known)
			continue;
		original += stored.original_size;
		size += due[i].pointer.size;
	}
	progress_begin(&r->progress, "restoring", "", original);
	progress_share(&r->progress, original, size);
}

/* Where the bytes of one file go. */
struct outlet {
	struct work_file *file;
	struct progress *progress;
};

static int take_bytes(void *ctx, const void *data, size_t len)
{
	struct outlet *outlet = ctx;

	progress_add(outlet->progress, len);
	return work_file_write(outlet->file, data, len);
}

/* Looks once more at a place where no file could be written. */
static int make_way(const struct restore *r, struct due_file *due)
{
	if (r->replace && work_file_make_way(r->top, due->path) < 0)
		return -1;
	work_file_look(r->top, due->path, &due->look);
	if (due->look.kind != WORK_OTHER)
		return 0;
	return report_error("%s: left out: what stands there is no regular file, or a symbolic "
			    "link is in the way; move it away",
			    due->path);
}

static int write_file(struct restore *r, const struct due_file *due)
{
	struct written_file written = {.path = due->path};
	struct work_file *file = work_file_create(r->top, due->path, &due->look, due->executable);
	struct outlet outlet = {file, &r->progress};
	struct stored stored;
	int rc = -1;

	if (!file)
		return -1;
	stored_look(r->ws->store, &due->pointer, &stored);
	if (stored.is_known && work_file_reserve(file, stored.original_size) < 0) {
		work_file_free(file);
		return -1;
	}
	switch (smudge_pointer(r->ws, due->path, &due->pointer, take_bytes, &outlet)) {
	case SMUDGE_DONE:
		rc = work_file_commit(file, &written.stat);
		break;
	case SMUDGE_MISSING:
		report_missing(r, due);
		break;
	default:
		break;
	}
	work_file_free(file);
	if (rc == 0) {
		memcpy(written.blob, due->blob, sizeof(written.blob));
		buffer_append(&r->written, &written, sizeof(written));
	}
	return rc;
}

static void write_all(struct restore *r, bool tell_missing)
{
	size_t count;
	struct due_file *due = due_files(r, &count);

	for (size_t i = 0; i < count; i++) {
		if (!object_store_has(r->ws->store, &due[i].pointer)) {
			if (tell_missing)
				report_missing(r, &due[i]);
			r->failed++;
			continue;
		}
		progress_file(&r->progress, due[i].path, i + 1, count);
		if ((due[i].look.kind == WORK_OTHER && make_way(r, &due[i]) < 0) ||
		    write_file(r, &due[i]) < 0)
			r->failed++;
	}
}

void restore_write(struct restore *r, bool tell_missing)
{
	begin_progress(r);
	write_all(r, tell_missing);
	progress_end(&r->progress);
}
