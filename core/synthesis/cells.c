/* SPDX-License-Identifier: Apache-2.0 */
#include "core/synthesis/cells.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/entropy/literal.h"
#include "core/entropy/log2.h"
#include "core/entropy/words.h"

/* Groups of cells that joining begins with. */
#define GROUPS_MAX 32

/* What a class costs beside its words, in bits: where its table begins; each symbol's share. */
#define CLASS_COST  24
#define SYMBOL_COST 4

/* ---- cells ---------------------------------------------------------------------------------- */

/* Words whose cells are found at a time. */
#define PLACES 512

/* Where the counts of words of a plain alphabet are: a loop that compilers vectorise. */
ALWAYS_INLINE void find_plain_places(const uint8_t *codes, const uint16_t *column_at, size_t count,
				     unsigned fold, uint16_t *places)
{
	size_t i;

	for (i = 0; i < count; i++)
		places[i] = (uint16_t)(column_at[i] + (codes[i] >> fold));
}

ALWAYS_INLINE void find_places(const void *words, unsigned size, size_t first,
			       const uint16_t *of_symbol, const uint16_t *column_at, size_t count,
			       uint16_t *places)
{
	size_t i;

	for (i = 0; i < count; i++)
		places[i] = (uint16_t)(column_at[i] + of_symbol[word_get(words, size, first + i)]);
}

/* Counts words of a row, in two tables in turn. column_at: where the counts of the column of each
 * are. exact: of codes. */
static void count_words(const struct words *in, size_t first, size_t count,
			const struct alphabet *alphabet, bool exact, const uint16_t *column_at,
			uint16_t *row_counts, uint16_t *second)
{
	uint16_t places[PLACES];
	size_t n, i;

	for (; count; count -= n, first += n, column_at += n) {
		n = count < PLACES ? count : PLACES;
		if (exact)
			find_plain_places((const uint8_t *)in->data + first, column_at, n, 0,
					  places);
		else if (alphabet->is_plain)
			find_plain_places((const uint8_t *)in->data + first, column_at, n,
					  ALPHABET_FOLD, places);
		else if (in->width <= 8)
			find_places(in->data, 1, first, alphabet->of_symbol, column_at, n, places);
		else
			find_places(in->data, 2, first, alphabet->of_symbol, column_at, n, places);
		for (i = 0; i + 2 <= n; i += 2) {
			row_counts[places[i]]++;
			second[places[i + 1]]++;
		}
		if (i < n)
			row_counts[places[i]]++;
	}
}

/* Where the counts of each place in a row are, counted from its row of cells; 16 times 2^12 at
 * most. */
static uint16_t *make_places(const struct grid *grid, const struct levels *columns,
			     unsigned symbols)
{
	uint16_t *column_at = malloc(sizeof(*column_at) * grid->columns * grid->inner);
	uint16_t *to = column_at;
	size_t c, i;

	for (c = 0; column_at && c < grid->columns; c++)
		for (i = 0; i < grid->inner; i++)
			*to++ = (uint16_t)(columns->of[c] * symbols);
	return column_at;
}

/*
 * Counts of few words, which are so short that they stay in the nearest cache; in two tables that
 * take turns, so that equal words side by side do not wait for each other.
 */
struct short_counts {
	uint16_t *counts; /* the second table is behind the first one */
	size_t size;      /* of each */
	size_t room;      /* words that can still be counted */
	bool exact;       /* of codes instead of symbols */
};

#define SHORT_MAX 65535

/* Adds the short counts to the others, and begins anew. */
static void add_shorts(struct short_counts *shorts, uint32_t *counts)
{
	size_t i;

	for (i = 0; i < shorts->size; i++)
		counts[i] += (uint32_t)shorts->counts[i] + shorts->counts[shorts->size + i];
	memset(shorts->counts, 0, 2 * sizeof(*shorts->counts) * shorts->size);
	shorts->room = SHORT_MAX;
}

