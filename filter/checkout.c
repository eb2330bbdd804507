/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/checkout.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buffer.h"
#include "filter/command.h"
#include "filter/conflict_text.h"
#include "filter/lfs.h"
#include "filter/progress.h"
#include "filter/report.h"
#include "filter/stored.h"
#include "filter/work_file.h"

/* A work file that is to be written. */
struct due_file {
	char *path;
	char blob[BLOB_HEX_SIZE + 1];
	bool executable;
	struct pointer pointer;
	struct work_look look;
};

struct checkout {
	struct workspace *ws;
	const char *top;
	enum checkout_reach reach;
	struct buffer wanted;  /* of struct lfs_want: objects that are not here */
	struct buffer due;     /* of struct due_file */
	struct buffer written; /* of struct written_file, whose paths are those of due */
	struct buffer lacking; /* blobs that a partial clone has not fetched, "NAME LF" each */
	bool fetched;          /* ... which it has by now, if it can */
	size_t seen;
	size_t failed;
	struct progress progress;
};

static struct due_file *due_files(const struct checkout *c, size_t *count)
{
	*count = c->due.size / sizeof(struct due_file);
	return (struct due_file *)(void *)c->due.data;
}

bool checkout_is_due(const char *top, const struct tracked_file *file, const struct work_look *look)
{
	uint8_t sha256[BREVIS_SHA256_SIZE];
	struct pointer held;

	switch (look->kind) {
	case WORK_ABSENT:
		return true;
	case WORK_EMPTY:
		/* What a stock git-lfs leaves that failed half way. */
		return file->pointer.size != 0;
	case WORK_POINTER:
		return pointer_equal(&look->pointer, &file->pointer);
	case WORK_ARCHIVE:
		/* What a stock git-lfs makes of our pointer: the object itself. */
		if ((uint64_t)look->stat.st_size != file->pointer.size ||
		    work_file_digest(top, file->path, &held.size, sha256) < 0)
			return false;
		pointer_set_oid(&held, sha256);
		return pointer_equal(&held, &file->pointer);
	default:
		return false;
	}
}

/* Notes an object to download: also one whose work file is complete, for a push needs it. */
static int want_object(struct checkout *c, const struct tracked_file *file)
{
	struct lfs_want want = {.pointer = file->pointer};
	char *path;

	if (c->reach == CHECKOUT_LOCAL || object_store_has(c->ws->store, &file->pointer))
		return 0;
	path = strdup(file->path);
	want.path = path;
	buffer_append(&c->wanted, &want, sizeof(want));
	if (path && !buffer_failed(&c->wanted))
		return 0;
	free(path);
	return report_error("out of memory");
}

static int note_due(struct checkout *c, const struct tracked_file *file,
		    const struct work_look *look)
{
	struct due_file due = {.executable = file->executable,
			       .pointer = file->pointer,
			       .look = *look,
			       .path = strdup(file->path)};

	memcpy(due.blob, file->blob, sizeof(due.blob));
	buffer_append(&c->due, &due, sizeof(due));
	if (due.path && !buffer_failed(&c->due))
		return 0;
	free(due.path);
	return report_error("out of memory");
}

/* Without its blob nobody knows what belongs into a file. */
static int note_lacking(struct checkout *c, const struct tracked_file *file)
{
	if (c->fetched) {
		report_error("%s: left out: its pointer (blob %.12s) is not in this partial "
			     "clone; `git fetch` from the remote, then try again",
			     file->path, file->blob);
		c->failed++;
		return 0;
	}
	buffer_append(&c->lacking, file->blob, BLOB_HEX_SIZE);
	buffer_u8(&c->lacking, '\n');
	return buffer_failed(&c->lacking) ? report_error("out of memory") : 0;
}

static bool is_due(const struct checkout *c, const struct tracked_file *file,
		   const struct work_look *look)
{
	if (!file->is_pointer)
		return file->blob_size == 0 && look->kind == WORK_ABSENT;
	/* Whatever else stands there is no business of a hook. */
	if (c->reach == CHECKOUT_HOOK && look->kind != WORK_ABSENT && look->kind != WORK_POINTER)
		return false;
	return checkout_is_due(c->top, file, look);
}

