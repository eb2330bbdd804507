/* SPDX-License-Identifier: Apache-2.0 */
#include "core/synthesis/classes.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/bits.h"
#include "core/base/error.h"
#include "core/entropy/log2.h"
#include "core/entropy/words.h"
#include "core/synthesis/cells.h"

/* A sample of so many words chooses among grids. */
#define SAMPLE_WORDS ((size_t)1 << 14)

/* A stream of so many words takes much longer than its sample. */
#define LARGE_WORDS ((size_t)1 << 17)

/* A grid that does not promise to save a bit for so many words is none. */
#define GAIN_MIN 256

/* What a literal of classes takes beside its words, in bits: node, table. */
#define SIDE_COST 100

/* Runs of this many words are tried as rows where the shape offers none. */
static const size_t block_sizes[] = {32, 64, 128, 1024};

#define GRIDS_MAX 16

/* A stream of so many words is represented by some of them when cells are counted. */
#define COUNTED_WORDS ((size_t)1 << 18)

/* Sums of squares. */
typedef unsigned __int128 double_width;

/* A search for classes over one stream. */
struct finder {
	const struct words *in;
	struct alphabet alphabet;
	const uint64_t *rest;
	unsigned drops;
	uint64_t best; /* cost of the best way so far, with rest */
	struct route_plan *plan;
	unsigned halvings;               /* of the levels, so far */
	unsigned plan_halvings;          /* when the plan was made */
	uint8_t plan_of_cell[CELLS_MAX]; /* classes of the plan, by its levels */
	unsigned plan_rows, plan_columns;
	struct brevis_error *err;
};

/* ---- grids ---------------------------------------------------------------------------------- */

static size_t product(const struct shape *s, unsigned begin, unsigned end)
{
	size_t p = 1;
	unsigned i;

	for (i = begin; i < end; i++)
		p *= s->extents[i];
	return p;
}

static bool is_useful(const struct grid *g, size_t count)
{
	return g->rows * g->columns * g->inner == count && g->rows + g->columns <= count / 8 &&
	       (g->rows > 1 || g->columns > 1) && g->columns * g->inner <= LEVELS_LENGTH_MAX;
}

/* All ways to take the extents as rows, columns and what is within; or runs of a fixed length. */
static unsigned list_grids(const struct shape *shape, size_t count, struct grid *out)
{
	unsigned n = 0, p, q;
	size_t i;

	for (p = 1; p < shape->rank; p++) {
		for (q = p + 1; q <= shape->rank; q++) {
			struct grid g = {product(shape, 0, p), product(shape, p, q),
					 product(shape, q, shape->rank)};

			if (is_useful(&g, count))
				out[n++] = g;
		}
	}
	for (i = 0; !n && i < sizeof(block_sizes) / sizeof(block_sizes[0]); i++) {
		struct grid g = {count / block_sizes[i], 1, block_sizes[i]};

		if (is_useful(&g, count))
			out[n++] = g;
	}
	return n;
}

/* ---- pricing -------------------------------------------------------------------------------- */

/* The classes of rows and columns that come of a joining. */
struct lines {
	unsigned rows, columns;                            /* classes */
	uint8_t of_row[LEVELS_MAX], of_column[LEVELS_MAX]; /* of each level */
};

/* Bits of the classes of rows or columns, of which there are `classes`; number: of each level. */
static uint64_t side_cost(const struct levels *l, const uint8_t *number, unsigned classes)
{
	uint64_t counts[LEVELS_MAX] = {0}, cost = 0;
	unsigned i;

	if (classes < 2)
		return 0;
	for (i = 0; i < l->count; i++)
		counts[number[i]] += l->counts[i];
	for (i = 0; i < classes; i++)
		cost += counts[i] *
			(uint64_t)(log2_fixed((uint32_t)l->size) - log2_fixed((uint32_t)counts[i]));
	return (cost >> LOG2_FRACTION) + SIDE_COST;
}

/* Levels whose cells belong to the same classes everywhere are one; number[level] is its new one.
 */
