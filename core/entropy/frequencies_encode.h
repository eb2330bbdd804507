/* SPDX-License-Identifier: Apache-2.0 */
/** The encoding side of frequencies.h. */
#ifndef CORE_ENTROPY_FREQUENCIES_ENCODE_H
#define CORE_ENTROPY_FREQUENCIES_ENCODE_H

#include "core/entropy/frequencies.h"

/** Shares chosen for a histogram. */
struct frequency_plan {
	struct frequency_table table;
	uint16_t *shares; /* of all 1 << width symbols; 0: does not occur */
	uint64_t cost;    /* of the words, in bits with LOG2_FRACTION fraction bits */
	uint64_t bytes;   /* of the table as written, exact */
};

/**
 * Chooses scale, precision and shares for a histogram of 1 << width counts that sum to total, at
 * least two of them not 0. Release with frequency_plan_release, also after a failure.
 */
int frequency_plan_init(struct frequency_plan *plan, const uint32_t *histogram, unsigned width,
			uint64_t total, struct brevis_error *err);

/**
 * The same for a scale that is given, in which each symbol that occurs must find a slot; and a
 * precision. Nobody asks what that takes: cost and bytes are 0.
 */
int frequency_plan_scaled(struct frequency_plan *plan, const uint32_t *histogram, unsigned width,
			  uint64_t total, unsigned scale_bits, unsigned precision,
			  struct brevis_error *err);

void frequency_plan_release(struct frequency_plan *plan);

/** Writes the table. */
void frequency_table_write(struct bit_writer *bits, const struct frequency_plan *plan,
			   unsigned width);

/** The precision that pays for this many words and distinct symbols. */
unsigned frequency_precision(uint64_t total, unsigned symbols);

#endif
