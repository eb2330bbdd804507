/* SPDX-License-Identifier: Apache-2.0 */
#include "core/entropy/packed.h"

#include "core/base/bits.h"
#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/entropy/words.h"
#include "core/kernels/kernels.h"

#include <string.h>

bool packed_size(size_t count, unsigned bits, uint64_t *bytes)
{
	uint64_t total;

	if (!checked_mul(count, bits, &total))
		return false;
	*bytes = total / 8 + (total % 8 != 0);
	return true;
}

/* Loads 8 bytes, with zeros for those past the end. */
static uint64_t load_tail(const uint8_t *at, const uint8_t *end)
{
	uint8_t raw[8] = {0};
	size_t left = at < end ? (size_t)(end - at) : 0;

	if (left)
		memcpy(raw, at, left < 8 ? left : 8);
	return load_le64(raw);
}

/* The field of `bits` bits at bit `position`, which lies in [data, end). */
static uint64_t field_at(const uint8_t *data, const uint8_t *end, uint64_t position, unsigned bits)
{
	const uint8_t *at = data + position / 8;
	unsigned shift = position % 8;
	uint64_t v = load_tail(at, end) >> shift;

	if (shift + bits > 64)
		v |= (uint64_t)at[8] << (64 - shift);
	return v & low_bits(bits);
}

ALWAYS_INLINE void unpack(const struct literal *literal, size_t first, void *words, unsigned size,
			  size_t count)
{
	const uint8_t *data = literal->payload.at;
	const uint8_t *end = literal->payload.end;
	unsigned bits = literal->bits;
	uint64_t mask = low_bits(bits);
	uint64_t position = (uint64_t)first * bits;
	size_t i = 0;

	/* One load yields any field of up to 57 bits. */
	for (; bits <= 57 && i < count && end - (data + position / 8) >= 8; i++, position += bits)
		word_set(words, size, i, load_le64(data + position / 8) >> position % 8 & mask);
	for (; i < count; i++, position += bits)
		word_set(words, size, i, field_at(data, end, position, bits));
}

ALWAYS_INLINE bool add_base(void *words, unsigned size, size_t count, uint64_t base,
			    uint64_t highest)
{
	uint64_t wide = 0;
	size_t i;

	for (i = 0; i < count; i++) {
		uint64_t v = word_get(words, size, i);

		/* highest >= base, so the comparison cannot overflow where a sum could. */
		wide |= v > highest - base;
		word_set(words, size, i, v + base);
	}
	return !wide;
}

/*
 * Unpacks words from a group of eight on with kernels, as far as they may read. Returns the words
 * done, whole groups.
 */
static size_t unpack_groups(const struct literal *literal, size_t first, void *words, size_t count)
{
	size_t bits = literal->bits;
	const uint8_t *at = literal->payload.at + first / 8 * bits;
	size_t left = (size_t)(literal->payload.end - at);
	bool bytes = word_bytes(literal->width) == 1;
	size_t slack = bytes ? 8 - bits : KERNEL_PACKED_SLACK;
	size_t groups = left < slack ? 0 : (left - slack) / bits;

	if (groups > count / 8)
		groups = count / 8;
	if (bytes)
		kernels()->unpack8(words, at, (unsigned)bits, groups);
	else
		kernels()->unpack32(words, at, (unsigned)bits, groups);
	return 8 * groups;
}

static void unpack_any(const struct literal *literal, size_t first, void *words, size_t count)
{
	switch (word_bytes(literal->width)) {
	case 1:
		unpack(literal, first, words, 1, count);
		break;
	case 2:
		unpack(literal, first, words, 2, count);
		break;
	case 4:
		unpack(literal, first, words, 4, count);
		break;
	default:
		unpack(literal, first, words, 8, count);
		break;
	}
}

static void unpack_words(const struct literal *literal, size_t first, void *words, size_t count)
{
	unsigned size = word_bytes(literal->width);
	size_t lead = (8 - first % 8) % 8;
	size_t done;

	if ((size != 1 && size != 4) || literal->bits > 24 || lead >= count) {
		unpack_any(literal, first, words, count);
		return;
	}
	unpack_any(literal, first, words, lead);
	done = lead +
	       unpack_groups(literal, first + lead, (uint8_t *)words + lead * size, count - lead);
	unpack_any(literal, first + done, (uint8_t *)words + done * size, count - done);
}

int packed_decode(const struct literal *literal, size_t first, void *words, size_t count,
		  struct brevis_error *err)
{
	uint64_t highest = low_bits(literal->width);
	bool fits;

	if (literal->bits)
		unpack_words(literal, first, words, count);
	else
		memset(words, 0, count * word_bytes(literal->width));
	if (literal->base == 0)
		return BREVIS_OK; /* bits <= width */
	switch (word_bytes(literal->width)) {
	case 1:
		fits = add_base(words, 1, count, literal->base, highest);
		break;
	case 2:
		fits = add_base(words, 2, count, literal->base, highest);
		break;
	case 4:
		fits = add_base(words, 4, count, literal->base, highest);
		break;
	default:
		fits = add_base(words, 8, count, literal->base, highest);
		break;
	}
	if (!fits)
		return error_set(err, BREVIS_E_FORMAT, "packed literal: a word has over %u bits",
				 literal->width);
	return BREVIS_OK;
}
