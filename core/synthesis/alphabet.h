/* SPDX-License-Identifier: Apache-2.0 */
/** The symbols that occur in a stream of at most 12-bit words, and the scale that each tells of. */
#ifndef CORE_SYNTHESIS_ALPHABET_H
#define CORE_SYNTHESIS_ALPHABET_H

#include <stdint.h>

#include "core/brevis.h"
#include "core/synthesis/expand.h"

/** What a symbol says of the scale of its word. */
enum symbol_scale {
	SCALE_MAGNITUDE, /* the larger, the larger: exponent and fraction of a float */
	SCALE_SIGNED,    /* the same but for its highest bit, the sign */
	SCALE_DISTANCE   /* integers: the distance from the most common one, around the circle */
};

/** Symbols that occur, in ascending order, and what each says of its word's scale. */
struct alphabet {
	unsigned count;
	unsigned width;      /* of a symbol, in bits */
	uint16_t *of_symbol; /* number in the alphabet, of all 1 << width symbols */
	uint16_t *symbols;   /* of all numbers */
	uint16_t *scales;    /* of all 1 << width symbols */
	bool plain;          /* each symbol is its own scale */
};

/** histogram is that of the words, or NULL: then they are counted. */
int alphabet_init(struct alphabet *a, const struct words *in, const uint32_t *histogram,
		  enum symbol_scale scale, struct brevis_error *err);
void alphabet_release(struct alphabet *a);

#endif
