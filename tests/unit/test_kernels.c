/* SPDX-License-Identifier: Apache-2.0 */
/* The loops behind the operators, for all widths of words: fields, bijections, scans, grids. */
#include "tests/unit/support.h"

#include "core/program/fields.h"
#include "core/program/grid.h"
#include "core/program/map.h"
#include "core/program/route.h"
#include "core/program/scan.h"
#include "tests/unit/random_tree.h"

/* ---- fields ---------------------------------------------------------------------------------- */

/* All widths of words, all widths of fields, the extreme shifts and one between. */
static void test_fields(void **state)
{
	enum { COUNT = 37 };
	unsigned width, field, k;

	(void)state;
	for (width = 1; width <= 64; width++) {
		for (field = 1; field <= width; field++) {
			unsigned shifts[3] = {0, width - field,
					      (unsigned)random_below(width - field + 1)};

			for (k = 0; k < 3; k++) {
				uint64_t words[COUNT], parts[COUNT], back[COUNT] = {0};
				unsigned shift = shifts[k], i;
				void *packed, *cut = must_alloc(COUNT * 8);
				void *again = must_alloc(COUNT * 8);
				void *wanted, *rest;

				for (i = 0; i < COUNT; i++) {
					words[i] = random_word(width);
					parts[i] = words[i] >> shift & tree_mask(field);
					back[i] = words[i] & ~(tree_mask(field) << shift);
				}
				packed = pack_words(words, width, COUNT);
				wanted = pack_words(parts, field, COUNT);
				fields_extract(packed, width, cut, field, shift, COUNT);
				assert_memory_equal(cut, wanted, COUNT * word_bytes(field));
				/* As the first field it sets the word, ... */
				for (i = 0; i < COUNT; i++)
					parts[i] <<= shift;
				memset(again, 0xa5, COUNT * 8);
				fields_insert(again, width, cut, field, shift, true, COUNT);
				free(wanted);
				wanted = pack_words(parts, width, COUNT);
				assert_memory_equal(again, wanted, COUNT * word_bytes(width));
				/* ... as a further one it joins the others. */
				rest = pack_words(back, width, COUNT);
				fields_insert(rest, width, cut, field, shift, false, COUNT);
				assert_memory_equal(rest, packed, COUNT * word_bytes(width));
				free(packed);
				free(cut);
				free(again);
				free(wanted);
				free(rest);
			}
		}
	}
}

/* All divisors of all widths, there and back. */
static void test_pack(void **state)
{
	enum { COUNT = 29 };
	unsigned width, k, i, j;

	(void)state;
	for (width = 2; width <= 64; width++) {
		for (k = 2; k <= width; k++) {
			uint64_t parts[COUNT * 64], words[COUNT];
			void *packed, *wanted, *got;

			if (width % k)
				continue;
			got = must_alloc(COUNT * 64 * 8);
			for (i = 0; i < COUNT; i++) {
				words[i] = 0;
				for (j = 0; j < k; j++) {
					parts[i * k + j] = random_word(width / k);
					words[i] |= parts[i * k + j] << j * (width / k);
				}
			}
			packed = pack_words(parts, width / k, (size_t)COUNT * k);
			wanted = pack_words(words, width, COUNT);
			fields_pack(got, width, packed, k, COUNT);
			assert_memory_equal(got, wanted, COUNT * word_bytes(width));
			fields_unpack(wanted, width, got, k, COUNT);
			assert_memory_equal(got, packed, COUNT * k * word_bytes(width / k));
			free(packed);
			free(wanted);
			free(got);
		}
	}
}

/* Codes of all widths above a base, every few of them escaped. */
static void test_escape(void **state)
{
	enum { COUNT = 461 };
	unsigned width, code, i;

	(void)state;
	for (width = 1; width <= 64; width++) {
		for (code = 1; code <= width; code++) {
			uint64_t base = tree_mask(width) - tree_mask(code);
			unsigned many = random_below(2) ? 4 : 100;
			uint64_t codes[COUNT], words[COUNT], escaped[COUNT];
			void *from, *others, *wanted, *got = must_alloc(COUNT * 8);
			size_t n = 0;

			for (i = 0; i < COUNT; i++) {
				codes[i] = random_below(many) ? random_word(code) : tree_mask(code);
				words[i] = base + codes[i];
				if (codes[i] == tree_mask(code))
					escaped[n++] = words[i] = random_word(width);
			}
			from = pack_words(codes, code, COUNT);
			others = pack_words(escaped, width, n);
			wanted = pack_words(words, width, COUNT);
			assert_int_equal(fields_from_codes(got, width, from, code, base, COUNT), n);
			fields_escape(got, width, from, code, others, n, COUNT);
			assert_memory_equal(got, wanted, COUNT * word_bytes(width));
			if (!base && word_bytes(code) == word_bytes(width)) {
				assert_int_equal(
					fields_from_codes(from, width, from, code, 0, COUNT), n);
				fields_escape(from, width, from, code, others, n, COUNT);
				assert_memory_equal(from, wanted, COUNT * word_bytes(width));
			}
			free(from);
			free(others);
			free(wanted);
			free(got);
		}
	}
}

