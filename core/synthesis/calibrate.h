/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What is learned from a sample of a checkpoint before it is compressed (paper section 3.3,
 * "Checkpoint-specific production prior"): the production prior, and a codebook of tables that its
 * small tensors can share.
 */
#ifndef CORE_SYNTHESIS_CALIBRATE_H
#define CORE_SYNTHESIS_CALIBRATE_H

#include "core/base/buffer.h"
#include "core/brevis.h"
#include "core/synthesis/prior.h"
#include "core/synthesis/synthesize.h"

/** A tensor, or a part of one, that is at hand: little-endian bytes, aligned for its words. */
struct sample_tensor {
	const void *words;
	unsigned width;
	size_t count;
	const struct tensor_kind *kind;
};

/**
 * Searches at most four of the tensors, of different types and sizes, with all rules equally
 * probable, and counts the productions of the smallest programs. Depends on the tensors only.
 */
int calibrate_prior(const struct sample_tensor *tensors, size_t count,
		    const struct codebook *codebook, struct prior **out, struct brevis_error *err);

/**
 * Appends the bytes of a codebook for the small ones among the tensors; nothing if there are too
 * few for it to pay.
 */
int calibrate_codebook(const struct sample_tensor *tensors, size_t count, struct buffer *out,
		       struct brevis_error *err);

#endif
