/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A change of the index, of HEAD and of some small work files that is made ready beside them, and
 * takes effect in one go or not at all. Until then nothing but unreachable objects, and an index
 * file of our own, is added to the repository.
 */
#ifndef FILTER_PROPOSAL_H
#define FILTER_PROPOSAL_H

#include "core/base/buffer.h"
#include "filter/git/repository.h"

struct proposal;

/**
 * Begins one from HEAD. Refuses, and reports, where there is no work tree or no commit, while a
 * merge or the like is under way, and if anything is staged. The repository must outlive it.
 */
int proposal_begin(struct repository *repository, struct proposal **out);

/** Drops it, and all that it left in the git directory. NULL is allowed. */
void proposal_free(struct proposal *proposal);

/** Stores bytes as a blob, as they are. Reports and returns -1 on failure. */
int proposal_store(const struct proposal *proposal, const void *data, size_t len,
		   char blob[BLOB_HEX_SIZE + 1]);

/** The same of a regular file, from its beginning, in bounded memory. */
int proposal_store_file(const struct proposal *proposal, int fd, char blob[BLOB_HEX_SIZE + 1]);

/** Notes that the index entry of path becomes this; skipped: a sparse checkout leaves it out. */
int proposal_put(struct proposal *proposal, const char *path, bool executable, bool skipped,
		 const char *blob);

/** Brings what was noted into the index of the proposal, so that git can be asked about it. */
int proposal_apply(struct proposal *proposal);

/**
 * Lists the regular files of the proposal's index, "PATH NUL" each, and what each one's attribute
 * is there, "VALUE NUL" each ("unspecified", "set", ...).
 */
int proposal_attribute(const struct proposal *proposal, const char *attribute, struct buffer *paths,
		       struct buffer *values);

/**
 * The same for lines that are in no file yet: those that a .gitattributes file in the directory
 * prefix ("" or ending with a slash) would have.
 */
int proposal_try_lines(const struct proposal *proposal, const char *prefix, const char *lines,
		       const char *attribute, struct buffer *paths, struct buffer *values);

/** Calls each for the regular files of the proposal's index, looking at the blob of those for which
 * wanted[i] is set only; i counts as in the lists above. Stops and returns as each does. */
int proposal_each(struct proposal *proposal, const bool *wanted,
		  int (*each)(void *ctx, size_t i, const struct tracked_file *file), void *ctx);

/** A file that people or git-lfs read: its text changes in the index, and in the work tree. */
struct proposed_edit {
	char *path; /* from the top */
	struct buffer text;
	bool is_new; /* the index does not have it */
	bool executable;
	bool skip_worktree;
	char blob[BLOB_HEX_SIZE + 1]; /* of the text that it becomes */
};

/**
 * Reads the text of edit->path from the index; it is empty if it is not there. Reports and returns
 * -1 if that cannot be done, or git finds the work file changed or untracked.
 */
int proposal_load(const struct proposal *proposal, struct proposed_edit *edit);

/** Stores an edit's text and notes it. */
int proposal_edit(struct proposal *proposal, struct proposed_edit *edit);

/** Frees what is in an edit. */
void proposal_release(struct proposed_edit *edit);

/**
 * Makes a commit of it all with this message, or with message NULL only stages it; the edits' work
 * files are written. HEAD moves last. check is called with ctx just before anything changes, and
 * may refuse (reported, -1). commit takes the commit's name, "" if there is none. Signals wait
 * meanwhile; on failure (reported, -1) all is as it was, but for what others changed in that moment
 * or what cannot be put back: that stays, and is reported, too.
 */
int proposal_take_effect(struct proposal *proposal, const char *message,
			 const struct proposed_edit *edits, size_t count, int (*check)(void *ctx),
			 void *ctx, char commit[BLOB_HEX_SIZE + 1]);

#endif
