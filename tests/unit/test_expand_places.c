/* SPDX-License-Identifier: Apache-2.0 */
/*
 * As test_expand, Equation 8 of the paper, for the operators that depend on where a word stands:
 * flip by column, concat by runs.
 */
#include "tests/unit/expand_cases.h"

/* ---- flip ------------------------------------------------------------------------------------ */

static size_t column_of(const struct grid *grid, size_t i)
{
	return i / grid->inner % grid->columns;
}

static void check_majority(const struct words *target, const struct grid *grid,
			   const uint8_t *flags, size_t flipped)
{
	size_t *set = must_alloc(grid->columns * sizeof(*set)), i;
	size_t of_column = grid->rows * grid->inner;

	memset(set, 0, grid->columns * sizeof(*set));
	for (i = 0; i < target->count; i++)
		set[column_of(grid, i)] += at(target, i) >> (target->width - 1);
	for (i = 0; i < grid->columns; i++) {
		/* Of long columns only some words are looked at. */
		if (of_column <= 1024 || set[i] == 0 || set[i] == of_column)
			assert_int_equal(flags[i], 2 * set[i] > of_column);
		flipped -= flags[i];
	}
	assert_int_equal(flipped, 0);
	free(set);
}

static void check_flip(const struct words *target)
{
	uint64_t highest = UINT64_C(1) << (target->width - 1);
	struct grid grid = random_grid(target->count);
	struct buffer program = BUFFER_INIT;
	struct words child;
	uint8_t *flags;
	size_t flipped, i;
	uint64_t saved;

	assert_int_equal(flip_majority(target, &grid, &flags, &flipped, &saved, NULL), BREVIS_OK);
	check_majority(target, &grid, flags, flipped);
	for (i = 0; i < grid.columns && random_below(2); i++)
		flags[i] ^= 1;
	assert_int_equal(expand_flip(target, &grid, flags, &child, NULL), BREVIS_OK);
	assert_int_equal(child.width, target->width);
	assert_int_equal(child.count, target->count);
	for (i = 0; i < target->count; i++)
		assert_int_equal(at(&child, i) ^ (flags[column_of(&grid, i)] ? highest : 0),
				 at(target, i));
	put_root(&program, target->width);
	assert_int_equal(program_put_flip(&program, &grid, flags, NULL), BREVIS_OK);
	put_literal(&program, &child);
	check_program(&program, target);
	words_free(&child);
	buffer_release(&program);
	free(flags);
}

static void test_flip(void **state)
{
	(void)state;
	for_streams(check_flip, 1, 1);
}

/* ---- concat ---------------------------------------------------------------------------------- */

/* The run at begin ends there. */
static size_t run_end(const struct words *w, size_t begin)
{
	size_t end = begin + 1;

	while (end < w->count && at(w, end) == at(w, begin))
		end++;
	return end;
}

/* Cuts the stream where the runs say; const where a part has one value. */
static void check_concat(const struct words *target, const size_t *ends, unsigned parts)
{
	struct buffer program = BUFFER_INIT;
	size_t counts[RUNS_MAX_CUTS + 3], begin = 0;
	unsigned i;

	put_root(&program, target->width);
	for (i = 0; i < parts; i++) {
		assert_true(ends[i] > begin);
		counts[i] = ends[i] - begin;
		begin = ends[i];
	}
	assert_int_equal(begin, target->count);
	if (parts > 1)
		program_put_concat(&program, counts, parts);
	for (i = 0, begin = 0; i < parts; i++) {
		struct words part = *target;

		part.data = (const uint8_t *)target->data + begin * bytes_of(target->width);
		part.count = counts[i];
		if (run_end(&part, 0) == part.count)
			program_put_const(&program, part.width, at(&part, 0));
		else
			put_literal(&program, &part);
		begin += counts[i];
	}
	check_program(&program, target);
	buffer_release(&program);
}

