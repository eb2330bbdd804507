/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A proposal takes effect:
 *
 *   1. its index and the work files are made ready beside their places, and the commit is made;
 *   2. `git update-ref` locks HEAD's branch, and finds that HEAD is where it was;
 *   3. the index is locked as git does, and is what was copied;
 *   4. the work files and the index get their names;
 *   5. `git update-ref` moves the branch.
 *
 * Up to 3 nothing has changed; what fails in 4 and 5 is taken back, but for what is no longer as we
 * wrote it: that belongs to who changed it.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "filter/cli/interrupt.h"
#include "filter/git/index_lock.h"
#include "filter/git/process.h"
#include "filter/cli/report.h"
#include "filter/git/repository_proposal.h"
#include "filter/stream.h"
#include "filter/work/work_file.h"

/* The index may be refreshed by others between its copy and its lock. */
#define ATTEMPTS 10

struct effect {
	struct proposal *p;
	const struct proposed_edit *edits;
	size_t count;
	struct placement *placements; /* one for each edit */
	struct process ref;           /* `git update-ref --stdin` */
	struct index_lock lock;
	int before;          /* the index as it was, to be read; -1 */
	struct stat written; /* the index as we wrote it */
};

/* A work file on its way. */
struct placement {
	struct work_look look;
	struct work_file *file;
	struct buffer was;
	bool placed;
	struct stat written; /* once it is placed */
};

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* ---- 1: the work files ----------------------------------------------------------------------- */

/* What git would write into the work file for a blob. */
static int work_bytes(const struct proposal *p, const char *path, const char *blob,
		      struct buffer *bytes)
{
	char *named;
	const char *args[] = {"cat-file", "--filters", NULL, blob, NULL};
	int rc;

	if (asprintf(&named, "--path=%s", path) < 0)
		return report_error("out of memory");
	args[2] = named;
	rc = repository_git_reported(p->repository, NULL,
				     (struct git_run){.args = args, .output = bytes},
				     "git cannot read what was just stored");
	free(named);
	return rc;
}

static int read_work_file(const char *top, const char *path, struct buffer *bytes)
{
	int fd = work_file_open(top, path);
	int rc = fd < 0 ? -1 : stream_read(fd, stream_keep, bytes);

	if (rc < 0)
		rc = report_error("%s: cannot read it: %s; make it a file that can be read", path,
				  strerror(errno));
	else if (rc > 0)
		rc = report_error("%s: out of memory", path);
	if (fd >= 0)
		close(fd);
	return rc;
}

static int prepare_edit(const struct proposal *p, const struct proposed_edit *edit,
			struct placement *place)
{
	const char *top = p->repository->work_tree;
	struct buffer bytes = BUFFER_INIT;
	int rc = 0;

	work_file_look(top, edit->path, &place->look);
	/* A sparse checkout may leave it out; then git reads it from the index. */
	if (place->look.kind == WORK_ABSENT && !edit->is_new)
		return 0;
	if (place->look.kind != WORK_ABSENT)
		rc = read_work_file(top, edit->path, &place->was);
	if (rc == 0)
		rc = work_bytes(p, edit->path, edit->blob, &bytes);
	if (rc == 0) {
		place->file = work_file_create(top, edit->path, &place->look, edit->executable);
		rc = place->file ? 0 : -1;
	}
	if (rc == 0)
		work_file_write(place->file, bytes.data, bytes.size);
	buffer_release(&bytes);
	return rc;
}

/* Returns -1 after reporting. */
static int write_back(const struct proposal *p, const char *path, const struct placement *place,
		      const struct work_look *now)
{
	bool executable = (place->look.stat.st_mode & 0100) != 0;
	struct work_file *file = work_file_create(p->repository->work_tree, path, now, executable);
	struct stat st;
	int rc = -1;

	if (file && place->look.kind == WORK_ABSENT) {
		rc = work_file_remove(file);
	} else if (file) {
		work_file_write(file, place->was.data, place->was.size);
		rc = work_file_commit(file, &st);
	}
	work_file_free(file);
	return rc;
}

