/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A scanner that stands before the JSON library and holds what the library does not:
 *  - UTF-8 without overlong forms, surrogates, or code points beyond U+10FFFF;
 *  - surrogate escapes only in pairs;
 *  - only the four kinds of white space that JSON knows;
 *  - one object, from the first byte on, with nothing but white space after it;
 *  - bounded nesting, and bounded tokens: the library collects a token that comes in parts, and
 *    rereads it from its start for every part. Of a longer string it sees only the beginning,
 *    unless strings are kept whole: then whoever feeds it sees to it that parts are few.
 * It does not check JSON's grammar.
 */
#ifndef CORE_SAFETENSORS_HEADER_TEXT_H
#define CORE_SAFETENSORS_HEADER_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Deepest nesting, that of the reference implementation's JSON library. */
#define HEADER_TEXT_DEPTH_MAX 127

/** Bytes of a string, with escapes unresolved, that are passed on. */
#define HEADER_TEXT_STRING_MAX 65536

/** Longest number, and longest anything else outside strings. */
#define HEADER_TEXT_TOKEN_MAX 4096

enum header_text_state {
	HEADER_TEXT_START,
	HEADER_TEXT_OUTSIDE, /* inside the object, outside strings */
	HEADER_TEXT_STRING,
	HEADER_TEXT_ESCAPE, /* after the backslash */
	HEADER_TEXT_HEX,    /* within the four digits */
	HEADER_TEXT_END     /* after the object */
};

/** Starts as all zeros. */
struct header_text {
	bool keep_whole; /* for the caller to set: long strings are passed on, too */
	enum header_text_state state;
	unsigned depth;
	unsigned token_size;
	unsigned string_size;
	bool skipping; /* the rest of a string that is too long */
	bool cut;      /* the string that ends in the last part is a long one */

	unsigned hex_left;
	uint32_t code;
	bool paired; /* a leading surrogate waits for its other half */

	unsigned tail_left; /* continuation bytes that are due, the next in [low, high] */
	uint8_t tail_low;
	uint8_t tail_high;
};

/** Bytes to drop, and after them bytes to parse. */
struct header_part {
	size_t skip;
	size_t pass;
};

/**
 * Scans until all len bytes are taken or a string turns out too long or ends that was. Returns
 * NULL, or the rule that is broken. Call it again with what follows the part.
 */
const char *header_text_scan(struct header_text *text, const uint8_t *data, size_t len,
			     struct header_part *part);

static inline bool header_text_complete(const struct header_text *text)
{
	return text->state == HEADER_TEXT_END;
}

#endif
