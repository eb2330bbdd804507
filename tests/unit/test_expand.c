/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Equation 8 of the paper: whenever an operator's expansion of a stream yields child streams, the
 * operator makes the stream of them again, bit for bit. Once word by word after docs/FORMAT.md, and
 * once by the program that the expansion stands for, with the children as literals.
 */
#include "tests/unit/expand_cases.h"

/* ---- repeat ---------------------------------------------------------------------------------- */

static bool has_period(const struct words *w, size_t m)
{
	size_t i;

	for (i = m; i < w->count; i++)
		if (at(w, i) != at(w, i - m))
			return false;
	return true;
}

static size_t smallest_period(const struct words *w)
{
	size_t m;

	for (m = 1; m < w->count; m++)
		if (w->count % m == 0 && has_period(w, m))
			return m;
	return w->count;
}

static void check_repeat(const struct words *target)
{
	struct buffer program = BUFFER_INIT;
	struct words child = *target;
	size_t period, wanted = smallest_period(target);
	bool applies = expand_repeat(target, &period);

	assert_int_equal(applies, wanted < target->count);
	if (!applies)
		return;
	assert_int_equal(period, wanted);
	child.count = period;
	put_root(&program, target->width);
	program_put_repeat(&program, target->count / period);
	put_literal(&program, &child);
	check_program(&program, target);
	buffer_release(&program);
}

static void test_repeat(void **state)
{
	(void)state;
	for_streams(check_repeat, 1, 1);
}

/* Periods with all kinds of factors, and streams that miss one by a single word. */
static void test_repeat_near_misses(void **state)
{
	size_t period, copies;

	(void)state;
	for (period = 1; period <= 36; period++) {
		for (copies = 2; copies <= 36; copies++) {
			uint16_t words[36 * 36];
			struct words w = {words, 16, period * copies};
			size_t i;

			for (i = 0; i < w.count; i++)
				words[i] = (uint16_t)(i % period * i % period);
			check_repeat(&w);
			words[random_below(w.count)] ^= 256;
			check_repeat(&w);
			words[w.count - 1] ^= 512;
			check_repeat(&w);
		}
	}
}

/* ---- map, scan ------------------------------------------------------------------------------- */

static void check_map(const struct words *target)
{
	unsigned b = target->width, f = (unsigned)random_below(8);
	struct buffer program = BUFFER_INIT;
	struct words child;
	uint64_t argument = 0;

	if (f == MAP_ROTATE) {
		argument = 1 + random_below(b - 1);
	} else if (f <= MAP_ADD) {
		do
			argument = random_word(b);
		while (!argument || (f == MAP_ADD && argument == UINT64_C(1) << (b - 1)));
	}
	assert_int_equal(expand_map(target, f, argument, &child, NULL), BREVIS_OK);
	assert_int_equal(child.width, b);
	assert_int_equal(child.count, target->count);
	put_root(&program, b);
	program_put_map(&program, f, argument);
	put_literal(&program, &child);
	check_program(&program, target);
	words_free(&child);
	buffer_release(&program);
}

static void test_map(void **state)
{
	(void)state;
	for_streams(check_map, 2, 1);
}

static void check_scan(const struct words *target)
{
	enum scan_function f = random_below(2) ? SCAN_ADD : SCAN_XOR;
	struct buffer program = BUFFER_INIT;
	struct words child;
	uint64_t first, word;
	size_t i;

	assert_int_equal(expand_scan(target, f, &first, &child, NULL), BREVIS_OK);
	assert_int_equal(child.width, target->width);
	assert_int_equal(child.count, target->count - 1);
	word = first;
	assert_int_equal(word, at(target, 0));
	for (i = 1; i < target->count; i++) {
		uint64_t update = at(&child, i - 1);

		word = (f == SCAN_XOR ? word ^ update : word + update) & low_bits(target->width);
		assert_int_equal(word, at(target, i));
	}
	put_root(&program, target->width);
	program_put_scan(&program, f, first);
	put_literal(&program, &child);
	check_program(&program, target);
	words_free(&child);
	buffer_release(&program);
}

static void test_scan(void **state)
{
	(void)state;
	for_streams(check_scan, 1, 2);
}

/* ---- merge, pack ----------------------------------------------------------------------------- */

/* Cuts width bits into at least two fields; at most 56, so that a root fits above them. */
static unsigned random_cut(unsigned width, unsigned *fields)
{
	unsigned n = 0, left = width, most;

	while (left) {
		most = n ? left : left - 1;
		fields[n] = n == 55 ? left : 1 + (unsigned)random_below(random_below(3) ? most : 1);
		left -= fields[n++];
	}
	return n;
}

static void check_merge(const struct words *target)
{
	unsigned fields[64], n = random_cut(target->width, fields), shift = target->width, i;
	uint64_t *whole = must_alloc(target->count * sizeof(*whole));
	struct buffer program = BUFFER_INIT;
	struct words child;
	size_t j;

	memset(whole, 0, target->count * sizeof(*whole));
	put_root(&program, target->width);
	program_put_merge(&program, fields, n);
	for (i = 0; i < n; i++) {
		shift -= fields[i];
		assert_int_equal(expand_fields(target, shift, fields[i], &child, NULL), BREVIS_OK);
		assert_int_equal(child.width, fields[i]);
		assert_int_equal(child.count, target->count);
		for (j = 0; j < target->count; j++) {
			assert_true(at(&child, j) <= low_bits(fields[i]));
			whole[j] |= at(&child, j) << shift;
		}
		put_literal(&program, &child);
		words_free(&child);
	}
	for (j = 0; j < target->count; j++)
		assert_int_equal(whole[j], at(target, j));
	check_program(&program, target);
	free(whole);
	buffer_release(&program);
}

