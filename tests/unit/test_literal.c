/* SPDX-License-Identifier: Apache-2.0 */
/* Literals: round trips of every coding, choice of the smallest, estimates. */
#include "tests/unit/literal_cases.h"
#include "tests/unit/share.h"

/* The literal must decode to the words, and be parsed no further than its end. */
static void assert_shared_restores(const struct buffer *b, const void *words, unsigned width,
				   size_t count, const struct codebook *codebook)
{
	struct brevis_error err;
	uint8_t *copy = malloc(b->size + 3);
	void *restored = new_words(width, count);
	struct literal literal;
	struct span in;

	assert_non_null(copy);
	memcpy(copy, b->data, b->size);
	memset(copy + b->size, 0xa5, 3);
	in = span_of(copy, b->size + 3);
	assert_int_equal(parse_node(&in, width, count, codebook, &literal, &err), BREVIS_OK);
	assert_int_equal(span_left(&in), 3);
	assert_int_equal(literal_library_bytes(&literal),
			 literal.coding >= LITERAL_ZSTD ? count * raw_bytes(width) : 0);
	assert_int_equal(decode_pieces(&literal, restored, &err), BREVIS_OK);
	assert_memory_equal(restored, words, count * word_bytes(width));
	free(copy);
	free(restored);
}

static void assert_restores(const struct buffer *b, const void *words, unsigned width, size_t count)
{
	assert_shared_restores(b, words, width, count, NULL);
}

static const size_t counts[] = {1,  2,  3,  4,  5,   7,   8,   9,    15,
				31, 32, 33, 63, 101, 257, 999, 4099, 65537};
#define COUNTS (sizeof(counts) / sizeof(*counts))

static void test_round_trips(void **state)
{
	unsigned width;
	unsigned shape;
	size_t i;

	(void)state;
	for (width = 1; width <= 64; width++)
		for (shape = 0; shape < SHAPES; shape++)
			for (i = 0; i < COUNTS; i++) {
				void *words;
				struct buffer b = BUFFER_INIT;

				if (counts[i] > 1000 && is_spared(random_word()))
					continue;
				words = shaped_words((enum shape)shape, width, counts[i]);
				assert_int_equal(
					literal_encode(&b, words, width, counts[i], NULL, NULL),
					BREVIS_OK);
				assert_restores(&b, words, width, counts[i]);
				buffer_release(&b);
				free(words);
			}
}

/* Every entropy coding that can hold the words, in turn. */
static void check_symbol_codings(const void *words, unsigned width, size_t count)
{
	uint32_t histogram[1 << LITERAL_SYMBOL_BITS];
	struct codebook *codebook = shaped_codebook(width, 1);
	struct buffer b = BUFFER_INIT;
	size_t i;

	assert_true(histogram_of(histogram, words, width, count));
	for (i = 0; i < LANES; i++) {
		buffer_clear(&b);
		encode_shared(&b, words, width, count, codebook, 0, all_lanes[i]);
		assert_shared_restores(&b, words, width, count, codebook);
	}
	for (i = 0; i <= LANES && distinct(histogram, width) > 1; i++) {
		buffer_clear(&b);
		if (i < LANES)
			encode_rans(&b, words, width, count, histogram, all_lanes[i]);
		else
			encode_huffman(&b, words, width, count, histogram);
		assert_restores(&b, words, width, count);
	}
	codebook_free(codebook);
	buffer_release(&b);
}

static void check_each_coding(unsigned width, enum shape shape, size_t count)
{
	void *words = shaped_words(shape, width, count);
	struct buffer b = BUFFER_INIT;

	encode_packed(&b, words, width, count);
	assert_restores(&b, words, width, count);
	buffer_clear(&b);
	encode_raw(&b, words, width, count);
	assert_int_equal(b.size, 1 + count * ((width + 7) / 8));
	assert_restores(&b, words, width, count);
	/* Libraries take their time with many words. */
	if (count < 1000 || !random_below(16)) {
		buffer_clear(&b);
		encode_library(&b, words, width, count, LITERAL_ZSTD, 1 + (int)random_below(6));
		assert_restores(&b, words, width, count);
		buffer_clear(&b);
		encode_library(&b, words, width, count, LITERAL_LZMA2, 0);
		assert_restores(&b, words, width, count);
	}
	if (width <= LITERAL_SYMBOL_BITS)
		check_symbol_codings(words, width, count);
	buffer_release(&b);
	free(words);
}

