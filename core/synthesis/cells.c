/* SPDX-License-Identifier: Apache-2.0 */
#include "core/synthesis/cells.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/entropy/log2.h"
#include "core/entropy/words.h"

/* Groups of cells that joining begins with. */
#define GROUPS_MAX 32

/* What a class costs beside its words, in bits: a node with its parameters; each symbol's share. */
#define CLASS_COST  88
#define SYMBOL_COST 5

/* ---- cells ---------------------------------------------------------------------------------- */

ALWAYS_INLINE void count_words(const void *words, unsigned size, const struct grid *grid,
			       const struct alphabet *alphabet, const struct levels *rows,
			       const uint32_t *column_at, size_t stride, const struct cells *out)
{
	size_t i, r, c, k;

	for (r = 0; r < grid->rows; r += stride) {
		uint32_t *row = out->counts + (size_t)rows->of[r] * out->columns * out->symbols;

		i = r * grid->columns * grid->inner;
		for (c = 0; c < grid->columns; c++) {
			uint32_t *cell = row + column_at[c];

			for (k = 0; k < grid->inner; k++)
				cell[alphabet->of_symbol[word_get(words, size, i++)]]++;
		}
	}
}

int cells_count(const struct words *in, const struct grid *grid, const struct alphabet *alphabet,
		const struct levels *rows, const struct levels *columns, size_t stride,
		struct cells *out, struct brevis_error *err)
{
	uint32_t *column_at = malloc(sizeof(*column_at) * grid->columns);
	size_t c, i;

	/* Few rows say too little of their levels. */
	if (grid->rows / stride < 16 * (size_t)LEVELS_MAX)
		stride = 1;
	*out = (struct cells){rows->count, columns->count, alphabet->count, NULL};
	out->counts = calloc((size_t)rows->count * columns->count * alphabet->count,
			     sizeof(*out->counts));
	if (!column_at || !out->counts) {
		free(column_at);
		free(out->counts);
		return error_nomem(err);
	}
	for (c = 0; c < grid->columns; c++)
		column_at[c] = columns->of[c] * alphabet->count;
	if (in->width <= 8)
		count_words(in->data, 1, grid, alphabet, rows, column_at, stride, out);
	else
		count_words(in->data, 2, grid, alphabet, rows, column_at, stride, out);
	for (i = 0; stride > 1 && i < (size_t)rows->count * columns->count * alphabet->count; i++)
		out->counts[i] *= (uint32_t)stride;
	free(column_at);
	return BREVIS_OK;
}

static void add(uint32_t *to, const uint32_t *from, unsigned n)
{
	unsigned i;

	for (i = 0; i < n; i++)
		to[i] += from[i];
}

static uint32_t *cell_at(const struct cells *cells, unsigned row, unsigned column)
{
	return cells->counts + ((size_t)row * cells->columns + column) * cells->symbols;
}

void cells_join_rows(struct cells *cells)
{
	unsigned r;

	for (r = 1; r < cells->rows; r++)
		add(cell_at(cells, 0, 0), cell_at(cells, r, 0), cells->columns * cells->symbols);
	cells->rows = 1;
}

void cells_join_columns(struct cells *cells)
{
	size_t bytes = sizeof(*cells->counts) * cells->symbols;
	unsigned r, c;

	for (r = 0; r < cells->rows; r++) {
		for (c = 1; c < cells->columns; c++)
			add(cell_at(cells, r, 0), cell_at(cells, r, c), cells->symbols);
		memmove(cells->counts + (size_t)r * cells->symbols, cell_at(cells, r, 0), bytes);
	}
	cells->columns = 1;
}

void cells_halve(struct cells *cells)
{
	struct cells half = {(cells->rows + 1) / 2, (cells->columns + 1) / 2, cells->symbols,
			     cells->counts};
	unsigned r, c;

	/* A cell of the halves stands where nothing is read any more. */
	for (r = 0; r < cells->rows; r++) {
		for (c = 0; c < cells->columns; c++) {
			uint32_t *to = cell_at(&half, r / 2, c / 2);
			const uint32_t *from = cell_at(cells, r, c);

			if (r % 2 || c % 2)
				add(to, from, cells->symbols);
			else if (to != from)
				memmove(to, from, sizeof(*to) * cells->symbols);
		}
	}
	*cells = half;
}

/* ---- classes -------------------------------------------------------------------------------- */

/* A class while cells are being joined: a run of cells in the order of their scale. */
struct group {
	uint32_t *counts;
	uint64_t cost;
	uint64_t gain; /* what joining it with the next one would add to the costs, at least 0 */
};

struct classifier {
	unsigned symbols;
	unsigned count; /* groups */
	struct group groups[GROUPS_MAX];
	uint8_t group_of[CELLS_MAX]; /* of a cell */
	uint32_t *memory;
};

/* Cost in bits of words with these counts, plus `more` if that is not NULL, and of their table. */
static uint64_t words_cost(const uint32_t *counts, const uint32_t *more, unsigned symbols)
{
	uint64_t total = 0, own = 0;
	unsigned distinct = 0;
	unsigned i;

	for (i = 0; i < symbols; i++) {
		uint32_t n = counts[i] + (more ? more[i] : 0);

		if (!n)
			continue;
		total += n;
		own += log2_weighted(n);
		distinct++;
	}
	if (!total)
		return 0;
	return ((total * log2_fixed((uint32_t)total) - own) >> LOG2_FRACTION) + CLASS_COST +
	       SYMBOL_COST * (uint64_t)distinct;
}