/* Puts back what stood there. Returns -1 after reporting if something else stands there now. */
static int undo_edit(const struct proposal *p, const char *path, const struct placement *place)
{
	struct work_look now;

	if (!place->placed)
		return 0;
	work_file_look(p->repository->work_tree, path, &now);
	if (now.kind != WORK_ABSENT && now.kind != WORK_OTHER &&
	    same_file(&now.stat, &place->written) && write_back(p, path, place, &now) == 0)
		return 0;
	return report_error(
		"%s: was changed by someone else meanwhile, or cannot be put back; it is "
		"left as it is; take out by hand what `git brevis migrate` wrote there",
		path);
}

/* ---- 1: the commit --------------------------------------------------------------------------- */

/* Signed, if the user's commits are. No hook is run: what a commit hook would look at, staged
 * changes and a message, are not the user's. */
static int make_commit(const struct proposal *p, const char *message,
		       char commit[BLOB_HEX_SIZE + 1])
{
	bool is_signed = repository_config_bool(p->repository, "commit.gpgSign", false);
	static const char *const write[] = {"write-tree", NULL};
	char tree[BLOB_HEX_SIZE + 1];
	const char *args[] = {"commit-tree", tree, "-p", p->head, is_signed ? "-S" : NULL, NULL};

	if (proposal_ask_name(p, p->index.path, (struct git_run){.args = write},
			      "git cannot write the tree", tree) < 0)
		return -1;
	return proposal_ask_name(
		p, p->index.path,
		(struct git_run){.args = args, .input = message, .input_len = strlen(message)},
		"git cannot make the commit", commit);
}

/* ---- 2 and 5: the branch --------------------------------------------------------------------- */

/* Sends a command and waits for its "ok". */
static bool tell_ref(struct effect *e, const char *text, const char *answer)
{
	char line[64];
	size_t len = 0;

	if (stream_write(&e->ref.in, text, strlen(text)) < 0)
		return false;
	while (len + 1 < sizeof(line)) {
		ssize_t n = read(e->ref.out, line + len, 1);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		if (line[len] == '\n')
			break;
		len++;
	}
	line[len] = 0;
	return strcmp(line, answer) == 0;
}

/* git says on stderr why it does not do it; where HEAD has moved we say it ourselves. */
static int lock_branch(struct effect *e, const char *commit)
{
	static const char *const argv[] = {"git",     "update-ref", "-m", "git brevis migrate",
					   "--stdin", NULL};
	char head[BLOB_HEX_SIZE + 1];
	char update[BLOB_HEX_SIZE * 2 + 64];

	if (proposal_read_head(e->p, head) < 0)
		return -1;
	if (strcmp(head, e->p->head) != 0)
		return report_error("HEAD has moved meanwhile; nothing was changed; try again");
	if (process_start(&e->ref, argv, NULL) < 0)
		return report_error("cannot run git: %s; see that it is in PATH", strerror(errno));
	snprintf(update, sizeof(update), "update HEAD %s %s\nprepare\n", commit, head);
	if (tell_ref(e, "start\n", "start: ok") && tell_ref(e, update, "prepare: ok"))
		return 0;
	return report_error("git does not let the branch be moved; nothing was changed; see its "
			    "reason above, then try again");
}

/* Where HEAD is; false if git does not say. */
static bool find_head(const struct effect *e, char head[BLOB_HEX_SIZE + 1])
{
	static const char *const args[] = {"rev-parse", "--verify", "HEAD^{commit}", NULL};
	struct buffer text = BUFFER_INIT;
	struct buffer errors = BUFFER_INIT;
	struct git_run run = {.args = args, .output = &text, .errors = &errors};
	bool found = repository_git(e->p->repository, NULL, run) == 0 && text.size > BLOB_HEX_SIZE;

	if (found)
		memcpy(head, text.data, BLOB_HEX_SIZE);
	head[found ? BLOB_HEX_SIZE : 0] = 0;
	buffer_release(&errors);
	buffer_release(&text);
	return found;
}

