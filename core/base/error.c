/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Copies text to message, control characters as \xNN, cut where the message is full. */
static void escape(char *message, size_t size, const char *text)
{
	size_t used = 0;

	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;
		int control = c < 0x20 || c == 0x7f;

		if (used + (control ? 4 : 1) >= size)
			break;
		if (control)
			used += (size_t)snprintf(message + used, size - used, "\\x%02x", c);
		else
			message[used++] = (char)c;
	}
	message[used] = '\0';
}

int error_set(struct brevis_error *err, enum brevis_status status, const char *format, ...)
{
	char text[sizeof(err->message)];
	va_list args;

	if (!err)
		return status;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	err->status = status;
	escape(err->message, sizeof(err->message), text);
	return status;
}

int error_nomem(struct brevis_error *err)
{
	return error_set(err, BREVIS_E_NOMEM, "out of memory");
}
