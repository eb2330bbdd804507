/* SPDX-License-Identifier: Apache-2.0 */
/** What the repository_proposal*.c files share; nobody else includes it. */
#ifndef FILTER_REPOSITORY_PROPOSAL_H
#define FILTER_REPOSITORY_PROPOSAL_H

#include "filter/git/proposal.h"
#include "filter/git/repository_private.h"

struct proposal {
	struct repository *repository;
	char head[BLOB_HEX_SIZE + 1]; /* the commit it began from */
	struct scratch_file index;    /* its own, beside the repository's */
	struct stat copied;           /* the repository's index, when it was copied */
	struct buffer skipped; /* paths that a sparse checkout leaves out, each ends with NUL */
	struct buffer entries; /* what was put, as for `git update-index --index-info` */
};

/** Runs git with this index (or the repository's own, if NULL), and takes the object's name that it
 * prints. Reports what on failure, and returns -1. */
int proposal_ask_name(const struct proposal *proposal, const char *index, struct git_run run,
		      const char *what, char name[BLOB_HEX_SIZE + 1]);

/** The commit that HEAD is. Reports and returns -1 on failure. */
int proposal_read_head(const struct proposal *proposal, char head[BLOB_HEX_SIZE + 1]);

#endif
