/* SPDX-License-Identifier: Apache-2.0 */
/** Words of many shapes, and each coding on its own, for the tests of literals. */
#ifndef TESTS_UNIT_LITERAL_CASES_H
#define TESTS_UNIT_LITERAL_CASES_H

#include "core/base/bits.h"
#include "core/entropy/codebook_encode.h"
#include "core/entropy/histogram.h"
#include "core/entropy/huffman_encode.h"
#include "core/entropy/library_encode.h"
#include "core/entropy/literal_encode.h"
#include "core/entropy/log2.h"
#include "core/entropy/packed_encode.h"
#include "core/entropy/rans_encode.h"
#include "core/entropy/raw_encode.h"
#include "core/entropy/tally.h"
#include "core/entropy/words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

static uint64_t seed;

static inline uint64_t random_word(void)
{
	uint64_t z = seed += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static inline size_t random_below(size_t n)
{
	return (size_t)(random_word() % n);
}

/* ---- words ---------------------------------------------------------------------------------- */

enum shape { UNIFORM, SKEWED, BELL, BIMODAL, NARROW, CONSTANT, SHAPES };

static inline uint64_t shaped_word(enum shape shape, uint64_t offset)
{
	uint64_t r = random_word();
	unsigned zeros = r ? (unsigned)__builtin_clzll(r) : 64;

	switch (shape) {
	case SKEWED:
		return offset + zeros;
	case BELL:
		return offset + (r & 15) + (r >> 8 & 15) + (r >> 16 & 15) + (r >> 24 & 15);
	case BIMODAL:
		return (r >> 60 ? offset : ~offset) - zeros;
	case NARROW:
		return offset + (r & 7);
	case CONSTANT:
		return offset;
	default:
		return r;
	}
}

/* Memory of exactly count words (at least one byte), for the sanitizer to guard. */
static inline void *new_words(unsigned width, size_t count)
{
	void *words = malloc(count ? count * word_bytes(width) : 1);

	assert_non_null(words);
	return words;
}

static inline void *shaped_words(enum shape shape, unsigned width, size_t count)
{
	uint64_t offset = random_word();
	void *words = new_words(width, count);
	size_t i;

	/* Room above the offset, so that few words wrap around. */
	if (shape != UNIFORM && width > 3)
		offset &= low_bits(width - 1);
	for (i = 0; i < count; i++)
		word_set(words, word_bytes(width), i, shaped_word(shape, offset) & low_bits(width));
	return words;
}

/* ---- decoding ------------------------------------------------------------------------------- */

/* Parses a lit node: the op byte, then the literal. */
static inline int parse_node(struct span *in, unsigned width, size_t count,
			     const struct codebook *codebook, struct literal *out,
			     struct brevis_error *err)
{
	unsigned op = span_u8(in);

	return literal_parse(in, op >> 4, width, count, codebook, out, err);
}

/* Decodes in pieces of random lengths. Returns the first failure. */
static inline int decode_pieces(const struct literal *literal, void *words,
				struct brevis_error *err)
{
	struct literal_decoder *decoder;
	unsigned size = word_bytes(literal->width);
	size_t most = random_below(3) ? 1 + random_below(200) : literal->count + 1;
	size_t done = 0;
	int status = literal_decoder_new(literal, &decoder, err);

	if (status)
		return status;
	while (!status && done < literal->count) {
		size_t count = random_below(most + 1);

		count = count < literal->count - done ? count : literal->count - done;
		status = literal_decoder_next(decoder, (uint8_t *)words + done * size, count, err);
		done += count;
	}
	if (!status)
		status = literal_decoder_finish(decoder, err);
	literal_decoder_free(decoder);
	return status;
}

/* The numbers of lanes that rANS may have. */
#define LANES 4

static const unsigned all_lanes[LANES] = {1, 4, 16, 64};

/* ---- encoding in a given way ---------------------------------------------------------------- */

static inline void put_op(struct buffer *out, enum literal_coding coding)
{
	buffer_u8(out, (uint8_t)(LITERAL_NODE | (unsigned)coding << 4));
}

static inline void encode_raw(struct buffer *out, const void *words, unsigned width, size_t count)
{
	uint8_t *to;

	put_op(out, LITERAL_RAW);
	to = buffer_extend(out, count * raw_bytes(width));
	assert_non_null(to);
	raw_encode(to, words, width, count);
}

static inline void encode_packed(struct buffer *out, const void *words, unsigned width,
				 size_t count)
{
	uint64_t smallest = 0;
	uint64_t largest = 0;
	uint64_t size;
	unsigned bits;
	uint8_t *to;

	word_range(words, width, count, &smallest, &largest);
	bits = bit_length(largest - smallest);
	put_op(out, LITERAL_PACKED);
	buffer_varint(out, smallest);
	buffer_u8(out, (uint8_t)bits);
	assert_true(packed_size(count, bits, &size));
	to = buffer_extend(out, size);
	assert_non_null(to);
	packed_encode(to, words, width, count, smallest, bits);
}

static inline void encode_huffman(struct buffer *out, const void *words, unsigned width,
				  size_t count, const uint32_t *histogram)
{
	struct huffman_plan plan;
	bool fits;

	assert_int_equal(huffman_plan_try(&plan, histogram, width, UINT64_MAX, &fits, NULL),
			 BREVIS_OK);
	put_op(out, LITERAL_HUFFMAN);
	huffman_encode(out, &plan, words, width, count);
	assert_int_equal(out->size, 1 + huffman_plan_size(&plan));
	huffman_plan_release(&plan);
}

static inline void encode_rans(struct buffer *out, const void *words, unsigned width, size_t count,
			       const uint32_t *histogram, unsigned lanes)
{
	const struct rans_input in = {(void *)words, width, count, .tables = 1};
	struct frequency_plan plan;
	bool fits;

	assert_int_equal(frequency_plan_init(&plan, histogram, width, count, NULL), BREVIS_OK);
	put_op(out, LITERAL_RANS);
	assert_int_equal(rans_encode(out, &plan, lanes, &in, UINT32_MAX / 4, &fits, NULL),
			 BREVIS_OK);
	assert_true(fits);
	frequency_plan_release(&plan);
}

/* Table `number` must have a share for each word. */
static inline void encode_shared(struct buffer *out, const void *words, unsigned width,
				 size_t count, const struct codebook *codebook, unsigned number,
				 unsigned lanes)
{
	const struct rans_input in = {(void *)words, width, count, .tables = 1};
	bool fits;

	put_op(out, LITERAL_SHARED);
	buffer_u8(out, (uint8_t)number);
	buffer_u8(out, (uint8_t)rans_lanes_code(lanes));
	assert_int_equal(rans_payload_encode(out, codebook_shares(codebook, number),
					     codebook_scale_bits(codebook, number), lanes, &in,
					     UINT32_MAX / 4, &fits, NULL),
			 BREVIS_OK);
	assert_true(fits);
}

static inline void encode_library(struct buffer *out, const void *words, unsigned width,
				  size_t count, enum literal_coding coding, int level)
{
	struct library_effort effort = {.zstd_level = level, .word_bytes = raw_bytes(width)};
	size_t size = count * raw_bytes(width);
	uint8_t *raw = new_words(64, count);
	struct buffer stream = BUFFER_INIT;
	bool fits;

	raw_encode(raw, words, width, count);
	assert_int_equal(library_encode(&stream,
					coding == LITERAL_ZSTD ? LIBRARY_ZSTD : LIBRARY_LZMA2,
					&effort, raw, size, 2 * size + 1000, &fits, NULL),
			 BREVIS_OK);
	assert_true(fits);
	put_op(out, coding);
	buffer_varint(out, stream.size);
	buffer_append(out, stream.data, stream.size);
	buffer_release(&stream);
	free(raw);
}

/* A codebook of `count` tables, each for other words of the width, or for any of its words. */
static inline struct codebook *shaped_codebook(unsigned width, unsigned count)
{
	struct buffer bytes = BUFFER_INIT;
	struct codebook *codebook = NULL;
	struct brevis_error err;
	unsigned i, j;

	buffer_u8(&bytes, (uint8_t)count);
	for (i = 0; i < count; i++) {
		uint32_t histogram[1 << LITERAL_SYMBOL_BITS];
		size_t n = 500 + random_below(5000);
		void *words = shaped_words((enum shape)random_below(SHAPES), width, n);

		assert_true(histogram_of(histogram, words, width, n));
		for (j = 0; j < 1u << width; j++)
			histogram[j] += i % 2 == 0 || j == 0 || j + 1 == 1u << width;
		assert_int_equal(codebook_put_table(&bytes, histogram, width, &err), BREVIS_OK);
		free(words);
	}
	if (codebook_parse(bytes.data, bytes.size, &codebook, &err))
		fail_msg("%s", err.message);
	buffer_release(&bytes);
	return codebook;
}

static inline unsigned distinct(const uint32_t *histogram, unsigned width)
{
	unsigned n = 0;
	unsigned i;

	for (i = 0; i < 1u << width; i++)
		n += histogram[i] > 0;
	return n;
}

/* Takes the seed from the environment, or from the clock, and says it. */
static inline void seed_init(void)
{
	const char *given = getenv("BREVIS_TEST_SEED");

	seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
	printf("seed: %llu (BREVIS_TEST_SEED replays it)\n", (unsigned long long)seed);
}

/** What a table of a codebook makes of words, in bits, but for the lanes of a literal; UINT64_MAX:
 * it does not have them all. */
static inline uint64_t codebook_cost(const struct codebook *codebook, unsigned number,
				     const uint32_t *histogram, size_t count)
{
	const uint16_t *shares = codebook_shares(codebook, number);
	unsigned symbols = 1u << codebook_width(codebook, number);
	uint64_t cost = (uint64_t)count * codebook_scale_bits(codebook, number) << LOG2_FRACTION;
	unsigned i;

	for (i = 0; i < symbols; i++) {
		if (!histogram[i])
			continue;
		if (!shares[i])
			return UINT64_MAX;
		cost -= histogram[i] * (uint64_t)log2_fixed(shares[i]);
	}
	return cost >> LOG2_FRACTION;
}

/** tally_bound of words. */
static inline uint64_t bound_of(const uint32_t *histogram, unsigned width, size_t count)
{
	struct tally tally;

	tally_take(&tally, histogram, width, count);
	return tally_bound(&tally);
}

#endif
