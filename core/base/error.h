/* SPDX-License-Identifier: Apache-2.0 */
/** One way to fail: set the message where the cause is known, return its status. */
#ifndef CORE_BASE_ERROR_H
#define CORE_BASE_ERROR_H

#include "core/brevis.h"

/**
 * Fills *err (which may be NULL) with a status and a printf-formatted line, and returns the status,
 * so that a failing function ends with `return error_set(err, ...)`. The formatted text comes out
 * escaped (escape.h): names from hostile files may be formatted as they are.
 */
int error_set(struct brevis_error *err, enum brevis_status status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/** error_set for a failed allocation. Here, so that analyzers see that it never succeeds. */
static inline int error_nomem(struct brevis_error *err)
{
	error_set(err, BREVIS_E_NOMEM, "out of memory");
	return BREVIS_E_NOMEM;
}

#endif