/* ---- bijections ------------------------------------------------------------------------------ */

static void check_map(unsigned f, uint64_t argument, unsigned width)
{
	enum { COUNT = 70 };
	uint64_t words[COUNT], mapped[COUNT];
	void *before, *after, *got;
	unsigned i;

	for (i = 0; i < COUNT; i++) {
		words[i] = i < 8    ? i & tree_mask(width)
			   : i < 16 ? tree_mask(width) - (i & 7 & tree_mask(width))
				    : random_word(width);
		mapped[i] = naive_map(f, argument, words[i], width);
		assert_true(mapped[i] <= tree_mask(width));
	}
	before = pack_words(words, width, COUNT);
	after = pack_words(mapped, width, COUNT);
	got = pack_words(words, width, COUNT);
	map_apply((enum map_function)f, argument, got, width, COUNT);
	if (memcmp(got, after, COUNT * word_bytes(width)))
		print_error("function %u of %u bits\n", f, width);
	assert_memory_equal(got, after, COUNT * word_bytes(width));
	map_invert((enum map_function)f, argument, got, width, COUNT);
	assert_memory_equal(got, before, COUNT * word_bytes(width));
	free(before);
	free(after);
	free(got);
}

static void test_maps(void **state)
{
	unsigned width, f, r;

	(void)state;
	for (width = 1; width <= 64; width++) {
		for (f = MAP_XOR; f <= MAP_ADD; f++) {
			check_map(f, 1, width);
			check_map(f, tree_mask(width), width);
			check_map(f, random_word(width), width);
		}
		for (f = MAP_ZIGZAG; f <= MAP_REVERSE; f++)
			check_map(f, 0, width);
		for (r = 1; r < width; r++)
			check_map(MAP_ROTATE, r, width);
	}
}

/* Steps in several calls, as blocks come; and back in one. */
static void test_scans(void **state)
{
	enum { COUNT = 83 };
	unsigned width, f, i;

	(void)state;
	for (width = 1; width <= 64; width++) {
		for (f = SCAN_XOR; f <= SCAN_ADD; f++) {
			uint64_t steps[COUNT], words[COUNT + 1], last;
			unsigned size = word_bytes(width);
			uint8_t *wanted, *got, *packed;

			words[0] = last = random_word(width);
			for (i = 0; i < COUNT; i++) {
				steps[i] = random_word(width);
				words[i + 1] = f == SCAN_XOR
						       ? words[i] ^ steps[i]
						       : (words[i] + steps[i]) & tree_mask(width);
			}
			packed = pack_words(steps, width, COUNT);
			got = pack_words(steps, width, COUNT);
			wanted = pack_words(words, width, COUNT + 1);
			scan_apply((enum scan_function)f, &last, got, width, 5);
			assert_int_equal(last, words[5]);
			scan_apply((enum scan_function)f, &last, got + 5 * size, width, COUNT - 5);
			assert_int_equal(last, words[COUNT]);
			assert_memory_equal(got, wanted + size, COUNT * size);
			scan_invert((enum scan_function)f, wanted, width, COUNT + 1);
			assert_memory_equal(wanted, packed, COUNT * size);
			free(packed);
			free(got);
			free(wanted);
		}
	}
}

/* ---- grids ----------------------------------------------------------------------------------- */

/* Flips of a part of a grid, where the class of a column is odd: column by column, and by rows. */
static void check_flip(const struct tree *t, const struct grid *grid, size_t first, size_t n)
{
	size_t length = grid->columns * grid->inner, i;
	uint8_t *flags = exact_copy(t->of_column, grid->columns);
	uint8_t *of_row, words[400], by_rows[400];

	for (i = 0; i < grid->columns; i++)
		flags[i] &= 1;
	memset(words, 7, n);
	memset(by_rows, 7, n);
	grid_flip(grid, flags, first, words, 3, n);
	of_row = grid_row_flags(grid, flags);
	assert_non_null(of_row);
	grid_flip_row(length, of_row, first, by_rows, 3, n);
	for (i = 0; i < n; i++) {
		assert_int_equal(words[i], flags[tree_column(t, first + i)] ? 3 : 7);
		assert_int_equal(by_rows[i], words[i]);
	}
	free(flags);
	free(of_row);
}

