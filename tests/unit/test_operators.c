/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each operator yields, written down by hand: programs as bytes and the words that
 * docs/FORMAT.md promises, for widths on both sides of every word type.
 */
#include "tests/unit/support.h"

#include "tests/unit/decoding.h"
#include "tests/unit/program_cases.h"
#include "tests/unit/program_tree.h"

struct good {
	const char *what;
	unsigned width;
	size_t count;
	const uint8_t *bytes;
	size_t size;
	uint64_t words[18];
};

static const struct good good[] = {
	{"Equation 7",
	 32,
	 6,
	 BYTES(FLOAT_8 REPEAT_3 PACKED "\x00\x01\x02" CONST "\x7f" CONST "\x00"),
	 {0x3f800000, 0xbf800000, 0x3f800000, 0xbf800000, 0x3f800000, 0xbf800000}},

	{"raw of 1 bit", 1, 3, BYTES(RAW "\x01\x00\x01"), {1, 0, 1}},
	{"raw of 12 bits", 12, 2, BYTES(RAW "\x34\x02\xff\x0f"), {0x234, 0xfff}},
	{"raw of 23 bits", 23, 2, BYTES(RAW "\x01\x02\x03\xff\xff\x7f"), {0x30201, 0x7fffff}},
	{"raw of 33 bits",
	 33,
	 2,
	 BYTES(RAW "\x01\x02\x03\x04\x01\x05\x00\x00\x00\x00"),
	 {UINT64_C(0x104030201), 5}},
	{"packed of 7 bits", 7, 4, BYTES(PACKED "\x64\x02\xe4"), {100, 101, 102, 103}},

	{"const of 1 bit", 1, 2, BYTES(CONST "\x01"), {1, 1}},
	{"const of 7 bits", 7, 2, BYTES(CONST "\x7f"), {127, 127}},
	{"const of 12 bits", 12, 2, BYTES(CONST "\xff\x1f"), {4095, 4095}},
	{"const of 33 bits",
	 33,
	 2,
	 BYTES(CONST "\xff\xff\xff\xff\x1f"),
	 {UINT64_C(0x1ffffffff), UINT64_C(0x1ffffffff)}},
	{"const of 64 bits", 64, 2, BYTES(CONST VARINT_64), {UINT64_MAX, UINT64_MAX}},

	{"concat",
	 8,
	 6,
	 BYTES(CONCAT_3 "\x01\x02" CONST "\x07" RAW "AB" CONST "\x09"),
	 {7, 'A', 'B', 9, 9, 9}},
	{"concat of 17",
	 12,
	 18,
	 BYTES(CONCAT_OF
	       "\x11\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01" CONST
	       "\x01" CONST "\x02" CONST "\x03" CONST "\x04" CONST "\x05" CONST "\x06" CONST
	       "\x07" CONST "\x08" CONST "\x09" CONST "\x0a" CONST "\x0b" CONST "\x0c" CONST
	       "\x0d" CONST "\x0e" CONST "\x0f" CONST "\x10" CONST "\x80\x1f"),
	 {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 0xf80, 0xf80}},

	{"repeat", 8, 6, BYTES(REPEAT_3 RAW "AB"), {'A', 'B', 'A', 'B', 'A', 'B'}},
	{"repeat of 17",
	 33,
	 17,
	 BYTES(REPEAT_OF "\x11" CONST "\x03"),
	 {3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3}},
	{"repeat of a repeat",
	 7,
	 8,
	 BYTES(REPEAT_2 REPEAT_2 PACKED "\x09\x01\x02"),
	 {9, 10, 9, 10, 9, 10, 9, 10}},

	{"map, XOR", 7, 4, BYTES(MAP "\x00\x55" RAW "\x00\x01\x55\x7f"), {0x55, 0x54, 0, 0x2a}},
	{"map, addition", 7, 3, BYTES(MAP "\x01\x03" RAW "\x00\x7c\x7f"), {3, 0x7f, 2}},
	{"map, addition of 64 bits",
	 64,
	 2,
	 BYTES(MAP "\x01" VARINT_64 RAW "\x00\x00\x00\x00\x00\x00\x00\x00"
		   "\x05\x00\x00\x00\x00\x00\x00\x00"),
	 {UINT64_MAX, 4}},
	{"map, zigzag",
	 7,
	 6,
	 BYTES(MAP "\x02" RAW "\x00\x01\x7f\x7e\x3f\x40"),
	 {0, 2, 1, 3, 126, 127}},
	{"map, unzigzag",
	 7,
	 6,
	 BYTES(MAP "\x03" RAW "\x00\x01\x02\x03\x7e\x7f"),
	 {0, 0x7f, 1, 0x7e, 0x3f, 0x40}},
	{"map, Gray", 7, 5, BYTES(MAP "\x04" RAW "\x00\x01\x02\x03\x7f"), {0, 1, 3, 2, 0x40}},
	{"map, un-Gray", 7, 5, BYTES(MAP "\x05" RAW "\x00\x01\x03\x02\x40"), {0, 1, 2, 3, 0x7f}},
	{"map, reversal", 7, 3, BYTES(MAP "\x06" RAW "\x01\x40\x16"), {0x40, 1, 0x34}},
	{"map, reversal of 23 bits",
	 23,
	 2,
	 BYTES(MAP "\x06" RAW "\x01\x00\x00\x03\x00\x40"),
	 {0x400000, 0x600001}},
	{"map, rotation", 7, 3, BYTES(MAP "\x07\x02" RAW "\x01\x40\x60"), {4, 2, 3}},
	{"map, rotation of 33 bits",
	 33,
	 2,
	 BYTES(MAP "\x07\x20" RAW "\x01\x00\x00\x00\x00\x02\x00\x00\x00\x00"),
	 {UINT64_C(0x100000000), 1}},

	{"scan, XOR", 7, 4, BYTES(SCAN "\x00\x05" RAW "\x01\x02\x7f"), {5, 4, 6, 0x79}},
	{"scan, addition", 7, 4, BYTES(SCAN "\x01\x05" RAW "\x01\x7f\x7a"), {5, 6, 5, 0x7f}},
	{"scan, addition of 12 bits", 12, 3, BYTES(SCAN "\x01\xff\x1f" CONST "\x02"), {4095, 1, 3}},
	{"scan of 1 bit", 1, 4, BYTES(SCAN "\x01\x01" CONST "\x01"), {1, 0, 1, 0}},

	{"merge",
	 16,
	 2,
	 BYTES(FIELDS "\x03\x04\x01" CONST "\x0a" CONST "\x01" CONST "\x83\x0e"),
	 {0xaf03, 0xaf03}},
	{"merge of bit planes",
	 3,
	 2,
	 BYTES(BITS CONST "\x01" CONST "\x00" PACKED "\x00\x01\x02"),
	 {4, 5}},
	{"merge of byte planes",
	 24,
	 2,
	 BYTES(PLANES RAW "\x01\x02" RAW "\x03\x04" RAW "\x05\x06"),
	 {0x010305, 0x020406}},
	{"merge of BF16", 16, 1, BYTES(FLOAT_8 CONST "\x01" CONST "\x7f" CONST "\x01"), {0xbf81}},
	{"merge of FP16", 16, 1, BYTES(FLOAT_5 CONST "\x01" CONST "\x0f" CONST "\x01"), {0xbc01}},
	{"merge of FP64",
	 64,
	 1,
	 BYTES(FLOAT_11 CONST "\x00" CONST "\xff\x07" CONST "\x01"),
	 {UINT64_C(0x3ff0000000000001)}},
	{"merge of E4M3", 8, 1, BYTES(FLOAT_4 CONST "\x01" CONST "\x07" CONST "\x01"), {0xb9}},
	{"merge of 12 bits with an exponent of 5",
	 12,
	 1,
	 BYTES(FLOAT_5 CONST "\x01" CONST "\x01" CONST "\x3f"),
	 {0x87f}},

	/*
	 * 2 rows of 3 columns of 2 words each. Here and below: the tables of the classes, which all
	 * have precision 7, as first word, last word but one less, rest and frequencies; the
	 * payload, of no tail. Table 0 has the words 5 and 6, table 1 has 65 to 67.
	 */
	{"route by rows",
	 8,
	 12,
	 BYTES(ROUTE "\x03\x02\x02\x01\x02" PACKED "\x00\x01\x01"
		     "\xe0\x05\x00\x06\x05\x40\x84\x0b"
		     "\x04\x05\x10\x42\xaf\xb0\xd6"),
	 {'A', 'B', 'C', 'A', 'B', 'C', 5, 5, 5, 5, 5, 6}},
	/* in 4 lanes, tails of 2 words */
	{"route by columns",
	 8,
	 12,
	 BYTES(ROUTE "\x03\x02\x01\x02\x02" PACKED "\x00\x01\x05"
		     "\xe8\x05\x00\x06\x05\x40\x84\x0b"
		     "\x04\x0b\x12\x21\x49\x22\x27\x02\xd4\x03\x20\x16\x00"),
	 {'A', 'B', 5, 5, 'C', 'A', 'B', 'C', 5, 6, 'A', 'A'}},
	/* row classes 1, 0; column classes 2, 0, 1; map 0 1 1 / 1 2 0; a tail of 2 words */
	{"route by rows and columns",
	 12,
	 12,
	 BYTES(ROUTE "\x03\x02\x02\x03\x03" PACKED "\x00\x01\x01" PACKED "\x00\x02\x12" PACKED
		     "\x00\x02\x54\x02"
		     "\xe0\x14\x20\x00\x10\x03\x02\x01\x0f\x20\x00\x10\x91\x25\x14\xa3\x80\xf5\x03"
		     "\x00\x00\xd0\xfa\x01\x06\x82\x0b\xa1\x1a\xa5\x94"),
	 {20, 21, 30, 31, 40, 4095, 32, 35, 22, 23, 30, 31}},
	/* all words in the tail */
	{"route of inner size 1",
	 1,
	 4,
	 BYTES(ROUTE "\x02\x01\x02\x02\x02" PACKED "\x00\x01\x02" PACKED "\x00\x01\x01" PACKED
		     "\x00\x01\x06"
		     "\xe0\x20\x82\x19\x03\x04\x03\x01"),
	 {1, 0, 1, 1}},

	{"escape",
	 8,
	 5,
	 BYTES(ESCAPE "\x02\x0a\x02" PACKED "\x00\x02\x39\x03" RAW "YZ"),
	 {11, 12, 'Y', 10, 'Z'}},
	{"escape without escaped words",
	 8,
	 5,
	 BYTES(ESCAPE "\x02\x0a\x00" PACKED "\x00\x02\x39\x03"),
	 {11, 12, 13, 10, 13}},
	{"escape of all words",
	 33,
	 2,
	 BYTES(ESCAPE "\x01\x00\x02" CONST "\x01" CONST "\x02"),
	 {2, 2}},
	{"escape with codes up to the last word",
	 7,
	 2,
	 BYTES(ESCAPE "\x02\x7c\x00" PACKED "\x02\x01\x02"),
	 {0x7e, 0x7f}},
	{"escape with codes of full width",
	 3,
	 3,
	 BYTES(ESCAPE "\x03\x00\x01" RAW "\x06\x07\x00" CONST "\x05"),
	 {6, 5, 0}},
	{"escape of 64 bits",
	 64,
	 2,
	 BYTES(ESCAPE "\x21" VARINT_63 "\x01" RAW "\x01\x00\x00\x00\x01\xff\xff\xff\xff\x01" CONST
		      "\x07"),
	 {UINT64_C(0x8000000100000001), 7}},

	{"pack of 2", 8, 3, BYTES(PACK "\x02" PACKED "\x00\x04\x21\x43\x65"), {0x21, 0x43, 0x65}},
	{"pack of 3", 12, 2, BYTES(PACK "\x03" PACKED "\x00\x04\x21\x43\x65"), {0x321, 0x654}},
	{"pack of bits", 7, 2, BYTES(PACK "\x07" PACKED "\x00\x01\xfe\x00"), {0x7e, 0x01}},
	{"pack of 64 bits",
	 64,
	 1,
	 BYTES(PACK "\x08" RAW "\x01\x02\x03\x04\x05\x06\x07\x08"),
	 {UINT64_C(0x0807060504030201)}},

	{"flip",
	 7,
	 6,
	 BYTES(FLIP "\x03\x01" PACKED "\x00\x01\x05" CONST "\x01"),
	 {0x41, 1, 0x41, 0x41, 1, 0x41}},
	{"flip of inner words",
	 12,
	 6,
	 BYTES(FLIP "\x03\x02" PACKED "\x00\x01\x06" CONST "\x80\x10"),
	 {0x800, 0x800, 0, 0, 0, 0}},
	{"flip of 1 bit", 1, 2, BYTES(FLIP "\x02\x01" PACKED "\x00\x01\x02" CONST "\x01"), {1, 0}},
};

