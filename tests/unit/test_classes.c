/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classes of rows and columns: those that were planted are found, at a price that is what the
 * program then takes; where there are none, none are found.
 */
#include "tests/unit/synthesis_cases.h"

#include "core/entropy/literal_encode.h"
#include "core/synthesis/classes.h"

static const uint64_t nothing[CLASSES_DROPS];

/* Symbols of a bell around the middle of 8 bits, or exponents: of a smaller scale, lower ones. */
static uint8_t exponent(unsigned scale)
{
	unsigned e = 120 - 8 * scale;

	while (random_below(2) && e)
		e--;
	return (uint8_t)e;
}

struct planted {
	size_t rows, columns, inner;
	unsigned row_scales, column_scales;
};

/* Classes of lines are random; *of has the class of each. */
static uint8_t *plant(const struct planted *p, uint8_t *of_row, uint8_t *of_column)
{
	uint8_t *words = must_alloc(p->rows * p->columns * p->inner);
	size_t r, c, k, i = 0;

	for (r = 0; r < p->rows; r++)
		of_row[r] = (uint8_t)(r < p->row_scales ? r : random_below(p->row_scales));
	for (c = 0; c < p->columns; c++)
		of_column[c] = (uint8_t)(c < p->column_scales ? c : random_below(p->column_scales));
	for (r = 0; r < p->rows; r++)
		for (c = 0; c < p->columns; c++)
			for (k = 0; k < p->inner; k++)
				words[i++] = exponent(of_row[r] + of_column[c]);
	return words;
}

/*
 * Lines of different scales have different classes, but for one in 20: levels are joined in pairs.
 * (Lines of one scale need not have the same one: those that are small by chance may be worth a
 * table of their own.)
 */
static void assert_told_apart(const uint8_t *found, const uint8_t *planted, size_t n)
{
	size_t counts[32][32] = {{0}}, strangers = 0, i, k;

	for (i = 0; i < n; i++)
		counts[found[i]][planted[i]]++;
	for (i = 0; i < 32; i++) {
		size_t most = 0, all = 0;

		for (k = 0; k < 32; k++) {
			most = counts[i][k] > most ? counts[i][k] : most;
			all += counts[i][k];
		}
		strangers += all - most;
	}
	assert_true(strangers <= n / 20);
}

/* What the words take in the classes that were planted, in bits, without the classes. */
static uint64_t planted_cost(const struct planted *p, const uint8_t *data, const uint8_t *of_row,
			     const uint8_t *of_column)
{
	static uint32_t histograms[16][256];
	size_t counts[16] = {0}, i = 0, r, c, k;
	uint64_t cost = 0;

	memset(histograms, 0, sizeof(histograms));
	for (r = 0; r < p->rows; r++)
		for (c = 0; c < p->columns; c++)
			for (k = 0; k < p->inner; k++) {
				histograms[of_row[r] + of_column[c]][data[i++]]++;
				counts[of_row[r] + of_column[c]]++;
			}
	for (k = 0; k < 16; k++)
		if (counts[k])
			cost += literal_cost(histograms[k], 8, counts[k]);
	return cost;
}

/* Bytes of the route, which the format must allow. */
static size_t size_of_plan(const struct words *words, const struct route_plan *plan)
{
	struct buffer out = BUFFER_INIT;
	struct brevis_error err = {0};
	struct program program;
	size_t size;

	assert_int_equal(program_put_route(&out, &plan->grid, &plan->classes, words->data,
					   words->width, NULL, NULL),
			 BREVIS_OK);
	if (program_parse(span_of(out.data, out.size), words->width, words->count, NULL, &program,
			  &err))
		fail_msg("%s", err.message);
	program_release(&program);
	size = out.size;
	buffer_release(&out);
	return size;
}

static void check_price(const struct words *words, const struct route_plan *plan)
{
	size_t size = size_of_plan(words, plan), price = plan->cost / 8;

	/* A table is priced by the number of its symbols; there are some 20 bytes of doubt each. */
	if (price > size + size / 50 + 20 * ((size_t)plan->classes.classes + 3) ||
	    size > price + price / 50 + 20 * ((size_t)plan->classes.classes + 3))
		fail_msg("%zu bytes, priced at %zu", size, price);
}

static struct route_plan *find(const struct words *words, const struct shape *shape,
			       enum symbol_scale scale)
{
	struct route_plan *plan = NULL;

	assert_int_equal(classes_find(words, shape, NULL, scale, 0, nothing, 1, &plan, NULL),
			 BREVIS_OK);
	return plan;
}