static unsigned join_equal(const uint8_t *class_of, unsigned lines, unsigned length, unsigned step,
			   unsigned stride, uint8_t *number)
{
	unsigned n = 0, a, b, i;

	for (a = 0; a < lines; a++) {
		number[a] = (uint8_t)n;
		for (b = 0; b < a; b++) {
			for (i = 0; i < length; i++)
				if (class_of[a * stride + i * step] !=
				    class_of[b * stride + i * step])
					break;
			if (i == length)
				break;
		}
		if (b < a)
			number[a] = number[b];
		else
			n++;
	}
	return n;
}

static void join_lines(const struct joining *joining, const struct levels *rows,
		       const struct levels *columns, struct lines *out)
{
	*out = (struct lines){0};
	out->rows = join_equal(joining->of_cell, rows->count, columns->count, 1, columns->count,
			       out->of_row);
	out->columns = join_equal(joining->of_cell, columns->count, rows->count, columns->count, 1,
				  out->of_column);
}

/* Bits of all that tells a word's class. */
static uint64_t lines_cost(const struct lines *lines, const struct levels *rows,
			   const struct levels *columns)
{
	uint64_t cost = side_cost(rows, lines->of_row, lines->rows) +
			side_cost(columns, lines->of_column, lines->columns);

	if (lines->rows > 1 && lines->columns > 1)
		cost += (uint64_t)lines->rows * lines->columns * 4 + SIDE_COST;
	return cost;
}

static uint8_t *renumber(const struct levels *l, const uint8_t *number)
{
	uint8_t *of = malloc(l->size);
	size_t i;

	for (i = 0; of && i < l->size; i++)
		of[i] = number[l->of[i]];
	return of;
}

/* Makes the plan of a joining in the one form that the format has for it. */
static int make_plan(struct finder *f, const struct grid *grid, const struct levels *rows,
		     const struct levels *columns, const struct joining *joining,
		     struct lines *lines, unsigned dropped, uint64_t cost)
{
	struct route_plan *plan = calloc(1, sizeof(*plan));
	uint8_t *map = calloc(1, CELLS_MAX);
	struct route_classes *c;
	unsigned i, j;

	if (!plan || !map) {
		free(plan);
		free(map);
		return error_nomem(f->err);
	}
	plan->references = 1;
	c = &plan->classes;
	c->map = map;
	plan->grid = *grid;
	plan->dropped = dropped;
	plan->cost = cost;
	plan->gain = joining->single - cost;
	c->classes = joining->classes;
	c->row_classes = lines->rows;
	c->column_classes = lines->columns;
	for (i = 0; i < rows->count; i++)
		for (j = 0; j < columns->count; j++)
			map[lines->of_row[i] * c->column_classes + lines->of_column[j]] =
				joining->of_cell[i * columns->count + j];
	/* With one axis, a line's class is the word's. */
	for (i = 0; c->column_classes == 1 && i < rows->count; i++)
		lines->of_row[i] = joining->of_cell[i * columns->count];
	for (j = 0; c->row_classes == 1 && j < columns->count; j++)
		lines->of_column[j] = joining->of_cell[j];
	/* What says nothing is left out. */
	if (c->row_classes > 1)
		c->of_row = renumber(rows, lines->of_row);
	if (c->column_classes > 1)
		c->of_column = renumber(columns, lines->of_column);
	if ((c->row_classes > 1 && !c->of_row) || (c->column_classes > 1 && !c->of_column)) {
		route_plan_free(plan);
		return error_nomem(f->err);
	}
	if (!c->of_row || !c->of_column) {
		free(map);
		c->map = NULL;
	}
	route_plan_free(f->plan);
	f->plan = plan;
	f->plan_halvings = f->halvings;
	f->plan_rows = rows->count;
	f->plan_columns = columns->count;
	memcpy(f->plan_of_cell, joining->of_cell, sizeof(f->plan_of_cell));
	return BREVIS_OK;
}

/* A level of the cells that were counted is this one of the plan, which has `levels`. */
static unsigned plan_level(const struct finder *f, unsigned level, unsigned levels)
{
	return levels > 1 ? level >> f->plan_halvings : 0;
}

