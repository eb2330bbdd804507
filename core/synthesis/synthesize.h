/* SPDX-License-Identifier: Apache-2.0 */
/** From the words of a tensor to a small program that yields them. */
#ifndef CORE_SYNTHESIS_SYNTHESIZE_H
#define CORE_SYNTHESIS_SYNTHESIZE_H

#include "core/base/buffer.h"
#include "core/brevis.h"
#include "core/entropy/codebook.h"
#include "core/synthesis/prior.h"
#include "core/synthesis/shape.h"

/** What a tensor's words are. */
struct tensor_kind {
	unsigned dtype; /* its number: a context of the prior */
	bool is_float;
	struct shape shape; /* of words */
};

struct synthesis_options {
	enum brevis_preset preset;
	const struct prior *prior;       /* or NULL */
	const struct codebook *codebook; /* or NULL */
	unsigned budget;  /* expansions of the preset's own search; 0: what the preset has */
	bool first_come;  /* without A*, for the ablation */
	bool search_only; /* even where the program is known beforehand, for tests */
};

/**
 * Appends to *out the program for count >= 1 words of 8, 16, 32 or 64 bits, given as a tensor's
 * bytes (little-endian, aligned for such words). Never more than the bytes themselves plus 16.
 * Deterministic: the same words, kind and options give the same program on every machine. counts,
 * if not NULL, gets the program's productions.
 */
int synthesize(const void *words, unsigned width, size_t count, const struct tensor_kind *kind,
	       const struct synthesis_options *options, struct buffer *out, struct prior *counts,
	       struct brevis_error *err);

/**
 * True if a tensor, given as above, seems to need no search: what its program is like is known
 * beforehand, and no prior would change it. A guess from some of its words. False also for want of
 * memory.
 */
bool synthesis_is_usual(const void *words, unsigned width, size_t count,
			const struct tensor_kind *kind);

#endif
