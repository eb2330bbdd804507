/* SPDX-License-Identifier: Apache-2.0 */
/* Damaged literals: each kind is refused by name, and none makes the decoder crash. */
#include "core/entropy/levels_encode.h"
#include "tests/unit/literal_cases.h"

static int decode(const void *bytes, size_t size, unsigned width, size_t count, void *words,
		  struct brevis_error *err)
{
	struct span in = span_of(bytes, size);
	struct literal literal;
	int status = literal_parse(&in, width, count, &literal, err);

	if (status)
		return status;
	return decode_pieces(&literal, words, err);
}

/* Decoding must fail with a message that contains text. */
static void assert_refused(const void *bytes, size_t size, unsigned width, size_t count,
			   const char *text)
{
	struct brevis_error err = {0};
	uint8_t *copy = malloc(size ? size : 1);
	void *words = new_words(width, count);

	assert_non_null(copy);
	memcpy(copy, bytes, size);
	assert_int_equal(decode(copy, size, width, count, words, &err), BREVIS_E_FORMAT);
	assert_int_equal(err.status, BREVIS_E_FORMAT);
	if (!strstr(err.message, text))
		fail_msg("\"%s\" says nothing of \"%s\"", err.message, text);
	free(copy);
	free(words);
}

static void test_damaged_frames(void **state)
{
	(void)state;
	assert_refused("", 0, 8, 1, "cut short");
	assert_refused("\x04", 1, 8, 1, "unknown coding 4");
	assert_refused("\x00\x01", 2, 7, 1, "words of 7 bits");
	assert_refused("\x00\x01", 2, 8, 2, "payload of 2 bytes where 1");
	assert_refused("\x00", 1, 64, 1, "payload of 8 bytes where 0");
	assert_refused("\x01\x80\x00\x00", 4, 8, 1, "base");
	assert_refused("\x01\x80\x02\x00", 4, 8, 1, "base is beyond");
	assert_refused("\x01\x00\x09\x00\x00", 5, 8, 1, "number of bits is beyond");
	assert_refused("\x01\x00\x03\x00", 4, 8, 3, "payload of 2 bytes where 1");
	assert_refused("\x01\x00\x03\x08", 4, 8, 1, "padding");
	assert_refused("\x01\x07\x01\x02", 4, 3, 2, "over 3 bits");
	assert_refused("\x01\xff\x01\x08\x01", 5, 8, 1, "over 8 bits");
	assert_refused("\x02\x01\x00\x00", 4, 13, 1, "cannot be entropy-coded");
	assert_refused("\x03\x01\x00\x00", 4, 8, 0, "cannot be entropy-coded");
}

/* A table under construction: levels and other bits, as the wire has them. */
struct draft {
	struct buffer bytes;
	struct bit_writer bits;
	struct level_writer levels;
};

static void draft_begin(struct draft *d, unsigned coding, unsigned parameters)
{
	memset(d, 0, sizeof(*d));
	buffer_u8(&d->bytes, (uint8_t)coding);
	buffer_u8(&d->bytes, (uint8_t)parameters);
	bit_writer_init(&d->bits, &d->bytes);
	level_writer_init(&d->levels, &d->bits);
}

/* Ends the table, appends a payload, and expects a refusal; text NULL expects success. */
static void draft_check(struct draft *d, const void *payload, size_t size, size_t count,
			const char *text)
{
	uint8_t words[64];

	bit_writer_flush(&d->bits);
	buffer_varint(&d->bytes, size);
	buffer_append(&d->bytes, payload, size);
	if (text)
		assert_refused(d->bytes.data, d->bytes.size, 4, count, text);
	else
		assert_int_equal(decode(d->bytes.data, d->bytes.size, 4, count, words, NULL),
				 BREVIS_OK);
	buffer_release(&d->bytes);
}

/* A Huffman table of words of 4 bits from `first` on with these levels; 0 is a run of one zero, z a
 * step down to 0. */
static void draft_huffman(struct draft *d, unsigned longest, unsigned first, const char *levels)
{
	size_t n = strlen(levels);

	draft_begin(d, LITERAL_HUFFMAN, longest);
	level_write_bits(&d->levels, first, 4);
	level_write_bits(&d->levels, n - 2, 4);
	for (; *levels; levels++)
		if (*levels == '0')
			level_write_zeros(&d->levels, 1);
		else if (*levels == 'z')
			level_write(&d->levels, 0);
		else
			level_write(&d->levels, (unsigned)(*levels - '0'));
}

