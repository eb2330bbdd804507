/* SPDX-License-Identifier: Apache-2.0 */
/** What a safetensors header says beside its tensors' types, shapes and places. */
#ifndef FILTER_MODEL_HEADER_H
#define FILTER_MODEL_HEADER_H

#include "filter/model/model_view.h"

/** An entry of __metadata__. A NUL in it is shown as '?'. */
struct header_entry {
	char *key;
	char *value;
	size_t number; /* in the header's order */
};

struct model_header {
	struct buffer text;            /* JSON, as it is */
	struct header_entry *metadata; /* sorted by key */
	size_t metadata_count;
	char **names; /* of tensors, in the order in which the header lists them */
	size_t count;
};

/** Reads it; nothing of opaque content, or of a view that is NULL. Release it whatever this
 * returns. Reports and returns -1 on failure. Memory: a few times the header. */
int model_header_load(struct model_header *header, struct model_view *view);
void model_header_release(struct model_header *header);

#endif