/* Where a naive search cuts: the best RUNS_MAX_CUTS / 2 of the runs between begin and end. */
static unsigned naive_cuts(const struct words *w, size_t begin, size_t end, size_t *cuts)
{
	size_t best_begin[RUNS_MAX_CUTS / 2], best_end[RUNS_MAX_CUTS / 2];
	unsigned n = 0, found = 0, i, j;
	size_t a, b;

	for (i = 0; i < RUNS_MAX_CUTS / 2; i++) {
		size_t longest = RUN_MIN - 1;

		for (a = begin; a < end; a = b) {
			bool taken = false;

			b = run_end(w, a);
			for (j = 0; j < found; j++)
				taken |= best_begin[j] == a;
			if (taken || b - a <= longest)
				continue;
			longest = b - a;
			best_begin[i] = a;
			best_end[i] = b;
		}
		if (longest == RUN_MIN - 1)
			break;
		found++;
	}
	for (a = begin + 1; a < end; a++)
		for (j = 0; j < found; j++)
			if (best_begin[j] == a || best_end[j] == a) {
				cuts[n++] = a;
				break;
			}
	return n;
}

static unsigned cuts_met[RUNS_MAX_CUTS + 1];

static void check_runs(const struct words *target)
{
	size_t n = target->count, head = run_end(target, 0), tail = 1;
	size_t wanted[RUNS_MAX_CUTS], ends[RUNS_MAX_CUTS + 3];
	struct runs runs;
	unsigned i, parts = 0;

	while (tail < n && at(target, n - 1 - tail) == at(target, n - 1))
		tail++;
	expand_runs(target, &runs);
	assert_int_equal(runs.head, head < RUN_MIN ? 0 : head);
	assert_int_equal(runs.tail, tail < RUN_MIN || tail == n ? 0 : tail);
	assert_int_equal(runs.count, naive_cuts(target, runs.head, n - runs.tail, wanted));
	for (i = 0; i < runs.count; i++)
		assert_int_equal(runs.cuts[i], wanted[i]);
	cuts_met[runs.count]++;
	if (runs.head)
		ends[parts++] = runs.head;
	for (i = 0; i < runs.count; i++)
		ends[parts++] = runs.cuts[i];
	if (runs.tail && n - runs.tail > (parts ? ends[parts - 1] : 0))
		ends[parts++] = n - runs.tail;
	if (!parts || ends[parts - 1] < n)
		ends[parts++] = n;
	check_concat(target, ends, parts);
}

/* Runs around the length that counts, some next to each other, some apart. */
static struct words make_runs(unsigned width)
{
	size_t count = 0, n = 0, i, runs = random_below(14);
	uint8_t *words = must_alloc(14 * (RUN_MIN + 170 + 90) * bytes_of(width) + 8);

	do {
		uint64_t value = random_word(width);

		n = RUN_MIN - 2 + random_below(random_below(3) ? 5 : 170);
		for (i = 0; i < n; i++)
			put(words, width, count++, value);
		n = random_below(2) ? random_below(90) : 0;
		for (i = 0; i < n; i++)
			put(words, width, count++, random_word(width));
	} while (runs--);
	return (struct words){words, width, count};
}

static void test_runs(void **state)
{
	unsigned round, i;

	(void)state;
	for_streams(check_runs, 1, 1);
	for (round = 0; round < 400; round++) {
		struct words target = make_runs(1 + (unsigned)random_below(64));

		check_runs(&target);
		words_free(&target);
	}
	for (i = 0; i <= RUNS_MAX_CUTS; i++)
		assert_true(cuts_met[i] > 0);
}

/* Runs just as long as counts, and a word shorter, wherever the search happens to look. */
static void test_runs_everywhere(void **state)
{
	size_t before, length, after, i;

	(void)state;
	for (before = 0; before <= 2 * RUN_MIN; before++) {
		for (length = RUN_MIN - 1; length <= RUN_MIN + 1; length++) {
			for (after = 0; after <= 2 * RUN_MIN; after += RUN_MIN / 2) {
				uint8_t words[5 * RUN_MIN + 1];
				struct words target = {words, 8, before + length + after};

				for (i = 0; i < target.count; i++)
					words[i] = i < before            ? (uint8_t)(2 * i % 256)
						   : i < before + length ? 1
									 : 3;
				check_runs(&target);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {TEST(test_flip), TEST(test_runs),
					   TEST(test_runs_everywhere)};

	seed_init("test_expand_places");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