static void test_damaged_huffman(void **state)
{
	static const struct {
		unsigned longest;
		unsigned first;
		const char *levels;
		const char *text;
	} cases[] = {
		{2, 3, "121", NULL},
		{2, 3, "1201", NULL},
		{0, 0, "11", "longest code of 0 bits"},
		{16, 0, "11", "longest code of 16 bits"},
		{2, 14, "121", "outside the alphabet"},
		{2, 3, "111", "not complete"},
		{2, 3, "221", "too many"},
		{2, 3, "22", "no code of 2 bits"},
		{2, 3, "131", "out of range"},
		{2, 3, "0121", "begins or ends"},
		{2, 3, "1210", "begins or ends"},
		{2, 3, "12001", "out of range"},
		{2, 3, "12z1", "out of range"},
		{1, 3, "11", NULL},
	};
	struct draft d;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		draft_huffman(&d, cases[i].longest, cases[i].first, cases[i].levels);
		/* Eight times the first code, which has one bit. */
		draft_check(&d, "\x00", 1, 8, cases[i].text);
	}
	draft_huffman(&d, 2, 3, "121");
	level_write_bits(&d.levels, 1, 1);
	draft_check(&d, "\x00", 1, 8, "padding");
	draft_huffman(&d, 2, 3, "121");
	draft_check(&d, "\x00\x00", 2, 8, "bytes after the last word");
	draft_huffman(&d, 2, 3, "121");
	draft_check(&d, "\x00", 1, 9, "cut short");
	draft_huffman(&d, 2, 3, "121");
	draft_check(&d, "\x80", 1, 7, "padding");
	draft_huffman(&d, 8, 0, "876543211");
	draft_check(&d, "\x00", 1, 8, NULL);
	draft_huffman(&d, 8, 0, "876543211");
	draft_check(&d, "\x00", 1, 7, "codes of 8 bits for 7 words");
	draft_huffman(&d, 2, 3, "12");
	level_write_zeros(&d.levels, 9);
	draft_check(&d, "\x00", 1, 8, "not complete");
}

/*
 * A rANS table with scale 8 and precision 7 of words of 4 bits: shares of the symbols from `first`
 * on; the one at `rest` is not listed.
 */
static void draft_rans(struct draft *d, unsigned parameters, unsigned first, unsigned rest,
		       unsigned n, const unsigned *shares)
{
	unsigned i;

	draft_begin(d, LITERAL_RANS, parameters);
	level_write_bits(&d->levels, first, 4);
	level_write_bits(&d->levels, n - 2, 4);
	level_write_bits(&d->levels, rest, bit_length(n - 1));
	for (i = 0; i < n; i++) {
		unsigned level = bit_length(shares[i]);

		if (i == rest)
			continue;
		if (!level) {
			level_write_zeros(&d->levels, 1);
			continue;
		}
		level_write(&d->levels, level);
		level_write_bits(&d->levels, shares[i] & low_bits(level - 1), level - 1);
	}
}

#define PRECISE 0xe0 /* scale 8, one lane, precision 7 */

static void test_damaged_rans(void **state)
{
	static const unsigned good[3] = {0, 64, 64}; /* 128, 64, 64 */
	static const unsigned odd[3] = {0, 64, 32};  /* a table that needs padding */
	static const unsigned many[3] = {0, 192, 64};
	static const unsigned gap[4] = {0, 64, 0, 64};
	static const unsigned late[3] = {0, 128, 0};
	static const unsigned big[3] = {0, 300, 1};
	struct draft d;

	(void)state;
	/* Symbol 5 has slots 0 to 127; from 2^17 a word of it leads to 2^16. */
	draft_rans(&d, PRECISE, 5, 0, 3, good);
	draft_check(&d, "\0\0\2\0", 4, 1, NULL);
	draft_rans(&d, PRECISE, 5, 0, 4, gap);
	draft_check(&d, "\0\0\2\0", 4, 1, NULL);
	draft_rans(&d, PRECISE | 7, 5, 0, 3, good);
	draft_check(&d, "\0\0\2\0", 4, 1, "scale of 15 bits");
	draft_rans(&d, PRECISE | 1, 5, 0, 3, good);
	draft_check(&d, "\0\0\2\0", 4, 255, "frequencies of 9 bits for 255 words");
	draft_rans(&d, PRECISE | 1, 5, 0, 3, good);
	draft_check(&d, "\0\0\2\0", 4, 256, "cut short");
	draft_rans(&d, PRECISE | 3 << 3, 5, 0, 3, good);
	draft_check(&d, "\0\0\2\0", 4, 1, "lanes");
	draft_rans(&d, PRECISE, 14, 0, 3, good);
	draft_check(&d, "\0\0\2\0", 4, 1, "outside the alphabet");
	draft_rans(&d, PRECISE, 5, 3, 3, good);
	draft_check(&d, "\0\0\2\0", 4, 1, "rest is outside");
	draft_rans(&d, PRECISE, 5, 0, 3, many);
	draft_check(&d, "\0\0\2\0", 4, 1, "over 2^8");
	draft_rans(&d, PRECISE, 5, 0, 3, late);
	draft_check(&d, "\0\0\2\0", 4, 1, "begins or ends");
	draft_rans(&d, PRECISE, 5, 1, 3, good);
	draft_check(&d, "\0\0\2\0", 4, 1, "begins or ends");
	draft_rans(&d, PRECISE, 5, 0, 3, big);
	draft_check(&d, "\0\0\2\0", 4, 1, "out of range");
	draft_rans(&d, PRECISE, 5, 0, 3, odd);
	draft_check(&d, "\0\0\2\0", 4, 1, "lane 0 does not end");
	draft_rans(&d, PRECISE, 5, 0, 3, odd);
	level_write_bits(&d.levels, 1, 1);
	draft_check(&d, "\0\0\2\0", 4, 1, "padding");
	draft_rans(&d, PRECISE, 5, 0, 3, good);
	draft_check(&d, "\0\0\2\0\0", 5, 1, "payload of 5 bytes");
	draft_rans(&d, PRECISE, 5, 0, 3, good);
	draft_check(&d, "\0\0\2", 3, 1, "payload of 3 bytes");
	draft_rans(&d, PRECISE | 1 << 3, 5, 0, 3, good);
	draft_check(&d, "\0\0\2\0\0\0\2\0", 8, 1, "payload of 8 bytes for 4 lanes");
	draft_rans(&d, PRECISE, 5, 0, 3, good);
	draft_check(&d, "\xff\xff\0\0", 4, 1, "state of lane 0");
	draft_rans(&d, PRECISE, 5, 0, 3, good);
	draft_check(&d, "\0\0\2\0\0\0", 6, 1, "bytes after the last word");
	draft_rans(&d, PRECISE, 5, 0, 3, good);
	draft_check(&d, "\0\0\2\0", 4, 2, "cut short");
	draft_rans(&d, PRECISE, 5, 0, 3, good);
	draft_check(&d, "\1\0\2\0", 4, 1, "lane 0 does not end");
}

