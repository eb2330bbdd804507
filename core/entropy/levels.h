/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The level code: how the tables of Huffman and rANS say roughly how common each symbol of a range
 * is. A symbol that does not occur has level 0; otherwise its level is at least 1 and grows by one
 * when the symbol is about twice as common. Neighbouring symbols of tensors are of similar
 * frequency, so a level is coded by its difference from the last one that was not 0 (1 at first):
 *
 *   1               the same level
 *   0 1 s           one higher (s = 0) or lower (s = 1)
 *   0 0 1 s gamma   gamma + 1 higher or lower
 *   0 0 0 gamma     this and the following symbols, gamma in all, have level 0; no two in a row
 *
 * gamma >= 1 is as many 0 bits as it has bits after its highest, a 1, then those bits as a number.
 */
#ifndef CORE_ENTROPY_LEVELS_H
#define CORE_ENTROPY_LEVELS_H

#include "core/base/bits.h"
#include "core/entropy/literal.h"

struct level_reader {
	struct bit_reader *bits;
	unsigned max;      /* highest level allowed */
	unsigned previous; /* last level that was not 0 */
	unsigned zeros;    /* still to come of the current run */
	bool after_run;
	bool failed; /* sticky: a level out of range, or a run where none may be */
};

static inline void level_reader_init(struct level_reader *r, struct bit_reader *bits, unsigned max)
{
	*r = (struct level_reader){.bits = bits, .max = max, .previous = 1};
}

/* No number in a table has more than LITERAL_SYMBOL_BITS bits; 0 stands for one that would. */
static inline unsigned level_read_gamma(struct bit_reader *bits)
{
	unsigned n = 0;

	while (!bit_read(bits, 1))
		if (++n >= LITERAL_SYMBOL_BITS)
			return 0;
	return 1u << n | (unsigned)bit_read(bits, n);
}

static inline unsigned level_read_run(struct level_reader *r)
{
	unsigned count = level_read_gamma(r->bits);

	if (!count || r->after_run) {
		r->failed = true;
		return 0;
	}
	r->after_run = true;
	r->zeros = count - 1;
	return 0;
}

/*
 * Reads a level that differs from the previous one by 1 at most, as nearly all do: without a branch
 * on which of the three it is. False if the next one is none, or this is not to be seen yet.
 */
static inline bool level_read_near(struct level_reader *r)
{
	static const int8_t steps[8] = {[2] = 1, [6] = -1};
	unsigned next = (unsigned)r->bits->pending & 7, level;

	if (r->bits->count < 3 || !(next & 3))
		return false;
	level = r->previous + (unsigned)steps[next];
	if (level - 1 >= r->max)
		return false;
	bit_skip(r->bits, next & 1 ? 1 : 3);
	r->previous = level;
	r->after_run = false;
	return true;
}

/** The next symbol's level, 0 after a failure. */
static inline unsigned level_read(struct level_reader *r)
{
	unsigned step = 1, level;
	bool near, lower;

	if (r->failed)
		return 0;
	if (r->zeros) {
		r->zeros--;
		return 0;
	}
	if (level_read_near(r))
		return r->previous;
	if (bit_read(r->bits, 1)) {
		r->after_run = false;
		return r->previous;
	}
	near = bit_read(r->bits, 1);
	if (!near && !bit_read(r->bits, 1))
		return level_read_run(r);
	lower = bit_read(r->bits, 1);
	if (!near) {
		unsigned more = level_read_gamma(r->bits);

		/* Without a number, a step that fits no table. */
		step = more ? 1 + more : 1u << LITERAL_SYMBOL_BITS;
	}
	level = lower ? r->previous - step : r->previous + step;
	if (level - 1 >= r->max) {
		r->failed = true;
		return 0;
	}
	r->previous = level;
	r->after_run = false;
	return level;
}

/** True if a run of zeros goes on past the last level read. */
static inline bool level_reader_in_run(const struct level_reader *r)
{
	return r->zeros > 0;
}

#endif