/* Adds up what was counted of each class. */
static int count_classes(struct finder *f, const struct cells *cells, unsigned rows,
			 unsigned columns)
{
	struct route_plan *plan = f->plan;
	unsigned r, c, i;

	plan->counts = calloc((size_t)plan->classes.classes << 8, sizeof(*plan->counts));
	if (!plan->counts)
		return error_nomem(f->err);
	for (r = 0; r < rows; r++) {
		for (c = 0; c < columns; c++) {
			unsigned at = plan_level(f, r, f->plan_rows) * f->plan_columns +
				      plan_level(f, c, f->plan_columns);
			uint32_t *to = plan->counts + ((size_t)f->plan_of_cell[at] << 8);
			const uint32_t *from = cells->codes + (((size_t)r * columns + c) << 8);

			for (i = 0; i < 256; i++)
				to[i] += from[i];
		}
	}
	return BREVIS_OK;
}

/* Prices the cells' classes with d dropped bits; keeps them if they are the best so far. */
static int price_dropped(struct finder *f, const struct grid *grid, const struct cells *cells,
			 const struct levels *rows, const struct levels *columns, unsigned d,
			 bool *better)
{
	struct joining joining;
	struct lines lines;
	uint64_t cost;
	int status = cells_classify(cells, &f->alphabet, d, &joining, f->err);

	*better = false;
	if (status || joining.classes < 2)
		return status;
	join_lines(&joining, rows, columns, &lines);
	cost = joining.cost + lines_cost(&lines, rows, columns);
	*better = cost < joining.single && cost + f->rest[d] < f->best;
	if (!*better)
		return BREVIS_OK;
	f->best = cost + f->rest[d];
	return make_plan(f, grid, rows, columns, &joining, &lines, d, cost);
}

/* Prices the cells' classes; of levels that are the best so far, with all numbers of bits. */
static int price_cells(struct finder *f, const struct grid *grid, const struct cells *cells,
		       const struct levels *rows, const struct levels *columns)
{
	unsigned middle = f->drops / 2, d;
	bool better, ignored;
	int status = price_dropped(f, grid, cells, rows, columns, middle, &better);

	for (d = 0; d < f->drops && !status && better; d++)
		if (d != middle)
			status = price_dropped(f, grid, cells, rows, columns, d, &ignored);
	return status;
}

/* Prices the classes of one axis: the cells' other one is joined, in a copy. */
static int price_axis(struct finder *f, const struct grid *grid, const struct cells *cells,
		      const struct levels *rows, const struct levels *columns, bool of_rows)
{
	size_t bytes = sizeof(*cells->counts) * cells->rows * cells->columns * cells->symbols;
	struct levels none = of_rows ? *columns : *rows;
	struct cells copy = *cells;
	uint8_t *zeros = calloc(1, none.size);
	int status;

	copy.counts = malloc(bytes);
	if (!copy.counts || !zeros) {
		status = error_nomem(f->err);
		goto out;
	}
	memcpy(copy.counts, cells->counts, bytes);
	none.count = 1;
	none.of = zeros;
	if (of_rows)
		cells_join_columns(&copy);
	else
		cells_join_rows(&copy);
	status = price_cells(f, grid, &copy, of_rows ? rows : &none, of_rows ? &none : columns);
out:
	free(copy.counts);
	free(zeros);
	return status;
}

static unsigned levels_wanted(size_t count)
{
	return count >= (size_t)1 << 18 ? 16 : count >= (size_t)1 << 15 ? 8 : 4;
}

static int price_levels(struct finder *f, const struct grid *grid, struct levels *rows,
			struct levels *columns)
{
	unsigned all_rows = rows->count, all_columns = columns->count;
	struct cells cells = {0};
	int status = BREVIS_OK;

	if (rows->count * columns->count < 2)
		return BREVIS_OK;
	/* Very many words are counted in part. */
	status = cells_count(f->in, grid, &f->alphabet, rows, columns,
			     1 + f->in->count / COUNTED_WORDS, &cells, f->err);
	if (status)
		return status;
	if (rows->count > 1)
		status = price_axis(f, grid, &cells, rows, columns, true);
	if (!status && columns->count > 1)
		status = price_axis(f, grid, &cells, rows, columns, false);
	while (!status && rows->count > 1 && columns->count > 1) {
		status = price_cells(f, grid, &cells, rows, columns);
		cells_halve(&cells);
		levels_halve(rows);
		levels_halve(columns);
		f->halvings++;
	}
	if (!status && f->plan && cells.codes)
		status = count_classes(f, &cells, all_rows, all_columns);
	cells_release(&cells);
	return status;
}