/* Makes a program of any width one of a root's width, by zeros above it. Gives that width. */
static unsigned put_root(struct buffer *out, const struct good *g)
{
	unsigned width = g->width <= 8 ? 8 : g->width <= 16 ? 16 : g->width <= 32 ? 32 : 64;
	unsigned widths[2] = {width - g->width, g->width};

	if (width != g->width) {
		program_put_merge(out, widths, 2);
		program_put_const(out, widths[0], 0);
	}
	buffer_append(out, g->bytes, g->size);
	return width;
}

static void test_words(void **state)
{
	size_t i, j;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		const struct good *g = &good[i];
		struct buffer b = BUFFER_INIT;
		struct brevis_error err = {0};
		struct program program;
		unsigned width = put_root(&b, g);
		uint8_t *bytes = exact_copy(b.data, b.size);
		uint8_t *out = must_alloc(g->count * (width / 8));
		int status = program_parse(span_of(bytes, b.size), width, g->count, NULL, &program,
					   &err);

		if (!status)
			status = program_execute(&program, out, &err);
		if (status)
			print_error("%s: %s\n", g->what, err.message);
		assert_int_equal(status, BREVIS_OK);
		for (j = 0; j < g->count; j++) {
			if (yielded_word(out, width, j) != g->words[j])
				print_error("%s: word %zu\n", g->what, j);
			assert_int_equal(yielded_word(out, width, j), g->words[j]);
		}
		program_release(&program);
		buffer_release(&b);
		free(bytes);
		free(out);
	}
}

