/* SPDX-License-Identifier: Apache-2.0 */
/** The files whose speed is measured, in memory. */
#ifndef SCRIPTS_BENCH_INPUTS_H
#define SCRIPTS_BENCH_INPUTS_H

#include <stddef.h>
#include <stdint.h>

/**
 * Makes a checkpoint of at least size bytes out of the tensors of a smaller one in BF16, each of
 * them many times. In every copy the three lowest bits of each word are others, as random as they
 * were before: no tensor repeats another, and the statistics stay those of the model.
 * Returns nonzero after a complaint on stderr; *data is for free().
 */
int bench_repeat_model(const char *path, size_t size, uint8_t **data, size_t *got);

/**
 * Makes a checkpoint of count BF16 tensors of 4 to 64 KiB. Returns nonzero after a complaint on
 * stderr; *data is for free().
 */
int bench_small_tensors(size_t count, uint8_t **data, size_t *got);

#endif
