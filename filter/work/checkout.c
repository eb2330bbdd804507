/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/work/checkout.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buffer.h"
#include "filter/cli/command.h"
#include "filter/cli/report.h"
#include "filter/work/restore.h"
#include "filter/work/work_content.h"

struct checkout {
	struct workspace *ws;
	enum checkout_reach reach;
	struct restore restore;
	struct lacking_blobs lacking;
	struct buffer staged; /* paths where an archive is staged in its pointer's place */
	bool unstaged;        /* ... which is over by now */
	unsigned round;       /* of collecting, up to three */
	size_t seen;
};

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

/* Without its blob nobody knows what belongs into a file. */
static int note_lacking(struct checkout *c, const struct tracked_file *file)
{
	int rc;

	if (c->lacking.fetched && c->unstaged)
		return 0; /* the round before told it */
	rc = repository_note_lacking(&c->lacking, file);
	c->restore.failed += rc > 0;
	return rc < 0 ? -1 : 0;
}

/*
 * Where nobody set up our filter, an old git-lfs writes the object over the pointer, and stages it:
 * then index and work file hold the very bytes that HEAD's pointer names. That is no work of the
 * user's; what HEAD has is put in its place again.
 */
static bool is_staged_archive(const struct checkout *c, const struct tracked_file *file)
{
	struct tracked_file as_pointer = *file;
	struct pointer pointers[2];
	struct work_look look;
	char blob[BLOB_HEX_SIZE + 1];
	char *path;
	bool is_same;

	if (c->unstaged || c->reach == CHECKOUT_HOOK ||
	    repository_path_pointers(c->ws->repository, file->path, pointers) != 1 ||
	    pointers[0].size != file->blob_size)
		return false;
	as_pointer.pointer = pointers[0];
	work_file_look(c->restore.top, file->path, &look);
	if (look.kind != WORK_ARCHIVE || !checkout_is_due(c->restore.top, &as_pointer, &look) ||
	    asprintf(&path, "%s/%s", c->restore.top, file->path) < 0)
		return false;
	is_same = repository_hash_file(c->ws->repository, path, blob) == 0 &&
		  strcmp(blob, file->blob) == 0;
	free(path);
	return is_same;
}

static int note_staged(struct checkout *c, const struct tracked_file *file)
{
	if (is_staged_archive(c, file))
		buffer_append(&c->staged, file->path, strlen(file->path) + 1);
	return buffer_failed(&c->staged) ? report_error("out of memory") : 0;
}

static bool is_due(const struct checkout *c, const struct tracked_file *file,
		   const struct work_look *look)
{
	if (!file->is_pointer)
		return file->blob_size == 0 && look->kind == WORK_ABSENT;
	/* Whatever else stands there is no business of a hook. */
	if (c->reach == CHECKOUT_HOOK && look->kind != WORK_ABSENT && look->kind != WORK_POINTER)
		return false;
	return checkout_is_due(c->restore.top, file, look);
}

/* What is the user's own, such as a link, stays and is no failure; what cannot be looked at is one.
 */
static void note_other(struct checkout *c, const char *path, int reason)
{
	if (reason == ELOOP || reason == ENOTDIR)
		report_warning(
			"%s: left out: a symbolic link or a file is in the way; move it away",
			path);
	else if (!reason)
		report_warning("%s: left out: what stands there is no file; move it away", path);
	else
		report_error(
			"%s: left out: what stands there cannot be read: %s; make it readable, "
			"or move it away",
			path, strerror(reason));
	if (reason && reason != ELOOP && reason != ENOTDIR)
		c->restore.failed++;
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
		return note_staged(c, file);
	work_file_look(c->restore.top, file->path, &look);
	due = is_due(c, file, &look);
	/* Also of a file that is complete: a push needs its object. */
	if (file->is_pointer && (c->reach == CHECKOUT_PULL || (due && c->reach == CHECKOUT_HOOK)) &&
	    restore_want(&c->restore, file) < 0)
		return -1;
	if (look.kind == WORK_OTHER && c->round == 1)
		note_other(c, file->path, look.reason);
	return due ? restore_add(&c->restore, file, &look) : 0;
}

static int collect_once(struct checkout *c, const char *const *pathspecs, size_t count)
{
	restore_clear(&c->restore);
	c->round++;
	c->seen = 0;
	return repository_each_tracked(c->ws->repository, NULL, pathspecs, count, collect, c);
}

static int collect_all(struct checkout *c, const char *const *pathspecs, size_t count)
{
	struct repository *repository = c->ws->repository;
	int rc = collect_once(c, pathspecs, count);

	if (rc == 0 && repository_fetch_lacking(repository, &c->lacking)) {
		buffer_release(&c->staged);
		rc = collect_once(c, pathspecs, count);
	}
	if (rc == 0 && c->staged.size) {
		rc = repository_unstage(repository, &c->staged);
		c->unstaged = true;
		if (rc == 0)
			rc = collect_once(c, pathspecs, count);
	}
	return rc;
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
		work_file_look(c->restore.top, path, &look);
		if (look.kind != WORK_POINTER && !work_file_is_conflict_text(c->restore.top, path))
			continue;
		report_error("%s: not restored: a merge left it in conflict; `git checkout --ours "
			     "-- PATH`, or --theirs, takes a side, `git add` ends it",
			     path);
		c->restore.failed++;
	}
	buffer_release(&paths);
	return rc;
}

int checkout_files(struct workspace *ws, const char *const *pathspecs, size_t count,
		   enum checkout_reach reach)
{
	struct checkout c = {.ws = ws,
			     .reach = reach,
			     .restore = {.ws = ws, .top = repository_work_tree(ws->repository)}};
	const char *unmatched;
	int code = EXIT_FATAL;

	if (!c.restore.top) {
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
	if (reach != CHECKOUT_LOCAL && restore_download(&c.restore) < 0)
		goto out;
	restore_write(&c.restore, reach == CHECKOUT_LOCAL);
	if (buffer_failed(&c.restore.written)) {
		report_error("out of memory");
		goto out;
	}
	if (repository_refresh_index(ws->repository,
				     (const struct written_file *)(void *)c.restore.written.data,
				     c.restore.written.size / sizeof(struct written_file)) < 0)
		goto out;
	code = c.restore.failed ? EXIT_FOUND : EXIT_DONE;
out:
	restore_clear(&c.restore);
	buffer_release(&c.lacking.names);
	buffer_release(&c.staged);
	return code;
}
