/* SPDX-License-Identifier: Apache-2.0 */
/** One way to fail: set the message where the cause is known, return its status. */
#ifndef CORE_BASE_ERROR_H
#define CORE_BASE_ERROR_H

#include "core/brevis.h"

/** Fills *err (which may be NULL) with a status and a printf-formatted line. The formatted text
 * comes out escaped (escape.h): names from hostile files may be formatted as they are. */
void error_fill(struct brevis_error *err, enum brevis_status status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/**
 * error_fill, and the status, so that a failing function ends with `return error_set(err, ...)`. A
 * macro, so that compilers and analyzers see that a function that is left by it has not succeeded;
 * the status is evaluated twice.
 */
#define error_set(err, status, ...) (error_fill(err, status, __VA_ARGS__), error_status(status))

static inline int error_status(enum brevis_status status)
{
	return status;
}

/** error_set for a failed allocation. */
static inline int error_nomem(struct brevis_error *err)
{
	return error_set(err, BREVIS_E_NOMEM, "out of memory");
}

#endif