static void test_merge(void **state)
{
	(void)state;
	for_streams(check_merge, 2, 1);
}

static void check_pack_by(const struct words *target, unsigned k)
{
	unsigned width = target->width / k, j;
	struct buffer program = BUFFER_INIT;
	struct words child;
	size_t i;

	assert_int_equal(expand_pack(target, k, &child, NULL), BREVIS_OK);
	assert_int_equal(child.width, width);
	assert_int_equal(child.count, target->count * k);
	for (i = 0; i < target->count; i++) {
		uint64_t word = 0;

		for (j = 0; j < k; j++) {
			assert_true(at(&child, i * k + j) <= low_bits(width));
			word |= at(&child, i * k + j) << (j * width);
		}
		assert_int_equal(word, at(target, i));
	}
	put_root(&program, target->width);
	program_put_pack(&program, k);
	put_literal(&program, &child);
	check_program(&program, target);
	words_free(&child);
	buffer_release(&program);
}

static void check_pack(const struct words *target)
{
	unsigned k;

	do
		k = 2 + (unsigned)random_below(target->width - 1);
	while (target->width % k);
	check_pack_by(target, k);
}

static void test_pack(void **state)
{
	unsigned width, k;

	(void)state;
	for_streams(check_pack, 2, 1);
	for (width = 2; width <= 64; width++) {
		for (k = 2; k <= width; k++) {
			struct words target = make_stream(SHAPE_NOISE, width, 37);

			if (width % k == 0)
				check_pack_by(&target, k);
			words_free(&target);
		}
	}
}

/* ---- escape ---------------------------------------------------------------------------------- */

static unsigned with_escape, without_escape;

static void check_escape_at(const struct words *target, unsigned width, uint64_t base)
{
	uint64_t last = low_bits(width);
	struct buffer program = BUFFER_INIT;
	struct words codes, escaped;
	bool fits = true;
	size_t i, next = 0;

	assert_int_equal(expand_escape(target, width, base, &codes, &escaped, NULL), BREVIS_OK);
	assert_int_equal(codes.width, width);
	assert_int_equal(codes.count, target->count);
	assert_int_equal(escaped.width, target->width);
	for (i = 0; i < target->count; i++) {
		uint64_t word = at(target, i);

		fits &= word >= base && word - base <= last;
	}
	for (i = 0; i < target->count; i++) {
		uint64_t word = at(target, i), code = at(&codes, i);

		if (!fits && (word < base || word - base >= last)) {
			assert_int_equal(code, last);
			assert_int_equal(at(&escaped, next++), word);
		} else {
			assert_int_equal(base + code, word);
		}
	}
	assert_int_equal(escaped.count, next);
	*(next ? &with_escape : &without_escape) += 1;
	put_root(&program, target->width);
	program_put_escape(&program, width, base, next);
	put_literal(&program, &codes);
	if (next)
		put_literal(&program, &escaped);
	check_program(&program, target);
	words_free(&codes);
	words_free(&escaped);
	buffer_release(&program);
}

static void check_escape(const struct words *target)
{
	unsigned b = target->width, width = 1 + (unsigned)random_below(b < 13 ? b : 12);
	uint64_t largest = low_bits(b) - low_bits(width), base = 0, smallest = UINT64_MAX;
	size_t i;

	check_escape_at(target, width, largest ? random_next() % (largest + 1) : 0);
	check_escape_at(target, width, largest);
	/* Where words are: one of them, and the smallest. */
	base = at(target, random_below(target->count));
	check_escape_at(target, width, base < largest ? base : largest);
	for (i = 0; i < target->count; i++)
		smallest = at(target, i) < smallest ? at(target, i) : smallest;
	check_escape_at(target, width, smallest < largest ? smallest : largest);
	check_escape_at(target, b, 0);
}

static void test_escape(void **state)
{
	(void)state;
	for_streams(check_escape, 1, 1);
	assert_true(with_escape > 20 && without_escape > 20);
}

/* All words and bases of narrow widths: the ends of the range of codes are where errors live. */
static void test_escape_every_base(void **state)
{
	unsigned b, width;
	uint64_t base;

	(void)state;
	for (b = 1; b <= 6; b++) {
		for (width = 1; width <= b; width++) {
			for (base = 0; base + low_bits(width) <= low_bits(b); base++) {
				uint8_t words[64];
				struct words all = {words, b, (size_t)1 << b};
				size_t i;

				for (i = 0; i < all.count; i++)
					words[i] = (uint8_t)i;
				check_escape_at(&all, width, base);
				all.data = words + base;
				all.count = (size_t)1 << width;
				check_escape_at(&all, width, base);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_repeat), TEST(test_repeat_near_misses),
		TEST(test_map),    TEST(test_scan),
		TEST(test_merge),  TEST(test_pack),
		TEST(test_escape), TEST(test_escape_every_base),
	};

	seed_init("test_expand");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
