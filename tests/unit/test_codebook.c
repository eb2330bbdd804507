/* SPDX-License-Identifier: Apache-2.0 */
/* The codebook: what is put into it, its rules, what words cost with its tables. */
#include "core/entropy/levels_encode.h"
#include "tests/unit/literal_cases.h"

/* ---- rules ----------------------------------------------------------------------------------- */

/* A table of words of 8 bits: 'w' to 'z', 64 of 256 slots each. */
#define TABLE "\x08\x00\x77\x02\x10\x1b"

struct broken {
	const char *what;
	const char *bytes;
	size_t size;
	const char *message; /* part of it; NULL: it is good */
};

#define BROKEN(what, bytes, message)                                                               \
	{                                                                                          \
		what, bytes, sizeof(bytes) - 1, message                                            \
	}

static const struct broken broken[] = {
	BROKEN("one table", "\x01" TABLE, NULL),
	BROKEN("two tables", "\x02" TABLE TABLE, NULL),
	BROKEN("nothing", "", "0 tables, must be 1 to 64"),
	BROKEN("no tables", "\x00", "0 tables, must be 1 to 64"),
	BROKEN("65 tables", "\x41" TABLE, "65 tables, must be 1 to 64"),
	BROKEN("no table where there is one", "\x01", "table 0: rANS table: cut short"),
	BROKEN("no parameters", "\x01\x08", "table 0: rANS table: cut short"),
	BROKEN("width 0", "\x01\x00\x00\x77\x02\x10\x1b", "table 0: words of 0 bits"),
	BROKEN("width 13", "\x01\x0d\x00\x77\x02\x10\x1b", "table 0: words of 13 bits"),
	BROKEN("bit 3", "\x01\x08\x08\x77\x02\x10\x1b", "table 0: bits 3 and 4"),
	BROKEN("bit 4", "\x01\x08\x10\x77\x02\x10\x1b", "table 0: bits 3 and 4"),
	BROKEN("a scale of 15", "\x01\x08\x07\x77\x02\x10\x1b", "table 0: rANS table: scale of 15"),
	BROKEN("a symbol of 9 bits", "\x01\x08\x00\xfd\x02\x10\x1b", "symbol 256 is outside"),
	BROKEN("a table cut short", "\x01\x08\x00\x77\x02\x10", "table 0: rANS table: cut short"),
	BROKEN("padding", "\x01\x08\x00\x77\x02\x10\x3b", "table 0: rANS table: padding"),
	BROKEN("a byte too many", "\x01" TABLE "\x00", "bytes after the last table"),
	BROKEN("a table too many", "\x01" TABLE TABLE, "bytes after the last table"),
	BROKEN("a table too few", "\x03" TABLE TABLE, "table 2: rANS table: cut short"),
	BROKEN("a bad second table", "\x02" TABLE "\x00\x00", "table 1: words of 0 bits"),
};

static void test_rules(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(broken) / sizeof(*broken); i++) {
		const struct broken *b = &broken[i];
		uint8_t *copy = malloc(b->size + 1);
		struct codebook *codebook = NULL;
		struct brevis_error err = {0};
		int status;

		assert_non_null(copy);
		memcpy(copy, b->bytes, b->size);
		/* Memory of exactly its size, for the sanitizer to guard. */
		copy = realloc(copy, b->size ? b->size : 1);
		status = codebook_parse(copy, b->size, &codebook, &err);
		free(copy);
		if (status != (b->message ? BREVIS_E_FORMAT : BREVIS_OK) ||
		    (b->message && !strstr(err.message, b->message)))
			fail_msg("%s: %d, \"%s\"", b->what, status, err.message);
		assert_int_equal(codebook == NULL, b->message != NULL);
		codebook_free(codebook);
	}
}

/* A table with the given levels, one for each symbol of width 4 from 5 on, '-' being the rest. */
static void put_levels(struct buffer *out, unsigned rest, const char *levels)
{
	size_t n = strlen(levels);
	struct bit_writer bits;
	struct level_writer w;

	buffer_append(out, "\x01\x04\x00", 3);
	bit_writer_init(&bits, out);
	level_writer_init(&w, &bits);
	level_write_bits(&w, 5, 4);
	level_write_bits(&w, n - 2, 4);
	level_write_bits(&w, rest, bit_length(n - 1));
	for (; *levels; levels++) {
		if (*levels == '0')
			level_write_zeros(&w, 1);
		else if (*levels != '-')
			level_write(&w, (unsigned)(*levels - '0'));
	}
	bit_writer_flush(&bits);
}