/* What breaks no rule of the program itself shows when literals are decoded. */
static void test_damaged_payloads(void **state)
{
	static const struct broken cases[] = {
		{"packed, too wide", 8, 2, BYTES(PACKED "\xff\x01\x01\x02"), "packed literal"},
		{"in a map", 8, 2, BYTES(MAP "\x02" PACKED "\xff\x01\x01\x02"), "packed literal"},
		{"in a scan", 8, 3, BYTES(SCAN "\x00\x01" PACKED "\xff\x01\x01\x02"),
		 "packed literal"},
		{"in a repeat", 8, 4, BYTES(REPEAT_2 PACKED "\xff\x01\x01\x02"), "packed literal"},
		{"in a pack", 16, 1, BYTES(PACK "\x02" PACKED "\xff\x01\x01\x02"),
		 "packed literal"},
		{"in a flip", 8, 2, BYTES(FLIP "\x01\x01" ZEROS PACKED "\xff\x01\x01\x02"),
		 "packed literal"},
		{"codes of an escape", 8, 2, BYTES(ESCAPE "\x02\x00\x00" PACKED "\x03\x01\x02"),
		 "packed literal"},
		{"words of an escape", 8, 2,
		 BYTES(ESCAPE "\x02\x00\x02" CONST "\x03" PACKED "\xff\x01\x01\x02"),
		 "packed literal"},
		{"route, a unit missing", 8, 4, BYTES(ROUTE_ROWS TABLES_2 "\x03\x00\x41\x00"),
		 "cut short"},
		{"route, a unit left over", 8, 4,
		 BYTES(ROUTE_ROWS TABLES_2 "\x05\x04\x41\x00\x00\x00"),
		 "bytes after the last word"},
		{"route, a state that does not end", 8, 4,
		 BYTES(ROUTE_ROWS TABLES_2 "\x03\x04\x03\x01"), "lane 0 does not end"},
		{"route, an idle lane that does not end", 8, 2,
		 BYTES(ROUTE "\x02\x01\x01\x02\x02" PACKED "\x00\x01\x02"
			     "\x08\x41\x00\x06\x01\x08"
			     "\x0a\x01\x41\x00\x08\x02\x00\x00\x00\x02\x00"),
		 "lane 3 does not end"},
		{"in a merge", 16, 2, BYTES(PLANES CONST "\x01" PACKED "\xff\x01\x01\x02"),
		 "packed literal"},
		{"in a concat", 8, 3, BYTES(CONCAT_2 "\x01" CONST "\x01" PACKED "\xff\x01\x01\x02"),
		 "packed literal"},
		{"escape, one code too few", 8, 2,
		 BYTES(ESCAPE "\x01\x00\x02" PACKED "\x00\x01\x01" CONST "\x07"),
		 "payload with fewer codes"},
		{"escape, one code too many", 8, 2,
		 BYTES(ESCAPE "\x01\x00\x01" CONST "\x01" CONST "\x07"), "payload with more codes"},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct broken *b = &cases[i];
		struct brevis_error err = {0};
		struct program program;
		uint64_t out[8];
		int status = program_parse(span_of(b->bytes, b->size), b->width, b->count, NULL,
					   &program, &err);

		if (status)
			print_error("%s: %s\n", b->what, err.message);
		assert_int_equal(status, BREVIS_OK);
		status = program_execute(&program, out, &err);
		if (status != BREVIS_E_FORMAT || !strstr(err.message, b->message))
			print_error("%s: %d \"%s\"\n", b->what, status, err.message);
		assert_int_equal(status, BREVIS_E_FORMAT);
		assert_non_null(strstr(err.message, b->message));
		program_release(&program);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_words),
		TEST(test_damaged_payloads),
	};

	seed_init("test_operators");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
