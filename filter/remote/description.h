/* SPDX-License-Identifier: Apache-2.0 */
/** The file in a store that says what it is: {"format":"git-brevis store","version":1}. */
#ifndef FILTER_REMOTE_DESCRIPTION_H
#define FILTER_REMOTE_DESCRIPTION_H

#include <stddef.h>

#include "filter/remote/fault.h"

/** More than this describes nothing that we know. */
#define DESCRIPTION_SIZE_MAX ((size_t)64 << 10)

/** That of a store of our version, a line of text. */
extern const char description_text[];

/** Reads one, which may say more than we know, but must not be of a newer version. name is the
 * store's. Returns 0, or -1 with FAULT_UNSUPPORTED, or FAULT_LOCAL if memory is short. */
int description_check(const void *data, size_t len, const char *name, struct fault *fault);

#endif
