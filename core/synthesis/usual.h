/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The usual program: what the search finds for nearly every tensor of weights, written down at once
 * where a sketch and a screen show that the tensor is one of those. Exponent and leading fraction
 * bits are one code, with a table for each class of rows and columns; sign and the other bits are
 * raw, unless signs lean to one side, in all words or in those of a column, where they are flipped:
 *
 *     flip(map_{rotate}(merge(lit, map_{rotate}(escape(route)))))
 *
 * The raw bits come first, so that they are packed right where they are to stand.
 */
#ifndef CORE_SYNTHESIS_USUAL_H
#define CORE_SYNTHESIS_USUAL_H

#include "core/synthesis/synthesize.h"
#include "core/synthesis/expand.h"

/** What there is to say of the usual program. */
enum usual {
	USUAL_NONE,    /* there is none, or it is no smaller than the words */
	USUAL_IS_ONE,  /* a search may find something better */
	USUAL_SUFFICES /* the tensor is one of those that it is for */
};

/**
 * Appends the usual program for `in`, words of 8, 16 or 32 bits in the machine's order, but nothing
 * with USUAL_NONE. flips: whether it may begin with one; without, it is of one level less. The fast
 * preset's is never smaller than another one's. Deterministic.
 */
int usual_program(const struct words *in, const struct tensor_kind *kind,
		  const struct synthesis_options *options, bool flips, struct buffer *out,
		  enum usual *usual, struct brevis_error *err);

/** Guesses from some of the words whether usual_program writes them and a search is not needed. */
bool usual_applies(const struct words *in, const struct tensor_kind *kind);

#endif