/* What is wrong with the frequencies themselves. */
static void test_frequencies(void **state)
{
	static const struct {
		unsigned rest;
		const char *levels;
		const char *message;
	} cases[] = {
		{0, "-77", NULL},
		{0, "-777", NULL},
		{1, "7-7", NULL},
		{0, "-88", "sum to over 2^8"},
		{0, "-8777", "sum to over 2^8"},
		{0, "-79", "size of a frequency is out of range"},
		{0, "-70", "begins or ends with a symbol of frequency 0"},
		{1, "0-7", "begins or ends with a symbol of frequency 0"},
		{3, "7-7", "the rest is outside the table"},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct buffer b = BUFFER_INIT;
		struct codebook *codebook = NULL;
		struct brevis_error err = {0};
		int status;

		put_levels(&b, cases[i].rest, cases[i].levels);
		status = codebook_parse(b.data, b.size, &codebook, &err);
		if (status != (cases[i].message ? BREVIS_E_FORMAT : BREVIS_OK) ||
		    (cases[i].message && !strstr(err.message, cases[i].message)))
			fail_msg("%s: %d, \"%s\"", cases[i].levels, status, err.message);
		codebook_free(codebook);
		buffer_release(&b);
	}
}

/* 64 tables are allowed, 65,536 bytes are, no more. */
static void test_limits(void **state)
{
	struct buffer b = BUFFER_INIT;
	struct codebook *codebook = NULL;
	struct brevis_error err = {0};
	unsigned i;

	(void)state;
	buffer_u8(&b, CODEBOOK_TABLES_MAX);
	for (i = 0; i < CODEBOOK_TABLES_MAX; i++)
		buffer_append(&b, TABLE, sizeof(TABLE) - 1);
	assert_int_equal(codebook_parse(b.data, b.size, &codebook, &err), BREVIS_OK);
	assert_int_equal(codebook_count(codebook), CODEBOOK_TABLES_MAX);
	codebook_free(codebook);
	assert_non_null(buffer_reserve(&b, CODEBOOK_BYTES_MAX + 1));
	memset(b.data + b.size, 0, CODEBOOK_BYTES_MAX + 1 - b.size);
	assert_int_equal(codebook_parse(b.data, CODEBOOK_BYTES_MAX, &codebook, &err),
			 BREVIS_E_FORMAT);
	assert_non_null(strstr(err.message, "bytes after the last table"));
	assert_int_equal(codebook_parse(b.data, CODEBOOK_BYTES_MAX + 1, &codebook, &err),
			 BREVIS_E_FORMAT);
	assert_non_null(strstr(err.message, "65537 bytes, at most 65536"));
	codebook_free(NULL);
	buffer_release(&b);
}

/* Whatever the bytes are, they are refused or are a codebook that is in order. */
static void test_noise(void **state)
{
	uint8_t bytes[200];
	unsigned good = 0;
	unsigned round;
	size_t i;

	(void)state;
	for (round = 0; round < 100000; round++) {
		size_t size = 1 + random_below(sizeof(bytes) - 1);
		struct codebook *codebook = NULL;
		struct brevis_error err = {0};
		uint32_t sum = 0;
		unsigned j;

		for (i = 0; i < size; i++)
			bytes[i] = (uint8_t)random_word();
		bytes[0] = 1;
		if (size > 7)
			memcpy(bytes + 1, TABLE, random_below(6));
		if (codebook_parse(bytes, size < 7 || round % 2 ? size : 7, &codebook, &err)) {
			assert_int_equal(err.status, BREVIS_E_FORMAT);
			continue;
		}
		good++;
		for (j = 0; j < 1u << codebook_width(codebook, 0); j++)
			sum += codebook_shares(codebook, 0)[j];
		assert_int_equal(sum, 1u << codebook_scale_bits(codebook, 0));
		codebook_free(codebook);
	}
	assert_true(good > 0);
}

/* ---- tables for histograms ------------------------------------------------------------------- */

