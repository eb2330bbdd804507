/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What guides an encoder: decides, from the store, from earlier archives or from the beginning of
 * the checkpoint itself, which prior and which codebook it has.
 */
#ifndef CORE_COMPRESS_GUIDE_H
#define CORE_COMPRESS_GUIDE_H

#include "core/compress/model.h"
#include "core/compress/revisions.h"
#include "core/compress/window.h"

struct guide {
	enum brevis_preset preset;
	bool wanted; /* the preset wants a prior */
	const struct brevis_prior_store *store;
	bool asked;   /* the store */
	bool damaged; /* what it had */
	struct model model;
	enum brevis_prior_origin origin;
};

void guide_init(struct guide *guide, const struct brevis_encode_options *options);
void guide_release(struct guide *guide);

/**
 * Asks the store for a prior, once. family is that of the file (NULL: not known yet, or it has
 * none). True if there is one, or none is wanted.
 */
bool guide_load(struct guide *guide, const uint8_t *family, const struct revisions *revisions);

/**
 * Decides. Without a prior from the store one is learned from the window, if that holds enough, and
 * given to the store. Of earlier archives whose records may be reused the codebook is taken over.
 */
int guide_decide(struct guide *guide, const uint8_t *family, const struct revisions *revisions,
		 const struct window *window, struct brevis_error *err);

#endif
