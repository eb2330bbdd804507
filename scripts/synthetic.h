/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Weights in BF16 as training leaves them, made from a seed: what the benchmarks need more of than
 * the real checkpoints at hand have.
 *
 * A word is a Gaussian deviate times the scale of its row times that of its column, and the scales
 * are log-normal, as they are in language models. No tensor repeats another one.
 */
#ifndef SCRIPTS_SYNTHETIC_H
#define SCRIPTS_SYNTHETIC_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct synthetic_tensor {
	char name[96];
	size_t rows; /* 1: a vector, with values about 1, as those of a norm */
	size_t columns;
	unsigned revision; /* 0, or the number of small steps that training has moved it since */
};

/** The tables of the generator. Immutable, so that threads may share them. */
struct synthetic;

/** Returns NULL when memory is short. */
struct synthetic *synthetic_new(void);
void synthetic_free(struct synthetic *synthetic);

/** Bytes of a tensor's data. */
size_t synthetic_size(const struct synthetic_tensor *tensor);

/**
 * Writes the words of a tensor, least significant byte first. The same seed and tensor give the
 * same words; another revision gives words near them. Returns nonzero when memory is short.
 */
int synthetic_fill(const struct synthetic *synthetic, const struct synthetic_tensor *tensor,
		   uint64_t seed, uint8_t *data);

/**
 * Writes the length word and the header of a safetensors file that holds these tensors. Returns
 * nonzero when memory is short.
 */
int synthetic_put_header(FILE *out, const struct synthetic_tensor *tensors, size_t count);

/** The next of a sequence of independent 64-bit numbers; *state is any number at the start. */
uint64_t synthetic_random(uint64_t *state);

#endif