/* Counts one part of each row: of neighbouring ones in different places. */
static void count_rows(const struct words *in, const struct grid *grid,
		       const struct alphabet *alphabet, const struct levels *rows, size_t part,
		       const uint16_t *column_at, struct short_counts *shorts, uint32_t *counts)
{
	size_t length = grid->columns * grid->inner, parts = length / part, r, at, n, left;
	size_t row_size = shorts->size / rows->count;

	for (r = 0; r < grid->rows; r++) {
		at = r * 7 % parts * part;
		for (left = part; left; left -= n, at += n) {
			n = left < SHORT_MAX ? left : SHORT_MAX;
			if (n > shorts->room)
				add_shorts(shorts, counts);
			shorts->room -= n;
			count_words(in, r * length + at, n, alphabet, shorts->exact, column_at + at,
				    shorts->counts + rows->of[r] * row_size,
				    shorts->counts + shorts->size + rows->of[r] * row_size);
		}
	}
	add_shorts(shorts, counts);
}

/* Leaves out symbols at both ends that no cell has, and multiplies all counts by length / part. */
static void trim_cells(struct cells *cells, size_t length, size_t part)
{
	uint64_t factor = ((uint64_t)length << 16) / part;
	uint32_t any[1 << LITERAL_SYMBOL_BITS] = {0}, *to = cells->counts;
	unsigned all = cells->symbols, end = all, first = 0, i;
	size_t n = (size_t)cells->rows * cells->columns, c;

	for (c = 0; c < n; c++)
		for (i = 0; i < all; i++)
			any[i] |= cells->counts[c * all + i];
	while (end > 1 && !any[end - 1])
		end--;
	while (first + 1 < end && !any[first])
		first++;
	cells->first = first;
	cells->symbols = end - first;
	for (c = 0; c < n; c++, to += cells->symbols)
		for (i = first; i < end; i++)
			to[i - first] =
				(uint32_t)((cells->counts[c * all + i] * factor + (1 << 15)) >> 16);
}

/* Adds the counts of the codes that are one symbol. */
static void fold_codes(const uint32_t *codes, size_t symbols, uint32_t *counts)
{
	size_t i, j;

	for (i = 0; i < symbols; i++)
		for (j = 0; j < 1 << ALPHABET_FOLD; j++)
			counts[i] += codes[(i << ALPHABET_FOLD) + j];
}

int cells_count(const struct words *in, const struct grid *grid, const struct alphabet *alphabet,
		const struct levels *rows, const struct levels *columns, size_t stride,
		struct cells *out, struct brevis_error *err)
{
	bool exact = alphabet->is_plain && stride == 1;
	size_t cells = (size_t)rows->count * columns->count, size = cells * alphabet->count;
	size_t length = grid->columns * grid->inner, part = (length + stride - 1) / stride;
	unsigned each = exact ? 1u << in->width : alphabet->count;
	uint16_t *column_at = make_places(grid, columns, each);
	struct short_counts shorts = {calloc(2 * cells * each, sizeof(*shorts.counts)),
				      cells * each, SHORT_MAX, exact};
	int status = BREVIS_OK;

	*out = (struct cells){rows->count, columns->count, alphabet->count, NULL, stride, 0, NULL};
	out->counts = calloc(size, sizeof(*out->counts));
	out->codes = exact ? calloc(cells * each, sizeof(*out->codes)) : NULL;
	if (column_at && shorts.counts && out->counts && (out->codes || !exact)) {
		count_rows(in, grid, alphabet, rows, part, column_at, &shorts,
			   exact ? out->codes : out->counts);
		if (exact)
			fold_codes(out->codes, size, out->counts);
		trim_cells(out, length, part);
	} else {
		cells_release(out);
		status = error_nomem(err);
	}
	free(shorts.counts);
	free(column_at);
	return status;
}

void cells_release(struct cells *cells)
{
	free(cells->counts);
	free(cells->codes);
	cells->counts = cells->codes = NULL;
}

static void add(uint32_t *restrict to, const uint32_t *restrict from, unsigned n)
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
	struct cells half = *cells;
	unsigned r, c;

	half.rows = (cells->rows + 1) / 2;
	half.columns = (cells->columns + 1) / 2;

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
	unsigned end;  /* of the run */
};

struct classifier {
	unsigned symbols;
	uint64_t symbol_cost; /* of a symbol in a class, in bits */
	unsigned folded;      /* symbols that are looked at as one */
	unsigned count;       /* groups */
	struct group groups[GROUPS_MAX];
	uint32_t *memory;

	unsigned best; /* groups that cost least so far, and what they cost */
	uint64_t best_cost;
	unsigned best_ends[CLASSES_MAX];
};