/* Classes and flips of every part of a grid, and how many words each class has. */
static void test_grids(void **state)
{
	int round;

	(void)state;
	for (round = 0; round < 600; round++) {
		size_t count = 1 + (size_t)random_below(400);
		struct tree *t = random_route(8, count);
		uint8_t of_word[400];
		size_t counts[ROUTE_MAX_CLASSES];
		size_t first = (size_t)random_below(count), n, i;
		struct grid grid;
		struct route_classes classes;
		struct route_lines lines = {{NULL}};
		unsigned k;

		if (!t)
			continue;
		n = 1 + (size_t)random_below(count - first);
		grid = (struct grid){count / (t->columns * t->inner), t->columns, t->inner};
		classes = (struct route_classes){t->row_classes, t->column_classes, t->classes,
						 t->of_row,      t->of_column,      t->map};
		route_count(&grid, &classes, counts);
		for (i = 0; i < count; i++)
			counts[tree_class(t, i)]--;
		for (k = 0; k < ROUTE_MAX_CLASSES; k++)
			assert_int_equal(counts[k], 0);
		assert_true(route_lines_make(&lines, &grid, &classes));
		route_classify(&lines, &grid, &classes, first, of_word, n);
		for (i = 0; i < n; i++)
			assert_int_equal(of_word[i], tree_class(t, first + i));
		route_classify(&lines, &grid, &classes, 0, of_word, first + n);
		for (i = 0; i < first + n; i++)
			assert_int_equal(of_word[i], tree_class(t, i));
		route_lines_release(&lines);
		/* And without lines, as where they would be too long. */
		memset(of_word, 0xff, n);
		route_classify(&lines, &grid, &classes, first, of_word, n);
		for (i = 0; i < n; i++)
			assert_int_equal(of_word[i], tree_class(t, first + i));
		if (t->of_column)
			check_flip(t, &grid, first, n);
		free_tree(t);
	}
}

/* Which lines a route of so many rows has, whose rows have the classes 3 and 5 in turn. */
static unsigned lines_made(size_t rows, size_t columns, size_t inner)
{
	uint8_t map[ROUTE_MAX_CLASSES] = {0}, of_word[4] = {9, 9, 9, 9};
	uint8_t *of_row = must_alloc(rows), *of_column = must_alloc(columns);
	const struct grid grid = {rows, columns, inner};
	const struct route_classes classes = {ROUTE_MAX_CLASSES, 1, 2, of_row, of_column, map};
	struct route_lines lines = {{NULL}};
	unsigned made = 0, i;
	size_t row;

	map[3] = 1;
	for (row = 0; row < rows; row++)
		of_row[row] = row % 2 ? 5 : 3;
	memset(of_column, 0, columns);
	assert_true(route_lines_make(&lines, &grid, &classes));
	for (i = 0; i < ROUTE_MAX_CLASSES; i++)
		made |= lines.of_row_class[i] ? 1u << i : 0;
	route_classify(&lines, &grid, &classes, columns * inner - 2, of_word, rows > 1 ? 4 : 2);
	assert_memory_equal(of_word, rows > 1 ? "\1\1\0\0" : "\1\1\11\11", 4);
	route_lines_release(&lines);
	free(of_row);
	free(of_column);
	return made;
}

/* What is kept for the words of a row is little, however a program describes its rows. */
static void test_line_memory(void **state)
{
	const size_t most = GRID_LINES_MAX;

	(void)state;
	assert_int_equal(lines_made(3, 4, 7), 1 << 3 | 1 << 5);
	assert_int_equal(lines_made(3, most / 2, 1), 1 << 3 | 1 << 5);
	assert_int_equal(lines_made(3, most / 2 + 1, 1), 0);
	assert_int_equal(lines_made(3, 4, most / 8), 1 << 3 | 1 << 5);
	assert_int_equal(lines_made(3, 4, most / 8 + 1), 0);
	/* A line for each row would be for nothing. */
	assert_int_equal(lines_made(2, 4, 7), 0);
	assert_int_equal(lines_made(1, 4, 7), 0);

	assert_true(grid_has_row_flags(&(struct grid){2, most / 2, 2}));
	assert_false(grid_has_row_flags(&(struct grid){2, most / 2 + 1, 2}));
	assert_false(grid_has_row_flags(&(struct grid){2, SIZE_MAX / 2, 2}));
	assert_false(grid_has_row_flags(&(struct grid){1, 16, 2}));
	assert_false(grid_has_row_flags(&(struct grid){2, 256, 1}));
	assert_true(grid_has_row_flags(&(struct grid){2, 16, 1}));
	assert_false(grid_has_row_flags(&(struct grid){2, 16, 64}));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_fields), TEST(test_pack),  TEST(test_escape),      TEST(test_maps),
		TEST(test_scans),  TEST(test_grids), TEST(test_line_memory),
	};

	seed_init("test_kernels");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
