/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A sketch of a tensor of floats, from a sample of its words: where its words are best cut into a
 * code and raw bits, and whether there is anything else about single words that a search could find
 * (for words together there is core/synthesis/screen.h).
 *
 * Words are looked at rotated left by one bit, so that exponent and fraction are on top and the
 * sign is the lowest bit.
 */
#ifndef CORE_SYNTHESIS_SKETCH_H
#define CORE_SYNTHESIS_SKETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/synthesis/expand.h"

/** Codes are cut from at most so many of the highest bits. */
#define SKETCH_BITS 12

struct sketch {
	size_t words;                      /* sampled */
	uint32_t counts[2 << SKETCH_BITS]; /* of the highest bits, `bits` of them, and the sign */
	unsigned bits;
	unsigned first, last; /* of the counts that are not 0; not of bytes */
	/* What is below is as good as random, and neighbours are seldom equal. */
	bool is_plain;
};

/** A way to cut, and what it costs. */
struct sketch_cut {
	unsigned symbol_bits; /* cut off the top; what is below is raw */
	bool has_sign;        /* the lowest of the symbol's bits is the sign */
	unsigned code_bits; /* 8 and codes from base on, 255 standing for others; or symbol_bits */
	uint32_t base;
	unsigned codes; /* that words get; those that would have another are escaped */
	uint64_t cost;  /* of all words, in bits */
};

/** Sketches words of 16 or 32 bits. */
void sketch_take(struct sketch *sketch, const struct words *in);

/**
 * Sketches words of 8 bits, which are codes as they are: counts has them all. Its words are plain
 * if neighbours are equal hardly more often than chance makes them, and all bits vary.
 */
void sketch_take_bytes(struct sketch *sketch, const struct words *in);

/** The cheapest way to cut `count` words like those of the sketch; the sign is raw, or a part of
 * the symbol. */
struct sketch_cut sketch_choose(const struct sketch *sketch, unsigned width, size_t count,
				bool has_sign);

/**
 * What words like these would cost, about, if there were a code for every value: much less than
 * the cheapest way to cut them where their scales differ by more than 255 codes can tell.
 */
uint64_t sketch_ideal(const struct sketch *sketch, unsigned width, size_t count);

/** Counts the codes of the sketch's words, of 16 or 32 bits. */
void sketch_histogram(const struct sketch *sketch, const struct sketch_cut *cut,
		      uint32_t histogram[256]);

#endif