static int collect(void *ctx, const struct tracked_file *file)
{
	struct checkout *c = ctx;
	struct work_look look;
	bool due;

	c->seen++;
	if (file->skip_worktree)
		return 0;
	if (file->blob_missing)
		return note_lacking(c, file);
	if (!file->is_pointer && file->blob_size > 0)
		return 0;
	work_file_look(c->top, file->path, &look);
	due = is_due(c, file, &look);
	if (file->is_pointer && (due || c->reach == CHECKOUT_PULL) && want_object(c, file) < 0)
		return -1;
	if (look.kind == WORK_OTHER)
		report_warning("%s: left out: %s", file->path,
			       look.reason == ELOOP || look.reason == ENOTDIR
				       ? "a symbolic link or a file is in the way; move it away"
				       : "what stands there is no file that can be read; move it "
					 "away or make it readable");
	return due ? note_due(c, file, &look) : 0;
}

/* Downloads what is missing, together. git-lfs reports what does not come. */
static int download_missing(struct checkout *c)
{
	const struct lfs_want *want = (const struct lfs_want *)(void *)c->wanted.data;
	int missing = 0;

	if (c->wanted.size)
		missing = lfs_download(c->ws, want, c->wanted.size / sizeof(*want));
	if (missing < 0)
		return -1;
	c->failed += (size_t)missing;
	return 0;
}

static void report_missing(const struct checkout *c, const struct due_file *due)
{
	struct stored stored;

	stored_look(c->ws, &due->pointer, &stored);
	if (stored.is_cut) {
		report_error("%s: its object %.12s is damaged: wrong size (%" PRIu64
			     " bytes instead of %" PRIu64 "); `git brevis pull` downloads it again",
			     due->path, due->pointer.oid, stored.found_size, due->pointer.size);
		return;
	}
	report_error("%s: its object %.12s (%" PRIu64 " bytes) is not here; `git brevis pull` "
		     "downloads it",
		     due->path, due->pointer.oid, due->pointer.size);
}

/* Frees what collect gathered. */
static void release(struct checkout *c)
{
	struct lfs_want *want = (struct lfs_want *)(void *)c->wanted.data;
	struct due_file *due;
	size_t count;

	due = due_files(c, &count);
	for (size_t i = 0; i < count; i++)
		free(due[i].path);
	for (size_t i = 0; i < c->wanted.size / sizeof(*want); i++)
		free((char *)(uintptr_t)want[i].path);
	buffer_release(&c->wanted);
	buffer_release(&c->due);
	buffer_release(&c->written);
	buffer_release(&c->lacking);
}

/* Collects what the pathspecs name. Blobs that a partial clone lacks are fetched first, all
 * together: git itself would fetch each when it is asked for it. */
static int collect_all(struct checkout *c, const char *const *pathspecs, size_t count)
{
	struct repository *repository = c->ws->repository;
	int rc = repository_each_tracked(repository, NULL, pathspecs, count, collect, c);

	if (rc < 0 || !c->lacking.size)
		return rc;
	/* What does not come is reported by the second round. */
	repository_fetch_blobs(repository, &c->lacking);
	release(c);
	c->seen = 0;
	c->fetched = true;
	return repository_each_tracked(repository, NULL, pathspecs, count, collect, c);
}

/* Files in conflict are the user's to decide. Those that a merge has left without content are told,
 * as everything is that stays incomplete. */
