/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/objects/pointer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A part of the pointer's text. */
struct text {
	const char *at;
	size_t len;
};

static bool text_is(struct text text, const char *word)
{
	return text.len == strlen(word) && memcmp(text.at, word, text.len) == 0;
}

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
	return is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static struct text trim(struct text text)
{
	while (text.len && is_space(text.at[0])) {
		text.at++;
		text.len--;
	}
	while (text.len && is_space(text.at[text.len - 1]))
		text.len--;
	return text;
}

/* Takes the next line off *rest, without its end (LF or CRLF). */
static struct text take_line(struct text *rest)
{
	const char *end = memchr(rest->at, '\n', rest->len);
	struct text line = {rest->at, end ? (size_t)(end - rest->at) : rest->len};
	size_t taken = line.len + (end ? 1 : 0);

	rest->at += taken;
	rest->len -= taken;
	if (line.len && line.at[line.len - 1] == '\r')
		line.len--;
	return line;
}

static bool is_version(struct text value)
{
	return text_is(value, "https://git-lfs.github.com/spec/v1") ||
	       text_is(value, "https://hawser.github.com/spec/v1") ||
	       text_is(value, "http://git-media.io/v/2");
}

static bool parse_oid(struct text value, char oid[OID_HEX_SIZE + 1])
{
	static const char prefix[] = "sha256:";
	const size_t skip = sizeof(prefix) - 1;
	size_t i;

	if (value.len != skip + OID_HEX_SIZE || memcmp(value.at, prefix, skip) != 0)
		return false;
	for (i = 0; i < OID_HEX_SIZE; i++) {
		char c = value.at[skip + i];

		if (!is_digit(c) && !(c >= 'a' && c <= 'f'))
			return false;
		oid[i] = c;
	}
	oid[i] = '\0';
	return true;
}

/* Sizes are signed 64-bit numbers for git-lfs. */
static bool parse_size(struct text value, uint64_t *size)
{
	uint64_t n = 0;
	size_t i = value.len && value.at[0] == '+' ? 1 : 0;

	if (i == value.len)
		return false;
	for (; i < value.len; i++) {
		if (!is_digit(value.at[i]) || n > (uint64_t)INT64_MAX / 10)
			return false;
		n = n * 10 + (uint64_t)(value.at[i] - '0');
		if (n > (uint64_t)INT64_MAX)
			return false;
	}
	*size = n;
	return true;
}

/* Checks an extension line, "ext-N-NAME sha256:HEX". Each N may occur once; *seen has their bits.
 */
static bool parse_extension(struct text key, struct text value, unsigned *seen)
{
	char oid[OID_HEX_SIZE + 1];
	unsigned bit;

	if (key.len < 7 || memcmp(key.at, "ext-", 4) != 0 || !is_digit(key.at[4]) ||
	    key.at[5] != '-' || !is_word(key.at[6]))
		return false;
	bit = 1u << (key.at[4] - '0');
	if (*seen & bit)
		return false;
	*seen |= bit;
	return parse_oid(value, oid);
}

bool pointer_parse(const void *data, size_t len, struct pointer *out)
{
	static const char *const keys[] = {"version", "oid", "size"};
	struct text rest = {data, len};
	struct pointer pointer = {.size = 0};
	unsigned extensions = 0;
	unsigned found = 0;

	if (len >= POINTER_SIZE_LIMIT)
		return false;
	for (rest = trim(rest); rest.len;) {
		struct text line = take_line(&rest);
		const char *space = line.len ? memchr(line.at, ' ', line.len) : NULL;
		struct text key, value;

		if (!line.len)
			continue;
		if (!space || found == 3)
			return false;
		key = (struct text){line.at, (size_t)(space - line.at)};
		value = (struct text){space + 1, line.len - key.len - 1};
		if (!text_is(key, keys[found])) {
			if (!parse_extension(key, value, &extensions))
				return false;
			continue;
		}
		if ((found == 0 && !is_version(value)) ||
		    (found == 1 && !parse_oid(value, pointer.oid)) ||
		    (found == 2 && !parse_size(value, &pointer.size)))
			return false;
		found++;
	}
	if (found == 3 && out)
		*out = pointer;
	return found == 3;
}

size_t pointer_format(const struct pointer *pointer, char text[POINTER_TEXT_SIZE])
{
	return (size_t)snprintf(text, POINTER_TEXT_SIZE,
				"version https://git-lfs.github.com/spec/v1\n"
				"oid sha256:%s\n"
				"size %" PRIu64 "\n",
				pointer->oid, pointer->size);
}

bool pointer_equal(const struct pointer *a, const struct pointer *b)
{
	return a->size == b->size && strcmp(a->oid, b->oid) == 0;
}

void pointer_set_oid(struct pointer *pointer, const uint8_t sha256[BREVIS_SHA256_SIZE])
{
	digest_to_hex(sha256, pointer->oid);
}

void digest_to_hex(const uint8_t sha256[BREVIS_SHA256_SIZE], char hex[OID_HEX_SIZE + 1])
{
	static const char digits[] = "0123456789abcdef";
	size_t i;

	for (i = 0; i < BREVIS_SHA256_SIZE; i++) {
		hex[2 * i] = digits[sha256[i] >> 4];
		hex[2 * i + 1] = digits[sha256[i] & 15];
	}
	hex[2 * i] = '\0';
}
