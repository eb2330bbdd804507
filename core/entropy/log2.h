/* SPDX-License-Identifier: Apache-2.0 */
/** Logarithms for costs, in integers, so that every compiler makes the same choices. */
#ifndef CORE_ENTROPY_LOG2_H
#define CORE_ENTROPY_LOG2_H

#include "core/base/bits.h"

/** Fraction bits of a cost. */
#define LOG2_FRACTION 16

/** log2(1 + i / 256) with LOG2_FRACTION + 8 fraction bits, i = 0..256. */
extern const uint32_t log2_table[257];

/** n * log2(n) with LOG2_FRACTION fraction bits. */
#define LOG2_WEIGHTED_MAX 4096
extern const uint32_t log2_weighted_table[LOG2_WEIGHTED_MAX];

/** log2(v) with LOG2_FRACTION fraction bits, v >= 1. Off by less than 2^-15. */
static inline uint32_t log2_fixed(uint32_t v)
{
	unsigned whole = bit_length(v) - 1;
	uint32_t fraction = (uint32_t)((uint64_t)v << (31 - whole))
			    << 1; /* v / 2^whole - 1, 32 bits */
	uint32_t i = fraction >> 24;
	uint64_t low = log2_table[i];
	uint64_t step = log2_table[i + 1] - low;

	low += step * (fraction & 0xffffff) >> 24;
	return (uint32_t)whole << LOG2_FRACTION | (uint32_t)(low >> 8);
}

/** n * log2(n) with LOG2_FRACTION fraction bits; 0 for 0. Fast for small n. */
static inline uint64_t log2_weighted(uint32_t n)
{
	return n < LOG2_WEIGHTED_MAX ? log2_weighted_table[n] : n * (uint64_t)log2_fixed(n);
}

#endif
