/* SPDX-License-Identifier: Apache-2.0 */
/* Literals: round trips of every coding, choice of the smallest, estimates. */
#include "core/entropy/packed_encode.h"
#include "tests/unit/literal_cases.h"

/* The literal must decode to the words, and be parsed no further than its end. */
static void assert_restores(const struct buffer *b, const void *words, unsigned width, size_t count)
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
	assert_int_equal(literal_parse(&in, width, count, &literal, &err), BREVIS_OK);
	assert_int_equal(span_left(&in), 3);
	assert_int_equal(decode_pieces(&literal, restored, &err), BREVIS_OK);
	assert_memory_equal(restored, words, count * word_bytes(width));
	free(copy);
	free(restored);
}

static void encode_packed(struct buffer *out, const void *words, unsigned width, size_t count)
{
	uint64_t smallest = 0;
	uint64_t largest = 0;
	uint64_t size;
	unsigned bits;
	uint8_t *to;

	if (count)
		word_range(words, width, count, &smallest, &largest);
	bits = bit_length(largest - smallest);
	buffer_u8(out, LITERAL_PACKED);
	buffer_varint(out, smallest);
	buffer_u8(out, (uint8_t)bits);
	assert_true(packed_size(count, bits, &size));
	to = buffer_extend(out, size);
	assert_non_null(to);
	packed_encode(to, words, width, count, smallest, bits);
}

static const size_t counts[] = {0,  1,  2,  3,  4,   5,   7,   8,    9,    15,
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
				void *words = shaped_words((enum shape)shape, width, counts[i]);
				struct buffer b = BUFFER_INIT;

				assert_int_equal(literal_encode(&b, words, width, counts[i], NULL),
						 BREVIS_OK);
				assert_restores(&b, words, width, counts[i]);
				buffer_release(&b);
				free(words);
			}
}

/* Every coding that can hold the words, in turn. */
static void check_each_coding(unsigned width, enum shape shape, size_t count)
{
	static const unsigned lanes[] = {1, 4, 32};
	uint32_t histogram[1 << LITERAL_SYMBOL_BITS];
	void *words = shaped_words(shape, width, count);
	struct buffer b = BUFFER_INIT;
	size_t i;

	encode_packed(&b, words, width, count);
	assert_restores(&b, words, width, count);
	assert_true(histogram_of(histogram, words, width, count));
	for (i = 0; i < 4 && distinct(histogram, width) > 1; i++) {
		buffer_clear(&b);
		if (i < 3)
			encode_rans(&b, words, width, count, histogram, lanes[i]);
		else
			encode_huffman(&b, words, width, count, histogram);
		assert_restores(&b, words, width, count);
	}
	buffer_release(&b);
	free(words);
}

