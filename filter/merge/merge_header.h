/* SPDX-License-Identifier: Apache-2.0 */
/** What merging needs of a safetensors header beyond its tensors, and headers of merged files. */
#ifndef FILTER_MERGE_HEADER_H
#define FILTER_MERGE_HEADER_H

#include "core/base/buffer.h"
#include "filter/merge/merge_plan.h"

/** Bytes of the length before the JSON text. */
#define MERGE_HEADER_PREFIX 8

struct merge_header;

/** Begins to read a header. Returns NULL when memory is short. */
struct merge_header *merge_header_new(void);
void merge_header_free(struct merge_header *header);

/** A brevis_write_fn that takes a valid header from its first byte on, prefix included. Returns
 * nonzero when memory is short, or if that is no header. */
int merge_header_write(void *header, const void *data, size_t len);

/** Ends it. Returns 0, or -1 as merge_header_write does. */
int merge_header_finish(struct merge_header *header);

/** The entries of __metadata__; sha256 is that of the value. Lives with the header. */
const struct merge_list *merge_header_metadata(const struct merge_header *header);

/** True if the header says nothing but names, types, shapes, offsets, and metadata in which no key
 * comes twice: then one that is composed loses nothing of it. */
bool merge_header_is_plain(const struct merge_header *header);

/**
 * Appends the header of a file with these tensors, one after the other, and this metadata, as the
 * format's writers do: metadata first, its text filled up to a multiple of 8 bytes. Returns 0, or
 * -1 when memory is short.
 */
int merge_header_compose(const struct merge_plan *tensors,
			 const struct merge_list tensor_lists[MERGE_VERSIONS],
			 const struct merge_plan *metadata,
			 const struct merge_list metadata_lists[MERGE_VERSIONS],
			 struct buffer *out);

#endif
