/* SPDX-License-Identifier: Apache-2.0 */
/** A version of a merge as tensors: what they are, what their bytes hash to, and the bytes. */
#ifndef FILTER_MERGE_SOURCE_H
#define FILTER_MERGE_SOURCE_H

#include "filter/merge/merge_header.h"
#include "filter/merge/merge_side.h"
#include "filter/model/model_view.h"

/** Starts as all zeros; must stay where it is. */
struct merge_source {
	const struct merge_side *side;
	struct model_view *view; /* NULL for a version that is empty */
	bool is_regular; /* exactly a safetensors file; an empty base counts as one of no tensors */
	uint64_t header_size;
	uint8_t header_sha256[BREVIS_SHA256_SIZE];
	bool is_plain;             /* merge_header_is_plain */
	struct merge_list tensors; /* in the order of the data, which follow each other */
	struct merge_list metadata;
};

/**
 * Opens the content of a side that is here, and if it is a regular safetensors file reads all of
 * it: checks it as a checkout would, and fills in tensors and header. Reports and returns -1 on
 * failure. Release it in either case.
 */
int merge_source_open(struct merge_source *source, struct workspace *ws, const char *path,
		      const struct merge_side *side);
void merge_source_release(struct merge_source *source);

#endif
