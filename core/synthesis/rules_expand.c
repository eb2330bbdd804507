/* SPDX-License-Identifier: Apache-2.0 */
/* Taking streams apart as rules propose. */
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/program/program.h"
#include "core/synthesis/cells.h"
#include "core/synthesis/rules.h"

/* Where children go. */
struct family {
	struct stream *parent;
	struct stream **children;
	unsigned count;
	struct brevis_error *err;
};

/* Adds a child that owns its words. */
static int add(struct family *f, const struct words *words, const struct shape *shape,
	       enum stream_meaning meaning)
{
	struct stream *child = stream_new(words, (void *)words->data, shape, meaning);

	if (!child)
		return error_nomem(f->err);
	child->codebook = f->parent->codebook;
	f->children[f->count++] = child;
	return BREVIS_OK;
}

/* Adds a child that is a part of its parent's words. */
static int add_part(struct family *f, size_t begin, size_t count)
{
	struct stream *p = f->parent;
	struct words words = {
		(const uint8_t *)p->words.data + begin * word_bytes(p->words.width),
		p->words.width,
		count,
	};
	struct stream *child = stream_new(&words, NULL, NULL, p->meaning);

	if (!child)
		return error_nomem(f->err);
	child->holder = stream_share(f->parent);
	child->codebook = f->parent->codebook;
	f->children[f->count++] = child;
	return BREVIS_OK;
}

/* What a field of `width` bits below `above` others means. */
static enum stream_meaning field_meaning(const struct stream *parent, unsigned above,
					 unsigned width)
{
	if (parent->meaning == MEANS_NOISE || parent->meaning == MEANS_INTEGER)
		return parent->meaning;
	/* Signs have classes where they lean to one side. */
	if (parent->meaning == MEANS_FLOAT && above == 0 && width == 1)
		return parent->leaning_known && !parent->leaning ? MEANS_NOISE : MEANS_INTEGER;
	if (parent->meaning == MEANS_FLOAT && above == 0)
		return MEANS_FLOAT;
	return above + width > LITERAL_SYMBOL_BITS + 2 ? MEANS_NOISE : MEANS_MAGNITUDE;
}

/* What the parent's prices say of a field of `width` bits below `above` others. */
static int measure_field(const struct family *f, struct stream *field, unsigned above,
			 unsigned width)
{
	const struct partition_prices *prices = &f->parent->prices;
	uint64_t cost, plain = f->parent->words.count * (uint64_t)width;

	if (!f->parent->priced || above + width > prices->upper || width > LITERAL_SYMBOL_BITS ||
	    prices->bounds[above][width] == 0)
		return BREVIS_OK;
	cost = prices->fields[above][width];
	if (cost < plain)
		return stream_fold(f->parent, above, width, &field->histogram, f->err);
	field->measured = field->noise = true;
	field->estimate = (cost + 7) / 8;
	field->bound = prices->bounds[above][width] / 8;
	return BREVIS_OK;
}

static int expand_merge(struct family *f, const struct proposal *p, struct buffer *head)
{
	struct stream *parent = f->parent;
	unsigned above = 0, i;
	int status = BREVIS_OK;

	program_put_merge(head, p->cut.widths, p->cut.count);
	for (i = 0; i < p->cut.count && !status; i++) {
		unsigned width = p->cut.widths[i];
		struct words field;

		status = expand_fields(&parent->words, parent->words.width - above - width, width,
				       &field, f->err);
		if (!status)
			status =
				add(f, &field, &parent->shape, field_meaning(parent, above, width));
		if (!status)
			status = measure_field(f, f->children[i], above, width);
		above += width;
	}
	/* The plan was made for this child, with the cut. */
	if (!status && p->rule == RULE_MERGE_ROUTED && parent->cut_plan) {
		f->children[p->routed]->plan = route_plan_share(parent->cut_plan);
		f->children[p->routed]->planned = true;
	}
	return status;
}

static int write_route(struct family *f, struct buffer *head)
{
	const struct words *words = &f->parent->words;
	const struct route_plan *plan = f->parent->plan;

	return program_put_route(head, &plan->grid, &plan->classes, words->data, words->width, NULL,
				 f->err);
}

static int expand_flipped(struct family *f, const struct proposal *p, struct buffer *head)
{
	struct stream *parent = f->parent;
	struct words words;
	uint8_t *flags;
	size_t flipped;
	uint64_t saved;
	int status = flip_majority(&parent->words, &p->grid, &flags, &flipped, &saved, f->err);

	if (status)
		return status;
	if (flipped) {
		status = program_put_flip(head, &p->grid, flags, f->err);
		if (!status)
			status = expand_flip(&parent->words, &p->grid, flags, &words, f->err);
		if (!status)
			status = add(f, &words, &parent->shape, parent->meaning);
	}
	free(flags);
	return status;
}

static int expand_escaped(struct family *f, const struct proposal *p, struct buffer *head)
{
	struct stream *parent = f->parent;
	struct words codes, escaped;
	int status = expand_escape(&parent->words, p->width, p->number, &codes, &escaped, f->err);

	if (status)
		return status;
	program_put_escape(head, p->width, p->number, escaped.count);
	status = add(f, &codes, &parent->shape,
		     p->rule == RULE_MASK ? MEANS_INTEGER : parent->meaning);
	if (status || !escaped.count) {
		words_free(&escaped);
		return status;
	}
	return add(f, &escaped, NULL, parent->meaning);
}

