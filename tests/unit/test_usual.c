/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The usual program, which is written without a search: tensors of weights get it; of all others,
 * whatever there is in them that a search finds, the default preset loses nothing by it.
 */
#include "tests/unit/synthesis_cases.h"

/* ---- streams of floats -------------------------------------------------------------------------
 */

/* The tensor is of rows and columns; `block` is a stream of its own, of as many words at least. */
struct stream_of {
	size_t rows, columns;
	const float *block;
};

typedef float float_fn(const struct stream_of *s, size_t i);

/* With low bits that are noise: a sum of floats has few where it is near 0. */
static float weight(const struct stream_of *s, size_t i)
{
	float v = random_normal() * 0.2f;
	uint32_t bits;

	(void)s, (void)i;
	memcpy(&bits, &v, sizeof(bits));
	bits ^= (uint32_t)random_below(1 << 16);
	memcpy(&v, &bits, sizeof(bits));
	return v;
}

static float of_scaled_rows(const struct stream_of *s, size_t i)
{
	return weight(s, i) * (i / s->columns % 5 == 2 ? 0.25f : 1);
}

static float of_scaled_columns(const struct stream_of *s, size_t i)
{
	return weight(s, i) * (i % s->columns % 3 == 1 ? 8 : 1);
}

static float of_leaning_columns(const struct stream_of *s, size_t i)
{
	float v = weight(s, i);

	v = v < 0 ? -v : v;
	return (i % s->columns % 7 < 3) != (random_below(20) == 0) ? -v : v;
}

/* As biases and norms are. */
static float around_one(const struct stream_of *s, size_t i)
{
	return 1 + weight(s, i);
}

static float repeated(const struct stream_of *s, size_t i)
{
	return s->block[i % (s->columns * 2)];
}

static float halves(const struct stream_of *s, size_t i)
{
	return s->block[i % (s->rows * s->columns / 2)];
}

/* Rows of a few, in any order. */
static float copied_rows(const struct stream_of *s, size_t i)
{
	size_t row = i / s->columns * 7 / 3 % 11;

	return s->block[row * s->columns + i % s->columns];
}

/* A third of the rows is that before. */
static float some_copied_rows(const struct stream_of *s, size_t i)
{
	size_t row = i / s->columns;

	return s->block[(row % 3 == 2 ? row - 1 : row) * s->columns + i % s->columns];
}

/* Strings of words that begin anywhere. */
static float phrases(const struct stream_of *s, size_t i)
{
	return s->block[i / 25 * 2654435761u % 40 * 25 + i % 25];
}

static float masked(const struct stream_of *s, size_t i)
{
	return random_below(10) < 3 ? 0 : weight(s, i);
}

static float masked_by_other(const struct stream_of *s, size_t i)
{
	return random_below(8) ? weight(s, i) : 0.7f;
}

static float constant(const struct stream_of *s, size_t i)
{
	(void)s, (void)i;
	return 0.25f;
}

static float all_but_one(const struct stream_of *s, size_t i)
{
	return i == s->columns + 1 ? 0.5f : 0.25f;
}

static float run_at_start(const struct stream_of *s, size_t i)
{
	return i < s->rows * s->columns / 10 ? 0.7f : weight(s, i);
}

static float run_at_end(const struct stream_of *s, size_t i)
{
	return i >= s->rows * s->columns / 10 * 9 ? 0.7f : weight(s, i);
}

static float run_within(const struct stream_of *s, size_t i)
{
	size_t n = s->rows * s->columns;

	return i > n / 3 && i < n / 3 + n / 12 ? 0.7f : weight(s, i);
}

static float rows_of_zeros(const struct stream_of *s, size_t i)
{
	return i / s->columns % 6 == 4 ? 0 : weight(s, i);
}

static float affine(const struct stream_of *s, size_t i)
{
	return 1 + (float)i / (float)(s->rows * s->columns);
}

static float integers(const struct stream_of *s, size_t i)
{
	(void)s;
	return (float)i;
}

static float small_integers(const struct stream_of *s, size_t i)
{
	(void)s, (void)i;
	return (float)random_below(17) - 8;
}

static float wave(const struct stream_of *s, size_t i)
{
	float x = (float)(i % s->columns) / (float)s->columns;

	/* Nearly a sine; all rows are one, at several scales. */
	return x * (1 - x) * (1 + (float)(i / s->columns % 5));
}

static float of_16_values(const struct stream_of *s, size_t i)
{
	(void)i;
	return s->block[random_below(16)];
}

static float of_256_values(const struct stream_of *s, size_t i)
{
	(void)i;
	return s->block[random_below(256)];
}

static float without_low_bits(float v)
{
	uint32_t bits;

	memcpy(&bits, &v, sizeof(bits));
	bits &= 0xffffe000;
	memcpy(&v, &bits, sizeof(bits));
	return v;
}

static float upcast(const struct stream_of *s, size_t i)
{
	return without_low_bits(weight(s, i));
}

static float upcast_leaning_columns(const struct stream_of *s, size_t i)
{
	return without_low_bits(of_leaning_columns(s, i));
}

