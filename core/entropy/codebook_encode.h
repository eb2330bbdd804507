/* SPDX-License-Identifier: Apache-2.0 */
/** The encoding side of codebook.h. */
#ifndef CORE_ENTROPY_CODEBOOK_ENCODE_H
#define CORE_ENTROPY_CODEBOOK_ENCODE_H

#include "core/entropy/codebook.h"
#include "core/entropy/tally.h"

/**
 * Appends one table for a histogram of 1 << width counts to a codebook that is being built: the
 * number of its tables in a byte, then the tables. Each symbol with a count gets a share; there
 * must be at least two of them.
 */
int codebook_put_table(struct buffer *out, const uint32_t *histogram, unsigned width,
		       struct brevis_error *err);

/**
 * Bits that the words of a tally take with the best table of their width, which becomes *number:
 * all but the lanes of a literal. UINT64_MAX: there is none that has them all. codebook may be
 * NULL.
 */
uint64_t codebook_cheapest(const struct codebook *codebook, const struct tally *tally,
			   unsigned *number);

/**
 * Estimates, in bits, the lit node of the words with this histogram and the best of the tables of
 * their width. UINT64_MAX: there is none. codebook may be NULL.
 */
uint64_t codebook_literal_cost(const struct codebook *codebook, const uint32_t *histogram,
			       unsigned width, size_t count);

/** The same by a tally. */
uint64_t codebook_tally_cost(const struct codebook *codebook, const struct tally *tally);

#endif