/* ---- what was planted --------------------------------------------------------------------------
 */

static void check_planted(const struct planted *p)
{
	uint8_t *of_row = must_alloc(p->rows), *of_column = must_alloc(p->columns);
	uint8_t *data = plant(p, of_row, of_column);
	struct words words = {data, 8, p->rows * p->columns * p->inner};
	struct shape shape = {0};
	struct route_plan *plan;
	uint64_t ideal;

	shape_add(&shape, p->rows);
	shape_add(&shape, p->columns);
	shape_add(&shape, p->inner);
	plan = find(&words, &shape, SCALE_MAGNITUDE);
	assert_non_null(plan);
	/* Two bits for the class of a line, some tables more than are needed, a line astray. */
	ideal = planted_cost(p, data, of_row, of_column);
	assert_true(plan->cost < ideal + ideal / 20 + 2 * (p->rows + p->columns) + 4000);
	assert_int_equal(plan->grid.rows * plan->grid.columns * plan->grid.inner, words.count);
	assert_int_equal(plan->classes.row_classes > 1, p->row_scales > 1);
	assert_int_equal(plan->classes.column_classes > 1, p->column_scales > 1);
	if (p->row_scales > 1) {
		assert_int_equal(plan->grid.rows, p->rows);
		assert_told_apart(plan->classes.of_row, of_row, p->rows);
	}
	if (p->column_scales > 1) {
		assert_int_equal(plan->grid.columns, p->columns);
		assert_int_equal(plan->grid.inner, p->inner);
		assert_told_apart(plan->classes.of_column, of_column, p->columns);
	}
	check_price(&words, plan);
	route_plan_free(plan);
	free(of_row);
	free(of_column);
	free(data);
}

