/* SPDX-License-Identifier: Apache-2.0 */
/** The metadata of a header, sorted, and as people may see it. */
#ifndef FILTER_MODEL_METADATA_H
#define FILTER_MODEL_METADATA_H

#include "core/brevis.h"

struct metadata_entry {
	struct brevis_metadata_info info;
	size_t number; /* in the header's order */
};

/** By key, and where one comes twice in the header's order. */
struct metadata {
	struct metadata_entry *entries;
	size_t count;
};

/** Sorts the metadata of a header, which must outlive it; NULL has none. Release it whatever this
 * returns. Returns -1 when memory is short. */
int metadata_load(struct metadata *metadata, const struct brevis_header *header);
void metadata_release(struct metadata *metadata);

/** Orders two entries by their keys, byte by byte. */
int metadata_compare_keys(const struct metadata_entry *a, const struct metadata_entry *b);

/** A copy of a string that may hold NUL, which becomes '?'. Caller frees. Returns NULL when memory
 * is short. */
char *metadata_shown(const char *text, size_t size);

#endif
