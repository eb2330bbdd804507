/* SPDX-License-Identifier: Apache-2.0 */
#include "core/program/fields.h"

#include <string.h>

#include "core/base/bits.h"
#include "core/entropy/words.h"
#include "core/program/dispatch.h"

/* Of more codes than one in so many that are escaped each is looked at. */
#define MANY 32

/* Codes that are counted together: no type of theirs is too narrow to count so many. */
#define PART_CODES 128

/* How many of at most PART_CODES codes are this one: loops that compilers vectorise. */
#define DEFINE_COUNT(F)                                                                            \
	static F count_part_##F(const F *codes, F code, size_t count)                              \
	{                                                                                          \
		F found = 0;                                                                       \
		size_t i;                                                                          \
                                                                                                   \
		for (i = 0; i < count; i++)                                                        \
			found = (F)(found + (codes[i] == code));                                   \
		return found;                                                                      \
	}                                                                                          \
                                                                                                   \
	static size_t count_##F(const F *codes, F code, size_t count)                              \
	{                                                                                          \
		size_t found = 0;                                                                  \
                                                                                                   \
		for (; count > PART_CODES; count -= PART_CODES, codes += PART_CODES)               \
			found += count_part_##F(codes, code, PART_CODES);                          \
		return found + count_part_##F(codes, code, count);                                 \
	}

FOR_EACH_WORD(DEFINE_COUNT)

/* W is the type of the words, F that of the fields, never wider than W. */
#define DEFINE_FIELDS(W, F)                                                                        \
	static void insert_##W##_##F(W *words, const F *fields, unsigned shift, bool first,        \
				     size_t count)                                                 \
	{                                                                                          \
		/* Compilers multiply in vectors of W; they shift in wider ones. */                \
		W place = (W)((W)1 << shift);                                                      \
		size_t i;                                                                          \
                                                                                                   \
		if (first)                                                                         \
			for (i = 0; i < count; i++)                                                \
				words[i] = (W)(fields[i] * place);                                 \
		else                                                                               \
			for (i = 0; i < count; i++)                                                \
				words[i] = (W)(words[i] | (W)(fields[i] * place));                 \
	}                                                                                          \
                                                                                                   \
	static void extract_##W##_##F(const W *words, F *fields, unsigned shift, W mask,           \
				      size_t count)                                                \
	{                                                                                          \
		size_t i;                                                                          \
                                                                                                   \
		for (i = 0; i < count; i++)                                                        \
			fields[i] = (F)((words[i] >> shift) & mask);                               \
	}                                                                                          \
                                                                                                   \
	static void pack_##W##_##F(W *words, const F *fields, unsigned k, unsigned bits,           \
				   size_t count)                                                   \
	{                                                                                          \
		size_t i;                                                                          \
		unsigned j;                                                                        \
                                                                                                   \
		if (k == 2) {                                                                      \
			for (i = 0; i < count; i++)                                                \
				words[i] = (W)(fields[2 * i] | (W)((W)fields[2 * i + 1] << bits)); \
			return;                                                                    \
		}                                                                                  \
		for (i = 0; i < count; i++, fields += k) {                                         \
			W word = 0;                                                                \
                                                                                                   \
			for (j = 0; j < k; j++)                                                    \
				word = (W)(word | (W)((W)fields[j] << j * bits));                  \
			words[i] = word;                                                           \
		}                                                                                  \
	}                                                                                          \
                                                                                                   \
	static void unpack_##W##_##F(const W *words, F *fields, unsigned k, unsigned bits,         \
				     size_t count)                                                 \
	{                                                                                          \
		W mask = (W)low_bits(bits);                                                        \
		size_t i;                                                                          \
		unsigned j;                                                                        \
                                                                                                   \
		for (i = 0; i < count; i++, fields += k)                                           \
			for (j = 0; j < k; j++)                                                    \
				fields[j] = (F)(words[i] >> j * bits & mask);                      \
	}                                                                                          \
                                                                                                   \
	static void from_codes_##W##_##F(W *words, const F *codes, W base, size_t count)           \
	{                                                                                          \
		size_t i;                                                                          \
                                                                                                   \
		for (i = 0; i < count; i++)                                                        \
			words[i] = (W)(base + codes[i]);                                           \
	}                                                                                          \
                                                                                                   \
	static void escape_##W##_##F(W *words, const F *codes, F largest, const W *escaped,        \
				     size_t count)                                                 \
	{                                                                                          \
		size_t i;                                                                          \
                                                                                                   \
		for (i = 0; i < count; i++)                                                        \
			if (codes[i] == largest)                                                   \
				words[i] = *escaped++;                                             \
	}

