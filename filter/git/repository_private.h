/* SPDX-License-Identifier: Apache-2.0 */
/** What the repository_*.c files share; nobody else includes it. */
#ifndef FILTER_REPOSITORY_PRIVATE_H
#define FILTER_REPOSITORY_PRIVATE_H

#include <git2.h>

#include "core/base/buffer.h"
#include "filter/git/git_run.h"
#include "filter/git/repository.h"
#include "filter/git/scratch_file.h"

struct repository {
	char *git_dir;
	char *common_dir;
	char *work_tree; /* NULL in a bare repository */
	char *index_path;
	char *objects_dir;
	char *lfs_dir;

	git_repository *git;  /* its objects, opened when first needed */
	struct buffer config; /* what `git config --list -z` said */
	bool config_loaded;
	struct buffer lfsconfig; /* the same of .lfsconfig */
	bool lfsconfig_loaded;

	git_oid head_tree;
	bool has_head_tree;
	bool head_asked;

	git_index *index; /* for path lookups; NULL until then or where libgit2 cannot read it */
	bool index_refused;
};

/** libgit2's view of the repository's objects, opened once. It knows no refs, no configuration and
 * no work tree. Reports and returns NULL if it refuses. */
git_repository *repository_libgit2(struct repository *repository);

/** The text of libgit2's last error, for messages. */
const char *libgit2_reason(void);

/**
 * Runs git on this repository from the top of its work tree (its git directory if it is bare),
 * whatever our own directory. index is the index file to use, NULL for the repository's own.
 */
int repository_git(const struct repository *repository, const char *index, struct git_run run);

/** The same, its stderr taken: a failure is reported in one line, "WHAT: GIT'S REASON", and is -1.
 */
int repository_git_reported(const struct repository *repository, const char *index,
			    struct git_run run, const char *what);

/**
 * Fills in what is known of a file by looking at its blob: .blob_missing, .blob_size, .is_pointer,
 * .is_canonical, .pointer. An object that is no blob counts as missing.
 */
void repository_look_at_blob(git_odb *odb, const git_oid *oid, struct tracked_file *file);

/**
 * Makes an index that holds the tree of a revision, as if it were checked out. Reports and returns
 * -1 on failure.
 */
int scratch_index_make(const struct repository *repository, const char *revision,
		       struct scratch_file *out);

/** A file found in an index; its path is in file_list.paths. */
struct found_file {
	char blob[BLOB_HEX_SIZE + 1];
	bool executable;
	bool skip_worktree;
};

/** Regular files, in git's order. */
struct file_list {
	struct buffer paths; /* each ends with NUL, one after the other */
	struct buffer files; /* of struct found_file, in the same order */
};

/** Lists with index (or the repository's own, if NULL) the regular files that the pathspecs select;
 * conflicted ones are left out. Reports and returns -1 on failure. */
int repository_list_files(const struct repository *repository, const char *index,
			  const char *const *pathspecs, size_t count, struct file_list *list);
size_t file_list_count(const struct file_list *list);
void file_list_release(struct file_list *list);

/**
 * `git rev-list` cuts a path at its first line feed. Gives those of a list, which commits that it
 * lists with these arguments bring, their whole names. Reports and returns -1 on failure.
 */
int repository_complete_names(const struct repository *repository, const char *const *arguments,
			      struct file_list *list);

/** Copies a file with its permissions, replacing what is there. Returns -1 with errno set. */
int repository_copy_file(const char *from, const char *to);

/** What the attributes of a path say. */
struct path_attributes {
	bool filtered;    /* filter=brevis, and no file that is left alone */
	bool is_lfs;      /* filter=lfs */
	bool diff_hidden; /* as in struct tracked_file */
};

/**
 * Asks git for the attributes of paths (relative to the top, each ends with NUL, one after the
 * other). With an index given they come from that index alone, else from the work tree and the
 * repository's index. (git 2.39 has no `check-attr --source`.) answers[i] is that for path number
 * i. Reports and returns -1 on failure.
 */
int repository_ask_attributes(const struct repository *repository, const char *index,
			      const struct buffer *paths, struct path_attributes *answers,
			      size_t count);

#endif
