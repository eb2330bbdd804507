/* SPDX-License-Identifier: Apache-2.0 */
/** The element types that a safetensors header may name. */
#ifndef CORE_SAFETENSORS_DTYPE_H
#define CORE_SAFETENSORS_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dtype {
	const char *name;
	uint8_t bits;      /* of one element; 4 and 6 are packed without padding */
	uint8_t word_bits; /* of the machine words that its bytes are read as */
	bool is_float;     /* sign, exponent, fraction in each word */
};

/** Returns the number of the type of this name, or -1. */
int dtype_find(const void *name, size_t len);

/** Describes type number i, which dtype_find gave. */
const struct dtype *dtype_at(unsigned i);

#endif
