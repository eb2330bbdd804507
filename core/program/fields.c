/* SPDX-License-Identifier: Apache-2.0 */
#include "core/program/fields.h"

#include "core/base/bits.h"
#include "core/entropy/literal.h"

/*
 * One loop for each pair of word types, so that the compiler vectorises it. W is the type of the
 * words, F that of the fields, never wider than W.
 */
#define DEFINE_PAIR(W, F)                                                                          \
	static void insert_##W##_##F(W *words, const F *fields, unsigned shift, bool first,        \
				     size_t count)                                                 \
	{                                                                                          \
		size_t i;                                                                          \
                                                                                                   \
		if (first)                                                                         \
			for (i = 0; i < count; i++)                                                \
				words[i] = (W)((W)fields[i] << shift);                             \
		else                                                                               \
			for (i = 0; i < count; i++)                                                \
				words[i] = (W)(words[i] | (W)((W)fields[i] << shift));             \
	}                                                                                          \
                                                                                                   \
	static void extract_##W##_##F(const W *words, F *fields, unsigned shift, W mask,           \
				      size_t count)                                                \
	{                                                                                          \
		size_t i;                                                                          \
                                                                                                   \
		for (i = 0; i < count; i++)                                                        \
			fields[i] = (F)((words[i] >> shift) & mask);                               \
	}

DEFINE_PAIR(uint8_t, uint8_t)
DEFINE_PAIR(uint16_t, uint8_t)
DEFINE_PAIR(uint16_t, uint16_t)
DEFINE_PAIR(uint32_t, uint8_t)
DEFINE_PAIR(uint32_t, uint16_t)
DEFINE_PAIR(uint32_t, uint32_t)
DEFINE_PAIR(uint64_t, uint8_t)
DEFINE_PAIR(uint64_t, uint16_t)
DEFINE_PAIR(uint64_t, uint32_t)
DEFINE_PAIR(uint64_t, uint64_t)

/* A case of the dispatch below: sizes in bytes, types by their bits. */
#define PAIR(wbytes, fbytes) ((wbytes)*16 + (fbytes))

void fields_insert(void *words, unsigned width, const void *fields, unsigned field_width,
		   unsigned shift, bool first, size_t count)
{
	switch (PAIR(word_bytes(width), word_bytes(field_width))) {
	case PAIR(1, 1):
		insert_uint8_t_uint8_t(words, fields, shift, first, count);
		break;
	case PAIR(2, 1):
		insert_uint16_t_uint8_t(words, fields, shift, first, count);
		break;
	case PAIR(2, 2):
		insert_uint16_t_uint16_t(words, fields, shift, first, count);
		break;
	case PAIR(4, 1):
		insert_uint32_t_uint8_t(words, fields, shift, first, count);
		break;
	case PAIR(4, 2):
		insert_uint32_t_uint16_t(words, fields, shift, first, count);
		break;
	case PAIR(4, 4):
		insert_uint32_t_uint32_t(words, fields, shift, first, count);
		break;
	case PAIR(8, 1):
		insert_uint64_t_uint8_t(words, fields, shift, first, count);
		break;
	case PAIR(8, 2):
		insert_uint64_t_uint16_t(words, fields, shift, first, count);
		break;
	case PAIR(8, 4):
		insert_uint64_t_uint32_t(words, fields, shift, first, count);
		break;
	case PAIR(8, 8):
		insert_uint64_t_uint64_t(words, fields, shift, first, count);
		break;
	}
}

void fields_extract(const void *words, unsigned width, void *fields, unsigned field_width,
		    unsigned shift, size_t count)
{
	uint64_t mask = low_bits(field_width);

	switch (PAIR(word_bytes(width), word_bytes(field_width))) {
	case PAIR(1, 1):
		extract_uint8_t_uint8_t(words, fields, shift, (uint8_t)mask, count);
		break;
	case PAIR(2, 1):
		extract_uint16_t_uint8_t(words, fields, shift, (uint16_t)mask, count);
		break;
	case PAIR(2, 2):
		extract_uint16_t_uint16_t(words, fields, shift, (uint16_t)mask, count);
		break;
	case PAIR(4, 1):
		extract_uint32_t_uint8_t(words, fields, shift, (uint32_t)mask, count);
		break;
	case PAIR(4, 2):
		extract_uint32_t_uint16_t(words, fields, shift, (uint32_t)mask, count);
		break;
	case PAIR(4, 4):
		extract_uint32_t_uint32_t(words, fields, shift, (uint32_t)mask, count);
		break;
	case PAIR(8, 1):
		extract_uint64_t_uint8_t(words, fields, shift, mask, count);
		break;
	case PAIR(8, 2):
		extract_uint64_t_uint16_t(words, fields, shift, mask, count);
		break;
	case PAIR(8, 4):
		extract_uint64_t_uint32_t(words, fields, shift, mask, count);
		break;
	case PAIR(8, 8):
		extract_uint64_t_uint64_t(words, fields, shift, mask, count);
		break;
	}
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