/* The same, but for one in 16. */
static float mostly_upcast(const struct stream_of *s, size_t i)
{
	return random_below(16) ? upcast(s, i) : weight(s, i);
}

static float outliers(const struct stream_of *s, size_t i)
{
	return random_below(500) ? weight(s, i) : weight(s, i) * 1e20f;
}

static const struct {
	const char *name;
	float_fn *word;
	bool plain; /* nothing that only a search could use */
} streams[] = {
	{"weights", weight, true},
	{"scaled rows", of_scaled_rows, true},
	{"scaled columns", of_scaled_columns, true},
	{"leaning columns", of_leaning_columns, false},
	{"around one", around_one, false},
	{"repeated", repeated, false},
	{"halves", halves, false},
	{"copied rows", copied_rows, false},
	{"some copied rows", some_copied_rows, false},
	{"phrases", phrases, false},
	{"masked", masked, false},
	{"masked by another word", masked_by_other, false},
	{"constant", constant, false},
	{"all but one", all_but_one, false},
	{"run at start", run_at_start, false},
	{"run at end", run_at_end, false},
	{"run within", run_within, false},
	{"rows of zeros", rows_of_zeros, false},
	{"affine", affine, false},
	{"integers", integers, false},
	{"small integers", small_integers, false},
	{"wave", wave, false},
	{"of 16 values", of_16_values, false},
	{"of 256 values", of_256_values, false},
	{"upcast", upcast, true},
	{"upcast leaning columns", upcast_leaning_columns, false},
	{"mostly upcast", mostly_upcast, false},
	{"outliers", outliers, false},
};

#define STREAMS (sizeof(streams) / sizeof(streams[0]))

/* ---- types -------------------------------------------------------------------------------------
 */

static uint64_t word_of(float value, const char *dtype)
{
	uint32_t bits;
	int exponent;

	memcpy(&bits, &value, sizeof(bits));
	exponent = (int)(bits >> 23 & 0xff) - 127;
	if (!strcmp(dtype, "F32"))
		return bits;
	if (!strcmp(dtype, "BF16"))
		return bits >> 16;
	if (!strcmp(dtype, "F16"))
		return (bits >> 31) << 15 |
		       (exponent < -14 || exponent > 15
				? 0u
				: (unsigned)(exponent + 15) << 10 | (bits >> 13 & 0x3ff));
	return (bits >> 31) << 7 |
	       (exponent < -12 || exponent > 2 ? 0u
					       : (unsigned)(exponent + 13) << 3 | (bits >> 20 & 7));
}

static const char *const dtypes[] = {"BF16", "F16", "F32", "F8_E4M3"};

/* ---- nothing is lost ---------------------------------------------------------------------------
 */

static uint8_t *make_stream(float_fn *fn, const char *dtype, unsigned width,
			    const struct stream_of *s)
{
	size_t count = s->rows * s->columns, i;
	uint8_t *words = must_alloc(count * (width / 8));

	for (i = 0; i < count; i++)
		put_word(words, width, i, word_of(fn(s, i), dtype));
	return words;
}

static void check_loss(size_t number, const char *dtype, const struct stream_of *s)
{
	struct synthesis_options options = {.preset = BREVIS_PRESET_DEFAULT, .search_only = true};
	struct tensor_kind kind = TENSOR(dtype, s->rows, s->columns);
	unsigned width = dtype_at(kind.dtype)->bits;
	size_t count = s->rows * s->columns, size;
	uint8_t *words = make_stream(streams[number].word, dtype, width, s);
	struct found searched = synthesize_with(words, width, count, &kind, &options);

	size = size_at(words, width, count, &kind, BREVIS_PRESET_DEFAULT);
	/* What tables differ by matters where there are few words. */
	if (size > searched.bytes.size + searched.bytes.size / 200 + 64) {
		show(&searched);
		fail_msg("%s, %s[%zu]: %zu bytes, of which a search makes %zu",
			 streams[number].name, dtype, count, size, searched.bytes.size);
	}
	if (count > 5000 && streams[number].plain &&
	    !synthesis_is_usual(words, width, count, &kind))
		fail_msg("%s, %s[%zu]: searched", streams[number].name, dtype, count);
	found_release(&searched);
	free(words);
}

static void test_nothing_is_lost(void **state)
{
	static const size_t sizes[][2] = {{8, 40}, {24, 40}, {90, 40}, {160, 150}, {512, 256}};
	size_t largest = sizes[4][0] * sizes[4][1], i, k, t;
	float *block = must_alloc(largest * sizeof(*block));

	(void)state;
	for (i = 0; i < largest; i++)
		block[i] = weight(NULL, i);
	for (k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		struct stream_of s = {sizes[k][0], sizes[k][1], block};

		for (t = 0; t < sizeof(dtypes) / sizeof(dtypes[0]); t++)
			for (i = 0; i < STREAMS; i++)
				check_loss(i, dtypes[t], &s);
	}
	free(block);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_nothing_is_lost),
	};

	seed_init("test_usual");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
