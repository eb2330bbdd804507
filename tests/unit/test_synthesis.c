/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Synthesis: whatever the words, the program it finds yields them again, is never larger than they
 * are by more than 16 bytes, is the same each time, and uses the structure that is there.
 */
#include "tests/unit/support.h"

#include "core/base/bits.h"
#include "core/base/digest.h"
#include "core/entropy/log2.h"
#include "core/program/execute.h"
#include "core/program/program.h"
#include "core/synthesis/partition.h"
#include "core/synthesis/synthesize.h"

static const unsigned widths[] = {8, 16, 32, 64};

static void put_word(uint8_t *to, unsigned width, size_t i, uint64_t v)
{
	unsigned j;

	for (j = 0; j < width / 8; j++)
		to[i * (width / 8) + j] = (uint8_t)(v >> (8 * j));
}

static uint64_t random_word(unsigned width)
{
	return random_next() >> (64 - width);
}

/* ---- shapes of streams ----------------------------------------------------------------------- */

typedef uint64_t shape_fn(unsigned width, size_t i, size_t count, uint64_t fixed);

static uint64_t shape_constant(unsigned width, size_t i, size_t count, uint64_t fixed)
{
	(void)width, (void)i, (void)count;
	return fixed;
}

static uint64_t shape_zero(unsigned width, size_t i, size_t count, uint64_t fixed)
{
	(void)width, (void)i, (void)count, (void)fixed;
	return 0;
}

static uint64_t shape_noise(unsigned width, size_t i, size_t count, uint64_t fixed)
{
	(void)i, (void)count, (void)fixed;
	return random_word(width);
}

static uint64_t shape_two_values(unsigned width, size_t i, size_t count, uint64_t fixed)
{
	(void)i, (void)count;
	return random_below(3) ? fixed : ~fixed & low_bits(width);
}

static uint64_t shape_run_at_start(unsigned width, size_t i, size_t count, uint64_t fixed)
{
	return i < count / 3 ? fixed : random_word(width);
}

static uint64_t shape_run_at_end(unsigned width, size_t i, size_t count, uint64_t fixed)
{
	return i >= count - count / 3 ? fixed : random_word(width);
}

/* The whole stream, but for one word. */
static uint64_t shape_runs_around_one(unsigned width, size_t i, size_t count, uint64_t fixed)
{
	(void)width;
	return i == count / 2 ? fixed ^ 1 : fixed;
}

/* Two runs and nothing between. */
static uint64_t shape_two_runs(unsigned width, size_t i, size_t count, uint64_t fixed)
{
	(void)width;
	return i < count / 2 ? fixed : fixed ^ 1;
}

/* Words that use only their upper half: floats that were widened. */
static uint64_t shape_zero_low_bits(unsigned width, size_t i, size_t count, uint64_t fixed)
{
	(void)i, (void)count, (void)fixed;
	return random_word(width) & ~low_bits(width / 2);
}

/* Small signed numbers. */
static uint64_t shape_small(unsigned width, size_t i, size_t count, uint64_t fixed)
{
	(void)i, (void)count, (void)fixed;
	return (random_below(9) - 4) & low_bits(width);
}

/* A narrow range that no field of bits has: only packing above a base finds it. */
static uint64_t shape_narrow_range(unsigned width, size_t i, size_t count, uint64_t fixed)
{
	uint64_t base = UINT64_C(0x5555555555555555) & low_bits(width);

	(void)i, (void)count, (void)fixed;
	return base - 100 % (base + 1) + random_below(width == 8 ? 100 : 256);
}

static uint64_t shape_counting(unsigned width, size_t i, size_t count, uint64_t fixed)
{
	(void)count, (void)fixed;
	return i & low_bits(width);
}

static uint64_t shape_sparse(unsigned width, size_t i, size_t count, uint64_t fixed)
{
	(void)i, (void)count, (void)fixed;
	return random_below(20) ? 0 : random_word(width);
}

/* A float of this width that is about normally distributed: E4M3, F16, F32, F64. */
static uint64_t shape_float(unsigned width, size_t i, size_t count, uint64_t fixed)
{
	float f = random_normal() * 0.02f;
	uint32_t bits;
	uint64_t sign, exponent;

	(void)i, (void)count, (void)fixed;
	memcpy(&bits, &f, sizeof(bits));
	sign = bits >> 31;
	exponent = bits >> 23 & 0xff;
	if (width == 32)
		return bits;
	if (width == 64)
		return sign << 63 | (exponent - 127 + 1023) << 52 |
		       (uint64_t)(bits & 0x7fffff) << 29 | random_below(1 << 29);
	if (width == 16)
		return sign << 15 |
		       (exponent > 112 ? (exponent - 112) << 10 | (bits >> 13 & 0x3ff) : 0);
	return sign << 7 | (exponent > 120 ? (exponent - 120) << 3 | (bits >> 20 & 7) : 0);
}

