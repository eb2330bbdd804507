/* SPDX-License-Identifier: Apache-2.0 */
/** How far a download by git-lfs has come. It does not say; the files that grow do. */
#ifndef FILTER_LFS_PROGRESS_H
#define FILTER_LFS_PROGRESS_H

#include "filter/cli/progress.h"

struct lfs_progress {
	struct progress progress;
	char *dir;        /* where objects grow */
	uint64_t arrived; /* bytes of objects that have come */
	uint64_t counted;
	size_t named; /* objects that have come, and how many are wanted */
	size_t count;
};

/** Begins a download of count objects of so many bytes into a store; name is what is told of them:
 * the path of one, or a word. */
void lfs_progress_begin(struct lfs_progress *progress, const char *lfs_dir, const char *name,
			size_t count, uint64_t bytes);

/** Counts an object that has come. */
void lfs_progress_arrived(struct lfs_progress *progress, uint64_t bytes);

/** Waits until fd can be read and shows meanwhile what comes. is_pending tells whether an oid is
 * one of those that are waited for. */
void lfs_progress_wait(struct lfs_progress *progress, int fd,
		       bool (*is_pending)(void *ctx, const char *oid), void *ctx);

/** Allowed on zeroed memory, and more than once. */
void lfs_progress_end(struct lfs_progress *progress);

#endif
