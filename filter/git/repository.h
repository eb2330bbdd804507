/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The git repository around us: every libgit2 call of the program is behind this header. Where
 * libgit2 and git could disagree (attributes, hooks path, unknown repository extensions) git itself
 * is asked, here too.
 */
#ifndef FILTER_REPOSITORY_H
#define FILTER_REPOSITORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "core/base/buffer.h"
#include "filter/objects/pointer.h"

/** Hex digits of a git object's name. */
#define BLOB_HEX_SIZE 40

/* A buffer of paths or names is a list in which each ends with NUL, where nothing else is said. */

struct repository;

/** True if git finds a repository here. Reports nothing. */
bool repository_is_here(void);

/**
 * Opens the repository that git would use here: GIT_DIR and friends, or the one around the current
 * directory; also bare ones, worktrees, submodules, and with extensions that libgit2 alone refuses.
 * Reports the failure and returns -1 if there is none.
 */
int repository_open(struct repository **out);
void repository_free(struct repository *repository);

/** Version of libgit2, e.g. "1.5.1". */
const char *repository_library_version(void);

/** Absolute path of the work tree without a trailing slash, or NULL in a bare repository. */
const char *repository_work_tree(const struct repository *repository);

/**
 * The current directory relative to the top of the work tree: "" at the top, else ending with a
 * slash. Caller frees. NULL if it is not within a work tree (reported).
 */
char *repository_prefix(const struct repository *repository);

/** Absolute path of the git directory of this work tree. */
const char *repository_git_dir(const struct repository *repository);

/** Absolute path of the git directory that all worktrees share. */
const char *repository_common_dir(const struct repository *repository);

/** Where git runs hooks from, absolute (core.hooksPath honoured). Caller frees. NULL: reported. */
char *repository_hooks_dir(const struct repository *repository);

/**
 * Where Git LFS keeps its files for this repository, absolute: <common dir>/lfs, or lfs.storage as
 * git-lfs reads it. Equals the parent of LocalMediaDir in `git lfs env`.
 */
const char *repository_lfs_dir(const struct repository *repository);

/** Value of a configuration key from git's own files, or NULL if unset. Caller frees. */
char *repository_config(const struct repository *repository, const char *key);
bool repository_config_bool(const struct repository *repository, const char *key, bool unset);
int64_t repository_config_int(const struct repository *repository, const char *key, int64_t unset);

/** Value of a key in .lfsconfig (of the work tree, else of the index, else of HEAD), or NULL. It is
 * what the repository's authors wrote: ask for harmless keys only. Caller frees. */
char *repository_lfsconfig(const struct repository *repository, const char *key);

/**
 * Finds the pointer that the index (or else HEAD) holds for path, relative to the top of the work
 * tree. Returns how many distinct pointers were stored in out, the index's first: 0, 1 or 2.
 * Missing blobs (partial clones), conflicts and a missing index count as none.
 */
size_t repository_path_pointers(struct repository *repository, const char *path,
				struct pointer out[2]);

/** True if the blob of path in the index or in HEAD consists of exactly these bytes. */
bool repository_path_holds(struct repository *repository, const char *path, const void *data,
			   size_t len);

/** The blob that the bytes of a file (an absolute path) would be. Returns -1 if it cannot be read.
 */
int repository_hash_file(struct repository *repository, const char *path,
			 char blob[BLOB_HEX_SIZE + 1]);

/** Gives paths ("PATH NUL" each) in the index what HEAD has for them. Work files stay. Reports and
 * returns -1 on failure. */
int repository_unstage(const struct repository *repository, const struct buffer *paths);

/**
 * The blob that stands for an empty file at path, the index's before HEAD's: an empty one, or a
 * pointer of size 0, whose text goes to text. Returns its length; 0 too if there is none.
 */
size_t repository_path_empty(struct repository *repository, const char *path,
			     uint8_t text[POINTER_SIZE_LIMIT]);

/**
 * True if index or HEAD hold this pointer for path in a blob that remote-tracking branches of any
 * remote reach: then a remote was sent its object once. Slow in a long history.
 */
bool repository_remote_has_pointer(struct repository *repository, const char *path,
				   const struct pointer *pointer);

/**
 * True for files that git and git-lfs read themselves, in the index and at any commit: those whose
 * names begin with .git, and .lfsconfig. They are never converted, whatever pattern they match.
 */
bool path_is_left_alone(const char *path);

