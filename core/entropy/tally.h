/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A tally: the values that occur among words, and how often. It says the same as a histogram, in
 * room and time that few words or few values do not need.
 */
#ifndef CORE_ENTROPY_TALLY_H
#define CORE_ENTROPY_TALLY_H

#include <stddef.h>
#include <stdint.h>

#include "core/entropy/literal.h"

struct tally {
	unsigned width; /* of a word, in bits, at most LITERAL_SYMBOL_BITS */
	size_t count;   /* words */
	unsigned n;     /* values that occur, in ascending order */
	uint64_t own;   /* n * log2(n) of all counts together, LOG2_FRACTION fraction bits */
	uint16_t symbols[1 << LITERAL_SYMBOL_BITS];
	uint32_t counts[1 << LITERAL_SYMBOL_BITS];
};

/** Takes the values of a histogram of 1 << width counts, which sum to count. */
void tally_take(struct tally *tally, const uint32_t *histogram, unsigned width, size_t count);

/** Drops the lowest bit of all words. */
void tally_fold(struct tally *tally);

/** What literal_cost and literal_bound (literal_encode.h) say of the words' histogram. */
uint64_t tally_cost(const struct tally *tally);
uint64_t tally_bound(const struct tally *tally);

#endif
