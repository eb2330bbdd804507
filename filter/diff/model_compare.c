/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/diff/model_compare.h"

#include <stdlib.h>
#include <string.h>

#include "filter/model/model_metadata.h"
#include "filter/cli/report.h"

/* Bytes of both that are compared at a time; a multiple of every element's. */
#define STEP ((size_t)1 << 20)

/* One side. */
struct side {
	struct model_view *view; /* NULL: no file */
	struct metadata metadata;
	const struct brevis_tensor_info **by_name;
	size_t *listed; /* numbers of tensors, in the order in which the header lists them */
	size_t count;
	uint8_t *step;
};

struct comparison {
	struct side sides[2]; /* before, after */
	const struct change_taker *taker;
	struct model_changes *out;
};

/* ---- sides ----------------------------------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
	const struct brevis_tensor_info *const *x = a;
	const struct brevis_tensor_info *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

static int side_load(struct side *side, struct model_view *view)
{
	side->view = view;
	side->count = view ? model_view_tensors(view) : 0;
	side->by_name = calloc(side->count + 1, sizeof(*side->by_name));
	side->listed = calloc(side->count + 1, sizeof(*side->listed));
	side->step = malloc(STEP);
	if (!side->by_name || !side->listed || !side->step ||
	    metadata_load(&side->metadata, view ? model_view_header(view) : NULL) != 0)
		return report_error("out of memory");
	for (size_t i = 0; i < side->count; i++) {
		side->by_name[i] = model_view_tensor(view, i);
		side->listed[brevis_header_place(model_view_header(view), i)] = i;
	}
	qsort(side->by_name, side->count, sizeof(*side->by_name), compare_names);
	return 0;
}

static void side_release(struct side *side)
{
	metadata_release(&side->metadata);
	free(side->by_name);
	free(side->listed);
	free(side->step);
}

static const struct brevis_tensor_info *find(const struct side *side, const char *name)
{
	const struct brevis_tensor_info wanted = {.name = name};
	const struct brevis_tensor_info *key = &wanted;
	const struct brevis_tensor_info **found =
		bsearch(&key, side->by_name, side->count, sizeof(*side->by_name), compare_names);

	return found ? *found : NULL;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* Reads the same part of two spans. */
static int read_step(struct comparison *c, const uint64_t begins[2], uint64_t at, size_t len)
{
	for (int i = 0; i < 2; i++)
		if (model_view_read_at(c->sides[i].view, c->sides[i].step, len, begins[i] + at) !=
		    0)
			return -1;
	return 0;
}

/* Says whether two spans have the same bytes. */
static int compare_spans(struct comparison *c, const uint64_t begins[2], uint64_t size, bool *same)
{
	*same = true;
	for (uint64_t at = 0; at < size && *same; at += STEP) {
		size_t len = size - at < STEP ? (size_t)(size - at) : STEP;

		if (read_step(c, begins, at, len) != 0)
			return -1;
		*same = memcmp(c->sides[0].step, c->sides[1].step, len) == 0;
	}
	return 0;
}

/* ---- metadata -------------------------------------------------------------------------------- */

/* Which of the next entries of both comes first: below 0 that of a, above 0 that of b. */
static int next_entry(const struct metadata *a, size_t i, const struct metadata *b, size_t k)
{
	if (i == a->count)
		return 1;
	return k == b->count ? -1 : metadata_compare_keys(&a->entries[i], &b->entries[k]);
}

static bool same_value(const struct metadata_entry *a, const struct metadata_entry *b)
{
	return a->info.value_size == b->info.value_size &&
	       memcmp(a->info.value, b->info.value, a->info.value_size) == 0;
}

/* Tells of an entry that differs, or is on one side only: then the other one is NULL. */
static int tell_metadata(const struct comparison *c, const struct metadata_entry *before,
			 const struct metadata_entry *after)
{
	const struct brevis_metadata_info *either = before ? &before->info : &after->info;
	char *key = metadata_shown(either->key, either->key_size);
	char *values[2] = {NULL, NULL};
	struct metadata_change change;
	int rc = -1;

	if (before)
		values[0] = metadata_shown(before->info.value, before->info.value_size);
	if (after)
		values[1] = metadata_shown(after->info.value, after->info.value_size);
	if (key && !values[0] == !before && !values[1] == !after) {
		change = (struct metadata_change){key, values[0], values[1]};
		c->taker->metadata(c->taker->ctx, &change);
		rc = 0;
	}
	free(key);
	free(values[0]);
	free(values[1]);
	return rc == 0 ? 0 : report_error("out of memory");
}

/* Tells of the entries of both; *found: there is anything to tell. */
static int compare_metadata(const struct comparison *c, bool *found)
{
	const struct metadata *a = &c->sides[0].metadata;
	const struct metadata *b = &c->sides[1].metadata;
	int rc = 0;

	*found = false;
	for (size_t i = 0, k = 0; rc == 0 && (i < a->count || k < b->count);) {
		int order = next_entry(a, i, b, k);
		const struct metadata_entry *x = order <= 0 ? &a->entries[i++] : NULL;
		const struct metadata_entry *y = order >= 0 ? &b->entries[k++] : NULL;

		if (x && y && same_value(x, y))
			continue;
		rc = tell_metadata(c, x, y);
		*found = true;
	}
	return rc;
}

