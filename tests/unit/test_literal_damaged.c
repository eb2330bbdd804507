/* SPDX-License-Identifier: Apache-2.0 */
/* Damaged literals: each kind is refused by name, and none makes the decoder crash. */
#include "core/base/error.h"
#include "core/entropy/levels_encode.h"
#include "tests/unit/literal_cases.h"

/* Of words of 4 bits, 5 to 7: shares 128, 64, 64; then one of words of 9 bits. */
static const uint8_t tables[] = {2, 4, 0xe0, 0x15, 0x10, 0x03, 0x02, 9, 0, 0xfe, 0x01, 0x20, 0x0a};
static struct codebook *codebook;

static int decode(const void *bytes, size_t size, unsigned width, size_t count, void *words,
		  struct brevis_error *err)
{
	struct span in = span_of(bytes, size);
	struct literal literal;
	int status;

	/* The op byte is the program's affair. */
	if (!size)
		return error_set(err, BREVIS_E_FORMAT, "nothing");
	status = parse_node(&in, width, count, codebook, &literal, err);
	if (status)
		return status;
	/* As a program is refused that is too large. */
	if (literal_library_bytes(&literal) > LITERAL_LIBRARY_BYTES_MAX)
		return error_set(err, BREVIS_E_FORMAT, "too many bytes");
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

/* Op bytes. */
#define RAW     "\x01"
#define PACKED  "\x11"
#define HUFFMAN "\x21"
#define RANS    "\x31"
#define SHARED  "\x41"
#define ZSTD    "\x51"
#define LZMA2   "\x61"

#define REFUSED(bytes, width, count, text)                                                         \
	assert_refused(bytes, sizeof(bytes) - 1, width, count, text)

/* Programs have fewer words; whoever reads a literal alone does not run into an overflow. */
static void test_too_many_words(void **state)
{
	static const char *const literals[] = {RAW "\x00\x00", PACKED "\x00\x40", ZSTD "\x00\x00",
					       LZMA2 "\x00\x00"};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(literals) / sizeof(literals[0]); i++) {
		struct span in = span_of((const uint8_t *)literals[i], 3);
		struct brevis_error err = {0};
		struct literal literal;

		assert_int_equal(parse_node(&in, 64, SIZE_MAX / 2, codebook, &literal, &err),
				 BREVIS_E_FORMAT);
		if (!strstr(err.message, "too many words"))
			fail_msg("\"%s\" for literal %zu", err.message, i);
	}
}

static void test_damaged_frames(void **state)
{
	(void)state;
	REFUSED("\x71", 8, 1, "unknown coding 7");
	REFUSED("\xf1", 8, 1, "unknown coding 15");
	REFUSED(RAW, 8, 0, "no words");
	REFUSED(PACKED "\x00\x00", 8, 0, "no words");
	REFUSED(RANS "\x01\x00\x00", 8, 0, "no words");
	REFUSED(RAW "\x80", 7, 1, "over 7 bits");
	REFUSED(RAW "\x01\x00\x02\x01\x00\x04", 18, 2, "over 18 bits");
	REFUSED(RAW "\x01\x00\x02\x01\x00\x00\x02", 57, 1, "payload of 8 bytes where 7");
	REFUSED(RAW "\x01\x00\x02\x01\x00\x00\x00\x02", 57, 1, "over 57 bits");
	REFUSED(RAW "\x01", 8, 2, "payload of 2 bytes where 1");
	REFUSED(RAW, 64, 1, "payload of 8 bytes where 0");
	REFUSED(PACKED, 8, 1, "base");
	REFUSED(PACKED "\x80\x00\x00", 8, 1, "base");
	REFUSED(PACKED "\x80\x02\x00", 8, 1, "base is beyond");
	REFUSED(PACKED "\x00\x09\x00\x00", 8, 1, "number of bits is beyond");
	REFUSED(PACKED "\x00\x03\x00", 8, 3, "payload of 2 bytes where 1");
	REFUSED(PACKED "\x00\x03\x08", 8, 1, "padding");
	REFUSED(PACKED "\x07\x01\x02", 3, 2, "over 3 bits");
	REFUSED(PACKED "\xff\x01\x08\x01", 8, 1, "over 8 bits");
	REFUSED(HUFFMAN "\x01\x00\x00", 13, 1, "13 bits cannot be entropy-coded");
	REFUSED(RANS "\x01\x00\x00", 13, 1, "13 bits cannot be entropy-coded");
	REFUSED(SHARED "\x00\x00\x03\1\5\0", 13, 1, "13 bits cannot be entropy-coded");
}

