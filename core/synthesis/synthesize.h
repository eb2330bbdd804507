/* SPDX-License-Identifier: Apache-2.0 */
/**
 * From a stream of words to a small program that yields it.
 *
 * The search is target-directed (paper section 3.3): a stream is taken apart by the inverse of an
 * operator, each part becomes the target of a child. Parts that are constant become const, runs at
 * both ends are split off with concat, and of all cuts of the words into adjacent fields the best
 * merge is found by dynamic programming over the order-0 costs that one exact histogram gives
 * (partition.h). Exact serialised size decides between that merge and the plain literal.
 */
#ifndef CORE_SYNTHESIS_SYNTHESIZE_H
#define CORE_SYNTHESIS_SYNTHESIZE_H

#include "core/base/buffer.h"
#include "core/brevis.h"

/**
 * Appends to *out the program for count >= 1 words of 8, 16, 32 or 64 bits, given as a tensor's
 * bytes (little-endian, aligned for such words). Never more than the bytes themselves plus 16.
 * Deterministic: the same words give the same program on every machine.
 */
int synthesize(const void *words, unsigned width, size_t count, struct buffer *out,
	       struct brevis_error *err);

#endif