static int tell_conflicts(struct checkout *c, const char *const *pathspecs, size_t count)
{
	struct buffer paths = BUFFER_INIT;
	int rc = repository_conflicts(c->ws->repository, pathspecs, count, &paths);

	for (size_t at = 0; at < paths.size && rc == 0;) {
		const char *path = (const char *)paths.data + at;
		struct work_look look;

		at += strlen(path) + 1;
		c->seen++;
		work_file_look(c->top, path, &look);
		if (look.kind != WORK_POINTER && !work_file_is_conflict_text(c->top, path))
			continue;
		report_error("%s: not restored: a merge left it in conflict; `git checkout --ours "
			     "-- PATH`, or --theirs, takes a side, `git add` ends it",
			     path);
		c->failed++;
	}
	buffer_release(&paths);
	return rc;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Says how many bytes there are to write, and how many are stored instead. */
static void begin_progress(struct checkout *c)
{
	uint64_t original = 0;
	uint64_t size = 0;
	size_t count;
	struct due_file *due = due_files(c, &count);

	for (size_t i = 0; i < count && progress_is_wanted(); i++) {
		struct stored stored;

		stored_look(c->ws, &due[i].pointer, &stored);
		if (!stored.is_known)
			continue;
		original += stored.original_size;
		size += due[i].pointer.size;
	}
	progress_begin(&c->progress, "restoring", "", original);
	progress_share(&c->progress, original, size);
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

static int write_file(struct checkout *c, const struct due_file *due)
{
	struct written_file written = {.path = due->path};
	struct work_file *file = work_file_create(c->top, due->path, &due->look, due->executable);
	struct outlet outlet = {file, &c->progress};
	struct stored stored;
	int rc = -1;

	if (!file)
		return -1;
	stored_look(c->ws, &due->pointer, &stored);
	if (stored.is_known && work_file_reserve(file, stored.original_size) < 0) {
		work_file_free(file);
		return -1;
	}
	switch (smudge_pointer(c->ws, due->path, &due->pointer, take_bytes, &outlet)) {
	case SMUDGE_DONE:
		rc = work_file_commit(file, &written.stat);
		break;
	case SMUDGE_MISSING:
		report_missing(c, due);
		break;
	default:
		break;
	}
	work_file_free(file);
	if (rc == 0) {
		memcpy(written.blob, due->blob, sizeof(written.blob));
		buffer_append(&c->written, &written, sizeof(written));
	}
	return rc;
}

static void write_all(struct checkout *c)
{
	size_t count;
	struct due_file *due = due_files(c, &count);

	for (size_t i = 0; i < count; i++) {
		if (!object_store_has(c->ws->store, &due[i].pointer)) {
			if (c->reach == CHECKOUT_LOCAL)
				report_missing(c, &due[i]);
			c->failed++;
			continue;
		}
		progress_file(&c->progress, due[i].path, i + 1, count);
		if (write_file(c, &due[i]) < 0)
			c->failed++;
	}
}

int checkout_files(struct workspace *ws, const char *const *pathspecs, size_t count,
		   enum checkout_reach reach)
{
	struct checkout c = {.ws = ws, .top = repository_work_tree(ws->repository), .reach = reach};
	const char *unmatched;
	int code = EXIT_FATAL;

	if (!c.top) {
		report_error("there is no work tree here to write files to; `git worktree add` "
			     "makes one");
		return EXIT_FATAL;
	}
	if (repository_make_index(ws->repository) < 0)
		return EXIT_FATAL;
	unmatched = repository_unmatched(pathspecs, count);
	if (unmatched) {
		report_error("'%s' matches no file that git tracks; no file was changed",
			     unmatched);
		return EXIT_FOUND;
	}
	if (collect_all(&c, pathspecs, count) < 0 ||
	    (reach != CHECKOUT_HOOK && tell_conflicts(&c, pathspecs, count) < 0))
		goto out;
	if (count && !c.seen) {
		report_error(
			"'%s'%s: no file that git-brevis keeps is there; `git brevis ls-files` "
			"lists them",
			pathspecs[0], count > 1 ? " and the other paths" : "");
		code = EXIT_FOUND;
		goto out;
	}
	if (reach != CHECKOUT_LOCAL && download_missing(&c) < 0)
		goto out;
	begin_progress(&c);
	write_all(&c);
	progress_end(&c.progress);
	if (buffer_failed(&c.written)) {
		report_error("out of memory");
		goto out;
	}
	if (repository_refresh_index(ws->repository,
				     (const struct written_file *)(void *)c.written.data,
				     c.written.size / sizeof(struct written_file)) < 0)
		goto out;
	code = c.failed ? EXIT_FOUND : EXIT_DONE;
out:
	release(&c);
	return code;
}