/* Payloads of the word 5 in one lane, and of 4 such words in 4 lanes, in tails of one word each. */
#define PAYLOAD   "\1\5\0"
#define PAYLOAD_4 "\1\5\0\x28\0\x40\1\0\x0a\0"

/* Table 0 of the codebook gives symbol 5 half of the slots: before the tail, 2^15 goes to 2^14. */
static void test_damaged_shared(void **state)
{
	struct codebook *none = NULL, *held = codebook;
	uint8_t words[4];

	(void)state;
	assert_int_equal(decode(SHARED "\0\0\3" PAYLOAD, 7, 4, 1, words, NULL), BREVIS_OK);
	assert_int_equal(words[0], 5);
	assert_int_equal(decode(SHARED "\0\1\12" PAYLOAD_4, 14, 4, 4, words, NULL), BREVIS_OK);
	assert_memory_equal(words, "\5\5\5\5", 4);
	REFUSED(SHARED, 4, 1, "shared literal: cut short");
	REFUSED(SHARED "\0", 4, 1, "shared literal: cut short");
	REFUSED(SHARED "\0\0", 4, 1, "damaged payload size");
	REFUSED(SHARED "\2\0\3" PAYLOAD, 4, 1, "table 2 of a codebook of 2 tables");
	REFUSED(SHARED "\377\0\3" PAYLOAD, 4, 1, "table 255 of a codebook of 2 tables");
	REFUSED(SHARED "\0\0\3" PAYLOAD, 3, 1, "words of 3 bits, table 0 is for 4");
	REFUSED(SHARED "\1\0\3" PAYLOAD, 4, 1, "words of 4 bits, table 1 is for 9");
	REFUSED(SHARED "\0\4\3" PAYLOAD, 4, 1, "lanes are not");
	REFUSED(SHARED "\0\10\3" PAYLOAD, 4, 1, "lanes are not");
	REFUSED(SHARED "\0\0\0", 4, 1, "payload of 0 bytes for 1 lanes");
	REFUSED(SHARED "\0\0\2\1\5", 4, 1, "payload of 2 bytes for 1 lanes");
	REFUSED(SHARED "\0\0\4" PAYLOAD "\0", 4, 1, "payload of 4 bytes for 1 lanes");
	REFUSED(SHARED "\0\1\11\1\5\0\x28\0\x40\1\0\x0a", 4, 1, "payload of 9 bytes for 4 lanes");
	REFUSED(SHARED "\0\2\3" PAYLOAD, 4, 1, "payload of 3 bytes for 16 lanes");
	REFUSED(SHARED "\0\3\3" PAYLOAD, 4, 1, "payload of 3 bytes for 64 lanes");
	/* A state of one bit more fits, one of two more does not. */
	REFUSED(SHARED "\0\0\3\x11\0\0", 4, 1, "lane 0 does not end");
	REFUSED(SHARED "\0\0\3\x21\0\0", 4, 1, "payload of 3 bytes for 1 lanes");
	REFUSED(SHARED "\0\0\3\1\5\200", 4, 1, "payload of 3 bytes for 1 lanes");
	REFUSED(SHARED "\0\0\4" PAYLOAD, 4, 1, "payload of 4 bytes where 3");
	REFUSED(SHARED "\0\0\5" PAYLOAD "\0\0", 4, 1, "bytes after the last word");
	REFUSED(SHARED "\0\0\3" PAYLOAD, 4, 2, "cut short");
	REFUSED(SHARED "\0\0\3\0\0\0", 4, 1, "cut short");
	REFUSED(SHARED "\0\0\3\1\20\0", 4, 1, "lane 0 does not end");
	codebook = none;
	REFUSED(SHARED "\0\0\3" PAYLOAD, 4, 1, "table 0 of a codebook of 0 tables");
	codebook = held;
}

