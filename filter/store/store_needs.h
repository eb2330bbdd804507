/* SPDX-License-Identifier: Apache-2.0 */
/** The objects that a repository names, for comparing with what a store has. */
#ifndef FILTER_STORE_NEEDS_H
#define FILTER_STORE_NEEDS_H

#include "core/base/buffer.h"
#include "filter/git/repository.h"

struct store_need {
	struct pointer pointer;
	char *path; /* one of those that it has; "" if none is known */
};

struct store_needs {
	struct buffer list; /* of struct store_need, by oid, each once; use store_needs_at */
	size_t count;
	size_t missing; /* objects of git that could not be looked at: may name some, too */
};

/**
 * Reads what a commit names, or with revision NULL everything that the repository keeps (see
 * repository_each_pointer). Reports and returns -1 on failure; release it in any case.
 */
int store_needs_read(struct store_needs *needs, struct repository *repository,
		     const char *revision);
void store_needs_release(struct store_needs *needs);

const struct store_need *store_needs_at(const struct store_needs *needs, size_t i);

/** NULL if the repository does not name it. */
const struct store_need *store_needs_find(const struct store_needs *needs, const char *oid);

#endif
