/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/remote/fault.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/escape.h"

/* Puts a text into its place, escaped. */
static void put(char out[FAULT_TEXT_SIZE], const char *text)
{
	escape_text(out, FAULT_TEXT_SIZE, text);
}

static void describe(struct fault *fault, enum fault_kind kind, const char *remedy,
		     const char *cause)
{
	fault->kind = kind;
	fault->retry_after_ms = 0;
	put(fault->cause, cause);
	put(fault->remedy, remedy ? remedy : "");
}

void fault_fill(struct fault *fault, enum fault_kind kind, const char *remedy, const char *cause,
		...)
{
	char text[FAULT_TEXT_SIZE];
	va_list args;

	va_start(args, cause);
	vsnprintf(text, sizeof(text), cause, args);
	va_end(args);
	describe(fault, kind, remedy, text);
}

void fault_fill_errno(struct fault *fault, int error, const char *cause, ...)
{
	char what[FAULT_TEXT_SIZE / 2];
	char text[FAULT_TEXT_SIZE];
	enum fault_kind kind = FAULT_LOCAL;
	const char *remedy = NULL;
	va_list args;

	va_start(args, cause);
	vsnprintf(what, sizeof(what), cause, args);
	va_end(args);
	switch (error) {
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
		kind = FAULT_NO_SPACE;
		remedy = "make room there and try again";
		break;
	case EROFS:
	case EACCES:
	case EPERM:
		kind = FAULT_READ_ONLY;
		remedy = "make it a place that this user can write to";
		break;
	case ESTALE:
	case EIO:
	case ETIMEDOUT:
		kind = FAULT_TRANSIENT;
		break;
	default:
		break;
	}
	snprintf(text, sizeof(text), "%s: %s", what, strerror(error));
	describe(fault, kind, remedy, text);
}
