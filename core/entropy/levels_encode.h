/* SPDX-License-Identifier: Apache-2.0 */
/** The encoding side of levels.h. */
#ifndef CORE_ENTROPY_LEVELS_ENCODE_H
#define CORE_ENTROPY_LEVELS_ENCODE_H

#include "core/entropy/levels.h"

/** Bits that the level of a symbol takes after that of the one before. */
static inline unsigned level_bits(unsigned previous, unsigned level)
{
	static const uint8_t bits[] = {1, 3, 5, 7, 7, 9, 9, 9, 9, 11, 11, 11, 11, 11, 11, 11, 11};

	return bits[level < previous ? previous - level : level - previous];
}

/** Bits of a run of count >= 1 symbols that do not occur. */
static inline unsigned level_zeros_bits(unsigned count)
{
	return 2 + 2 * bit_length(count);
}

struct level_writer {
	struct bit_writer *bits; /* NULL: only count */
	uint64_t size;           /* bits written or counted */
	unsigned previous;
};

void level_writer_init(struct level_writer *w, struct bit_writer *bits);

/** Writes the level of a symbol that occurs. */
void level_write(struct level_writer *w, unsigned level);

/** Writes a run of count symbols that do not occur; nothing if there are none. */
void level_write_zeros(struct level_writer *w, unsigned count);

/** Writes n <= 56 other bits between the levels. */
void level_write_bits(struct level_writer *w, uint64_t value, unsigned n);

#endif
