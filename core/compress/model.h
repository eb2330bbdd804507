/* SPDX-License-Identifier: Apache-2.0 */
/** What guides an encoder: the production prior and the codebook, as one file of bytes. */
#ifndef CORE_COMPRESS_MODEL_H
#define CORE_COMPRESS_MODEL_H

#include "core/brevis.h"
#include "core/synthesis/calibrate.h"

struct model {
	struct prior *prior;       /* or NULL */
	struct codebook *codebook; /* or NULL */
	bool named;                /* it has bytes, and this is their SHA-256: */
	uint8_t sha256[BREVIS_SHA256_SIZE];
	struct buffer bytes;
};

void model_release(struct model *model);

/** Reads the bytes of a model. BREVIS_E_FORMAT if they are damaged, or another version's. */
int model_parse(const void *data, size_t size, struct model *out, struct brevis_error *err);

/**
 * Learns a codebook from tensors and a prior from those of them that are searched, and writes its
 * bytes. With neither the model stays empty, and is not named.
 */
int model_calibrate(const struct sample_tensor *tensors, size_t count,
		    const struct sample_tensor *searched, size_t searched_count, struct model *out,
		    struct brevis_error *err);

/** Puts another codebook in the place of the model's, whose bytes stay as they are. */
int model_adopt_codebook(struct model *model, struct span bytes, struct brevis_error *err);

#endif