/** A regular file that git tracks and that has filter=brevis; unless it says otherwise. */
struct tracked_file {
	const char *path; /* relative to the top of the work tree */
	char blob[BLOB_HEX_SIZE + 1];
	bool executable;
	bool skip_worktree; /* sparse checkout leaves it out */
	bool blob_missing;  /* the blob is not here (a partial clone), or cannot be read */
	uint64_t blob_size; /* unless blob_missing */
	bool is_lfs;        /* it has filter=lfs: repository_each_large tells of those, too */
	bool is_pointer;    /* its blob is a pointer, in .pointer */
	bool has_markers;  /* its blob was a pointer, before a merge wrote conflict markers to it */
	bool is_canonical; /* ... in exactly the words that git-brevis writes */
	bool is_large;     /* without filter=brevis: told of for its size alone */
	/* git shows no diff of it (-diff, binary, a binary diff driver): then `git lfs prune` does
	 * not see that its object was never pushed, and deletes it. */
	bool diff_hidden;
	struct pointer pointer;
};

/**
 * Calls each for every regular file of the index (revision NULL) or of a commit (revision names
 * one) with filter=brevis, in path order; conflicted paths are left out. Attributes are those git
 * sees, for a commit those in its own tree. Only files at or below one of the pathspecs (as git
 * reads them, relative to the current directory), all if there are none. Stops when each returns
 * nonzero and returns that; -1 after reporting a failure.
 */
int repository_each_tracked(struct repository *repository, const char *revision,
			    const char *const *pathspecs, size_t count,
			    int (*each)(void *ctx, const struct tracked_file *file), void *ctx);

/** The same for files with filter=brevis or filter=lfs. */
int repository_each_large(struct repository *repository, const char *revision,
			  const char *const *pathspecs, size_t count,
			  int (*each)(void *ctx, const struct tracked_file *file), void *ctx);

/**
 * Calls each for every blob with filter=brevis that some commits bring: those that `git rev-list`
 * with these arguments (options and revisions, ends with NULL) would list. Attributes are those in
 * the tree of tip. Of a blob with several paths, one is told; one that is only the target of
 * symbolic links is not. Returns as repository_each_tracked does.
 */
int repository_each_new_blob(struct repository *repository, const char *tip,
			     const char *const *arguments,
			     int (*each)(void *ctx, const struct tracked_file *file), void *ctx);

/** The same, and calls each also for blobs without filter=brevis of more than large bytes. */
int repository_each_new_or_large_blob(struct repository *repository, const char *tip,
				      const char *const *arguments, uint64_t large,
				      int (*each)(void *ctx, const struct tracked_file *file),
				      void *ctx);

/**
 * Appends the paths with filter=brevis that a merge left in conflict, at or below one of the
 * pathspecs (as in repository_each_tracked), each ends with NUL. Reports and returns -1 on failure.
 */
int repository_conflicts(const struct repository *repository, const char *const *pathspecs,
			 size_t count, struct buffer *paths);

/** A revision in whose history something changed. The strings live during the call only. */
struct revision {
	const char *commit;  /* its whole name in hex */
	const char *date;    /* of its author, "2024-05-01T12:00:00+00:00" */
	const char *subject; /* in UTF-8, as far as git can tell */
};

/**
 * Calls each for every regular file that a revision added or changed and whose blob is a pointer,
 * whatever the attributes say; oldest revisions first, parents before children. A merge changed a
 * file if it has it as none of its parents does. Then, with revision NULL, for every such change
 * whose blob is not here, of the files with filter=brevis by the attributes of the commit tip
 * (NULL: there is none). revisions are those of `git log` (options and names, ends with NULL);
 * pathspecs are as in repository_each_tracked. No pointer is fetched. Stops when each returns
 * nonzero and returns that; -1 after reporting a failure. Memory: about 200 bytes for each change
 * in that history, of any file.
 */
int repository_each_change(struct repository *repository, const char *const *revisions,
			   const char *tip, const char *const *pathspecs, size_t count,
			   int (*each)(void *ctx, const struct revision *revision,
				       const struct tracked_file *file),
			   void *ctx);

/**
 * Calls each for every pointer among the files of a commit (revision names one) or those that are
 * new in a range ("A..B"), or with revision NULL among all that git keeps: what the refs, reflogs,
 * stashes and indexes of all worktrees reach, what was fetched last, and what a merge or rebase
 * that is under way would go on with. Attributes do not matter. A blob is told once, with one of
 * its paths ("" if none is known). *missing counts objects that could not be looked at: a partial
 * clone lacks them, or they are damaged. Stops when each returns nonzero and returns that; -1 after
 * reporting a failure.
 */
int repository_each_pointer(struct repository *repository, const char *revision,
			    int (*each)(void *ctx, const char *path, const struct pointer *pointer),
			    void *ctx, size_t *missing);

/** True if text names a commit, "^commit", or a range of commits, and no file in the work tree. */
bool repository_is_history(const struct repository *repository, const char *text);

/** True if the clone's history is cut off. */
bool repository_is_shallow(const struct repository *repository);

/**
 * Lists the whole names of the commits that revisions mean, each ends with NUL, one after the
 * other;
 * "^" goes before those whose history is left out. Reports and returns -1 on failure.
 */
int repository_resolve(const struct repository *repository, const char *const *revisions,
		       struct buffer *names);

