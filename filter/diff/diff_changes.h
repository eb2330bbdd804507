/* SPDX-License-Identifier: Apache-2.0 */
/** The files that `git diff` finds to be changed. */
#ifndef FILTER_DIFF_CHANGES_H
#define FILTER_DIFF_CHANGES_H

#include <stddef.h>

#include "filter/objects/pointer.h"
#include "filter/git/repository.h"

/** One side: blob is "" if it is what the work tree has. */
struct changed_side {
	const char *path; /* from the top */
	char mode[7];     /* "100644"; "000000": there is no file */
	char blob[BLOB_HEX_SIZE + 1];
};

struct changed_file {
	struct changed_side sides[2]; /* before, after */
	char letter;                  /* as git's: A, D, M, R, C, T, U */
	char score[4];                /* of R and C: how similar they are, in percent */
};

/**
 * Calls each for every file that differs, by what `git diff` with these arguments (ends with NULL)
 * says. Work files whose stat data is not that of the index are among them, whatever they hold: no
 * filter is run. Stops when each returns nonzero and returns that; -1 after reporting a failure.
 */
int diff_each_changed(const char *const *arguments,
		      int (*each)(void *ctx, const struct changed_file *file), void *ctx);

#endif
