/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bijections of map for words of 1 to 64 bits, word for word against docs/FORMAT.md, and their
 * inverses: every word of narrow widths, random and extreme ones of all others.
 */
#include "tests/unit/expand_cases.h"

#include "core/program/map.h"

#define EXHAUSTIVE_BITS 12

/* 2^b as a number to compute modulo with; 0 for 64 bits, where it comes to the same. */
static uint64_t modulus(unsigned b)
{
	return b == 64 ? 0 : UINT64_C(1) << b;
}

static uint64_t reversed(uint64_t x, unsigned b)
{
	uint64_t r = 0;
	unsigned i;

	for (i = 0; i < b; i++)
		r |= (x >> i & 1) << (b - 1 - i);
	return r;
}

/* Bit i of the result is the XOR of the bits from i up. */
static uint64_t ungrayed(uint64_t gray, unsigned b)
{
	uint64_t x = 0, above = 0;
	unsigned i;

	for (i = b; i--;) {
		above ^= gray >> i & 1;
		x |= above << i;
	}
	return x;
}

static uint64_t rotated(uint64_t x, unsigned b, unsigned r)
{
	unsigned i;

	for (i = 0; i < r; i++)
		x = (x << 1 | x >> (b - 1)) & low_bits(b);
	return x;
}

/* The table of docs/FORMAT.md. */
static uint64_t naive(enum map_function f, uint64_t c, uint64_t x, unsigned b)
{
	uint64_t half = UINT64_C(1) << (b - 1), result = 0;

	switch (f) {
	case MAP_XOR:
		result = x ^ c;
		break;
	case MAP_ADD:
		result = x + c;
		break;
	case MAP_ZIGZAG:
		result = x < half ? 2 * x : 2 * (modulus(b) - x) - 1;
		break;
	case MAP_UNZIGZAG:
		result = x % 2 == 0 ? x / 2 : modulus(b) - (x / 2 + 1);
		break;
	case MAP_GRAY:
		result = x ^ x / 2;
		break;
	case MAP_UNGRAY:
		result = ungrayed(x, b);
		break;
	case MAP_REVERSE:
		result = reversed(x, b);
		break;
	case MAP_ROTATE:
		result = rotated(x, b, (unsigned)c);
		break;
	}
	return result & low_bits(b);
}

/* Both directions for an array of words. */
static void check(enum map_function f, uint64_t c, const struct words *in)
{
	size_t size = in->count * bytes_of(in->width), i;
	void *words = must_alloc(size);
	uint64_t got, wanted;

	memcpy(words, in->data, size);
	map_apply(f, c, words, in->width, in->count);
	for (i = 0; i < in->count; i++) {
		got = get(words, in->width, i);
		wanted = naive(f, c, at(in, i), in->width);
		if (got != wanted)
			fail_msg("function %d, argument %llx, %u bits: %llx becomes %llx, not %llx",
				 (int)f, (unsigned long long)c, in->width,
				 (unsigned long long)at(in, i), (unsigned long long)got,
				 (unsigned long long)wanted);
	}
	map_invert(f, c, words, in->width, in->count);
	if (memcmp(words, in->data, size))
		fail_msg("function %d, argument %llx, %u bits: the inverse is none", (int)f,
			 (unsigned long long)c, in->width);
	free(words);
}

/* All functions that the width has, with extreme arguments and random ones. */
static void check_functions(const struct words *in)
{
	unsigned b = in->width, f, i;

	for (f = MAP_XOR; f <= MAP_ROTATE; f++) {
		if (f == MAP_XOR || f == MAP_ADD) {
			check(f, 1, in);
			check(f, low_bits(b), in);
			for (i = 0; i < 4; i++)
				check(f, random_word(b), in);
		} else if (f == MAP_ROTATE) {
			for (i = 1; i < b; i++)
				check(f, i, in);
		} else if (b >= 2) {
			check(f, 0, in);
		}
	}
}

static void test_every_word(void **state)
{
	unsigned width;

	(void)state;
	for (width = 1; width <= EXHAUSTIVE_BITS; width++) {
		size_t count = (size_t)1 << width, i;
		void *words = must_alloc(count * bytes_of(width));
		struct words in = {words, width, count};

		for (i = 0; i < count; i++)
			put(words, width, i, i);
		check_functions(&in);
		free(words);
	}
}

static void test_wide_words(void **state)
{
	unsigned width, shape;

	(void)state;
	for (width = EXHAUSTIVE_BITS + 1; width <= 64; width++) {
		for (shape = 0; shape < SHAPES; shape++) {
			struct words in = make_stream(shape, width, 1 + random_below(100));

			check_functions(&in);
			words_free(&in);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {TEST(test_every_word), TEST(test_wide_words)};

	seed_init("test_map");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