/** Calls each for every regular file of a commit. Returns as repository_each_change does. */
int repository_each_blob(const struct repository *repository, const char *revision,
			 int (*each)(void *ctx, const char *path, const char *blob), void *ctx);

/**
 * Lists the paths that a commit or tree has at or below the pathspecs (all, if there are none), of
 * any kind, in git's order, each ends with NUL. Reports and returns -1 on failure, or if a pathspec
 * matches nothing.
 */
int repository_list_paths(const struct repository *repository, const char *revision,
			  const char *const *pathspecs, size_t count, struct buffer *paths);

/** How git writes files. */
struct git_write {
	const char *dir; /* below this directory, absolute */
	bool replace;    /* over files that are there */
	bool local;      /* git-lfs, if it has some of them, downloads nothing */
};

/**
 * Has git write the files of a commit or tree that paths lists (as above) below another directory,
 * as it would check them out there, but that our own filter leaves them as they are. Links are not
 * followed. Works in a bare repository. Reports and returns -1 on failure.
 */
int repository_write_paths(const struct repository *repository, const char *revision,
			   const struct buffer *paths, const struct git_write *how);

/** What the attributes of a path say, relative to the top, whether it exists or not. Reports and
 * returns -1 on failure. */
int repository_path_attributes(const struct repository *repository, const char *path,
			       bool *filtered, bool *diff_hidden);

/** True if text names something in the work tree, counted from the current directory. */
bool repository_is_file(const struct repository *repository, const char *text);

/** True if text names a commit or tree and no such file. */
bool repository_is_revision(const struct repository *repository, const char *text);

/** True if text names a commit. */
bool repository_is_commit(const struct repository *repository, const char *text);

/** The first of the pathspecs (from the current directory) that matches nothing in the index, or
 * that git cannot read; NULL if there is none. */
const char *repository_unmatched(const char *const *pathspecs, size_t count);

/**
 * Where a clone's checkout failed (or was left out), there is a HEAD and no index yet: makes one of
 * HEAD, without a work file being touched, and says so. Reports and returns -1 on failure.
 */
int repository_make_index(const struct repository *repository);

/** True if there is no index though HEAD names a commit. */
bool repository_lacks_index(const struct repository *repository);

/** True if HEAD names a commit. */
bool repository_has_head(const struct repository *repository);

/**
 * Lists the paths whose index entry differs from HEAD's, each with git's letter before it
 * ("Mpath"), and the paths whose work file does not match the stat data in the index. No filter is
 * run: a file that was merely touched is listed too. Both sorted as git sorts. Return -1 after
 * reporting.
 */
int repository_staged(const struct repository *repository, struct buffer *paths);
int repository_touched(const struct repository *repository, struct buffer *paths);

/** A blob, and whether it is one of those that are looked for. */
struct remote_blob {
	char blob[BLOB_HEX_SIZE + 1];
	bool found;
};

/**
 * Finds out which of the blobs are part of any revision that remote-tracking branches reach: some
 * remote was sent them once, or they came from one. Slow in a long history: ask about what is
 * missed only, and all at once. Reports and returns -1 on failure.
 */
int repository_find_on_remotes(const struct repository *repository, struct remote_blob *blobs,
			       size_t count);

/**
 * Finds out which of the blobs are nothing but targets of symbolic links in the commits that `git
 * log` with these arguments lists. Reports and returns -1 on failure.
 */
int repository_find_links(const struct repository *repository, const char *const *arguments,
			  struct remote_blob *blobs, size_t count);

/** Blobs of tracked files that a partial clone has not fetched. Begins as zeros; release names. */
struct lacking_blobs {
	struct buffer names; /* "NAME LF" each */
	bool fetched;        /* as far as they can be */
};

/**
 * Notes the blob of a file that lacks it. Once they were fetched, reports instead that it did not
 * come and returns 1. Reports and returns -1 when memory is short.
 */
int repository_note_lacking(struct lacking_blobs *lacking, const struct tracked_file *file);

/**
 * Has git fetch what was noted, all together: git itself would fetch each when it is asked for it.
 * Returns false if there is nothing to fetch; else the files are to be gone through once more.
 */
bool repository_fetch_lacking(const struct repository *repository, struct lacking_blobs *lacking);

/** A work file that was just written from its entry in the index. */
struct written_file {
	const char *path;
	char blob[BLOB_HEX_SIZE + 1]; /* of the entry that it was written from */
	struct stat stat;             /* of the file under its final name */
};

/**
 * Records in the index that these work files match their entries: fills in size, times and inode
 * under the index's lock, without cleaning any file again. Entries that changed meanwhile (another
 * blob) are left alone. Falls back to `git add --refresh` where libgit2 cannot write this kind of
 * index. Returns -1 after reporting a failure.
 */
int repository_refresh_index(struct repository *repository, const struct written_file *files,
			     size_t count);

#endif