static void fill_histogram(uint32_t *histogram, unsigned width, unsigned kind)
{
	unsigned symbols = 1u << width;
	unsigned i;

	memset(histogram, 0, sizeof(*histogram) << width);
	for (i = 0; i < symbols; i++) {
		uint64_t r = random_word();

		histogram[i] = kind == 0   ? 1
			       : kind == 1 ? (uint32_t)r >> (r >> 59)
			       : kind == 2 ? (r >> 32 & 7 ? 0 : 1 + (uint32_t)(r & 1023))
			       : kind == 3 ? 1 + (i == symbols / 3) * (UINT32_MAX - 1)
					   : UINT32_MAX;
	}
	histogram[random_below(symbols / 2)] += kind < 3;
	histogram[symbols / 2 + random_below(symbols / 2)] += kind < 3;
}

/* Each symbol with a count has a share, no other has one, and the table reads as it was written. */
static void test_tables(void **state)
{
	unsigned width, kind;

	(void)state;
	for (width = 1; width <= LITERAL_SYMBOL_BITS; width++) {
		for (kind = 0; kind < 5; kind++) {
			uint32_t histogram[1 << LITERAL_SYMBOL_BITS];
			struct buffer b = BUFFER_INIT;
			struct codebook *codebook = NULL;
			const uint16_t *shares;
			struct span bytes;
			unsigned i, sum = 0;

			fill_histogram(histogram, width, kind);
			buffer_u8(&b, 1);
			assert_int_equal(codebook_put_table(&b, histogram, width, NULL), BREVIS_OK);
			assert_int_equal(codebook_parse(b.data, b.size, &codebook, NULL),
					 BREVIS_OK);
			assert_int_equal(codebook_count(codebook), 1);
			assert_int_equal(codebook_width(codebook, 0), width);
			assert_int_equal(codebook_scale_bits(codebook, 0), 12);
			shares = codebook_shares(codebook, 0);
			for (i = 0; i < 1u << width; i++) {
				assert_int_equal(shares[i] > 0, histogram[i] > 0);
				sum += shares[i];
			}
			assert_int_equal(sum, 1 << 12);
			bytes = codebook_bytes(codebook);
			assert_int_equal(span_left(&bytes), b.size);
			assert_memory_equal(bytes.at, b.data, b.size);
			codebook_free(codebook);
			buffer_release(&b);
		}
	}
}

static void test_tables_of_one_symbol(void **state)
{
	uint32_t histogram[4] = {0, 0, 7, 0};
	struct buffer b = BUFFER_INIT;
	struct brevis_error err = {0};

	(void)state;
	assert_int_equal(codebook_put_table(&b, histogram, 2, &err), BREVIS_E_USAGE);
	assert_int_equal(b.size, 0);
	buffer_release(&b);
}

/* ---- costs ----------------------------------------------------------------------------------- */

/*
 * The cost is that of the payload, but for what the states take, and what words of a tail may save:
 * all they cost, if all of them are the first symbol.
 */
static void test_cost(void **state)
{
	unsigned round;

	(void)state;
	for (round = 0; round < 300; round++) {
		unsigned width = 1 + (unsigned)random_below(LITERAL_SYMBOL_BITS);
		size_t count = 1 + random_below(5000);
		void *words = shaped_words((enum shape)random_below(SHAPES), width, count);
		struct codebook *codebook = shaped_codebook(width, 2);
		uint32_t histogram[1 << LITERAL_SYMBOL_BITS];
		struct buffer b = BUFFER_INIT;
		uint64_t cost, slack, bits;
		unsigned i;
		bool missing = false;

		assert_true(histogram_of(histogram, words, width, count));
		encode_shared(&b, words, width, count, codebook, 0, 1);
		cost = codebook_cost(codebook, 0, histogram, count);
		bits = 8 * (uint64_t)(b.size - 3 - (b.size < 130 ? 1 : 2) - 2);
		slack = 24 + cost / 100;
		if (bits > cost + slack || cost > bits + slack + RANS_TAIL_MAX * FREQUENCY_BITS_MAX)
			fail_msg("%zu words of %u bits: %llu bits, cost %llu", count, width,
				 (unsigned long long)bits, (unsigned long long)cost);
		for (i = 0; i < 1u << width; i++)
			missing |= histogram[i] && !codebook_shares(codebook, 1)[i];
		assert_int_equal(codebook_cost(codebook, 1, histogram, count) == UINT64_MAX,
				 missing);
		codebook_free(codebook);
		buffer_release(&b);
		free(words);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rules),  cmocka_unit_test(test_frequencies),
		cmocka_unit_test(test_limits), cmocka_unit_test(test_noise),
		cmocka_unit_test(test_tables), cmocka_unit_test(test_tables_of_one_symbol),
		cmocka_unit_test(test_cost),
	};

	seed_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
