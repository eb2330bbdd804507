/* SPDX-License-Identifier: Apache-2.0 */
/** The encoding side of literal.h. */
#ifndef CORE_ENTROPY_LITERAL_ENCODE_H
#define CORE_ENTROPY_LITERAL_ENCODE_H

#include "core/entropy/literal.h"

/**
 * Appends the smallest exact literal of count words (laid out as literal.h says) to *out. The
 * choice among the codings is by complete size: coding byte, parameters, table, lengths, payload;
 * of equals, the one with the lowest number. Deterministic; no floating point.
 */
int literal_encode(struct buffer *out, const void *words, unsigned width, size_t count,
		   struct brevis_error *err);

/**
 * Estimates what literal_encode would take, in bits, from the exact histogram of the words.
 * histogram has 1 << width counts (width <= LITERAL_SYMBOL_BITS), which sum to count. Within about
 * 1 % of the truth on more than 1,000 words. Deterministic, integers only. Time: one pass over the
 * histogram. A constant stream costs what any literal of it would, not what `const` would.
 */
uint64_t literal_cost(const uint32_t *histogram, unsigned width, size_t count);

#endif
