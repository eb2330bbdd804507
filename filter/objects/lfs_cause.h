/* SPDX-License-Identifier: Apache-2.0 */
/** Why git-lfs could not bring an object, out of what it wrote on stderr. */
#ifndef FILTER_LFS_CAUSE_H
#define FILTER_LFS_CAUSE_H

#include <stdbool.h>
#include <stddef.h>

/**
 * Writes the cause to out, in one line of at most size - 1 bytes. text is what git-lfs wrote since
 * the object of this oid was asked for; it is changed. Where nothing is said about the object, the
 * first line that says anything is the cause. Returns true if the cause concerns the remote as a
 * whole, and so every object.
 */
bool lfs_cause(char *text, const char *oid, char *out, size_t size);

/** True if a cause that lfs_cause found explains nothing, or is of this machine and not in words of
 * ours. */
bool lfs_cause_is_dark(const char *cause);

/** What a user can do about a cause that lfs_cause found, as the end of its line. */
const char *lfs_remedy(const char *cause);

#endif
