/* SPDX-License-Identifier: Apache-2.0 */
#include "core/compress/window.h"

#include <stdlib.h>

#include "core/base/error.h"

int window_add(struct window *w, const struct held_piece *piece)
{
	if (w->count == w->capacity) {
		size_t capacity = w->capacity ? 2 * w->capacity : 64;
		struct held_piece *pieces = realloc(w->pieces, capacity * sizeof(*pieces));

		if (!pieces)
			return -1;
		w->pieces = pieces;
		w->capacity = capacity;
	}
	w->pieces[w->count++] = *piece;
	/* Of the content only: how the input was cut into writes must not show. */
	w->bytes += piece->head.raw_size + sizeof(*piece);
	return 0;
}

void window_release(struct window *w)
{
	while (w->count)
		free(w->pieces[--w->count].memory);
	free(w->pieces);
	*w = (struct window){0};
}

/* Contents that were seen: a hash table of the numbers of pieces, plus 1. */
static bool is_new(const struct window *w, size_t i, uint32_t *slots, size_t size)
{
	const struct content_key *key = &w->pieces[i].key;
	size_t at = (size_t)key->low & (size - 1);

	while (slots[at]) {
		if (content_key_equal(w->pieces[slots[at] - 1].key, *key))
			return false;
		at = (at + 1) & (size - 1);
	}
	slots[at] = (uint32_t)i + 1;
	return true;
}

int window_tensors(const struct window *w, struct sample_tensor **out, size_t *count,
		   struct brevis_error *err)
{
	size_t size = 64, n = 0, i;
	struct sample_tensor *list;
	uint32_t *slots;

	while (size < 2 * w->count)
		size *= 2;
	list = malloc(sizeof(*list) * (w->count + 1));
	slots = calloc(size, sizeof(*slots));
	if (!list || !slots) {
		free(list);
		free(slots);
		return error_nomem(err);
	}
	for (i = 0; i < w->count; i++) {
		const struct held_piece *p = &w->pieces[i];

		if (p->head.kind == RECORD_BYTES || !is_new(w, i, slots, size))
			continue;
		list[n++] = (struct sample_tensor){
			.words = p->raw,
			.width = p->head.kind,
			.count = p->head.raw_size / (p->head.kind / 8),
			.kind = &p->kind.tensor,
		};
	}
	free(slots);
	*out = list;
	*count = n;
	return BREVIS_OK;
}
