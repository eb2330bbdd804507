/* SPDX-License-Identifier: Apache-2.0 */
/** The encoding side of literal.h. */
#ifndef CORE_ENTROPY_LITERAL_ENCODE_H
#define CORE_ENTROPY_LITERAL_ENCODE_H

#include "core/entropy/literal.h"

/** What literal_encode is given besides the words. */
struct literal_options {
	const struct codebook *codebook; /* or NULL: there are no shared tables */
	/* The exact histogram of the words, of width <= LITERAL_SYMBOL_BITS; NULL: counted anew. */
	const uint32_t *histogram;
	/* The words are known to have as much entropy as bits: they are not counted. */
	bool noise;
	int zstd_level; /* 0: Zstandard is not tried */
	bool lzma;      /* try LZMA2 */
};

/**
 * Appends the smallest exact lit node of count >= 1 words (laid out as literal.h says) to *out, op
 * byte included. The choice among the codings is by complete size: op byte, parameters, table,
 * lengths, payload; of equals, the one with the lowest number. Codings 5 and 6 are only tried if
 * the options (NULL: none) say so, and on large literals only if a sample promises something; the
 * caller sees to it that a program stays within LITERAL_LIBRARY_BYTES_MAX. Deterministic; no
 * floating point.
 */
int literal_encode(struct buffer *out, const void *words, unsigned width, size_t count,
		   const struct literal_options *options, struct brevis_error *err);

/**
 * Estimates what literal_encode without options would take, in bits, from the exact histogram of
 * the words. histogram has 1 << width counts (width <= LITERAL_SYMBOL_BITS), which sum to count.
 * Within about 1 % of the truth on more than 1,000 words. Deterministic, integers only. Time: one
 * pass over the histogram. A constant stream costs what any literal of it would, not what `const`
 * would.
 */
uint64_t literal_cost(const uint32_t *histogram, unsigned width, size_t count);

#endif