static void test_planted(void **state)
{
	static const struct planted cases[] = {
		{200, 300, 1, 2, 1},  {200, 300, 1, 4, 1},  {300, 200, 1, 1, 2},
		{300, 200, 1, 1, 3},  {200, 200, 1, 2, 2},  {300, 300, 1, 3, 2},
		{50, 60, 9, 1, 3},    {60, 50, 9, 3, 1},    {60, 60, 25, 2, 2},
		{2000, 128, 1, 4, 1}, {128, 3000, 1, 1, 4},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check_planted(&cases[i]);
}

/* One extent only: blocks are the rows, of the sizes that are common. */
static void test_blocks(void **state)
{
	static const size_t blocks[] = {32, 64, 128, 1024};
	size_t b;

	(void)state;
	for (b = 0; b < 4; b++) {
		struct planted p = {0, 1, blocks[b], 3, 1};
		struct shape shape;
		struct words words;
		struct route_plan *plan;
		uint8_t *of_row, *of_column, *data;

		p.rows = ((size_t)1 << 17) / blocks[b];
		of_row = must_alloc(p.rows);
		of_column = must_alloc(1);
		data = plant(&p, of_row, of_column);
		words = (struct words){data, 8, p.rows * p.inner};
		shape = shape_of_row(words.count);
		plan = find(&words, &shape, SCALE_MAGNITUDE);
		assert_non_null(plan);
		assert_true(plan->classes.row_classes > 1);
		assert_true(plan->grid.inner <= blocks[b]);
		check_price(&words, plan);
		route_plan_free(plan);
		free(of_row);
		free(of_column);
		free(data);
	}
}

/* Integers around the most common one: both directions are the same scale. */
static void test_distances(void **state)
{
	enum { ROWS = 200, COLUMNS = 200 };
	static uint8_t data[ROWS * COLUMNS];
	struct words words = {data, 8, ROWS * COLUMNS};
	struct shape shape = {2, {ROWS, COLUMNS}};
	uint8_t of_row[ROWS];
	struct route_plan *plan;
	size_t i;

	(void)state;
	for (i = 0; i < ROWS; i++)
		of_row[i] = (uint8_t)random_below(2);
	/* Around 0, as int8 has it, so that small negative numbers are large words. */
	for (i = 0; i < words.count; i++)
		data[i] = (uint8_t)(int)(random_normal() * (of_row[i / COLUMNS] ? 3 : 24));
	plan = find(&words, &shape, SCALE_DISTANCE);
	assert_non_null(plan);
	assert_int_equal(plan->classes.column_classes, 1);
	assert_told_apart(plan->classes.of_row, of_row, ROWS);
	check_price(&words, plan);
	route_plan_free(plan);
}

/* Low bits that are noise are left out, if their price elsewhere is what they cost here. */
static void test_dropped_bits(void **state)
{
	enum { ROWS = 100, COLUMNS = 100 };
	static uint16_t data[ROWS * COLUMNS];
	struct words words = {data, 10, ROWS * COLUMNS};
	struct shape shape = {2, {ROWS, COLUMNS}};
	uint64_t rest[CLASSES_DROPS];
	struct route_plan *plan = NULL;
	unsigned d;
	size_t i;

	(void)state;
	for (i = 0; i < words.count; i++)
		data[i] = (uint16_t)((unsigned)exponent((unsigned)(i / COLUMNS % 2)) << 2 |
				     (unsigned)random_below(4));
	for (d = 0; d < CLASSES_DROPS; d++)
		rest[d] = d * words.count;
	assert_int_equal(classes_find(&words, &shape, NULL, SCALE_MAGNITUDE, 0, rest, CLASSES_DROPS,
				      &plan, NULL),
			 BREVIS_OK);
	assert_non_null(plan);
	assert_int_equal(plan->dropped, 2);
	route_plan_free(plan);
	/* Where they are dear, they stay. */
	for (d = 0; d < CLASSES_DROPS; d++)
		rest[d] = 3 * d * words.count;
	assert_int_equal(classes_find(&words, &shape, NULL, SCALE_MAGNITUDE, 0, rest, CLASSES_DROPS,
				      &plan, NULL),
			 BREVIS_OK);
	assert_non_null(plan);
	assert_int_equal(plan->dropped, 0);
	check_price(&words, plan);
	route_plan_free(plan);
}

/* ---- nothing to find ---------------------------------------------------------------------------
 */

static void test_nothing(void **state)
{
	static const struct shape shapes_of[] = {
		{2, {300, 200}}, {3, {50, 60, 20}}, {1, {60000}}, {2, {2, 30000}}, {2, {30000, 2}},
	};
	static uint8_t data[60000];
	struct words words = {data, 8, sizeof(data)};
	size_t i, k;

	(void)state;
	for (k = 0; k < 3; k++) {
		for (i = 0; i < sizeof(data); i++)
			data[i] = k == 0 ? exponent(0) : k == 1 ? (uint8_t)random_next() : 7;
		for (i = 0; i < sizeof(shapes_of) / sizeof(shapes_of[0]); i++)
			assert_null(find(&words, &shapes_of[i], SCALE_MAGNITUDE));
	}
	/* No lines at all, or lines of a few words. */
	words.count = 1;
	assert_null(find(&words, &(struct shape){0}, SCALE_MAGNITUDE));
	words.count = 100;
	assert_null(find(&words, &(struct shape){2, {50, 2}}, SCALE_MAGNITUDE));
	route_plan_free(NULL);
}

/* Whatever shape and words: a plan's grid and classes are ones that the format allows. */
static void test_plans_are_valid(void **state)
{
	unsigned round, found = 0;

	(void)state;
	for (round = 0; round < 400; round++) {
		unsigned width = 1 + (unsigned)random_below(12), size = width > 8 ? 2 : 1;
		size_t extents[3], count = 1, i;
		struct shape shape = {0};
		struct route_plan *plan = NULL;
		struct words words;
		uint8_t *data;

		for (i = 0; i < 3; i++) {
			extents[i] = 1 + (size_t)random_below(random_below(2) ? 60 : 6);
			shape_add(&shape, extents[i]);
			count *= extents[i];
		}
		data = must_alloc(count * size);
		for (i = 0; i < count; i++) {
			size_t row = i / (count / extents[0]), column = i % extents[2];
			uint16_t v = (uint16_t)(random_next() & low_bits(width));

			v = (uint16_t)(v >> (row % 3 ? 0 : width / 2) >> (column % 4 ? 0 : 2));
			memcpy(data + i * size, &v, size);
		}
		words = (struct words){data, width, count};
		assert_int_equal(classes_find(&words, &shape, NULL, (enum symbol_scale)(round % 3),
					      0, nothing, 1, &plan, NULL),
				 BREVIS_OK);
		if (plan) {
			assert_in_range(plan->classes.classes, 2, CLASSES_ARITY_MAX);
			assert_true(plan->classes.row_classes <= ROUTE_MAX_CLASSES);
			assert_true(plan->classes.column_classes <= ROUTE_MAX_CLASSES);
			size_of_plan(&words, plan);
			found++;
		}
		route_plan_free(plan);
		free(data);
	}
	assert_true(found > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_planted),      TEST(test_blocks),  TEST(test_distances),
		TEST(test_dropped_bits), TEST(test_nothing), TEST(test_plans_are_valid),
	};

	seed_init("test_classes");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