static void test_each_coding(void **state)
{
	unsigned width;
	unsigned shape;
	size_t i;

	(void)state;
	for (width = 1; width <= 64; width++) {
		/* All counts for narrow words, some for wide ones. */
		size_t step = width <= LITERAL_SYMBOL_BITS ? 1 : 4;

		for (shape = 0; shape < SHAPES; shape++)
			for (i = random_below(step); i < COUNTS; i += step)
				if (counts[i] < 1000 || !is_spared(random_word()))
					check_each_coding(width, (enum shape)shape, counts[i]);
	}
}

static void test_packed_bits(void **state)
{
	unsigned width;
	unsigned bits;

	(void)state;
	for (width = 1; width <= 64; width++)
		for (bits = 0; bits <= width; bits++) {
			size_t count = 1 + random_below(100);
			void *words = new_words(width, count);
			struct buffer b = BUFFER_INIT;
			uint64_t base = random_word() & low_bits(width) & ~low_bits(bits);
			size_t i;

			for (i = 0; i < count; i++)
				word_set(words, word_bytes(width), i,
					 base | (random_word() & low_bits(bits)));
			encode_packed(&b, words, width, count);
			assert_restores(&b, words, width, count);
			buffer_release(&b);
			free(words);
		}
}

/* Of all tables of a codebook the smallest literal. */
static void encode_best_shared(struct buffer *out, const void *words, unsigned width, size_t count,
			       const uint32_t *histogram, const struct codebook *codebook)
{
	unsigned i;

	for (i = 0; i < codebook_count(codebook); i++) {
		struct buffer b = BUFFER_INIT;

		if (codebook_cost(codebook, i, histogram, count) == UINT64_MAX)
			continue;
		encode_shared(&b, words, width, count, codebook, i, rans_lanes(count));
		if (!out->size || b.size < out->size) {
			buffer_clear(out);
			buffer_append(out, b.data, b.size);
		}
		buffer_release(&b);
	}
}

#define CODINGS 7

/* The size of each coding, 0 if it cannot be. */
static void all_sizes(size_t sizes[CODINGS], const void *words, unsigned width, size_t count,
		      const struct literal_options *options)
{
	uint32_t histogram[1 << LITERAL_SYMBOL_BITS];
	struct buffer b[CODINGS] = {0};
	unsigned i;

	encode_raw(&b[LITERAL_RAW], words, width, count);
	encode_packed(&b[LITERAL_PACKED], words, width, count);
	assert_true(histogram_of(histogram, words, width, count));
	if (distinct(histogram, width) > 1) {
		encode_huffman(&b[LITERAL_HUFFMAN], words, width, count, histogram);
		encode_rans(&b[LITERAL_RANS], words, width, count, histogram, rans_lanes(count));
		if (options->codebook)
			encode_best_shared(&b[LITERAL_SHARED], words, width, count, histogram,
					   options->codebook);
	}
	if (options->zstd_level)
		encode_library(&b[LITERAL_ZSTD], words, width, count, LITERAL_ZSTD,
			       options->zstd_level);
	if (options->lzma)
		encode_library(&b[LITERAL_LZMA2], words, width, count, LITERAL_LZMA2, 0);
	for (i = 0; i < CODINGS; i++) {
		sizes[i] = b[i].size;
		if (b[i].size && i <= LITERAL_SHARED)
			assert_true(bound_of(histogram, width, count) <= b[i].size);
		buffer_release(&b[i]);
	}
}

/* Copies what is there up to now behind itself, so that there are repetitions. */
static void repeat_parts(void *words, unsigned width, size_t count)
{
	size_t size = count * word_bytes(width);
	size_t half = count / 2 * word_bytes(width);

	memcpy((uint8_t *)words + size - half, words, half);
}