/* An answer that does not come says nothing; HEAD does. Returns 0 if the branch was moved, 1 if it
 * was not, and -1 after reporting if that cannot be told: then nothing may be taken back. */
static int move_branch(struct effect *e, const char *commit)
{
	char head[BLOB_HEX_SIZE + 1];

	if (tell_ref(e, "commit\n", "commit: ok"))
		return 0;
	process_finish(&e->ref);
	if (find_head(e, head))
		return strcmp(head, commit) != 0;
	return report_error("git does not say whether it has moved the branch to commit %s; files "
			    "and index are as in that; where `git status` shows them as staged, "
			    "`git commit` keeps them, `git reset` does not",
			    commit);
}

/* ---- 3 and 4: the index ---------------------------------------------------------------------- */

/* An index says by its own time which of its entries git has to doubt: a copy says the same. */
static int copy_index(const char *from, const char *to)
{
	struct timespec times[2] = {{0, UTIME_OMIT}, {0, 0}};
	struct stat st;

	if (stat(from, &st) != 0 || repository_copy_file(from, to) < 0)
		return -1;
	times[1] = st.st_mtim;
	return utimensat(AT_FDCWD, to, times, 0);
}

/* Locks the index and copies ours beside it. Returns 1 if the index has changed since it was
 * copied. */
static int lock_index(struct effect *e)
{
	const char *path = e->p->repository->index_path;
	struct stat now;

	if (index_lock_take(&e->lock, path, 1) < 0)
		return report_error(
			"%s: cannot lock the index: %s; nothing was changed; if no other "
			"git is at work here, remove that file and try again",
			e->lock.path ? e->lock.path : path, strerror(errno));
	if (stat(path, &now) != 0 || !same_file(&now, &e->p->copied))
		return 1;
	if (copy_index(e->p->index.path, e->lock.copy) < 0)
		return report_error("%s: cannot write the index: %s; nothing was changed; make "
				    "room there",
				    e->lock.copy, strerror(errno));
	return 0;
}

/* Makes the proposal's index of the index as it is now, which must stage nothing. */
static int renew_index(struct effect *e)
{
	struct buffer staged = BUFFER_INIT;
	int rc = repository_staged(e->p->repository, &staged);

	if (rc == 0 && staged.size)
		rc = report_error("changes were staged meanwhile; nothing was changed; commit them "
				  "and try again");
	buffer_release(&staged);
	return rc < 0 ? rc : proposal_apply(e->p);
}

static int put_files_in_place(struct effect *e)
{
	for (size_t i = 0; i < e->count; i++) {
		struct placement *place = &e->placements[i];

		if (!place->file)
			continue;
		if (work_file_commit(place->file, &place->written) < 0)
			return -1;
		place->placed = true;
	}
	return 0;
}

static int put_in_place(struct effect *e)
{
	const char *path = e->p->repository->index_path;

	e->before = open(path, O_RDONLY | O_CLOEXEC);
	if (e->before < 0)
		return report_error(
			"%s: cannot read the index: %s; nothing was changed; make it readable",
			path, strerror(errno));
	if (put_files_in_place(e) < 0)
		return -1;
	if (stat(e->lock.copy, &e->written) != 0 || index_lock_replace(&e->lock) != 0)
		return report_error("%s: cannot replace the index: %s; make its directory writable",
				    path, strerror(errno));
	return 0;
}

