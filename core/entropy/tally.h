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

/** What literal_cost (literal_encode.h) says of the words' histogram. */
uint64_t tally_cost(const struct tally *tally);

/**
 * Bytes that no lit node of codings 0 to 4 goes below: the op byte, and the order-0 entropy of the
 * words, rounded down. (The rounding of rANS states can win a little against the entropy; a 4096th
 * is allowed for it, which only words made for the purpose get past. So do those whose lanes end
 * with words of the first symbol, which are for nothing: up to RANS_TAIL_MAX of each.)
 */
uint64_t tally_bound(const struct tally *tally);

#endif