/* True if the keys that are in both come in another order. Both are sorted, so their numbers run in
 * step if, and only if, they do not. */
static int metadata_is_moved(const struct comparison *c, bool *moved)
{
	const struct metadata *a = &c->sides[0].metadata;
	const struct metadata *b = &c->sides[1].metadata;
	/* For each entry of a, by its number: that of its partner in b, from 1; 0: it has none. */
	size_t *partners = calloc(a->count + 1, sizeof(*partners));
	size_t last = 0;

	*moved = false;
	if (!partners)
		return report_error("out of memory");
	for (size_t i = 0, k = 0; i < a->count && k < b->count;) {
		int order = next_entry(a, i, b, k);

		if (order == 0)
			partners[a->entries[i].number] = b->entries[k].number + 1;
		i += order <= 0;
		k += order >= 0;
	}
	for (size_t i = 0; i < a->count; i++) {
		if (partners[i] && partners[i] < last)
			*moved = true;
		if (partners[i])
			last = partners[i];
	}
	free(partners);
	return 0;
}

/* ---- orders ---------------------------------------------------------------------------------- */

/* A way to go through the names of one side. */
typedef const char *(*name_at)(const struct side *side, size_t i);

static const char *listed_name(const struct side *side, size_t i)
{
	return model_view_tensor(side->view, side->listed[i])->name;
}

static const char *data_name(const struct side *side, size_t i)
{
	return model_view_tensor(side->view, i)->name;
}

/* True if the names that are on both sides come in another order. */
static bool is_moved(const struct comparison *c, name_at name)
{
	const struct side *a = &c->sides[0];
	const struct side *b = &c->sides[1];
	size_t i = 0, k = 0;

	for (;;) {
		while (i < a->count && !find(b, name(a, i)))
			i++;
		while (k < b->count && !find(a, name(b, k)))
			k++;
		if (i == a->count || k == b->count)
			return false;
		if (strcmp(name(a, i++), name(b, k++)) != 0)
			return true;
	}
}

/* ---- the frame ------------------------------------------------------------------------------- */

static bool same_kind(const struct brevis_tensor_info *a, const struct brevis_tensor_info *b)
{
	return strcmp(a->dtype, b->dtype) == 0 && a->rank == b->rank &&
	       (!a->rank || memcmp(a->shape, b->shape, a->rank * sizeof(*a->shape)) == 0);
}

/* True if both headers name the same tensors of the same kinds. */
static bool same_tensors(const struct comparison *c)
{
	const struct side *a = &c->sides[0];
	const struct side *b = &c->sides[1];

	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (strcmp(a->by_name[i]->name, b->by_name[i]->name) != 0 ||
		    !same_kind(a->by_name[i], b->by_name[i]))
			return false;
	return true;
}

static uint64_t data_end(const struct side *side)
{
	const struct brevis_tensor_info *last;

	if (!side->count)
		return model_view_header_size(side->view);
	last = model_view_tensor(side->view, side->count - 1);
	/* An irregular file may end before its last tensor begins. */
	if (last->offset > model_view_size(side->view))
		return model_view_size(side->view);
	return last->offset + model_view_present(side->view, last);
}

static int compare_rests(struct comparison *c, bool *same)
{
	const uint64_t begins[2] = {data_end(&c->sides[0]), data_end(&c->sides[1])};
	uint64_t size = model_view_size(c->sides[0].view) - begins[0];

	*same = size == model_view_size(c->sides[1].view) - begins[1];
	return *same ? compare_spans(c, begins, size, same) : 0;
}

/* Says whether both headers are the same, byte by byte. */
static int compare_texts(struct comparison *c, bool *same)
{
	const uint64_t begins[2] = {0, 0};
	uint64_t size = model_view_header_size(c->sides[0].view);

	*same = size == model_view_header_size(c->sides[1].view);
	return *same ? compare_spans(c, begins, size, same) : 0;
}

/* What two files that are both there differ in, beside tensors and metadata. *told: that they
 * differ was told, or will be. */
static int compare_both(struct comparison *c, struct frame_change *change, bool *told)
{
	bool same_rest;
	bool same_text = true;

	if (metadata_is_moved(c, &change->metadata_order) != 0 || compare_rests(c, &same_rest) != 0)
		return -1;
	change->header_order = is_moved(c, listed_name);
	change->data_order = is_moved(c, data_name);
	change->rest = !same_rest;
	*told = *told || change->metadata_order || change->header_order || change->data_order ||
		!same_tensors(c);
	if (!*told && compare_texts(c, &same_text) != 0)
		return -1;
	change->header_text = !same_text;
	*told = *told || change->header_text || change->rest;
	return 0;
}