/* Cost in bits of words with these counts and those of `more`, and of their table. */
ALWAYS_INLINE uint64_t words_cost(const struct classifier *k, const uint32_t *counts,
				  const uint32_t *more)
{
	uint64_t total = 0, own = 0;
	unsigned distinct = 0;
	unsigned i;

	for (i = 0; i < k->symbols; i++) {
		uint32_t n = counts[i] + (more ? more[i] : 0);

		total += n;
		own += log2_weighted(n);
		distinct += n < k->folded ? n : k->folded;
	}
	if (!total)
		return 0;
	return ((total * log2_fixed((uint32_t)total) - own) >> LOG2_FRACTION) + CLASS_COST +
	       (uint64_t)distinct * k->symbol_cost;
}

/* Joining can save a table: what it adds is kept as an offset that is never negative. */
#define NO_GAIN (UINT64_C(1) << 40)

static void price_pair(struct classifier *k, unsigned i)
{
	struct group *a = &k->groups[i];

	if (i + 1 < k->count)
		a->gain = words_cost(k, a->counts, a[1].counts) + NO_GAIN - a->cost - a[1].cost;
}

static void join(struct classifier *k, unsigned at)
{
	struct group *a = &k->groups[at];

	add(a->counts, a[1].counts, k->symbols);
	a->cost += a[1].cost + a->gain - NO_GAIN;
	a->end = a[1].end;
	k->count--;
	memmove(a + 1, a + 2, sizeof(*a) * (k->count - at - 1));
	if (at)
		price_pair(k, at - 1);
	price_pair(k, at);
}

/* Adds counts; symbols that agree but for the dropped bits are one. Returns how many there are. */
static unsigned fold(const uint16_t *symbols, unsigned count, unsigned dropped,
		     const uint32_t *from, uint32_t *to)
{
	unsigned n = 0;
	unsigned i;

	for (i = 0; i < count; i++) {
		bool same = i && symbols[i] >> dropped == symbols[i - 1] >> dropped;

		n += !same;
		to[n - 1] += from[i];
	}
	return n;
}

/* A cell in the order of scales. */
struct cell_scale {
	uint64_t key; /* mean scale, 8 fraction bits, and the cell's number */
	uint64_t words;
};

#define CELL_BITS 16

static unsigned cell_number(const struct cell_scale *scale)
{
	return (unsigned)(scale->key & low_bits(CELL_BITS));
}

/* Shell's way: there are at most CELLS_MAX. */
static void sort_scales(struct cell_scale *order, unsigned n)
{
	static const unsigned gaps[] = {57, 23, 10, 4, 1};
	unsigned g, i, j;

	for (g = 0; g < sizeof(gaps) / sizeof(*gaps); g++) {
		for (i = gaps[g]; i < n; i++) {
			struct cell_scale moved = order[i];

			for (j = i; j >= gaps[g] && order[j - gaps[g]].key > moved.key;
			     j -= gaps[g])
				order[j] = order[j - gaps[g]];
			order[j] = moved;
		}
	}
}

/* Cells that hold words, by their mean scale. Returns their number. */
static unsigned sort_cells(const struct cells *cells, const struct alphabet *alphabet,
			   struct cell_scale *out)
{
	uint16_t scales[1 << LITERAL_SYMBOL_BITS];
	unsigned n = 0;
	unsigned i, s;

	for (s = 0; s < cells->symbols; s++)
		scales[s] = alphabet->scales[alphabet->symbols[cells->first + s]];
	for (i = 0; i < cells->rows * cells->columns; i++) {
		const uint32_t *counts = cells->counts + (size_t)i * cells->symbols;
		uint64_t total = 0, sum = 0;

		for (s = 0; s < cells->symbols; s++) {
			total += counts[s];
			sum += (uint64_t)counts[s] * scales[s];
		}
		if (total)
			out[n++] = (struct cell_scale){(sum << 8) / total << CELL_BITS | i, total};
	}
	sort_scales(out, n);
	return n;
}

/* Adds a cell's words to a group. symbols: those of the cells. */
static void add_cell(struct classifier *k, const struct cells *cells, const uint16_t *symbols,
		     unsigned dropped, const uint32_t *counts, uint32_t *to)
{
	if (dropped) {
		k->symbols = fold(symbols, cells->symbols, dropped, counts, to);
	} else {
		k->symbols = cells->symbols;
		add(to, counts, k->symbols);
	}
}