static void test_each_coding(void **state)
{
	unsigned width;
	unsigned shape;
	size_t i;

	(void)state;
	for (width = 1; width <= LITERAL_SYMBOL_BITS; width++)
		for (shape = 0; shape < SHAPES; shape++)
			for (i = 0; i < COUNTS; i++)
				check_each_coding(width, (enum shape)shape, counts[i]);
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

static void test_smallest_wins(void **state)
{
	unsigned wins[4] = {0};
	unsigned round;

	(void)state;
	for (round = 0; round < 3000; round++) {
		unsigned width = 1 + (unsigned)random_below(LITERAL_SYMBOL_BITS);
		size_t count = 1 + random_below(round % 8 ? 400 : 20000);
		void *words = shaped_words((enum shape)random_below(SHAPES), width, count);
		uint32_t histogram[1 << LITERAL_SYMBOL_BITS];
		struct buffer b[4] = {BUFFER_INIT, BUFFER_INIT, BUFFER_INIT, BUFFER_INIT};
		struct buffer chosen = BUFFER_INIT;
		unsigned best = LITERAL_PACKED;
		unsigned i;

		encode_packed(&b[LITERAL_PACKED], words, width, count);
		if (width == 8 && 1 + count <= b[best].size) {
			buffer_extend(&b[LITERAL_RAW], 1 + count);
			best = LITERAL_RAW;
		}
		assert_true(histogram_of(histogram, words, width, count));
		if (distinct(histogram, width) > 1) {
			encode_huffman(&b[LITERAL_HUFFMAN], words, width, count, histogram);
			encode_rans(&b[LITERAL_RANS], words, width, count, histogram,
				    rans_lanes(count));
			for (i = LITERAL_HUFFMAN; i <= LITERAL_RANS; i++)
				best = b[i].size < b[best].size ? i : best;
		}
		assert_int_equal(literal_encode(&chosen, words, width, count, NULL), BREVIS_OK);
		assert_int_equal(chosen.size, b[best].size);
		assert_int_equal(chosen.data[0], best);
		wins[best]++;
		for (i = 0; i < 4; i++)
			buffer_release(&b[i]);
		buffer_release(&chosen);
		free(words);
	}
	for (round = 0; round < 4; round++)
		assert_true(wins[round] > 0);
}

/* rANS gives up as soon as it cannot win, and leaves nothing behind. */
static void test_rans_limit(void **state)
{
	static const unsigned lanes[] = {1, 4, 32};
	const size_t count = 20001;
	void *words = shaped_words(BELL, 10, count);
	uint32_t histogram[1 << 10];
	struct frequency_plan plan;
	struct buffer b = BUFFER_INIT;
	uint64_t limit = 0;
	bool fits;
	size_t i;

	(void)state;
	assert_true(histogram_of(histogram, words, 10, count));
	assert_int_equal(frequency_plan_init(&plan, histogram, 10, count, NULL), BREVIS_OK);
	for (i = 0; i < 3; i++) {
		buffer_clear(&b);
		assert_int_equal(
			rans_encode(&b, &plan, lanes[i], words, 10, count, UINT32_MAX, &fits, NULL),
			BREVIS_OK);
		assert_true(fits);
		for (limit = b.size; limit; limit = limit < 4 ? 0 : limit / 2) {
			struct buffer fresh = BUFFER_INIT;

			assert_int_equal(rans_encode(&fresh, &plan, lanes[i], words, 10, count,
						     limit, &fits, NULL),
					 BREVIS_OK);
			assert_false(fits);
			assert_int_equal(fresh.size, 0);
			buffer_release(&fresh);
		}
	}
	frequency_plan_release(&plan);
	buffer_release(&b);
	free(words);
}

static void test_appends_only(void **state)
{
	const uint8_t words[300] = {1, 2, 3, 2, 1};
	struct buffer b = BUFFER_INIT;

	(void)state;
	buffer_append(&b, "before", 6);
	assert_int_equal(literal_encode(&b, words, 8, sizeof(words), NULL), BREVIS_OK);
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
	assert_int_equal(literal_encode(&b, bytes, 3, 3, &err), BREVIS_E_USAGE);
	assert_int_equal(literal_encode(&b, shorts, 10, 3, &err), BREVIS_E_USAGE);
	assert_int_equal(literal_encode(&b, longs, 40, 2, &err), BREVIS_E_USAGE);
	assert_int_equal(b.size, 0);
	assert_int_equal(literal_encode(&b, longs, 41, 2, &err), BREVIS_OK);
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

/* What this version writes must not change unnoticed: every later one must still read it. */
static void test_frozen_bytes(void **state)
{
	uint8_t words[120];
	uint32_t histogram[256];
	struct buffer b = BUFFER_INIT;
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(words); i++)
		words[i] = (uint8_t)(i % 40 == 7 ? 90 : 100 + (unsigned)__builtin_ctz(i + 1) * 3);
	assert_true(histogram_of(histogram, words, 8, sizeof(words)));
	encode_packed(&b, words, 8, 20);
	assert_bytes(&b, "015a05aa29a89a02aa29a89ab2aa2908");
	encode_huffman(&b, words, 8, sizeof(words), histogram);
	assert_bytes(&b, "02065a1b02860c1932c4a190a11f3239327932b932f964726572647265f2cbe4cae4c9e4c"
			 "8e493c995c993c905");
	encode_rans(&b, words, 8, sizeof(words), histogram, 1);
	assert_bytes(&b, "03205a1b8a068e0c3288871c0a3222671c030071325a87191d3d0b9a2987a85144239b2c4"
			 "68f25bb7080a22a7930481652");
	encode_rans(&b, words, 8, sizeof(words), histogram, 4);
	assert_bytes(&b, "03285a1b8a068e0c3288871c0a3228747e2828a3ea0a10747e2828cbd0eb07f9f9aaaafdf"
			 "405f96e916e918aabfee8f522b8aafbf4de1f");
	buffer_release(&b);
}

/* The decoder never yields more words than there are, nor finishes before the last. */
static void test_usage(void **state)
{
	const uint8_t bytes[] = {LITERAL_RAW, 1, 2, 3};
	struct span in = span_of(bytes, sizeof(bytes));
	struct literal_decoder *decoder;
	struct literal literal;
	uint8_t words[4];

	(void)state;
	assert_int_equal(literal_parse(&in, 8, 3, &literal, NULL), BREVIS_OK);
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
	for (round = 0; round < 400; round++) {
		unsigned width = 1 + (unsigned)random_below(LITERAL_SYMBOL_BITS);
		size_t count = 1000 + random_below(round % 16 ? 9000 : 200000);
		void *words = shaped_words((enum shape)random_below(SHAPES), width, count);
		uint32_t histogram[1 << LITERAL_SYMBOL_BITS];
		struct buffer b = BUFFER_INIT;
		uint64_t cost;
		uint64_t size;
		uint64_t slack;

		assert_true(histogram_of(histogram, words, width, count));
		assert_int_equal(literal_encode(&b, words, width, count, NULL), BREVIS_OK);
		cost = literal_cost(histogram, width, count);
		size = 8 * (uint64_t)b.size;
		slack = 32 + size / (count < 50000 ? 100 : 250);
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
