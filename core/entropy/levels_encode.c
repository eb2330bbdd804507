/* SPDX-License-Identifier: Apache-2.0 */
#include "core/entropy/levels_encode.h"

void level_writer_init(struct level_writer *w, struct bit_writer *bits)
{
	*w = (struct level_writer){.bits = bits, .previous = 1};
}

void level_write_bits(struct level_writer *w, uint64_t value, unsigned n)
{
	w->size += n;
	if (w->bits)
		bit_write(w->bits, value, n);
}

static void write_gamma(struct level_writer *w, unsigned v)
{
	unsigned n = bit_length(v) - 1;

	level_write_bits(w, UINT64_C(1) << n, n + 1);
	level_write_bits(w, v & low_bits(n), n);
}

void level_write(struct level_writer *w, unsigned level)
{
	bool lower = level < w->previous;
	unsigned step = lower ? w->previous - level : level - w->previous;

	w->previous = level;
	if (step == 0) {
		level_write_bits(w, 1, 1);
	} else if (step == 1) {
		level_write_bits(w, 2u | (unsigned)lower << 2, 3);
	} else {
		level_write_bits(w, 4u | (unsigned)lower << 3, 4);
		write_gamma(w, step - 1);
	}
}

void level_write_zeros(struct level_writer *w, unsigned count)
{
	if (!count)
		return;
	level_write_bits(w, 0, 3);
	write_gamma(w, count);
}