/*
 * Groups of cells to begin with: neighbours in the order of their scale, about as many words in
 * each. More groups than GROUPS_MAX make no difference that is worth their time.
 */
static void make_groups(struct classifier *k, const struct cells *cells,
			const struct alphabet *alphabet, unsigned dropped,
			const struct cell_scale *order, unsigned n)
{
	uint64_t total = 0, seen = 0;
	unsigned i;

	for (i = 0; i < n; i++)
		total += order[i].words;
	for (i = 0, k->count = 0; i < n; i++) {
		const uint32_t *counts =
			cells->counts + (size_t)cell_number(&order[i]) * cells->symbols;
		/* A cell begins a group if those before it have their share. */
		bool starts = n <= GROUPS_MAX || seen * GROUPS_MAX >= total * k->count;

		if (starts && k->count < GROUPS_MAX) {
			k->groups[k->count].counts = k->memory + (size_t)k->count * cells->symbols;
			k->count++;
		}
		add_cell(k, cells, alphabet->symbols + cells->first, dropped, counts,
			 k->groups[k->count - 1].counts);
		k->groups[k->count - 1].end = i + 1;
		seen += order[i].words;
	}
}

/* Leaves out symbols at both ends that no group has. */
static void trim_symbols(struct classifier *k)
{
	uint32_t any[1 << LITERAL_SYMBOL_BITS] = {0};
	unsigned first = 0, last = k->symbols - 1, g, i;

	for (g = 0; g < k->count; g++)
		for (i = 0; i < k->symbols; i++)
			any[i] |= k->groups[g].counts[i];
	while (first < last && !any[first])
		first++;
	while (last > first && !any[last])
		last--;
	for (g = 0; g < k->count; g++)
		k->groups[g].counts += first;
	k->symbols = last - first + 1;
}

/* Remembers the groups if they are the best so far. */
static void keep_if_best(struct classifier *k)
{
	uint64_t cost = 0;
	unsigned i;

	if (k->count > CLASSES_MAX)
		return;
	for (i = 0; i < k->count; i++)
		cost += k->groups[i].cost;
	if (cost >= k->best_cost)
		return;
	k->best_cost = cost;
	k->best = k->count;
	for (i = 0; i < k->count; i++)
		k->best_ends[i] = k->groups[i].end;
}

/* Joins groups two at a time until one is left. */
static void join_all(struct classifier *k)
{
	unsigned i;

	for (i = 0; i < k->count; i++)
		k->groups[i].cost = words_cost(k, k->groups[i].counts, NULL);
	for (i = 0; i + 1 < k->count; i++)
		price_pair(k, i);
	keep_if_best(k);
	while (k->count > 1) {
		unsigned best = 0;

		for (i = 1; i + 1 < k->count; i++)
			if (k->groups[i].gain < k->groups[best].gain)
				best = i;
		join(k, best);
		keep_if_best(k);
	}
}

int cells_classify(const struct cells *cells, const struct alphabet *alphabet, unsigned dropped,
		   struct joining *out, struct brevis_error *err)
{
	struct cell_scale order[CELLS_MAX];
	struct classifier k = {.folded = 1u << alphabet->fold, .best_cost = UINT64_MAX};
	unsigned n = sort_cells(cells, alphabet, order), i, class = 0;

	k.memory = calloc((size_t)(n < GROUPS_MAX ? n : GROUPS_MAX) * cells->symbols,
			  sizeof(*k.memory));
	if (!k.memory)
		return error_nomem(err);
	/*
	 * A sample's entropy is short of the truth, by 1 / (2 ln 2) bits for each symbol, as often
	 * as each word counts. Twice that is reckoned with: of many ways to join cells the one is
	 * chosen in which chance does most.
	 */
	k.symbol_cost = SYMBOL_COST + ((cells->stride - 1) * 3 / 2 >> alphabet->fold);
	make_groups(&k, cells, alphabet, dropped, order, n);
	trim_symbols(&k);
	join_all(&k);
	out->classes = k.best;
	out->cost = k.best_cost;
	out->single = k.groups[0].cost;
	memset(out->of_cell, 0, sizeof(out->of_cell));
	for (i = 0; i < n; i++) {
		class += i == k.best_ends[class];
		out->of_cell[cell_number(&order[i])] = (uint8_t) class;
	}
	free(k.memory);
	return BREVIS_OK;
}
