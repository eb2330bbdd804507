/* SPDX-License-Identifier: Apache-2.0 */
/** The encoding side of huffman.h. */
#ifndef CORE_ENTROPY_HUFFMAN_ENCODE_H
#define CORE_ENTROPY_HUFFMAN_ENCODE_H

#include "core/entropy/huffman.h"

/** A code made for a histogram. */
struct huffman_plan {
	struct huffman_table table;
	uint8_t *lengths;      /* of all 1 << width symbols; 0: does not occur */
	uint64_t payload_bits; /* exact */
	uint64_t table_bits;   /* exact; the table starts and ends on a byte */
};

/**
 * Makes the optimal code no longer than the encoder's limit for a histogram of 1 << width counts,
 * at least two of them not 0. *fits is false if huffman_plan_size would be above `most`; then the
 * plan may be none. Release with huffman_plan_release, also after a failure.
 */
int huffman_plan_try(struct huffman_plan *plan, const uint32_t *histogram, unsigned width,
		     uint64_t most, bool *fits, struct brevis_error *err);
void huffman_plan_release(struct huffman_plan *plan);

/** Bytes of table, payload size and payload. */
uint64_t huffman_plan_size(const struct huffman_plan *plan);

/** Appends table, payload size and payload. Failure shows in the buffer. */
void huffman_encode(struct buffer *out, const struct huffman_plan *plan, const void *words,
		    unsigned width, size_t count);

#endif