static void check_smallest(unsigned round, unsigned wins[CODINGS])
{
	unsigned width = 1 + (unsigned)random_below(LITERAL_SYMBOL_BITS);
	size_t count = 1 + random_below(round % 8 ? 400 : 20000);
	void *words = shaped_words((enum shape)random_below(SHAPES), width, count);
	struct codebook *codebook = round % 3 ? shaped_codebook(width, 3) : NULL;
	struct literal_options options = {.codebook = codebook};
	uint32_t histogram[1 << LITERAL_SYMBOL_BITS];
	struct buffer chosen = BUFFER_INIT, counted = BUFFER_INIT;
	size_t sizes[CODINGS];
	unsigned best = LITERAL_RAW;
	unsigned i;

	if (round % 5 == 0)
		repeat_parts(words, width, count);
	options.zstd_level = round % 4 == 1 ? 19 : 0;
	options.lzma = round % 4 == 2;
	all_sizes(sizes, words, width, count, &options);
	for (i = 0; i < CODINGS; i++)
		best = sizes[i] && sizes[i] < sizes[best] ? i : best;
	assert_int_equal(literal_encode(&chosen, words, width, count, &options, NULL), BREVIS_OK);
	assert_int_equal(chosen.size, sizes[best]);
	assert_int_equal(chosen.data[0], LITERAL_NODE | best << 4);
	assert_shared_restores(&chosen, words, width, count, codebook);
	/* A histogram that is given changes nothing. */
	assert_true(histogram_of(histogram, words, width, count));
	options.histogram = histogram;
	assert_int_equal(literal_encode(&counted, words, width, count, &options, NULL), BREVIS_OK);
	assert_int_equal(counted.size, chosen.size);
	assert_memory_equal(counted.data, chosen.data, chosen.size);
	wins[best]++;
	codebook_free(codebook);
	buffer_release(&chosen);
	buffer_release(&counted);
	free(words);
}

/* However few the rounds, there are enough of them for each coding to win one. */
static void test_smallest_wins(void **state)
{
	unsigned wins[CODINGS] = {0};
	unsigned wanted = rounds(3000) > 300 ? rounds(3000) : 300;
	unsigned round;

	(void)state;
	for (round = 0; round < wanted; round++)
		check_smallest(round, wins);
	for (round = 0; round < CODINGS; round++)
		assert_true(wins[round] > 0);
}

/* Large words: libraries are tried where a sample promises something, and only there. */
static void test_libraries_on_large_words(void **state)
{
	const struct literal_options options = {.zstd_level = 9, .lzma = true};
	const size_t count = 900000;
	unsigned width;

	(void)state;
	for (width = 7; width <= 64; width += 19) {
		void *words = shaped_words(UNIFORM, width, count);
		uint64_t period[256];
		struct buffer b = BUFFER_INIT;
		size_t i;

		assert_int_equal(literal_encode(&b, words, width, count, &options, NULL),
				 BREVIS_OK);
		assert_true(b.data[0] >> 4 <= LITERAL_PACKED);
		assert_restores(&b, words, width, count);
		buffer_clear(&b);
		for (i = 0; i < 256; i++)
			period[i] = random_word() & low_bits(width);
		for (i = 0; i < count; i++)
			word_set(words, word_bytes(width), i, period[i % 256]);
		assert_int_equal(literal_encode(&b, words, width, count, &options, NULL),
				 BREVIS_OK);
		assert_true(b.data[0] >> 4 >= LITERAL_ZSTD);
		assert_true(b.size < 8192);
		assert_restores(&b, words, width, count);
		buffer_release(&b);
		free(words);
	}
}

/* rANS gives up as soon as it cannot win, and leaves nothing behind. */
static void check_rans_limit(unsigned width, unsigned lanes)
{
	const size_t count = 20001;
	void *words = shaped_words(BELL, width, count);
	const struct rans_input in = {words, width, count, .tables = 1};
	uint32_t histogram[1 << 10];
	struct frequency_plan plan;
	struct buffer b = BUFFER_INIT;
	uint64_t limit;
	bool fits;

	assert_true(histogram_of(histogram, words, width, count));
	assert_int_equal(frequency_plan_init(&plan, histogram, width, count, NULL), BREVIS_OK);
	assert_int_equal(rans_encode(&b, &plan, lanes, &in, UINT32_MAX, &fits, NULL), BREVIS_OK);
	assert_true(fits);
	for (limit = b.size; limit; limit = limit < 4 ? 0 : limit / 2) {
		struct buffer fresh = BUFFER_INIT;

		assert_int_equal(rans_encode(&fresh, &plan, lanes, &in, limit, &fits, NULL),
				 BREVIS_OK);
		assert_false(fits);
		assert_int_equal(fresh.size, 0);
		buffer_release(&fresh);
	}
	frequency_plan_release(&plan);
	buffer_release(&b);
	free(words);
}

