/* SPDX-License-Identifier: Apache-2.0 */
#include "core/safetensors/header_text.h"

static const char bad_json[] = "header is not valid JSON";
static const char bad_utf8[] = "header is not valid UTF-8";

static bool is_space(uint8_t c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static const char *step_outside(struct header_text *t, uint8_t c)
{
	if (c >= 0x80 || (c < 0x20 && !is_space(c)))
		return bad_json;
	switch (c) {
	case '"':
		t->state = HEADER_TEXT_STRING;
		t->string_size = 0;
		break;
	case '{':
	case '[':
		if (++t->depth > HEADER_TEXT_DEPTH_MAX)
			return "header is nested too deeply";
		break;
	case '}':
	case ']':
		if (--t->depth == 0)
			t->state = HEADER_TEXT_END;
		break;
	case ',':
	case ':':
	case ' ':
	case '\n':
	case '\t':
	case '\r':
		break;
	default:
		if (++t->token_size > HEADER_TEXT_TOKEN_MAX)
			return "header holds a number that is too long";
		return NULL;
	}
	t->token_size = 0;
	return NULL;
}

/* The first byte of a code point beyond ASCII says how many follow and bounds the second. */
static const char *start_sequence(struct header_text *t, uint8_t c)
{
	if (c < 0xc2 || c > 0xf4)
		return bad_utf8;
	t->tail_left = c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
	t->tail_low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
	t->tail_high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
	return NULL;
}

static const char *step_string(struct header_text *t, uint8_t c)
{
	t->string_size++;
	if (t->tail_left) {
		if (c < t->tail_low || c > t->tail_high)
			return bad_utf8;
		t->tail_left--;
		t->tail_low = 0x80;
		t->tail_high = 0xbf;
		return NULL;
	}
	if (c == '\\') {
		t->state = HEADER_TEXT_ESCAPE;
		return NULL;
	}
	if (c < 0x20 || t->paired)
		return bad_json;
	if (c == '"')
		t->state = HEADER_TEXT_OUTSIDE;
	else if (c >= 0x80)
		return start_sequence(t, c);
	return NULL;
}

static const char *step_escape(struct header_text *t, uint8_t c)
{
	t->string_size++;
	t->state = HEADER_TEXT_STRING;
	switch (c) {
	case 'u':
		t->state = HEADER_TEXT_HEX;
		t->hex_left = 4;
		t->code = 0;
		return NULL;
	case '"':
	case '\\':
	case '/':
	case 'b':
	case 'f':
	case 'n':
	case 'r':
	case 't':
		return t->paired ? bad_json : NULL;
	default:
		return bad_json;
	}
}

static const char *step_hex(struct header_text *t, uint8_t c)
{
	uint8_t lower = c | 0x20;
	bool trailing;

	t->string_size++;
	if (c >= '0' && c <= '9')
		t->code = t->code << 4 | (uint32_t)(c - '0');
	else if (lower >= 'a' && lower <= 'f')
		t->code = t->code << 4 | (uint32_t)(lower - 'a' + 10);
	else
		return bad_json;
	if (--t->hex_left)
		return NULL;
	trailing = t->code >= 0xdc00 && t->code <= 0xdfff;
	if (trailing != t->paired)
		return bad_json;
	t->paired = t->code >= 0xd800 && t->code <= 0xdbff;
	t->state = HEADER_TEXT_STRING;
	return NULL;
}

static const char *step(struct header_text *t, uint8_t c)
{
	switch (t->state) {
	case HEADER_TEXT_START:
		if (c != '{')
			return "header does not start with '{'";
		t->state = HEADER_TEXT_OUTSIDE;
		return step_outside(t, c);
	case HEADER_TEXT_OUTSIDE:
		return step_outside(t, c);
	case HEADER_TEXT_STRING:
		return step_string(t, c);
	case HEADER_TEXT_ESCAPE:
		return step_escape(t, c);
	case HEADER_TEXT_HEX:
		return step_hex(t, c);
	case HEADER_TEXT_END:
		break;
	}
	return is_space(c) ? NULL : "header goes on after its JSON object";
}

/* Drops bytes up to the closing quote, which becomes a part of its own; or passes all of them. */
static const char *skip_string(struct header_text *t, const uint8_t *data, size_t len,
			       struct header_part *part)
{
	const char *broken = NULL;
	size_t i;

	for (i = 0; i < len && !broken && t->skipping; i++) {
		broken = step(t, data[i]);
		/* All that counts is that it stays beyond the limit: it must not wrap around. */
		t->string_size = HEADER_TEXT_STRING_MAX;
		t->skipping = t->state != HEADER_TEXT_OUTSIDE;
	}
	t->cut = !t->skipping;
	*part = t->keep_whole ? (struct header_part){0, i}
			      : (struct header_part){t->cut ? i - 1 : i, t->cut ? 1 : 0};
	return broken;
}

const char *header_text_scan(struct header_text *t, const uint8_t *data, size_t len,
			     struct header_part *part)
{
	const char *broken = NULL;
	size_t i;

	if (t->skipping)
		return skip_string(t, data, len, part);
	t->cut = false;
	for (i = 0; i < len && !broken && !t->skipping; i++) {
		broken = step(t, data[i]);
		/* Cuts between characters only, so that what is kept is well-formed by itself. */
		t->skipping = t->state == HEADER_TEXT_STRING && t->tail_left == 0 && !t->paired &&
			      t->string_size >= HEADER_TEXT_STRING_MAX;
	}
	*part = (struct header_part){0, i};
	return broken;
}