/* BF16, and its like in the upper half of wider words. */
static uint64_t shape_bf16(unsigned width, size_t i, size_t count, uint64_t fixed)
{
	uint8_t raw[2];

	(void)i, (void)count, (void)fixed;
	random_bf16(raw, 1, 0.02f);
	return width == 8 ? raw[1] : (uint64_t)load_le16(raw) << (width - 16);
}

static const struct {
	const char *name;
	shape_fn *word;
} shapes[] = {
	{"constant", shape_constant},
	{"zero", shape_zero},
	{"noise", shape_noise},
	{"two values", shape_two_values},
	{"run at start", shape_run_at_start},
	{"run at end", shape_run_at_end},
	{"runs around one", shape_runs_around_one},
	{"two runs", shape_two_runs},
	{"zero low bits", shape_zero_low_bits},
	{"small", shape_small},
	{"narrow range", shape_narrow_range},
	{"counting", shape_counting},
	{"sparse", shape_sparse},
	{"float", shape_float},
	{"bf16", shape_bf16},
};

#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

static uint8_t *make_words(shape_fn *word, unsigned width, size_t count)
{
	uint8_t *words = must_alloc(count * (width / 8));
	uint64_t fixed = random_word(width);
	size_t i;

	for (i = 0; i < count; i++)
		put_word(words, width, i, word(width, i, count, fixed));
	return words;
}

/* ---- round trips ----------------------------------------------------------------------------- */

/*
 * Synthesises twice, behind bytes that are already there, and executes. Fills *program, which
 * points into *bytes.
 */
static void round_trip(const uint8_t *words, unsigned width, size_t count, struct buffer *bytes,
		       struct program *program)
{
	size_t size = count * (width / 8);
	struct buffer second = BUFFER_INIT;
	struct brevis_error err = {0};
	uint8_t *out = must_alloc(size);

	buffer_clear(bytes);
	buffer_append(bytes, "before", 6);
	assert_int_equal(synthesize(words, width, count, bytes, &err), BREVIS_OK);
	assert_int_equal(synthesize(words, width, count, &second, &err), BREVIS_OK);
	assert_false(buffer_failed(bytes));
	assert_memory_equal(bytes->data, "before", 6);
	assert_int_equal(bytes->size, second.size + 6);
	assert_memory_equal(bytes->data + 6, second.data, second.size);
	assert_true(second.size <= size + 16);
	if (program_parse(span_of(bytes->data + 6, bytes->size - 6), width, count, program, &err) ||
	    program_execute(program, out, &err))
		fail_msg("%s", err.message);
	assert_true(!memcmp(out, words, size));
	buffer_release(&second);
	free(out);
}

static void check_shape(size_t shape, unsigned width, size_t count)
{
	struct buffer bytes = BUFFER_INIT;
	struct program program;
	uint8_t *words = make_words(shapes[shape].word, width, count);

	round_trip(words, width, count, &bytes, &program);
	free(words);
	buffer_release(&bytes);
}

static void test_tiny_counts(void **state)
{
	size_t shape, count;
	unsigned w;

	(void)state;
	for (w = 0; w < 4; w++)
		for (count = 1; count <= 70; count += count < 5 || count > 60 ? 1 : 5)
			for (shape = 0; shape < SHAPES; shape++)
				check_shape(shape, widths[w], count);
}

static void test_shapes(void **state)
{
	static const size_t counts[] = {127, 193, 1000, 8192, 30011};
	size_t shape, i;
	unsigned w;

	(void)state;
	for (w = 0; w < 4; w++)
		for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
			for (shape = 0; shape < SHAPES; shape++)
				check_shape(shape, widths[w], counts[i]);
}

/* ---- what is found --------------------------------------------------------------------------- */

static void test_constant_is_const(void **state)
{
	struct buffer bytes = BUFFER_INIT;
	struct program program;
	unsigned w;
	size_t count;

	(void)state;
	for (w = 0; w < 4; w++) {
		for (count = 1; count < 100000; count = count * 7 + 1) {
			uint8_t *words = make_words(shape_constant, widths[w], count);

			round_trip(words, widths[w], count, &bytes, &program);
			assert_int_equal(program.size, 1);
			assert_int_equal(program.nodes[0].op, OP_CONST);
			assert_int_equal(bytes.size - 6, 1 + widths[w] / 8);
			free(words);
		}
	}
	buffer_release(&bytes);
}

