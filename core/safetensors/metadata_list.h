/* SPDX-License-Identifier: Apache-2.0 */
/** The entries of a header's __metadata__, in its order. */
#ifndef CORE_SAFETENSORS_METADATA_LIST_H
#define CORE_SAFETENSORS_METADATA_LIST_H

#include "core/base/buffer.h"
#include "core/brevis.h"

/** More entries than any model has: each costs us more than it takes in a header. */
#define METADATA_MAX (1u << 16)

/** Starts as all zeros. */
struct metadata_list {
	struct buffer text;    /* of each entry: key, NUL, value, NUL */
	struct buffer entries; /* struct metadata_entry */
};

void metadata_list_release(struct metadata_list *list);

/** Begins an entry. */
void metadata_list_key(struct metadata_list *list, const void *key, size_t len);

/** Ends the entry that was begun last. */
void metadata_list_value(struct metadata_list *list, const void *value, size_t len);

/** True if memory was short at any time. */
bool metadata_list_failed(const struct metadata_list *list);

size_t metadata_list_count(const struct metadata_list *list);

/** True if another entry would be one too many. */
bool metadata_list_is_full(const struct metadata_list *list);

/** Entry i. Its strings live with the list, until it grows. */
struct brevis_metadata_info metadata_list_at(const struct metadata_list *list, size_t i);

#endif
