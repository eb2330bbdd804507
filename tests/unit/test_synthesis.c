/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Synthesis: whatever the words, the program it finds yields them again, is never larger than they
 * are by more than 16 bytes, is the same each time, and uses the structure that is there.
 */
#include "tests/unit/synthesis_cases.h"
#include "tests/unit/share.h"

#include "core/base/digest.h"
#include "core/entropy/log2.h"
#include "core/synthesis/partition.h"

/* ---- round trips ----------------------------------------------------------------------------- */

static const enum brevis_preset presets[] = {BREVIS_PRESET_FAST, BREVIS_PRESET_DEFAULT,
					     BREVIS_PRESET_BEST};

/* A tensor as most are: without a known shape, of the type that its width suggests. */
static struct found found_for(const void *words, unsigned width, size_t count)
{
	struct tensor_kind kind = tensor_of_words(width, count);

	return synthesize_at(words, width, count, &kind, BREVIS_PRESET_DEFAULT);
}

/* With one preset and one shape of the many. */
static void check_shape(size_t shape, unsigned width, size_t count)
{
	enum brevis_preset preset = presets[random_below(count > 10000 ? 2 : 3)];
	uint8_t *words = make_words(shapes[shape].word, width, count);
	struct tensor_kind kind = tensor_of_words(width, count);
	struct found first, second;

	kind.is_float = random_below(2);
	if (count % 10 == 0) {
		kind.shape.rank = 0;
		shape_add(&kind.shape, count / 10);
		shape_add(&kind.shape, 10);
	}
	first = synthesize_at(words, width, count, &kind, preset);
	second = synthesize_at(words, width, count, &kind, preset);
	assert_int_equal(first.bytes.size, second.bytes.size);
	assert_memory_equal(first.bytes.data, second.bytes.data, first.bytes.size);
	found_release(&first);
	found_release(&second);
	free(words);
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
				if (counts[i] < 10000 || !is_spared(random_next()))
					check_shape(shape, widths[w], counts[i]);
}

/* ---- what is found --------------------------------------------------------------------------- */

static void test_constant_is_const(void **state)
{
	unsigned w;
	size_t count;

	(void)state;
	for (w = 0; w < 4; w++) {
		for (count = 1; count < 100000; count = count * 7 + 1) {
			uint8_t *words = make_words(shape_constant, widths[w], count);
			struct found found;

			/* All bits set: the longest varint. */
			memset(words, random_below(2) ? 0xff : 0, count * (widths[w] / 8));
			found = found_for(words, widths[w], count);
			assert_int_equal(found.program.size, 1);
			assert_int_equal(found.program.nodes[0].op, OP_CONST);
			assert_int_equal(found.bytes.size,
					 1 + varint_size(found.program.nodes[0].value));
			found_release(&found);
			free(words);
		}
	}
}

/* Runs at the ends are split off, and what is between costs what it would alone. */
static void test_runs_are_split_off(void **state)
{
	unsigned w;

	(void)state;
	for (w = 0; w < 4; w++) {
		enum { HEAD = 500, BODY = 3000, TAIL = 70 };
		unsigned size = widths[w] / 8, i;
		uint8_t *words = make_words(shape_noise, widths[w], HEAD + BODY + TAIL);
		struct found found, alone;

		for (i = 0; i < HEAD; i++)
			put_word(words, widths[w], i, 7);
		for (i = HEAD + BODY; i < HEAD + BODY + TAIL; i++)
			put_word(words, widths[w], i, 9);
		/* The body must not prolong the runs. */
		put_word(words, widths[w], HEAD, 1);
		put_word(words, widths[w], HEAD + BODY - 1, 2);
		found = found_for(words, widths[w], HEAD + BODY + TAIL);
		alone = found_for(words + HEAD * size, widths[w], BODY);
		assert_int_equal(found.program.nodes[0].op, OP_CONCAT);
		assert_int_equal(found.program.nodes[0].arity, 3);
		assert_int_equal(found.program.nodes[1].op, OP_CONST);
		assert_int_equal(found.program.nodes[1].count, HEAD);
		assert_int_equal(found.program.nodes[2].count, BODY);
		assert_true(found.bytes.size <= alone.bytes.size + 6 + 2 * (1 + size));
		found_release(&alone);
		found_release(&found);
		free(words);
	}
}