/* Decodes a damaged copy in memory of its exact size; any result will do, a crash will not. */
static void survive(const uint8_t *bytes, size_t size, unsigned width, size_t count)
{
	struct brevis_error err;
	uint8_t *copy = malloc(size ? size : 1);
	void *words = new_words(width, count);

	assert_non_null(copy);
	if (size)
		memcpy(copy, bytes, size);
	if (decode(copy, size, width, count, words, &err))
		assert_true(err.status == BREVIS_E_FORMAT && err.message[0]);
	free(copy);
	free(words);
}

static void test_mutations(void **state)
{
	unsigned round;
	unsigned i;

	(void)state;
	for (round = 0; round < 600; round++) {
		unsigned width =
			round % 4 ? 1 + (unsigned)random_below(12) : 1 + (unsigned)random_below(64);
		size_t count = 1 + random_below(600);
		void *words = shaped_words((enum shape)random_below(SHAPES), width, count);
		uint32_t histogram[1 << LITERAL_SYMBOL_BITS];
		struct buffer b = BUFFER_INIT;
		unsigned way = round % 5;

		if (width > 12 || !histogram_of(histogram, words, width, count) ||
		    distinct(histogram, width) < 2)
			assert_int_equal(literal_encode(&b, words, width, count, NULL), BREVIS_OK);
		else if (way == 0)
			encode_huffman(&b, words, width, count, histogram);
		else
			encode_rans(&b, words, width, count, histogram,
				    way == 1   ? 1
				    : way == 2 ? 4
					       : 32);
		for (i = 0; i < 40; i++) {
			size_t at = random_below(i % 2 && b.size > 24 ? 24 : b.size);
			uint8_t before = b.data[at];

			b.data[at] =
				(uint8_t)(i % 3 ? before ^ 1u << random_below(8) : random_word());
			survive(b.data, b.size, width, count);
			b.data[at] = before;
			survive(b.data, random_below(b.size), width, count);
			survive(b.data, b.size, 1 + (unsigned)random_below(64),
				random_below(2 * count));
		}
		buffer_release(&b);
		free(words);
	}
}

static void test_noise(void **state)
{
	uint8_t bytes[300];
	unsigned round;
	size_t i;

	(void)state;
	for (round = 0; round < 100000; round++) {
		size_t size = 2 + random_below(sizeof(bytes) - 1);

		for (i = 0; i < size; i++)
			bytes[i] = (uint8_t)random_word();
		bytes[0] = (uint8_t)(round % 4);
		if (round % 4 == LITERAL_HUFFMAN)
			bytes[1] = (uint8_t)random_below(16);
		survive(bytes, size, 1 + (unsigned)random_below(12), 1 + random_below(500));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_damaged_frames), cmocka_unit_test(test_damaged_huffman),
		cmocka_unit_test(test_damaged_rans),   cmocka_unit_test(test_mutations),
		cmocka_unit_test(test_noise),
	};

	seed_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