/* Frames of one block: 4 times 'x', and its bytes as they are. */
#define FRAME "\x28\xb5\x2f\xfd\x20\x04"
#define RUN   FRAME "\x23\x00\x00x"
#define BLOCK FRAME "\x21\x00\x00xyz\xff"

/* A chunk that is not compressed. */
#define CHUNK "\x01\x00\x03xyz\xff"

static void test_damaged_libraries(void **state)
{
	uint16_t words[4];

	(void)state;
	assert_int_equal(decode(ZSTD "\x0a" RUN, 12, 8, 4, words, NULL), BREVIS_OK);
	assert_int_equal(decode(ZSTD "\x0d" BLOCK, 15, 16, 2, words, NULL), BREVIS_OK);
	assert_int_equal(words[1], 0xff7a);
	REFUSED(ZSTD, 8, 4, "damaged payload size");
	REFUSED(ZSTD "\x0b" RUN, 8, 4, "payload of 11 bytes where 10");
	REFUSED(ZSTD "\x00", 8, 4, "not a zstd frame");
	REFUSED(ZSTD "\x0d" BLOCK, 15, 2, "over 15 bits");
	REFUSED(ZSTD "\x0d" BLOCK, 31, 1, "over 31 bits");
	REFUSED(ZSTD "\x0d" BLOCK, 7, 4, "over 7 bits");
	REFUSED(ZSTD "\x0a" RUN, 8, 3, "zstd: ");
	REFUSED(ZSTD "\x0a" RUN, 8, 5, "wrong size");
	REFUSED(ZSTD "\x0b" RUN "!", 8, 4, "more than one zstd frame");
	REFUSED(ZSTD "\x09" RUN, 8, 4, "zstd: ");
	REFUSED(ZSTD "\x0a"
		     "\x27\xb5\x2f\xfd\x20\x04\x23\x00\x00x",
		8, 4, "not a zstd frame");
	REFUSED(ZSTD "\x0a"
		     "\x28\xb5\x2f\xfd\x00\x71\x23\x00\x00x",
		8, 4, "window");
	REFUSED(ZSTD "\x0b"
		     "\x28\xb5\x2f\xfd\x21\x07\x04\x23\x00\x00x",
		8, 4, "dictionary");
	/* A single segment is as large as the frame says: here 16 MiB and 1 byte. */
	REFUSED(ZSTD "\x0d"
		     "\x28\xb5\x2f\xfd\xa0\x01\x00\x00\x01\x23\x00\x00x",
		8, 4, "window");
	assert_int_equal(decode(LZMA2 "\x08" CHUNK "\x00", 10, 8, 4, words, NULL), BREVIS_OK);
	assert_int_equal(decode(LZMA2 "\x08" CHUNK "\x00", 10, 16, 2, words, NULL), BREVIS_OK);
	assert_int_equal(words[1], 0xff7a);
	REFUSED(LZMA2, 8, 4, "damaged payload size");
	REFUSED(LZMA2 "\x09" CHUNK "\x00", 8, 4, "payload of 9 bytes where 8");
	REFUSED(LZMA2 "\x00", 8, 4, "damaged or cut short");
	REFUSED(LZMA2 "\x01\x00", 8, 4, "wrong size");
	REFUSED(LZMA2 "\x07" CHUNK, 8, 4, "damaged or cut short");
	REFUSED(LZMA2 "\x06" CHUNK, 8, 4, "damaged or cut short");
	REFUSED(LZMA2 "\x09" CHUNK "\x00\x00", 8, 4, "bytes after the LZMA2 stream");
	REFUSED(LZMA2 "\x08" CHUNK "\x00", 8, 3, "wrong size");
	REFUSED(LZMA2 "\x08" CHUNK "\x00", 8, 5, "wrong size");
	REFUSED(LZMA2 "\x08" CHUNK "\x03", 8, 4, "damaged or cut short");
	/* The first chunk must say that nothing came before it. */
	REFUSED(LZMA2 "\x08"
		      "\x02\x00\x03xyz\xff\x00",
		8, 4, "damaged or cut short");
	REFUSED(LZMA2 "\x08" CHUNK "\x00", 15, 2, "over 15 bits");
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
	put_op(&d->bytes, (enum literal_coding)coding);
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
	draft_rans(&d, PRECISE, 5, 0, 3, good);
	draft_check(&d, PAYLOAD, 3, 1, NULL);
	draft_rans(&d, PRECISE, 5, 0, 4, gap);
	draft_check(&d, PAYLOAD, 3, 1, NULL);
	draft_rans(&d, PRECISE | 7, 5, 0, 3, good);
	draft_check(&d, PAYLOAD, 3, 1, "scale of 15 bits");
	draft_rans(&d, PRECISE | 1, 5, 0, 3, good);
	draft_check(&d, PAYLOAD, 3, 255, "frequencies of 9 bits for 255 words");
	draft_rans(&d, PRECISE | 1, 5, 0, 3, good);
	draft_check(&d, PAYLOAD, 3, 256, "cut short");
	draft_rans(&d, PRECISE, 14, 0, 3, good);
	draft_check(&d, PAYLOAD, 3, 1, "outside the alphabet");
	draft_rans(&d, PRECISE, 5, 3, 3, good);
	draft_check(&d, PAYLOAD, 3, 1, "rest is outside");
	draft_rans(&d, PRECISE, 5, 0, 3, many);
	draft_check(&d, PAYLOAD, 3, 1, "over 2^8");
	draft_rans(&d, PRECISE, 5, 0, 3, late);
	draft_check(&d, PAYLOAD, 3, 1, "begins or ends");
	draft_rans(&d, PRECISE, 5, 1, 3, good);
	draft_check(&d, PAYLOAD, 3, 1, "begins or ends");
	draft_rans(&d, PRECISE, 5, 0, 3, big);
	draft_check(&d, PAYLOAD, 3, 1, "out of range");
	draft_rans(&d, PRECISE, 5, 0, 3, odd);
	draft_check(&d, PAYLOAD, 3, 1, NULL);
	draft_rans(&d, PRECISE, 5, 0, 3, odd);
	level_write_bits(&d.levels, 1, 1);
	draft_check(&d, PAYLOAD, 3, 1, "padding");
}