static void test_rans_limit(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < LANES; i++) {
		check_rans_limit(8, all_lanes[i]);
		check_rans_limit(10, all_lanes[i]);
	}
}

static void test_appends_only(void **state)
{
	const uint8_t words[300] = {1, 2, 3, 2, 1};
	struct buffer b = BUFFER_INIT;

	(void)state;
	buffer_append(&b, "before", 6);
	assert_int_equal(literal_encode(&b, words, 8, sizeof(words), NULL, NULL), BREVIS_OK);
	assert_memory_equal(b.data, "before", 6);
	memmove(b.data, b.data + 6, b.size - 6);
	b.size -= 6;
	assert_restores(&b, words, 8, sizeof(words));
	buffer_release(&b);
}

static void test_wide_words_are_refused(void **state)
{
	const uint8_t bytes[3] = {0, 8, 7};
	const uint16_t shorts[3] = {0, 1024, 1};
	const uint64_t longs[2] = {1, UINT64_C(1) << 40};
	struct buffer b = BUFFER_INIT;
	struct brevis_error err;

	(void)state;
	assert_int_equal(literal_encode(&b, bytes, 3, 3, NULL, &err), BREVIS_E_USAGE);
	assert_int_equal(literal_encode(&b, shorts, 10, 3, NULL, &err), BREVIS_E_USAGE);
	assert_int_equal(literal_encode(&b, longs, 40, 2, NULL, &err), BREVIS_E_USAGE);
	assert_int_equal(literal_encode(&b, bytes, 8, 0, NULL, &err), BREVIS_E_USAGE);
	assert_int_equal(b.size, 0);
	assert_int_equal(literal_encode(&b, longs, 41, 2, NULL, &err), BREVIS_OK);
	buffer_release(&b);
}

static void assert_bytes(struct buffer *b, const char *hex)
{
	char text[512];
	size_t i;

	assert_true(b->size * 2 < sizeof(text));
	for (i = 0; i < b->size; i++)
		snprintf(text + 2 * i, 3, "%02x", b->data[i]);
	assert_string_equal(text, hex);
	buffer_clear(b);
}

static struct codebook *frozen_codebook(const uint32_t *histogram)
{
	struct buffer b = BUFFER_INIT;
	struct codebook *codebook = NULL;

	buffer_u8(&b, 1);
	assert_int_equal(codebook_put_table(&b, histogram, 8, NULL), BREVIS_OK);
	assert_int_equal(codebook_parse(b.data, b.size, &codebook, NULL), BREVIS_OK);
	assert_bytes(&b, "0108045a1b8a287024c8902143860c");
	buffer_release(&b);
	return codebook;
}