static int expand_packed(struct family *f, const struct proposal *p, struct buffer *head)
{
	struct stream *parent = f->parent;
	unsigned k = (unsigned)p->number;
	struct shape shape = parent->shape;
	struct words words;
	int status = expand_pack(&parent->words, k, &words, f->err);

	if (status)
		return status;
	program_put_pack(head, k);
	if (shape.rank)
		shape.extents[shape.rank - 1] *= k;
	else
		shape = shape_of_row(k);
	return add(f, &words, &shape, MEANS_INTEGER);
}

static int expand_concat(struct family *f, const struct proposal *p, struct buffer *head)
{
	size_t counts[RUNS_MAX_CUTS + 3];
	size_t at = 0;
	unsigned n = 0, i;
	int status = BREVIS_OK;
	const struct runs *r = &p->runs;
	size_t end = f->parent->words.count - r->tail;

	if (r->head)
		counts[n++] = r->head;
	at = r->head;
	for (i = 0; i < r->count; i++) {
		if (r->cuts[i] <= at || r->cuts[i] >= end)
			continue;
		counts[n++] = r->cuts[i] - at;
		at = r->cuts[i];
	}
	if (end > at)
		counts[n++] = end - at;
	if (r->tail)
		counts[n++] = r->tail;
	if (n < 2)
		return BREVIS_OK;
	program_put_concat(head, counts, n);
	for (i = 0, at = 0; i < n && !status; at += counts[i], i++)
		status = add_part(f, at, counts[i]);
	return status;
}

static int expand_scanned(struct family *f, const struct proposal *p, struct buffer *head)
{
	enum scan_function function = p->rule == RULE_SCAN_XOR ? SCAN_XOR : SCAN_ADD;
	struct words updates;
	uint64_t first;
	int status = expand_scan(&f->parent->words, function, &first, &updates, f->err);

	if (status)
		return status;
	program_put_scan(head, function, first);
	return add(f, &updates, NULL, MEANS_INTEGER);
}

static int expand_mapped(struct family *f, const struct proposal *p, struct buffer *head)
{
	enum map_function function = (enum map_function)(p->rule - RULE_MAP);
	struct words words;
	int status = expand_map(&f->parent->words, function, p->number, &words, f->err);

	if (status)
		return status;
	program_put_map(head, function, p->number);
	return add(f, &words, &f->parent->shape, MEANS_INTEGER);
}

/* A literal by byte matching. */
static int write_match(struct family *f, const struct proposal *p, struct buffer *head)
{
	const struct words *words = &f->parent->words;
	struct literal_options options = {
		.histogram = f->parent->histogram,
		.zstd_level = (int)p->width,
		.lzma = p->number == EFFORT_BEST,
	};

	return literal_encode(head, words->data, words->width, words->count, &options, f->err);
}

static int expand(struct family *f, const struct proposal *p, struct buffer *head)
{
	switch (p->rule) {
	case RULE_MERGE:
	case RULE_MERGE_ROUTED:
	case RULE_MERGE_FLOAT:
	case RULE_MERGE_BITS:
	case RULE_MERGE_BYTES:
		return expand_merge(f, p, head);
	case RULE_ROUTE:
		return write_route(f, head);
	case RULE_FLIP:
		return expand_flipped(f, p, head);
	case RULE_MASK:
	case RULE_ESCAPE:
		return expand_escaped(f, p, head);
	case RULE_PACK:
		return expand_packed(f, p, head);
	case RULE_CONCAT:
		return expand_concat(f, p, head);
	case RULE_REPEAT:
		program_put_repeat(head, (size_t)p->number);
		return add_part(f, 0, f->parent->words.count / (size_t)p->number);
	case RULE_MATCH:
		return write_match(f, p, head);
	case RULE_SCAN_XOR:
	case RULE_SCAN_ADD:
		return expand_scanned(f, p, head);
	default:
		return expand_mapped(f, p, head);
	}
}

size_t rules_side_words(const struct stream *stream, const struct proposal *p)
{
	const struct route_plan *plan = stream->plan;

	if (p->rule == RULE_FLIP)
		return p->grid.columns;
	if (p->rule != RULE_ROUTE)
		return 0;
	return (plan->classes.of_row ? plan->grid.rows : 0) +
	       (plan->classes.of_column ? plan->grid.columns : 0) + CELLS_MAX;
}

int rules_expand(struct stream *stream, const struct proposal *proposal, struct buffer *head,
		 struct stream **children, unsigned *arity, bool *applies, struct brevis_error *err)
{
	struct family f = {stream, children, 0, err};
	int status = expand(&f, proposal, head);
	unsigned i;

	if (!status && buffer_failed(head))
		status = error_nomem(err);
	if (status) {
		for (i = 0; i < f.count; i++)
			stream_free(children[i]);
		return status;
	}
	*arity = f.count;
	*applies = f.count > 0 || proposal->rule == RULE_MATCH || proposal->rule == RULE_ROUTE;
	return BREVIS_OK;
}