static void test_damaged_rans_payload(void **state)
{
	static const unsigned good[3] = {0, 64, 64};
	struct draft d;

	(void)state;
	draft_rans(&d, PRECISE, 5, 0, 3, good);
	draft_check(&d, PAYLOAD "\0", 4, 1, "payload of 4 bytes for 1 lanes");
	draft_rans(&d, PRECISE, 5, 0, 3, good);
	draft_check(&d, "\1\5", 2, 1, "payload of 2 bytes for 1 lanes");
	draft_rans(&d, PRECISE | 1 << 3, 5, 0, 3, good);
	draft_check(&d, PAYLOAD_4, 10, 4, NULL);
	draft_rans(&d, PRECISE | 1 << 3, 5, 0, 3, good);
	draft_check(&d, PAYLOAD_4, 9, 1, "payload of 9 bytes for 4 lanes");
	draft_rans(&d, PRECISE | 2 << 3, 5, 0, 3, good);
	draft_check(&d, PAYLOAD, 3, 1, "payload of 3 bytes for 16 lanes");
	draft_rans(&d, PRECISE | 3 << 3, 5, 0, 3, good);
	draft_check(&d, PAYLOAD, 3, 1, "payload of 3 bytes for 64 lanes");
	draft_rans(&d, PRECISE, 5, 0, 3, good);
	draft_check(&d, "\1\5\x80", 3, 1, "payload of 3 bytes for 1 lanes");
	draft_rans(&d, PRECISE, 5, 0, 3, good);
	draft_check(&d, PAYLOAD "\0\0", 5, 1, "bytes after the last word");
	draft_rans(&d, PRECISE, 5, 0, 3, good);
	draft_check(&d, PAYLOAD, 3, 2, "cut short");
	draft_rans(&d, PRECISE, 5, 0, 3, good);
	draft_check(&d, "\1\20\0", 3, 1, "lane 0 does not end");
	/* Of 4 lanes the last one, which no word comes from. */
	draft_rans(&d, PRECISE | 1 << 3, 5, 0, 3, good);
	draft_check(&d, "\1\5\0\x28\0\0\0\0\2\0", 10, 2, "lane 3 does not end");
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

/* The words in any coding that can hold them. */
static void encode_anyhow(struct buffer *b, const void *words, unsigned width, size_t count)
{
	uint32_t histogram[1 << LITERAL_SYMBOL_BITS];
	bool symbols = width <= LITERAL_SYMBOL_BITS;
	unsigned way = (unsigned)random_below(10);

	if (symbols)
		assert_true(histogram_of(histogram, words, width, count));
	if (way < 2)
		encode_library(b, words, width, count, way ? LITERAL_ZSTD : LITERAL_LZMA2, 19);
	else if (way == 8)
		encode_raw(b, words, width, count);
	else if (way == 9)
		encode_packed(b, words, width, count);
	else if (!symbols || way == 2 || distinct(histogram, width) < 2)
		assert_int_equal(literal_encode(b, words, width, count, NULL, NULL), BREVIS_OK);
	else if (way == 3)
		encode_huffman(b, words, width, count, histogram);
	else if (way < 6)
		encode_rans(b, words, width, count, histogram, all_lanes[random_below(LANES)]);
	else
		encode_shared(b, words, width, count, codebook, 0, all_lanes[random_below(LANES)]);
}

static void test_mutations(void **state)
{
	struct codebook *held = codebook;
	unsigned round;
	unsigned i;

	(void)state;
	for (round = 0; round < 600; round++) {
		unsigned width =
			round % 4 ? 1 + (unsigned)random_below(12) : 1 + (unsigned)random_below(64);
		size_t count = 1 + random_below(600);
		void *words = shaped_words((enum shape)random_below(SHAPES), width, count);
		struct buffer b = BUFFER_INIT;

		codebook = shaped_codebook(width <= LITERAL_SYMBOL_BITS ? width : 8, 1);
		encode_anyhow(&b, words, width, count);
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
		codebook_free(codebook);
		buffer_release(&b);
		free(words);
	}
	codebook = held;
}

static void test_noise(void **state)
{
	uint8_t bytes[300];
	unsigned round;
	size_t i;

	(void)state;
	for (round = 0; round < 100000; round++) {
		size_t size = 8 + random_below(sizeof(bytes) - 7);

		for (i = 0; i < size; i++)
			bytes[i] = (uint8_t)random_word();
		bytes[0] = (uint8_t)(LITERAL_NODE | round % 7 << 4);
		if (round % 7 == LITERAL_HUFFMAN)
			bytes[1] = (uint8_t)random_below(16);
		if (round % 7 == LITERAL_SHARED)
			bytes[1] = bytes[2] = 0;
		if (round % 7 == LITERAL_ZSTD)
			memcpy(bytes + 1, "\x20\x28\xb5\x2f\xfd\x20", 6);
		survive(bytes, size, 1 + (unsigned)random_below(12), 1 + random_below(500));
	}
}

int main(void)
{
	int failed;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_too_many_words),
		cmocka_unit_test(test_damaged_frames),
		cmocka_unit_test(test_damaged_huffman),
		cmocka_unit_test(test_damaged_rans),
		cmocka_unit_test(test_damaged_rans_payload),
		cmocka_unit_test(test_damaged_shared),
		cmocka_unit_test(test_damaged_libraries),
		cmocka_unit_test(test_mutations),
		cmocka_unit_test(test_noise),
	};

	seed_init();
	if (codebook_parse(tables, sizeof(tables), &codebook, NULL))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	codebook_free(codebook);
	return failed;
}
