/* SPDX-License-Identifier: Apache-2.0 */
#include "core/entropy/raw_encode.h"

#include "core/entropy/literal.h"
#include "core/entropy/words.h"

#include <string.h>

bool raw_is_memory(unsigned width)
{
	return raw_bytes(width) == word_bytes(width) &&
	       (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ || width <= 8);
}

void raw_encode(uint8_t *to, const void *words, unsigned width, size_t count)
{
	unsigned stored = raw_bytes(width);
	unsigned size = word_bytes(width);
	size_t i;
	unsigned j;

	if (raw_is_memory(width) && count) {
		memcpy(to, words, count * size);
		return;
	}
	for (i = 0; i < count; i++, to += stored) {
		uint64_t v = word_get(words, size, i);

		for (j = 0; j < stored; j++)
			to[j] = (uint8_t)(v >> (8 * j));
	}
}
