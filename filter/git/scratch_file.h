/* SPDX-License-Identifier: Apache-2.0 */
/** A private file that git writes for us: an index, or a copy of a configuration. */
#ifndef FILTER_SCRATCH_FILE_H
#define FILTER_SCRATCH_FILE_H

#include "filter/git/repository.h"

struct scratch_file {
	char *path;
	char *lock; /* by which git writes it */
	int guards[2];
};

/** One that is not there; scratch_file_remove may be called. */
#define SCRATCH_FILE_NONE ((struct scratch_file){.path = NULL})

/**
 * Names one that does not exist yet: among git-lfs's temporary files, or where nobody lets us write
 * there, where temporary files go. An interrupt removes it. Reports and returns -1 on failure.
 */
int scratch_file_name(const struct repository *repository, struct scratch_file *out);

/** Removes it, if it is there, and the lock of a git that crashed. */
void scratch_file_remove(struct scratch_file *scratch);

#endif
