/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leaves that a repeat reads several times: each coding begins anew as it began first, damage
 * shows however often it is read, and no program makes a decoder begin anew at a library's price.
 */
#include "tests/unit/decoding.h"
#include "tests/unit/literal_cases.h"

/* Words of one reading: more than a block, so that the repeat keeps no copies but restarts. */
#define PERIOD 9001
#define TIMES  3

/* A leaf of 8-bit words in each coding, rANS in each number of lanes; and a route. */
enum {
	RAW,
	PACKED,
	HUFFMAN,
	RANS_1,
	RANS_4,
	RANS_16,
	RANS_64,
	SHARED,
	ZSTD,
	LZMA2,
	ROUTE,
	CODINGS
};

/* A class for each word, in turn. */
static void encode_route(struct buffer *out, const uint8_t *words, size_t count)
{
	const struct grid grid = {count, 1, 1};
	uint8_t *of_row = new_words(8, count);
	const struct route_classes classes = {3, 1, 3, of_row, NULL, NULL};
	size_t i;

	for (i = 0; i < count; i++)
		of_row[i] = (uint8_t)(i % 3);
	assert_int_equal(program_put_route(out, &grid, &classes, words, 8, NULL, NULL), BREVIS_OK);
	free(of_row);
}

static void encode(struct buffer *to, unsigned coding, const uint8_t *words, size_t count,
		   const struct codebook *codebook)
{
	uint32_t histogram[1 << 8];
	struct buffer literal = BUFFER_INIT, *out = &literal;

	assert_true(histogram_of(histogram, words, 8, count));
	switch (coding) {
	case RAW:
		encode_raw(out, words, 8, count);
		break;
	case PACKED:
		encode_packed(out, words, 8, count);
		break;
	case HUFFMAN:
		encode_huffman(out, words, 8, count, histogram);
		break;
	case RANS_1:
		encode_rans(out, words, 8, count, histogram, 1);
		break;
	case RANS_4:
		encode_rans(out, words, 8, count, histogram, 4);
		break;
	case RANS_16:
		encode_rans(out, words, 8, count, histogram, 16);
		break;
	case RANS_64:
		encode_rans(out, words, 8, count, histogram, 64);
		break;
	case SHARED:
		encode_shared(out, words, 8, count, codebook, 0, 4);
		break;
	case ZSTD:
		encode_library(out, words, 8, count, LITERAL_ZSTD, 3);
		break;
	case ROUTE:
		encode_route(out, words, count);
		break;
	default:
		encode_library(out, words, 8, count, LITERAL_LZMA2, 0);
		break;
	}
	buffer_append(to, literal.data, literal.size);
	buffer_release(&literal);
}

/* Parses and executes a program of bytes. */
static int run(const struct buffer *bytes, size_t count, const struct codebook *codebook,
	       uint8_t *out, struct brevis_error *err)
{
	struct program program;
	uint8_t *copy = malloc(bytes->size);
	int status;

	assert_non_null(copy);
	memcpy(copy, bytes->data, bytes->size); /* in memory of its exact size */
	status = program_parse(span_of(copy, bytes->size), 8, count, codebook, &program, err);
	if (!status)
		status = program_execute(&program, out, err);
	program_release(&program);
	free(copy);
	return status;
}

/* ---- beginning anew -------------------------------------------------------------------------- */

/*
 * repeat_3(concat(lit, lit)): the first literal has a block of its own or ends within one. With
 * nested, each of them is repeated itself, which restarts it (or its copies) within each reading.
 */
static void check_coding(unsigned coding, size_t first, bool nested)
{
	struct codebook *codebook = shaped_codebook(8, 1);
	uint8_t *words = shaped_words(SKEWED, 8, PERIOD);
	size_t twice = nested ? 2 : 1;
	size_t counts[2] = {twice * first, twice * (PERIOD - first)};
	size_t count = TIMES * twice * PERIOD;
	uint8_t *out = new_words(8, count);
	struct buffer bytes = BUFFER_INIT;
	struct brevis_error err = {0};
	size_t i, at = 0;

	/* Both leaves have two words at least that differ. */
	words[0] = words[first] = 200;
	words[1] = words[first + 1] = 100;
	program_put_repeat(&bytes, TIMES);
	program_put_concat(&bytes, counts, 2);
	for (i = 0; i < 2; i++, at = first) {
		if (nested)
			program_put_repeat(&bytes, 2);
		encode(&bytes, coding, words + at, i ? PERIOD - first : first, codebook);
	}
	if (run(&bytes, count, codebook, out, &err))
		fail_msg("coding %u: %s", coding, err.message);
	for (at = 0; at < count; at += twice * PERIOD) {
		for (i = 0; i < twice; i++) {
			assert_memory_equal(out + at + i * first, words, first);
			assert_memory_equal(out + at + twice * first + i * (PERIOD - first),
					    words + first, PERIOD - first);
		}
	}
	codebook_free(codebook);
	buffer_release(&bytes);
	free(words);
	free(out);
}

static void test_codings_begin_anew(void **state)
{
	static const size_t firsts[] = {301, 8192, 8801, PERIOD - 300};
	unsigned coding;
	size_t i;

	(void)state;
	for (coding = 0; coding < CODINGS; coding++) {
		for (i = 0; i < sizeof(firsts) / sizeof(firsts[0]); i++) {
			check_coding(coding, firsts[i], false);
			check_coding(coding, firsts[i], true);
		}
	}
}

/* ---- damage ---------------------------------------------------------------------------------- */

/* A literal of two-bit codes for PERIOD 8-bit words, with `more` bytes behind its payload. */
static void put_huffman(struct buffer *out, unsigned more)
{
	/* Longest 2; first 0, span 2: the levels 1 of four symbols, each as the one before. */
	static const uint8_t table[] = {0x21, 2, 0, 2, 0x0f};
	size_t size = (2 * PERIOD + 7) / 8 + more;
	uint8_t *payload;

	buffer_append(out, table, sizeof(table));
	buffer_varint(out, size);
	payload = buffer_extend(out, size);
	assert_non_null(payload);
	memset(payload, 0, size);
}

/* A literal that does not end with its last word is refused after its first reading. */
static void test_end_in_repeat(void **state)
{
	uint8_t *out = new_words(8, TIMES * PERIOD);
	unsigned more;

	(void)state;
	for (more = 0; more < 2; more++) {
		struct buffer bytes = BUFFER_INIT;
		struct brevis_error err = {0};
		int status;

		program_put_repeat(&bytes, TIMES);
		put_huffman(&bytes, more);
		status = run(&bytes, TIMES * PERIOD, NULL, out, &err);
		assert_int_equal(status, more ? BREVIS_E_FORMAT : BREVIS_OK);
		if (more)
			assert_non_null(strstr(err.message, "bytes after the last word"));
		buffer_release(&bytes);
	}
	free(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_codings_begin_anew),
		cmocka_unit_test(test_end_in_repeat),
	};

	seed_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