/* Runs at the ends are split off, and what is between costs what it would alone. */
static void test_runs_are_split_off(void **state)
{
	struct buffer bytes = BUFFER_INIT, alone = BUFFER_INIT;
	struct program program;
	unsigned w;

	(void)state;
	for (w = 0; w < 4; w++) {
		enum { HEAD = 500, BODY = 3000, TAIL = 70 };
		unsigned size = widths[w] / 8, i;
		uint8_t *words = make_words(shape_noise, widths[w], HEAD + BODY + TAIL);

		for (i = 0; i < HEAD; i++)
			put_word(words, widths[w], i, 7);
		for (i = HEAD + BODY; i < HEAD + BODY + TAIL; i++)
			put_word(words, widths[w], i, 9);
		/* The body must not prolong the runs. */
		put_word(words, widths[w], HEAD, 1);
		put_word(words, widths[w], HEAD + BODY - 1, 2);
		round_trip(words, widths[w], HEAD + BODY + TAIL, &bytes, &program);
		assert_int_equal(program.nodes[0].op, OP_CONCAT);
		assert_int_equal(program.nodes[0].arity, 3);
		assert_int_equal(program.nodes[1].op, OP_CONST);
		assert_int_equal(program.nodes[1].count, HEAD);
		assert_int_equal(program.nodes[2].count, BODY);
		assert_int_equal(synthesize(words + HEAD * size, widths[w], BODY, &alone, NULL),
				 BREVIS_OK);
		assert_true(bytes.size - 6 <= alone.size + 6 + 2 * (1 + size));
		buffer_clear(&alone);
		free(words);
	}
	buffer_release(&bytes);
	buffer_release(&alone);
}

/* Zero low bits cost nothing: a const among the fields, whatever the width. */
static void test_zero_low_bits_are_const(void **state)
{
	struct buffer bytes = BUFFER_INIT;
	struct program program;
	unsigned w;

	(void)state;
	for (w = 0; w < 4; w++) {
		enum { COUNT = 5000 };
		uint8_t *words = make_words(shape_zero_low_bits, widths[w], COUNT);

		round_trip(words, widths[w], COUNT, &bytes, &program);
		assert_int_equal(program.nodes[0].op, OP_MERGE);
		assert_true(bytes.size <= COUNT * (widths[w] / 8) / 2 + 64);
		free(words);
	}
	buffer_release(&bytes);
}

/* Exact size decides, so a range that is packed best is packed. */
static void test_plain_literal_can_win(void **state)
{
	struct buffer bytes = BUFFER_INIT;
	struct program program;
	unsigned w;

	(void)state;
	for (w = 1; w < 4; w++) {
		enum { COUNT = 5000 };
		uint8_t *words = make_words(shape_narrow_range, widths[w], COUNT);

		round_trip(words, widths[w], COUNT, &bytes, &program);
		assert_true(bytes.size <= COUNT + 32);
		free(words);
	}
	buffer_release(&bytes);
}

/* Bits that an ideal coder takes for symbols with these counts, in fixed point of log2.h. */
static uint64_t entropy_bits(const uint32_t *histogram, size_t symbols, size_t count)
{
	uint64_t bits = (uint64_t)count * log2_fixed((uint32_t)count);
	size_t i;

	for (i = 0; i < symbols; i++)
		if (histogram[i])
			bits -= histogram[i] * (uint64_t)log2_fixed(histogram[i]);
	return bits >> LOG2_FRACTION;
}

/*
 * BF16 weights cost about what the entropies of their fields say: sign 1 bit, exponent and fraction
 * their own. The search may do better by cutting elsewhere, never worse by more than tables.
 */
static void test_bf16_costs_its_entropy(void **state)
{
	enum { COUNT = 1 << 20 };
	uint32_t *exponents = calloc(256, sizeof(*exponents));
	uint32_t *fractions = calloc(128, sizeof(*fractions));
	uint8_t *words = must_alloc(2 * COUNT);
	struct buffer bytes = BUFFER_INIT;
	struct program program;
	uint64_t ideal;
	size_t i;

	(void)state;
	assert_true(exponents && fractions);
	random_bf16(words, COUNT, 0.02f);
	for (i = 0; i < COUNT; i++) {
		uint16_t v = load_le16(words + 2 * i);

		exponents[v >> 7 & 0xff]++;
		fractions[v & 0x7f]++;
	}
	ideal = COUNT + entropy_bits(exponents, 256, COUNT) + entropy_bits(fractions, 128, COUNT);
	round_trip(words, 16, COUNT, &bytes, &program);
	assert_int_equal(program.nodes[0].op, OP_MERGE);
	assert_true(bytes.size <= ideal / 8 + ideal / 8 / 500 + 512);
	/* Gaussian weights in BF16 lose a third of their bytes: about 34 %. */
	assert_in_range(bytes.size, 2 * COUNT * 64 / 100, 2 * COUNT * 67 / 100);
	free(exponents);
	free(fractions);
	free(words);
	buffer_release(&bytes);
}