/* What this version writes must not change unnoticed: every later one must still read it. */
static void test_frozen_bytes(void **state)
{
	uint8_t words[120];
	uint32_t histogram[256];
	struct buffer b = BUFFER_INIT;
	struct codebook *codebook;
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(words); i++)
		words[i] = (uint8_t)(i % 40 == 7 ? 90 : 100 + (unsigned)__builtin_ctz(i + 1) * 3);
	assert_true(histogram_of(histogram, words, 8, sizeof(words)));
	encode_packed(&b, words, 8, 20);
	assert_bytes(&b, "115a05aa29a89a02aa29a89ab2aa2908");
	encode_huffman(&b, words, 8, sizeof(words), histogram);
	assert_bytes(&b, "21065a1b02860c1932c4a190a11f3239327932b932f964726572647265f2cbe4cae4c9e4c"
			 "8e493c995c993c905");
	encode_rans(&b, words, 8, sizeof(words), histogram, 1);
	assert_bytes(&b, "31005a1b8a041c093264c8902103204e31ad05083a614e6cb56da2d0b30ff7dfe8080e081"
			 "dcb324a55081f48684592");
	encode_rans(&b, words, 8, sizeof(words), histogram, 4);
	assert_bytes(&b, "31085a1b8a041c093264c89021032487322ec660554619176326639f03baaaf5fafaf162c"
			 "bbaaa62cb05f8d1efbfaaf219fd73");
	encode_rans(&b, words, 8, sizeof(words), histogram, 16);
	assert_bytes(&b, "31105a1b8a041c093264c8902103353524a658adaa1e12531adbb60d86c414ab55d543624"
			 "a09f4aee0dca059550bce0db5b66d2038376856d5827323efff9f01edee06df");
	codebook = frozen_codebook(histogram);
	encode_shared(&b, words, 8, sizeof(words), codebook, 0, 1);
	assert_bytes(&b,
		     "410000207c367408170acbd29cc090cbe9e0a10185210d1c46d40582e2f4a8d1b90dcdc3");
	encode_shared(&b, words, 8, sizeof(words), codebook, 0, 4);
	assert_bytes(&b, "410001259661618aa4b0ba0c0b535c2fc63e01aaab06fddf7c84108410aaa95e7cfdfca7a"
			 "99f8c8d7c");
	codebook_free(codebook);
	buffer_release(&b);
}

/* The decoder never yields more words than there are, nor finishes before the last. */
static void test_usage(void **state)
{
	const uint8_t bytes[] = {1, 2, 3};
	struct span in = span_of(bytes, sizeof(bytes));
	struct literal_decoder *decoder;
	struct literal literal;
	uint8_t words[4];

	(void)state;
	assert_int_equal(literal_parse(&in, LITERAL_RAW, 8, 3, NULL, &literal, NULL), BREVIS_OK);
	assert_int_equal(literal_decoder_new(&literal, &decoder, NULL), BREVIS_OK);
	assert_int_equal(literal_decoder_next(decoder, words, 4, NULL), BREVIS_E_USAGE);
	assert_int_equal(literal_decoder_finish(decoder, NULL), BREVIS_E_USAGE);
	assert_int_equal(literal_decoder_next(decoder, words, 3, NULL), BREVIS_OK);
	assert_int_equal(literal_decoder_finish(decoder, NULL), BREVIS_OK);
	literal_decoder_free(decoder);
	literal_decoder_free(NULL);
}

static void test_cost(void **state)
{
	unsigned round;

	(void)state;
	for (round = 0; round < rounds(400); round++) {
		unsigned width = 1 + (unsigned)random_below(LITERAL_SYMBOL_BITS);
		size_t count = 1000 + random_below(round % 16 ? 9000 : 200000);
		void *words = shaped_words((enum shape)random_below(SHAPES), width, count);
		uint32_t histogram[1 << LITERAL_SYMBOL_BITS];
		struct buffer b = BUFFER_INIT;
		uint64_t cost;
		uint64_t size;
		uint64_t slack;

		assert_true(histogram_of(histogram, words, width, count));
		assert_int_equal(literal_encode(&b, words, width, count, NULL, NULL), BREVIS_OK);
		cost = literal_cost(histogram, width, count);
		size = 8 * (uint64_t)b.size;
		/* Huffman is estimated roughly, but wins by less than what lanes take. */
		slack = 32 + 24 * rans_lanes(count) + size / (count < 50000 ? 100 : 250);
		if (cost > size + slack || size > cost + slack)
			fail_msg("%zu words of %u bits: %llu bits, estimated %llu", count, width,
				 (unsigned long long)size, (unsigned long long)cost);
		buffer_release(&b);
		free(words);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trips),
		cmocka_unit_test(test_each_coding),
		cmocka_unit_test(test_packed_bits),
		cmocka_unit_test(test_smallest_wins),
		cmocka_unit_test(test_libraries_on_large_words),
		cmocka_unit_test(test_rans_limit),
		cmocka_unit_test(test_appends_only),
		cmocka_unit_test(test_wide_words_are_refused),
		cmocka_unit_test(test_frozen_bytes),
		cmocka_unit_test(test_usage),
		cmocka_unit_test(test_cost),
	};

	seed_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