/* Zero low bits cost nothing: a const among the fields, whatever the width. */
static void test_zero_low_bits_are_const(void **state)
{
	unsigned w;

	(void)state;
	for (w = 0; w < 4; w++) {
		enum { COUNT = 5000 };
		uint8_t *words = make_words(shape_zero_low_bits, widths[w], COUNT);
		struct found found = found_for(words, widths[w], COUNT);

		assert_non_null(find_node(&found.program, OP_MERGE));
		assert_non_null(find_node(&found.program, OP_CONST));
		assert_true(found.bytes.size <= COUNT * (widths[w] / 8) / 2 + 64);
		found_release(&found);
		free(words);
	}
}

/* Exact size decides, so a range that is packed best is packed. */
static void test_plain_literal_can_win(void **state)
{
	unsigned w;

	(void)state;
	for (w = 1; w < 4; w++) {
		enum { COUNT = 5000 };
		uint8_t *words = make_words(shape_narrow_range, widths[w], COUNT);
		struct found found = found_for(words, widths[w], COUNT);

		assert_true(found.bytes.size <= COUNT + 32);
		found_release(&found);
		free(words);
	}
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
	struct found found;
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
	found = found_for(words, 16, COUNT);
	/* The usual program: low bits first, and the rest is rotated. */
	assert_int_equal(found.program.nodes[0].op, OP_MAP);
	assert_int_equal(found.program.nodes[1].op, OP_MERGE);
	assert_true(found.bytes.size <= ideal / 8 + ideal / 8 / 500 + 512);
	/* Gaussian weights in BF16 lose a third of their bytes: about 34 %. */
	assert_in_range(found.bytes.size, 2 * COUNT * 64 / 100, 2 * COUNT * 67 / 100);
	found_release(&found);
	free(exponents);
	free(fractions);
	free(words);
}

/* The cheapest cut of a part of the word by trying all, for the programming by which it is found.
 */
static uint64_t cheapest(const struct partition_prices *prices, unsigned begin, unsigned end)
{
	uint64_t best = UINT64_MAX;
	unsigned first, last = end - begin;
	uint32_t cuts;

	for (cuts = 0; cuts < UINT32_C(1) << (last - 1); cuts++) {
		uint64_t cost = 0;
		unsigned i;

		for (i = first = 0; i < last; i++) {
			if (i + 1 < last && !(cuts >> i & 1))
				continue;
			cost += prices->fields[begin + first][i + 1 - first];
			first = i + 1;
		}
		best = cost < best ? cost : best;
	}
	return best;
}

/*
 * The cut covers the word exactly, from 1 field up, for every shape; no other cut of the upper bits
 * is cheaper.
 */
static void test_partition(void **state)
{
	size_t shape, count;
	unsigned w;

	(void)state;
	for (w = 0; w < 8; w++) {
		for (shape = 0; shape < SHAPES; shape++) {
			unsigned width = widths[w / 2], begin, sum = 0, i;
			uint8_t *words;
			struct partition_prices prices;
			struct partition cut = {0};
			uint32_t *upper;

			count = w % 2 ? 40000 : 700; /* with a folded histogram, and without */
			words = make_words(shapes[shape].word, width, count);
			assert_int_equal(
				partition_price(words, width, count, NULL, &prices, &upper, NULL),
				BREVIS_OK);
			assert_int_equal(prices.upper, width < 16 ? width : 16);
			begin = (unsigned)random_below(prices.upper);
			partition_best(&prices, begin, prices.upper, &cut);
			assert_int_equal(cut.cost, cheapest(&prices, begin, prices.upper));
			partition_best(&prices, 0, prices.upper, &cut);
			assert_int_equal(cut.cost, cheapest(&prices, 0, prices.upper));
			partition_append(&cut, &prices.lower);
			assert_in_range(cut.count, 1, PARTITION_MAX_FIELDS);
			for (i = 0; i < cut.count; i++) {
				assert_true(cut.widths[i] >= 1);
				sum += cut.widths[i];
			}
			assert_int_equal(sum, width);
			free(upper);
			free(words);
		}
	}
}

/* The same words give the same bytes everywhere: a stream that depends on no library. */
static void test_frozen_bytes(void **state)
{
	static const uint8_t ramp_program[] = {
		LITERAL_PACKED << 4 | OP_LIT, 0, 2, 0xe4, 0xe4, 0xe4, 0xe4};
	uint8_t ramp[16];
	struct tensor_kind kind = TENSOR("U8", 16);
	struct found found;
	unsigned i;

	(void)state;
	for (i = 0; i < 16; i++)
		ramp[i] = (uint8_t)(i % 4);
	ramp[15] = 2; /* no repeat */
	found = synthesize_at(ramp, 8, 16, &kind, BREVIS_PRESET_FAST);
	assert_int_equal(found.bytes.size, sizeof(ramp_program));
	assert_memory_equal(found.bytes.data, ramp_program, sizeof(ramp_program) - 1);
	assert_int_equal(found.bytes.data[6], 0xa4);
	found_release(&found);
}