FOR_EACH_PAIR(DEFINE_FIELDS)

/* Eight bytes at a time: no field reaches into the next byte. Returns the words done. */
static size_t insert_bytes(uint8_t *words, const uint8_t *fields, unsigned shift, bool first,
			   size_t count)
{
	size_t i;

	for (i = 0; i + 8 <= count; i += 8) {
		uint64_t before, field;

		memcpy(&before, words + i, 8);
		memcpy(&field, fields + i, 8);
		field = (first ? 0 : before) | field << shift;
		memcpy(words + i, &field, 8);
	}
	return i;
}

void fields_insert(void *words, unsigned width, const void *fields, unsigned field_width,
		   unsigned shift, bool first, size_t count)
{
	if (width <= 8) {
		size_t done = insert_bytes(words, fields, shift, first, count);

		insert_uint8_t_uint8_t((uint8_t *)words + done, (const uint8_t *)fields + done,
				       shift, first, count - done);
		return;
	}
#define CALL(W, F) insert_##W##_##F(words, fields, shift, first, count)
	DISPATCH_PAIR(width, field_width, CALL)
#undef CALL
}

void fields_extract(const void *words, unsigned width, void *fields, unsigned field_width,
		    unsigned shift, size_t count)
{
#define CALL(W, F) extract_##W##_##F(words, fields, shift, (W)low_bits(field_width), count)
	DISPATCH_PAIR(width, field_width, CALL)
#undef CALL
}

void fields_pack(void *words, unsigned width, const void *fields, unsigned k, size_t count)
{
#define CALL(W, F) pack_##W##_##F(words, fields, k, width / k, count)
	DISPATCH_PAIR(width, width / k, CALL)
#undef CALL
}

void fields_unpack(const void *words, unsigned width, void *fields, unsigned k, size_t count){
#define CALL(W, F) unpack_##W##_##F(words, fields, k, width / k, count)
	DISPATCH_PAIR(width, width / k, CALL)
#undef CALL
}

size_t fields_from_codes(void *words, unsigned width, const void *codes, unsigned code_width,
			 uint64_t base, size_t count)
{
	size_t escaped = 0;

	if (words != codes) {
#define CALL(W, F) from_codes_##W##_##F(words, codes, (W)base, count)
		DISPATCH_PAIR(width, code_width, CALL)
#undef CALL
	}
#define CALL(F) escaped = count_##F(codes, (F)low_bits(code_width), count)
	DISPATCH_WORD(code_width, CALL)
#undef CALL
	return escaped;
}

/* The same of n codes, few of many that are bytes. */
static void escape_few(void *words, unsigned size, const uint8_t *codes, uint8_t largest,
		       const void *escaped, size_t n, size_t count)
{
	size_t place = 0, i;

	for (i = 0; i < n; i++, place++) {
		const uint8_t *at = memchr(codes + place, largest, count - place);

		place = (size_t)(at - codes);
		word_set(words, size, place, word_get(escaped, size, i));
	}
}

void fields_escape(void *words, unsigned width, const void *codes, unsigned code_width,
		   const void *escaped, size_t n, size_t count)
{
	if (code_width <= 8 && n <= count / MANY) {
		escape_few(words, word_bytes(width), codes, (uint8_t)low_bits(code_width), escaped,
			   n, count);
		return;
	}
#define CALL(W, F) escape_##W##_##F(words, codes, (F)low_bits(code_width), escaped, count)
	DISPATCH_PAIR(width, code_width, CALL)
#undef CALL
}

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
void fields_to_bytes(void *words, unsigned width, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++) {
		if (width == 16)
			((uint16_t *)words)[i] = __builtin_bswap16(((uint16_t *)words)[i]);
		else if (width == 32)
			((uint32_t *)words)[i] = __builtin_bswap32(((uint32_t *)words)[i]);
		else if (width == 64)
			((uint64_t *)words)[i] = __builtin_bswap64(((uint64_t *)words)[i]);
	}
}
#else
void fields_to_bytes(void *words, unsigned width, size_t count)
{
	(void)words;
	(void)width;
	(void)count;
}
#endif
