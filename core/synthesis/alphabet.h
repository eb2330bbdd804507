/* SPDX-License-Identifier: Apache-2.0 */
/** The symbols that occur in a stream of at most 12-bit words, and the scale that each tells of. */
#ifndef CORE_SYNTHESIS_ALPHABET_H
#define CORE_SYNTHESIS_ALPHABET_H

#include <stdbool.h>
#include <stdint.h>

#include "core/brevis.h"
#include "core/synthesis/expand.h"

/** What a symbol says of the scale of its word. */
enum symbol_scale {
	SCALE_MAGNITUDE, /* the larger, the larger: exponent and fraction of a float */
	SCALE_SIGNED,    /* the same but for its highest bit, the sign */
	SCALE_DISTANCE   /* integers: the distance from the most common one, around the circle */
};

/**
 * Low bits of symbols that are best not looked at, if only the scale matters. The alphabet of such
 * symbols of 8 bits is plain: the number of each is what is left of it.
 */
#define ALPHABET_FOLD 2

/** Symbols that occur, in ascending order, and what each says of its word's scale. */
struct alphabet {
	bool is_plain;
	unsigned count;
	unsigned width;      /* of a symbol, in bits */
	unsigned fold;       /* low bits of symbols that are not looked at */
	uint16_t *of_symbol; /* number in the alphabet, of all 1 << width symbols */
	uint16_t *symbols;   /* of all numbers; the first of each number's, if bits are folded */
	uint16_t *scales;    /* of all 1 << width symbols */
	unsigned mask;       /* bits of a symbol that are its scale; 0: it has to be looked up */
};

/** histogram is that of the words, or NULL: then they are counted. */
int alphabet_init(struct alphabet *a, const struct words *in, const uint32_t *histogram,
		  enum symbol_scale scale, unsigned fold, struct brevis_error *err);
void alphabet_release(struct alphabet *a);

#endif