static int price_grid(struct finder *f, const struct grid *grid)
{
	uint64_t counts[2][LEVELS_MAX];
	uint8_t *lines = malloc(grid->rows + grid->columns);
	struct levels rows = {.of = lines, .counts = counts[0]};
	struct levels columns = {.of = lines + grid->rows, .counts = counts[1]};
	unsigned most = levels_wanted(f->in->count);
	int status;

	if (!lines)
		return error_nomem(f->err);
	status = levels_find(f->in, grid, &f->alphabet, most, &rows, &columns, f->err);
	if (!status)
		status = price_levels(f, grid, &rows, &columns);
	free(lines);
	return status;
}

/* ---- the choice among grids ----------------------------------------------------------------- */

/* Some of the outermost slices, evenly spread. False if the stream is small or has too few. */
static bool take_sample(const struct words *in, const struct shape *shape, struct words *out,
			struct shape *out_shape)
{
	size_t slice = shape->rank ? in->count / shape->extents[0] : in->count;
	size_t wanted = SAMPLE_WORDS / slice < 16 ? 16 : SAMPLE_WORDS / slice;
	size_t bytes = slice * word_bytes(in->width);
	uint8_t *to;
	size_t i;

	if (shape->rank < 2 || shape->extents[0] < 2 * wanted)
		return false;
	to = malloc(bytes * wanted);
	if (!to)
		return false;
	for (i = 0; i < wanted; i++)
		memcpy(to + i * bytes,
		       (const uint8_t *)in->data + shape->extents[0] * i / wanted * bytes, bytes);
	*out = (struct words){to, in->width, wanted * slice};
	*out_shape = *shape;
	out_shape->extents[0] = wanted;
	return true;
}

/*
 * Bits that the lines' own scales would save, by analysis of variance: a stream of variance V of
 * which the lines explain E saves about n / 2 * log2(V / (V - E)), 0.72 * n * E / V if E is small.
 * What chance explains is taken off, and 2 bits for each line's class.
 */
static uint64_t lines_gain(const uint64_t *sums, size_t lines, uint64_t n, uint64_t total,
			   double_width variance, size_t priced)
{
	double_width squares = 0, mean = (double_width)total * total / n, noise, gain;
	size_t i;

	if (lines < 2)
		return 0;
	for (i = 0; i < lines; i++)
		squares += (double_width)sums[i] * sums[i];
	squares /= n / lines;
	noise = variance * (lines - 1) / n;
	if (squares <= mean + noise || !variance)
		return 0;
	gain = (squares - mean - noise) * n * 72 / 100 / variance;
	return gain > 2 * priced ? (uint64_t)gain - 2 * priced : 0;
}

/* What a sample's scales add up to, in rows of one length: the same for many grids. */
struct row_sums {
	size_t length;
	uint64_t *sums; /* of rows, and room for as many as a row's places */
	uint64_t *places;
	uint64_t total;
	uint64_t gain;          /* of the rows */
	double_width deviation; /* sum of squares of the distances from the mean */
};

static int sum_rows(const struct finder *f, const struct words *sample, size_t length,
		    double_width squares, struct row_sums *out)
{
	struct grid grid = {sample->count / length, length, 1};
	uint64_t n = sample->count;
	size_t i;
	int status;

	free(out->sums);
	*out = (struct row_sums){.length = length};
	out->sums = calloc(grid.rows + 2 * length, sizeof(*out->sums));
	if (!out->sums)
		return error_nomem(f->err);
	out->places = out->sums + grid.rows + length;
	status = levels_sum(sample, &grid, &f->alphabet, out->sums, out->places, f->err);
	for (i = 0; i < grid.rows; i++)
		out->total += out->sums[i];
	out->deviation = squares - (double_width)out->total * out->total / n;
	/* All rows of a larger stream have classes of their own, the columns' are shared. */
	out->gain = lines_gain(out->sums, grid.rows, n, out->total, out->deviation, grid.rows);
	return status;
}

