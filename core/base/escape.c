/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/escape.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Length of the UTF-8 character at text and its code point; 0 if there is none (RFC 3629). */
static size_t decode(const unsigned char *text, uint32_t *code)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t len = text[0] < 0x80             ? 1
		     : (text[0] & 0xe0) == 0xc0 ? 2
		     : (text[0] & 0xf0) == 0xe0 ? 3
		     : (text[0] & 0xf8) == 0xf0 ? 4
						: 0;
	size_t i;

	if (len <= 1) {
		*code = text[0];
		return len;
	}
	*code = text[0] & (0x7fu >> len);
	for (i = 1; i < len; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (text[i] & 0x3f);
	}
	if (*code < least[len] || *code > 0x10ffff || (*code >= 0xd800 && *code <= 0xdfff))
		return 0;
	return len;
}

static bool is_control(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x061c || code == 0x200e ||
	       code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
	       (code >= 0x2066 && code <= 0x2069);
}

size_t escape_text(char *out, size_t size, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t used = 0;

	while (*at) {
		uint32_t code;
		size_t len = decode(at, &code);
		bool escaped = !len || is_control(code);
		size_t i;

		if (!len)
			len = 1;
		if (used + (escaped ? ESCAPE_GROWTH * len : len) >= size)
			break;
		if (!escaped)
			memcpy(out + used, at, len);
		for (i = 0; escaped && i < len; i++)
			snprintf(out + used + ESCAPE_GROWTH * i, ESCAPE_GROWTH + 1, "\\x%02x",
				 at[i]);
		used += escaped ? ESCAPE_GROWTH * len : len;
		at += len;
	}
	out[used] = '\0';
	return used;
}
