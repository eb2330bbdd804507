/* SPDX-License-Identifier: Apache-2.0 */
/** Headers as merging sees them: as lists of items, and made of what a plan has picked. */
#ifndef FILTER_MERGE_HEADER_H
#define FILTER_MERGE_HEADER_H

#include "core/base/buffer.h"
#include "filter/merge/merge_plan.h"

/** Lists the tensors of a header in the order of their data, without their hashes. What it lists
 * lives with the header; the caller frees list->items. Returns -1 when memory is short. */
int merge_header_tensors(const struct brevis_header *header, struct merge_list *list);

/** The same for the entries of __metadata__, in the header's order; sha256 is that of the value. */
int merge_header_metadata(const struct brevis_header *header, struct merge_list *list);

/**
 * Says whether the header, whose metadata this is, has nothing but names, types, shapes, offsets,
 * and metadata in which no key comes twice or holds NUL: then one that is composed loses nothing of
 * it. Returns -1 when memory is short.
 */
int merge_header_is_plain(const struct brevis_header *header, bool *plain);

enum merge_composed {
	MERGE_COMPOSED,
	MERGE_TOO_LARGE, /* it would not be a header that anybody reads again */
	MERGE_NO_MEMORY
};

/**
 * Appends the header of a file with these tensors, one after the other, and this metadata, as the
 * format's writers do: metadata first, its text filled up to a multiple of 8 bytes. It was read
 * back, and says what it is to say.
 */
enum merge_composed merge_header_compose(const struct merge_plan *tensors,
					 const struct merge_list tensor_lists[MERGE_VERSIONS],
					 const struct merge_plan *metadata,
					 const struct merge_list metadata_lists[MERGE_VERSIONS],
					 struct buffer *out);

#endif
