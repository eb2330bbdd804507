/* SPDX-License-Identifier: Apache-2.0 */
/** What differs between two models, told piece by piece; in bounded memory. */
#ifndef FILTER_MODEL_COMPARE_H
#define FILTER_MODEL_COMPARE_H

#include "filter/model/model_view.h"
#include "filter/diff/tensor_compare.h"

/** A key of __metadata__ that came, went (the other is NULL), or has another value. */
struct metadata_change {
	const char *key;
	const char *before;
	const char *after;
};

/** What else differs in the files. */
struct frame_change {
	bool metadata_order; /* the same keys, or those in both, in another order */
	bool header_order;   /* tensors that are in both are listed in another order */
	bool data_order;     /* ... and their data is in another order */
	bool header_text;    /* the header's text, and nothing that is told explains it */
	bool rest;           /* bytes behind the last tensor */
};

enum tensor_change_kind {
	TENSOR_ADDED,
	TENSOR_REMOVED,
	TENSOR_RETYPED, /* other type or shape */
	TENSOR_CHANGED,
};

struct tensor_change {
	enum tensor_change_kind kind;
	const struct brevis_tensor_info *before; /* NULL if it was added */
	const struct brevis_tensor_info *after;  /* NULL if it was removed */
	struct tensor_difference difference;     /* if it was changed */
	bool cut; /* ... and the files end at different places within it */
};

/** Who is told: first of metadata, sorted by key; then once of the frame; then of tensors, sorted
 * by name. */
struct change_taker {
	void (*metadata)(void *ctx, const struct metadata_change *change);
	void (*frame)(void *ctx, const struct frame_change *change);
	void (*tensor)(void *ctx, const struct tensor_change *change);
	void *ctx;
};

struct model_changes {
	bool same;                            /* in every byte */
	bool opaque;                          /* one of both is: then nobody was told of anything */
	uint64_t tensors[TENSOR_CHANGED + 1]; /* by kind of change */
	uint64_t tensors_same;
};

/**
 * Compares two models whose content is here; one of both may be NULL: a file that came or went.
 * Tensors of which the archives tell that they are the same are not decoded. Reports and returns -1
 * if one cannot be read.
 */
int model_compare(struct model_view *before, struct model_view *after,
		  const struct change_taker *taker, struct model_changes *out);

#endif
