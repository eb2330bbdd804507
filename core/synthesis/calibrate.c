/* SPDX-License-Identifier: Apache-2.0 */
#include "core/synthesis/calibrate.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"

/*
 * The paper's evaluation looks at 1,048,576 elements of each tensor. A sixteenth of that leads to
 * archives of the same size, for a third of the time (docs/FINDINGS.md).
 */
#define SAMPLE_TENSORS    4
#define SAMPLE_EXPANSIONS 6 /* of which the pass of the fast preset takes one */
#define SAMPLE_ELEMENTS   ((size_t)1 << 16)

struct candidate {
	const struct sample_tensor *tensor;
	size_t number;
};

static size_t bytes_of(const struct sample_tensor *t)
{
	return t->count * (t->width / 8);
}

/* By type, then by size, the largest first. */
static int compare(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->tensor->kind->dtype != y->tensor->kind->dtype)
		return x->tensor->kind->dtype < y->tensor->kind->dtype ? -1 : 1;
	if (bytes_of(x->tensor) != bytes_of(y->tensor))
		return bytes_of(x->tensor) > bytes_of(y->tensor) ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

/* First of the candidates after `from` that has another type. */
static size_t end_of_type(const struct candidate *list, size_t count, size_t from)
{
	size_t i = from;

	while (i < count && list[i].tensor->kind->dtype == list[from].tensor->kind->dtype)
		i++;
	return i;
}

/*
 * Takes from each type in turn: the tensors at which so many parts of its bytes, counted from the
 * largest tensor, are passed.
 */
static unsigned stratify(const struct candidate *list, size_t count,
			 const struct sample_tensor **chosen)
{
	unsigned types = 0, n = 0;
	size_t begin, end;

	for (begin = 0; begin < count; begin = end_of_type(list, count, begin))
		types++;
	for (begin = 0; begin < count && n < SAMPLE_TENSORS; begin = end) {
		unsigned share = (SAMPLE_TENSORS - n) / types, k = 0;
		uint64_t total = 0, seen = 0;
		size_t i;

		end = end_of_type(list, count, begin);
		share = share ? share : 1;
		types = types > 1 ? types - 1 : 1;
		for (i = begin; i < end; i++)
			total += bytes_of(list[i].tensor);
		for (i = begin; i < end && k < share; i++) {
			seen += bytes_of(list[i].tensor);
			if (seen * share <= total * k)
				continue;
			chosen[n++] = list[i].tensor;
			k++;
		}
	}
	return n;
}

/* The beginning of a large tensor: as many of its outermost slices as the sample affords. */
static struct sample_tensor shorten(const struct sample_tensor *t, struct tensor_kind *kind)
{
	struct sample_tensor part = *t;
	const struct shape *whole = &t->kind->shape;
	size_t slice, i;

	*kind = *t->kind;
	part.kind = kind;
	if (t->count <= SAMPLE_ELEMENTS || !whole->rank)
		return part;
	slice = t->count / whole->extents[0];
	if (slice > SAMPLE_ELEMENTS) {
		part.count = SAMPLE_ELEMENTS;
		kind->shape = shape_of_row(part.count);
		return part;
	}
	part.count = SAMPLE_ELEMENTS / slice * slice;
	kind->shape = (struct shape){0};
	shape_add(&kind->shape, SAMPLE_ELEMENTS / slice);
	for (i = 1; i < whole->rank; i++)
		shape_add(&kind->shape, whole->extents[i]);
	return part;
}

int calibrate_prior(const struct sample_tensor *tensors, size_t count,
		    const struct codebook *codebook, struct prior **out, struct brevis_error *err)
{
	const struct synthesis_options options = {.codebook = codebook,
						  .budget = SAMPLE_EXPANSIONS - 1};
	const struct sample_tensor *chosen[SAMPLE_TENSORS];
	struct candidate *list = malloc(sizeof(*list) * (count + 1));
	struct prior *prior = prior_new();
	struct buffer program = BUFFER_INIT;
	unsigned n = 0, i;
	size_t k;
	int status = list && prior ? BREVIS_OK : error_nomem(err);

	for (k = 0; k < count && !status; k++)
		list[k] = (struct candidate){&tensors[k], k};
	if (!status) {
		qsort(list, count, sizeof(*list), compare);
		n = stratify(list, count, chosen);
	}
	for (i = 0; i < n && !status; i++) {
		struct tensor_kind kind;
		struct sample_tensor t = shorten(chosen[i], &kind);

		buffer_clear(&program);
		status = synthesize(t.words, t.width, t.count, t.kind, &options, &program, prior,
				    err);
	}
	buffer_release(&program);
	free(list);
	if (status)
		prior_free(prior);
	else
		*out = prior;
	return status;
}