/* Something like weights of any width, the same for ever. */
static uint64_t frozen_word(uint64_t *lcg, unsigned width)
{
	uint64_t r = *lcg = *lcg * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	uint64_t bell = (r >> 60) + (r >> 56 & 15) + (r >> 52 & 15) + (r >> 48 & 15);

	return (r >> 47 & 1) << (width - 1) | bell << (width > 12 ? width - 9 : 1) |
	       (r >> 20 & low_bits(width > 12 ? width - 9 : 1));
}

/* Words of a tensor of 250 rows, of which some are smaller than others. */
static uint8_t *frozen_words(unsigned width, size_t count)
{
	uint8_t *words = must_alloc(count * (width / 8));
	uint64_t lcg = width;
	size_t n;

	for (n = 0; n < count; n++) {
		uint64_t word = frozen_word(&lcg, width);
		unsigned field = width > 12 ? width - 9 : 1;

		if (n / 200 * 7 % 5 == 2 && width > 8)
			word -= (word >> field & 0x38) / 2 << field;
		put_word(words, width, n, word);
	}
	return words;
}

/*
 * Size and checksum of programs: every compiler and machine makes the same; a change is a change of
 * ratio. With BREVIS_TEST_PRINT_FROZEN in the environment the table is printed as it would have to
 * be.
 */
static void test_frozen_programs(void **state)
{
	static const struct {
		unsigned width;
		enum brevis_preset preset;
		size_t size;
		uint64_t checksum;
	} frozen[] = {
		{8, BREVIS_PRESET_FAST, 45419, UINT64_C(0x4814d6340d64eb15)},
		{8, BREVIS_PRESET_DEFAULT, 45419, UINT64_C(0x4814d6340d64eb15)},
		{8, BREVIS_PRESET_BEST, 45348, UINT64_C(0x276e2d517896a842)},
		{16, BREVIS_PRESET_FAST, 83478, UINT64_C(0x98e7bce8cee9d2d2)},
		{16, BREVIS_PRESET_DEFAULT, 81697, UINT64_C(0x846690474314f34a)},
		{16, BREVIS_PRESET_BEST, 81690, UINT64_C(0xbd479b594c01c58c)},
		{32, BREVIS_PRESET_FAST, 183498, UINT64_C(0xf23d229f6fd7e08e)},
		{32, BREVIS_PRESET_DEFAULT, 181732, UINT64_C(0x9cd00ea05fb5f50d)},
		{32, BREVIS_PRESET_BEST, 181721, UINT64_C(0xd54fd13f14434200)},
		{64, BREVIS_PRESET_FAST, 314707, UINT64_C(0xac20938d5bab0987)},
		{64, BREVIS_PRESET_DEFAULT, 312977, UINT64_C(0x68dda2105f32d6bc)},
		{64, BREVIS_PRESET_BEST, 312963, UINT64_C(0x141540a0b2b1fd7b)},
	};
	bool print = getenv("BREVIS_TEST_PRINT_FROZEN") != NULL;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(frozen) / sizeof(frozen[0]); i++) {
		const size_t count = 50000;
		unsigned width = frozen[i].width;
		struct tensor_kind kind = tensor_of_words(width, count);
		uint8_t *words = frozen_words(width, count);
		struct found found;
		uint64_t checksum;

		kind.shape.rank = 0;
		shape_add(&kind.shape, 250);
		shape_add(&kind.shape, 200);
		found = synthesize_at(words, width, count, &kind, frozen[i].preset);
		checksum = checksum64(found.bytes.data, found.bytes.size);
		if (print) {
			static const char *const names[] = {"DEFAULT", "FAST", "BEST"};

			printf("\t\t{%u, BREVIS_PRESET_%s, %zu, UINT64_C(0x%016llx)},\n", width,
			       names[frozen[i].preset], found.bytes.size,
			       (unsigned long long)checksum);
		} else {
			assert_int_equal(found.bytes.size, frozen[i].size);
			assert_true(checksum == frozen[i].checksum);
		}
		found_release(&found);
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
