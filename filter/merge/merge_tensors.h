/* SPDX-License-Identifier: Apache-2.0 */
/** Merges safetensors files tensor by tensor. */
#ifndef FILTER_MERGE_TENSORS_H
#define FILTER_MERGE_TENSORS_H

#include "filter/merge/merge_plan.h"
#include "filter/merge/merge_side.h"

enum merge_result {
	MERGE_DONE = 0,
	MERGE_CONFLICT = 1, /* .why says what stands against it */
	MERGE_FAILED = -1   /* reported */
};

struct merge_outcome {
	char why[512]; /* part of a sentence */
	char text[POINTER_TEXT_SIZE];
	size_t text_len;
	size_t from_ours; /* tensors and metadata that only we changed */
	size_t from_theirs;
};

/**
 * Merges three versions whose contents are here, numbered by enum merge_version; an empty base has
 * no tensors. The merged file becomes an object of the store, by the way that files are added, and
 * its pointer is in out->text.
 */
enum merge_result merge_tensors(struct workspace *ws, const char *path,
				const struct merge_side sides[MERGE_VERSIONS],
				struct merge_outcome *out);

#endif
