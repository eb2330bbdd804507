/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/error.h"

#include <stdarg.h>
#include <stdio.h>

#include "core/base/escape.h"

void error_fill(struct brevis_error *err, enum brevis_status status, const char *format, ...)
{
	char text[sizeof(err->message)];
	va_list args;

	if (!err)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	err->status = status;
	escape_text(err->message, sizeof(err->message), text);
}
