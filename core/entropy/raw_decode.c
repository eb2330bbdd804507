/* SPDX-License-Identifier: Apache-2.0 */
#include "core/entropy/raw.h"

#include "core/base/bits.h"
#include "core/entropy/literal.h"
#include "core/entropy/words.h"

#include <string.h>

ALWAYS_INLINE void widen(const uint8_t *bytes, unsigned stored, void *words, unsigned size,
			 size_t count)
{
	size_t i;
	unsigned j;

	for (i = 0; i < count; i++, bytes += stored) {
		uint64_t v = 0;

		for (j = 0; j < stored; j++)
			v |= (uint64_t)bytes[j] << (8 * j);
		word_set(words, size, i, v);
	}
}

/* All bits that any of the words has set. */
ALWAYS_INLINE uint64_t all_bits(const void *words, unsigned size, size_t count)
{
	uint64_t all = 0;
	size_t i;

	for (i = 0; i < count; i++)
		all |= word_get(words, size, i);
	return all;
}

static uint64_t bits_of(const void *words, unsigned size, size_t count)
{
	switch (size) {
	case 1:
		return all_bits(words, 1, count);
	case 2:
		return all_bits(words, 2, count);
	case 4:
		return all_bits(words, 4, count);
	default:
		return all_bits(words, 8, count);
	}
}

bool raw_decode(const uint8_t *bytes, void *words, unsigned width, size_t count)
{
	unsigned stored = raw_bytes(width);
	unsigned size = word_bytes(width);

	if (!count)
		return true;
	if (stored == size && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
		memcpy(words, bytes, count * size);
	else
		widen(bytes, stored, words, size, count);
	return width % 8 == 0 || bits_of(words, size, count) <= low_bits(width);
}