static int compare_frames(struct comparison *c)
{
	struct frame_change change = {0};
	bool told;

	if (compare_metadata(c, &told) != 0)
		return -1;
	if (c->sides[0].view && c->sides[1].view && compare_both(c, &change, &told) != 0)
		return -1;
	c->taker->frame(c->taker->ctx, &change);
	c->out->same = c->out->same && !told;
	return 0;
}

/* ---- tensors --------------------------------------------------------------------------------- */

static void tell(struct comparison *c, const struct tensor_change *change)
{
	c->out->same = false;
	c->out->tensors[change->kind]++;
	c->taker->tensor(c->taker->ctx, change);
}

/* Compares the elements of a tensor that is on both sides, as far as these are there. */
static int compare_elements(struct comparison *c, struct tensor_change *change)
{
	const uint64_t begins[2] = {change->before->offset, change->after->offset};
	uint64_t sizes[2] = {model_view_present(c->sides[0].view, change->before),
			     model_view_present(c->sides[1].view, change->after)};
	uint64_t common = sizes[0] < sizes[1] ? sizes[0] : sizes[1];
	struct tensor_compare compare;
	size_t rest;

	tensor_compare_begin(&compare, change->before->dtype);
	rest = (size_t)(common % tensor_compare_width(&compare));
	for (uint64_t at = 0; at < common; at += STEP) {
		size_t len = common - at < STEP ? (size_t)(common - at) : STEP;
		size_t whole = len < STEP ? len - rest : len;

		if (read_step(c, begins, at, len) != 0)
			return -1;
		tensor_compare_add(&compare, c->sides[0].step, c->sides[1].step, whole);
		if (memcmp(c->sides[0].step + whole, c->sides[1].step + whole, len - whole) != 0)
			change->cut = true;
	}
	change->cut = change->cut || sizes[0] != sizes[1];
	tensor_compare_end(&compare, &change->difference);
	return 0;
}

static int compare_tensor(struct comparison *c, const struct brevis_tensor_info *before,
			  const struct brevis_tensor_info *after)
{
	struct tensor_change change = {TENSOR_CHANGED, before, after, {0}, false};

	if (!same_kind(before, after)) {
		change.kind = TENSOR_RETYPED;
		tell(c, &change);
		return 0;
	}
	if (!model_view_same_tensor(c->sides[0].view, before, c->sides[1].view, after) &&
	    compare_elements(c, &change) != 0)
		return -1;
	if (change.difference.changed || change.cut)
		tell(c, &change);
	else
		c->out->tensors_same++;
	return 0;
}

static int compare_tensors(struct comparison *c)
{
	const struct side *a = &c->sides[0];
	const struct side *b = &c->sides[1];
	int rc = 0;

	for (size_t i = 0, k = 0; rc == 0 && (i < a->count || k < b->count);) {
		const struct brevis_tensor_info *x = i < a->count ? a->by_name[i] : NULL;
		const struct brevis_tensor_info *y = k < b->count ? b->by_name[k] : NULL;
		int order = !x ? 1 : !y ? -1 : strcmp(x->name, y->name);

		if (order < 0)
			tell(c, &(struct tensor_change){.kind = TENSOR_REMOVED, .before = x});
		else if (order > 0)
			tell(c, &(struct tensor_change){.kind = TENSOR_ADDED, .after = y});
		else
			rc = compare_tensor(c, x, y);
		i += order <= 0;
		k += order >= 0;
	}
	return rc;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Says whether both are the same by what is promised of them, or, of opaque content, by what it is.
 */
static int compare_whole(struct model_view *before, struct model_view *after, bool opaque,
			 bool *same)
{
	char a[OID_HEX_SIZE + 1], b[OID_HEX_SIZE + 1];

	*same = false;
	if (model_view_size(before) != model_view_size(after))
		return 0;
	if (!opaque && (!model_view_is_promised(before) || !model_view_is_promised(after)))
		return 0;
	if (model_view_sha256(before, a) != 0 || model_view_sha256(after, b) != 0)
		return -1;
	*same = strcmp(a, b) == 0;
	return 0;
}

static bool is_opaque(const struct model_view *view)
{
	return view && model_view_layout(view) == BREVIS_LAYOUT_OPAQUE;
}

int model_compare(struct model_view *before, struct model_view *after,
		  const struct change_taker *taker, struct model_changes *out)
{
	struct comparison c = {.taker = taker, .out = out};
	int rc = -1;

	memset(out, 0, sizeof(*out));
	out->opaque = is_opaque(before) || is_opaque(after);
	if (before && after && compare_whole(before, after, out->opaque, &out->same) != 0)
		return -1;
	if (out->same)
		out->tensors_same = model_view_tensors(before);
	if (out->same || out->opaque)
		return 0;
	out->same = before && after;
	if (side_load(&c.sides[0], before) == 0 && side_load(&c.sides[1], after) == 0 &&
	    compare_frames(&c) == 0)
		rc = compare_tensors(&c);
	side_release(&c.sides[0]);
	side_release(&c.sides[1]);
	return rc;
}