/* Returns -1 after reporting: then the change stays staged, which is a state that people know. */
static int put_index_back(struct effect *e)
{
	const char *path = e->p->repository->index_path;
	const char *reason = NULL;
	struct stat now;
	char before[64];
	int rc = index_lock_take(&e->lock, path, ATTEMPTS);

	snprintf(before, sizeof(before), "/proc/self/fd/%d", e->before);
	if (rc == 0)
		rc = stat(path, &now);
	if (rc == 0 && !same_file(&now, &e->written))
		reason = "someone else has changed it meanwhile";
	else if (rc < 0 || copy_index(before, e->lock.copy) < 0 || index_lock_replace(&e->lock) < 0)
		reason = strerror(errno);
	index_lock_release(&e->lock);
	if (!reason)
		return 0;
	return report_error("%s: git could not move the branch, and the index could not be put "
			    "back: %s; it is left as it is, with what is staged in it: `git "
			    "commit` keeps that, `git reset` does not; see git's reason above",
			    path, reason);
}

/* Returns -1 if something stays; it is reported. */
static int undo_files(struct effect *e)
{
	int rc = 0;

	for (size_t i = 0; i < e->count; i++)
		if (undo_edit(e->p, e->edits[i].path, &e->placements[i]) < 0)
			rc = -1;
	return rc;
}

/* The branch did not move. The work files go with the index: an old one beside a new entry would be
 * a change that nobody made. */
static int undo_all(struct effect *e)
{
	if (put_index_back(e) < 0)
		return -1;
	if (undo_files(e) < 0)
		return report_error("git could not move the branch; all else is as it was; see its "
				    "reason above, then try again");
	return report_error("git could not move the branch; all is as it was; see its reason "
			    "above, then try again");
}

/* 3 to 5. The branch is moved, if there is a commit, without the lock: a kill then leaves none.
 * Returns 1 if the index has changed since it was copied. */
static int change(struct effect *e, const char *commit)
{
	sigset_t signals;
	int rc;

	interrupt_hold(&signals);
	rc = lock_index(e);
	if (rc == 0) {
		rc = put_in_place(e);
		if (rc < 0)
			undo_files(e);
	}
	index_lock_release(&e->lock);
	if (rc == 0 && *commit) {
		rc = move_branch(e, commit);
		if (rc > 0)
			rc = undo_all(e);
	}
	if (e->before >= 0)
		close(e->before);
	e->before = -1;
	interrupt_resume(&signals);
	return rc;
}

static int prepare(struct effect *e)
{
	e->placements = calloc(e->count + 1, sizeof(*e->placements));
	if (!e->placements)
		return report_error("out of memory");
	for (size_t i = 0; i < e->count; i++)
		if (prepare_edit(e->p, &e->edits[i], &e->placements[i]) < 0)
			return -1;
	return 0;
}

int proposal_take_effect(struct proposal *p, const char *message, const struct proposed_edit *edits,
			 size_t count, int (*check)(void *ctx), void *ctx,
			 char commit[BLOB_HEX_SIZE + 1])
{
	struct effect e = {.p = p,
			   .edits = edits,
			   .count = count,
			   .ref = {.pid = -1, .in = -1, .out = -1, .guard = -1},
			   .lock = INDEX_LOCK_NONE,
			   .before = -1};
	int rc = prepare(&e);

	commit[0] = 0;
	if (rc == 0)
		rc = renew_index(&e);
	if (rc == 0 && message)
		rc = make_commit(p, message, commit);
	if (rc == 0 && message)
		rc = lock_branch(&e, commit);
	if (rc == 0)
		rc = check(ctx);
	for (int attempt = 0; rc == 0; attempt++) {
		rc = change(&e, commit);
		if (rc <= 0)
			break;
		rc = attempt < ATTEMPTS
			     ? renew_index(&e)
			     : report_error("the index is changed by others all the time; "
					    "nothing was changed; try again");
	}
	process_finish(&e.ref);
	for (size_t i = 0; i < count && e.placements; i++) {
		work_file_free(e.placements[i].file);
		buffer_release(&e.placements[i].was);
	}
	free(e.placements);
	if (rc < 0)
		commit[0] = 0;
	return rc;
}
