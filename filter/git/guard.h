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

/** Adds patterns ("PATTERN NUL" each) to the list in the file path, which need not be .lfsconfig,
 * or takes them out, all at once. As guard_add else. */
int guard_change(const char *path, const struct buffer *patterns, bool add, bool *changed);

/** True if such a file keeps git-lfs from anything. */
bool guard_is_there(const char *path);

/** Adds a pattern to the list, or takes it out. *changed is set to true if that changed the file.
 * Reports and returns -1 on failure. */
int guard_add(const struct repository *repository, const char *pattern, bool *changed);
int guard_remove(const struct repository *repository, const char *pattern, bool *changed);

#endif