/* What a grid's rows and columns would save of the sample. */
static int score_grid(const struct finder *f, const struct words *sample, const struct grid *grid,
		      double_width squares, struct row_sums *rows, uint64_t *score)
{
	size_t length = grid->columns * grid->inner, priced, i, c;
	uint64_t *columns;
	int status = BREVIS_OK;

	if (rows->length != length)
		status = sum_rows(f, sample, length, squares, rows);
	if (status)
		return status;
	columns = rows->sums + grid->rows;
	memset(columns, 0, sizeof(*columns) * grid->columns);
	for (c = 0; c < grid->columns; c++)
		for (i = 0; i < grid->inner; i++)
			columns[c] += rows->places[c * grid->inner + i];
	priced = grid->columns * sample->count / f->in->count;
	*score = rows->gain + lines_gain(columns, grid->columns, sample->count, rows->total,
					 rows->deviation, priced);
	return BREVIS_OK;
}

/* The sum of the squares of the scales of all words; those are below 2^12, samples far below 2^40
 * words. */
static uint64_t sum_squares(const struct finder *f, const struct words *sample)
{
	const uint8_t *bytes = sample->data;
	unsigned mask = f->alphabet.mask;
	uint64_t sum = 0;
	size_t i, k, n;

	if (sample->width > 8 || !mask) {
		for (i = 0; i < sample->count; i++) {
			uint32_t v =
				f->alphabet.scales[word_get(bytes, word_bytes(sample->width), i)];

			sum += v * v;
		}
		return sum;
	}
	/* A loop that compilers vectorise, for as many as 32 bits hold. */
	for (i = 0; i < sample->count; i += n) {
		uint32_t some = 0;

		n = sample->count - i < 1 << 15 ? sample->count - i : 1 << 15;
		for (k = 0; k < n; k++) {
			unsigned v = bytes[i + k] & mask;

			some += v * v;
		}
		sum += some;
	}
	return sum;
}

/* The number of the grid that promises most, by a sample; `grids` if none promises anything. */
static int choose_grid(const struct finder *f, const struct shape *shape, const struct grid *list,
		       unsigned grids, unsigned *chosen)
{
	struct words sample = *f->in;
	struct shape sample_shape = *shape;
	struct grid sampled[GRIDS_MAX];
	struct row_sums rows = {.sums = NULL};
	double_width squares;
	uint64_t best, score = 0;
	int status = BREVIS_OK;
	bool taken = take_sample(f->in, shape, &sample, &sample_shape);
	unsigned i;

	/* A sample may have too few rows for a grid of them. */
	if (taken && list_grids(&sample_shape, sample.count, sampled) != grids) {
		free((void *)sample.data);
		taken = false;
		sample = *f->in;
	}
	*chosen = grids;
	best = sample.count / GAIN_MIN;
	squares = sum_squares(f, &sample);
	for (i = 0; i < grids && !status; i++) {
		status = score_grid(f, &sample, taken ? &sampled[i] : &list[i], squares, &rows,
				    &score);
		if (!status && score > best) {
			best = score;
			*chosen = i;
		}
	}
	free(rows.sums);
	if (taken)
		free((void *)sample.data);
	return status;
}

int classes_find(const struct words *symbols, const struct shape *shape, const uint32_t *histogram,
		 enum symbol_scale scale, unsigned fold, const uint64_t *rest, unsigned drops,
		 struct route_plan **out, struct brevis_error *err)
{
	struct finder f = {
		.in = symbols, .rest = rest, .drops = drops, .best = UINT64_MAX, .err = err};
	struct grid list[GRIDS_MAX];
	unsigned grids = list_grids(shape, symbols->count, list);
	unsigned chosen;
	int status;

	*out = NULL;
	if (!grids)
		return BREVIS_OK;
	status = alphabet_init(&f.alphabet, symbols, histogram, scale, fold, err);
	if (status)
		return status;
	chosen = 0;
	/* Where there is no choice, only a large stream is worth a look beforehand. */
	if (grids > 1 || symbols->count >= LARGE_WORDS)
		status = choose_grid(&f, shape, list, grids, &chosen);
	if (!status && chosen < grids)
		status = price_grid(&f, &list[chosen]);
	alphabet_release(&f.alphabet);
	if (status) {
		route_plan_free(f.plan);
		return status;
	}
	*out = f.plan;
	return BREVIS_OK;
}

struct route_plan *route_plan_share(struct route_plan *plan)
{
	plan->references++;
	return plan;
}

void route_plan_free(struct route_plan *plan)
{
	if (!plan || --plan->references)
		return;
	free((void *)plan->classes.of_row);
	free((void *)plan->classes.of_column);
	free((void *)plan->classes.map);
	free(plan->counts);
	free(plan);
}