static void price_pair(struct classifier *k, unsigned i)
{
	struct group *a = &k->groups[i];
	uint64_t joined;

	if (i + 1 >= k->count)
		return;
	joined = words_cost(a->counts, a[1].counts, k->symbols);
	/* Joining can save a table: the cost is kept as an offset that is never negative. */
	a->gain = joined + (UINT64_C(1) << 40) - a->cost - a[1].cost;
}

static void join(struct classifier *k, unsigned at)
{
	struct group *a = &k->groups[at];
	unsigned i;

	add(a->counts, a[1].counts, k->symbols);
	a->cost = words_cost(a->counts, NULL, k->symbols);
	k->count--;
	memmove(a + 1, a + 2, sizeof(*a) * (k->count - at - 1));
	for (i = 0; i < CELLS_MAX; i++)
		if (k->group_of[i] > at)
			k->group_of[i]--;
	if (at)
		price_pair(k, at - 1);
	price_pair(k, at);
}

/* Symbols of the alphabet that agree but for the dropped bits are one. */
static unsigned fold(const struct alphabet *alphabet, unsigned dropped, const uint32_t *from,
		     uint32_t *to)
{
	unsigned n = 0;
	unsigned i;

	for (i = 0; i < alphabet->count; i++) {
		bool same =
			i && alphabet->symbols[i] >> dropped == alphabet->symbols[i - 1] >> dropped;

		if (same)
			to[n - 1] += from[i];
		else
			to[n++] = from[i];
	}
	return n;
}

struct cell_scale {
	uint64_t mean; /* 8 fraction bits */
	uint64_t words;
	unsigned cell;
};

static int compare_scales(const void *a, const void *b)
{
	const struct cell_scale *x = a, *y = b;

	if (x->mean != y->mean)
		return x->mean < y->mean ? -1 : 1;
	return x->cell < y->cell ? -1 : 1;
}

/* Cells that hold words, by their mean scale. Returns their number. */
static unsigned sort_cells(const struct cells *cells, const struct alphabet *alphabet,
			   struct cell_scale *out)
{
	unsigned n = 0;
	unsigned i, s;

	for (i = 0; i < cells->rows * cells->columns; i++) {
		const uint32_t *counts = cells->counts + (size_t)i * cells->symbols;
		uint64_t total = 0, sum = 0;

		for (s = 0; s < cells->symbols; s++) {
			total += counts[s];
			sum += (uint64_t)counts[s] * alphabet->scales[alphabet->symbols[s]];
		}
		if (total)
			out[n++] = (struct cell_scale){(sum << 8) / total, total, i};
	}
	qsort(out, n, sizeof(*out), compare_scales);
	return n;
}

/*
 * Groups of cells to begin with: neighbours in the order of their scale, about as many words in
 * each. More groups than GROUPS_MAX make no difference that is worth their time.
 */
static int begin(struct classifier *k, const struct cells *cells, const struct alphabet *alphabet,
		 unsigned dropped, struct brevis_error *err)
{
	struct cell_scale order[CELLS_MAX];
	unsigned n = sort_cells(cells, alphabet, order);
	uint32_t *folded = malloc(sizeof(*folded) * cells->symbols);
	uint64_t total = 0, seen = 0;
	unsigned i;

	k->memory = calloc((size_t)GROUPS_MAX * cells->symbols, sizeof(*k->memory));
	if (!k->memory || !folded) {
		free(folded);
		free(k->memory);
		return error_nomem(err);
	}
	memset(k->group_of, 0, sizeof(k->group_of));
	for (i = 0; i < n; i++)
		total += order[i].words;
	for (i = 0, k->count = 0; i < n; i++) {
		/* A cell begins a group if those before it have their share. */
		bool starts = n <= GROUPS_MAX || seen * GROUPS_MAX >= total * k->count;

		if (starts && k->count < GROUPS_MAX) {
			k->groups[k->count].counts = k->memory + (size_t)k->count * cells->symbols;
			k->count++;
		}
		k->symbols = fold(alphabet, dropped,
				  cells->counts + (size_t)order[i].cell * cells->symbols, folded);
		add(k->groups[k->count - 1].counts, folded, k->symbols);
		k->group_of[order[i].cell] = (uint8_t)(k->count - 1);
		seen += order[i].words;
	}
	free(folded);
	for (i = 0; i < k->count; i++)
		k->groups[i].cost = words_cost(k->groups[i].counts, NULL, k->symbols);
	for (i = 0; i + 1 < k->count; i++)
		price_pair(k, i);
	return BREVIS_OK;
}

static void keep_if_best(const struct classifier *k, struct joining *out)
{
	uint64_t cost = 0;
	unsigned i;

	if (k->count > CLASSES_MAX)
		return;
	for (i = 0; i < k->count; i++)
		cost += k->groups[i].cost;
	if (cost >= out->cost)
		return;
	out->cost = cost;
	out->classes = k->count;
	memcpy(out->of_cell, k->group_of, sizeof(out->of_cell));
}

int cells_classify(const struct cells *cells, const struct alphabet *alphabet, unsigned dropped,
		   struct joining *out, struct brevis_error *err)
{
	struct classifier k;
	int status = begin(&k, cells, alphabet, dropped, err);

	if (status)
		return status;
	out->cost = UINT64_MAX;
	keep_if_best(&k, out);
	while (k.count > 1) {
		unsigned best = 0, i;

		for (i = 1; i + 1 < k.count; i++)
			if (k.groups[i].gain < k.groups[best].gain)
				best = i;
		join(&k, best);
		keep_if_best(&k, out);
	}
	free(k.memory);
	return BREVIS_OK;
}
