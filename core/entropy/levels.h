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

struct level_reader {
	struct bit_reader *bits;
	unsigned max;      /* highest level allowed */
	unsigned previous; /* last level that was not 0 */
	unsigned zeros;    /* still to come of the current run */
	bool after_run;
	bool failed; /* sticky: a level out of range, or a run where none may be */
};

void level_reader_init(struct level_reader *r, struct bit_reader *bits, unsigned max);

/** The next symbol's level, 0 after a failure. */
unsigned level_read(struct level_reader *r);

/** True if a run of zeros goes on past the last level read. */
static inline bool level_reader_in_run(const struct level_reader *r)
{
	return r->zeros > 0;
}

#endif
