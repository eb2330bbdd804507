/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The guard for machines without git-brevis: lfs.fetchexclude in the work tree's .lfsconfig. It
 * keeps a stock git-lfs from writing raw archives over pointers. Our own downloads override it.
 */
#ifndef FILTER_GUARD_H
#define FILTER_GUARD_H

#include <stdbool.h>

#include "core/base/buffer.h"
#include "filter/git/repository.h"

/**
 * The pattern by which git-lfs knows what a pattern of prefix/.gitattributes matches, counted from
 * the top. Caller frees; NULL when memory is short.
 */
char *guard_pattern(const char *prefix, const char *pattern);

/**
 * Adds patterns ("PATTERN NUL" each) to the list in the file path, which need not be .lfsconfig, or
 * takes them out, all at once. *changed is set to true if that changed the file. Reports and
 * returns -1 on failure.
 */
int guard_change(const char *path, const struct buffer *patterns, bool add, bool *changed);

/** True if such a file keeps git-lfs from anything. */
bool guard_is_there(const char *path);

/** The same in the work tree's .lfsconfig, for a pattern of prefix/.gitattributes. */
int guard_set(const struct repository *repository, const char *prefix, const char *pattern,
	      bool add, bool *changed);

#endif