/* The cut covers the word exactly, from 1 field up, for every shape. */
static void test_partition(void **state)
{
	size_t shape;
	unsigned w;

	(void)state;
	for (w = 0; w < 4; w++) {
		for (shape = 0; shape < SHAPES; shape++) {
			uint8_t *words = make_words(shapes[shape].word, widths[w], 700);
			struct partition cut = {0};
			unsigned sum = 0, i;

			assert_int_equal(partition_find(words, widths[w], 700, &cut, NULL),
					 BREVIS_OK);
			assert_in_range(cut.count, 1, PARTITION_MAX_FIELDS);
			for (i = 0; i < cut.count; i++) {
				assert_true(cut.widths[i] >= 1);
				sum += cut.widths[i];
			}
			assert_int_equal(sum, widths[w]);
			free(words);
		}
	}
}

/* The same words give the same bytes everywhere: two streams that depend on no library. */
static void test_frozen_bytes(void **state)
{
	static const uint8_t ramp_program[] = {OP_LIT, LITERAL_PACKED, 0,    2,
					       0xe4,   0xe4,           0xe4, 0xe4};
	uint8_t ramp[16];
	struct buffer bytes = BUFFER_INIT;
	unsigned i;

	(void)state;
	for (i = 0; i < 16; i++)
		ramp[i] = i % 4;
	assert_int_equal(synthesize(ramp, 8, 16, &bytes, NULL), BREVIS_OK);
	assert_int_equal(bytes.size, sizeof(ramp_program));
	assert_memory_equal(bytes.data, ramp_program, sizeof(ramp_program));
	buffer_release(&bytes);
}

/* Something like weights of any width, the same for ever. */
static uint64_t frozen_word(uint64_t *lcg, unsigned width)
{
	uint64_t r = *lcg = *lcg * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	uint64_t bell = (r >> 60) + (r >> 56 & 15) + (r >> 52 & 15) + (r >> 48 & 15);

	return (r >> 47 & 1) << (width - 1) | bell << (width > 12 ? width - 9 : 1) |
	       (r >> 20 & low_bits(width > 12 ? width - 9 : 1));
}

/* Size and checksum of programs: every compiler and machine makes the same; a change is a change of
 * ratio. */
static void test_frozen_programs(void **state)
{
	static const struct {
		unsigned width;
		size_t size;
		uint64_t checksum;
	} frozen[] = {
		{8, 45340, UINT64_C(0xc4b3b3c88c9db8d9)},
		{16, 82846, UINT64_C(0xf6a1f0072bc3a0c5)},
		{32, 182878, UINT64_C(0xc1f78deef332cf3c)},
		{64, 314115, UINT64_C(0xc30a42c49730b131)},
	};
	size_t i, n;

	(void)state;
	for (i = 0; i < sizeof(frozen) / sizeof(frozen[0]); i++) {
		const size_t count = 50000;
		unsigned width = frozen[i].width;
		uint8_t *words = malloc(count * width / 8);
		struct buffer bytes = BUFFER_INIT;
		uint64_t lcg = width;

		assert_non_null(words);
		for (n = 0; n < count; n++) {
			uint64_t word = frozen_word(&lcg, width);
			unsigned byte;

			for (byte = 0; byte < width / 8; byte++)
				words[n * width / 8 + byte] = (uint8_t)(word >> (8 * byte));
		}
		assert_int_equal(synthesize(words, width, count, &bytes, NULL), BREVIS_OK);
		assert_int_equal(bytes.size, frozen[i].size);
		assert_true(checksum64(bytes.data, bytes.size) == frozen[i].checksum);
		buffer_release(&bytes);
		free(words);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_tiny_counts),
		TEST(test_shapes),
		TEST(test_constant_is_const),
		TEST(test_runs_are_split_off),
		TEST(test_zero_low_bits_are_const),
		TEST(test_plain_literal_can_win),
		TEST(test_bf16_costs_its_entropy),
		TEST(test_partition),
		TEST(test_frozen_bytes),
		TEST(test_frozen_programs),
	};

	seed_init("test_synthesis");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
