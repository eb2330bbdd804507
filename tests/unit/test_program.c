/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program must be: each rule broken once; the canonical forms that are written; and how
 * programs read. Limits: test_program_limits.c.
 */
#include "tests/unit/program_cases.h"
#include "tests/unit/program_checks.h"
#include "tests/unit/random_tree.h"

static void test_each_rule_broken(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		const struct broken *b = &broken[i];
		uint8_t *bytes = exact_copy(b->bytes, b->size);
		struct program program;
		struct brevis_error err = {0};
		int status = program_parse(span_of(bytes, b->size), b->width, b->count, NULL,
					   &program, &err);

		program_release(&program);
		if (status != BREVIS_E_FORMAT || !strstr(err.message, b->message))
			print_error("%s: status %d, \"%s\"\n", b->what, status, err.message);
		assert_int_equal(status, BREVIS_E_FORMAT);
		assert_non_null(strstr(err.message, b->message));
		status = program_parse(span_of(bytes, b->size), b->width, b->count, NULL, &program,
				       NULL);
		assert_int_equal(status, BREVIS_E_FORMAT);
		program_release(&program);
		free(bytes);
	}
}

/* ---- canonical forms ------------------------------------------------------------------------- */

static void test_canonical_merges(void **state)
{
	static const struct {
		unsigned arity;
		unsigned widths[8];
		const char *bytes;
		size_t size;
	} cases[] = {
		{2, {8, 8}, PLANES, 1},
		{4, {8, 8, 8, 8}, PLANES, 1},
		{8, {1, 1, 1, 1, 1, 1, 1, 1}, BITS, 1},
		{2, {1, 1}, BITS, 1},
		{3, {1, 1, 1}, BITS, 1},
		{3, {1, 8, 7}, FLOAT_8, 1},
		{3, {1, 8, 23}, FLOAT_8, 1},
		{3, {1, 8, 1}, FLOAT_8, 1},
		{3, {1, 5, 10}, FLOAT_5, 1},
		{3, {1, 5, 2}, FLOAT_5, 1},
		{3, {1, 11, 52}, FLOAT_11, 1},
		{3, {1, 4, 3}, FLOAT_4, 1},
		{3, {1, 4, 59}, FLOAT_4, 1},
		{3, {2, 4, 3}, FIELDS "\x03\x02\x04", 4},
		{3, {1, 10, 5}, FIELDS "\x03\x01\x0a", 4},
		{4, {1, 8, 7, 16}, FIELDS "\x04\x01\x08\x07", 5},
		{2, {9, 7}, FIELDS "\x02\x09", 3},
		{2, {1, 8}, FIELDS "\x02\x01", 3},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buffer b = BUFFER_INIT;
		unsigned width = 0, j;

		program_put_merge(&b, cases[i].widths, cases[i].arity);
		assert_int_equal(b.size, cases[i].size);
		assert_memory_equal(b.data, cases[i].bytes, b.size);
		for (j = 0; j < cases[i].arity; j++) {
			width += cases[i].widths[j];
			program_put_const(&b, cases[i].widths[j], tree_mask(cases[i].widths[j]));
		}
		assert_valid(&b, width, 5);
		buffer_release(&b);
	}
}

/* Small counts up to 16 are in the op byte; larger ones follow it. */
static void test_small_counts(void **state)
{
	size_t k;

	(void)state;
	for (k = 2; k <= 300; k++) {
		struct buffer b = BUFFER_INIT;

		program_put_repeat(&b, k);
		assert_int_equal(b.size, k <= 16 ? 1 : k < 128 ? 2 : 3);
		program_put_const(&b, 8, 7);
		assert_valid(&b, 8, k);
		assert_valid(&b, 8, 5 * k);
		assert_broken(&b, 8, 5 * k - 1, "repeat count does not divide");
		buffer_release(&b);
	}
}

/* ---- notation -------------------------------------------------------------------------------- */

struct notation {
	unsigned width;
	size_t count;
	const uint8_t *bytes;
	size_t size;
	const char *text;
};

static const struct notation notations[] = {
	/* Equation 7 */
	{32, 6, BYTES(FLOAT_8 REPEAT_3 PACKED "\x00\x01\x02" CONST "\x7f" CONST "\x00"),
	 "merge_{FP32}(repeat_3(lit1(0, 1)), const8,6(127), const23,6(0))"},
	{16, 5,
	 BYTES(CONCAT_2 "\x03" CONST "\xb4\x24" FIELDS "\x02\x09" PACKED "\x00\x01\x02" ZEROS),
	 "concat(const16,3(4660), merge_{9,7}(lit9(0, 1), lit7(0, 0)))"},
	{8, 9, BYTES(PACKED "\x07\x00"), "lit8{packed 3 B}"},
	{8, 8, BYTES(RAW "ABCDEFGH"), "lit8(65, 66, 67, 68, 69, 70, 71, 72)"},
	{8, 9, BYTES(RAW "ABCDEFGHI"), "lit8{raw 10 B}"},
	{4, 2, BYTES(PACKED "\x0f\x01\x01"), "lit4{packed 4 B}"}, /* its payload is damaged */
	{16, 9, BYTES(FLOAT_8 ZEROS ZEROS ZEROS),
	 "merge_{BF16}(lit1{packed 3 B}, lit8{packed 3 B}, lit7{packed 3 B})"},
	{16, 1, BYTES(FLOAT_5 ZEROS ZEROS ZEROS), "merge_{FP16}(lit1(0), lit5(0), lit10(0))"},
	{64, 1, BYTES(FLOAT_11 ZEROS ZEROS ZEROS), "merge_{FP64}(lit1(0), lit11(0), lit52(0))"},
	{8, 1, BYTES(FLOAT_5 ZEROS ZEROS ZEROS), "merge_{E5M2}(lit1(0), lit5(0), lit2(0))"},
	{8, 1, BYTES(FLOAT_4 ZEROS ZEROS ZEROS), "merge_{E4M3}(lit1(0), lit4(0), lit3(0))"},
	{20, 1, BYTES(FLOAT_8 ZEROS ZEROS ZEROS),
	 "merge_{float,1,8,11}(lit1(0), lit8(0), lit11(0))"},
	{2, 1, BYTES(BITS ZEROS ZEROS), "merge_{bits}(lit1(0), lit1(0))"},
	{16, 1, BYTES(PLANES ZEROS ZEROS), "merge_{bytes}(lit8(0), lit8(0))"},
	{8, 34, BYTES(REPEAT_OF "\x11" CONST "\x01"), "repeat_17(const8,2(1))"},
	{8, 2, BYTES(MAP "\x00\xff\x01" CONST "\x01"), "map_{xor,255}(const8,2(1))"},
	{8, 2, BYTES(MAP "\x01\x02" CONST "\x01"), "map_{add,2}(const8,2(1))"},
	{8, 2, BYTES(MAP "\x02" CONST "\x01"), "map_{zigzag}(const8,2(1))"},
	{8, 2, BYTES(MAP "\x03" CONST "\x01"), "map_{unzigzag}(const8,2(1))"},
	{8, 2, BYTES(MAP "\x04" CONST "\x01"), "map_{gray}(const8,2(1))"},
	{8, 2, BYTES(MAP "\x05" CONST "\x01"), "map_{ungray}(const8,2(1))"},
	{8, 2, BYTES(MAP "\x06" CONST "\x01"), "map_{reverse}(const8,2(1))"},
	{8, 2, BYTES(MAP "\x07\x03" CONST "\x01"), "map_{rotate,3}(const8,2(1))"},
	{8, 2, BYTES(SCAN "\x01\x07" CONST "\x01"), "scan_{add,7}(const8,1(1))"},
	{8, 2, BYTES(SCAN "\x00\x07" CONST "\x01"), "scan_{xor,7}(const8,1(1))"},
	{8, 12, BYTES(ROUTE "\x02\x03\x02\x01\x02" PACKED "\x00\x01\x01" TABLES_2 PAYLOAD),
	 "route_{2x2x3;2,1;2}(8-bit {20 B})"},
	{8, 4,
	 BYTES(ROUTE "\x02\x01\x02\x02\x02" PACKED "\x00\x01\x01" PACKED "\x00\x01\x01" PACKED
		     "\x00\x01\x07" TABLES_2 PAYLOAD),
	 "route_{2x2x1;2,2;2}(8-bit {28 B})"},
	{8, 2, BYTES(ESCAPE "\x03\x60\x01" CONST "\x07" CONST "\x02"),
	 "escape_{3,96,1}(const3,2(7), const8,1(2))"},
	{8, 2, BYTES(ESCAPE "\x03\x60\x00" CONST "\x07"), "escape_{3,96,0}(const3,2(7))"},
	{8, 2, BYTES(PACK "\x02" CONST "\x07"), "pack_2(const4,4(7))"},
	{8, 4, BYTES(FLIP "\x02\x01" PACKED "\x00\x01\x01" CONST "\x07"),
	 "flip_{2x2x1}(const8,4(7))"},
};

static void test_notation(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(notations) / sizeof(notations[0]); i++) {
		const struct notation *n = &notations[i];
		struct buffer text = BUFFER_INIT;
		struct brevis_error err = {0};
		struct program program;
		int status = program_parse(span_of(n->bytes, n->size), n->width, n->count, NULL,
					   &program, &err);

		if (status)
			print_error("%s: %s\n", n->text, err.message);
		assert_int_equal(status, BREVIS_OK);
		program_print(&program, &text);
		buffer_u8(&text, 0);
		assert_string_equal((char *)text.data, n->text);
		program_release(&program);
		buffer_release(&text);
	}
}

static void assert_node(const struct brevis_node_info *node, const char *op, unsigned depth,
			unsigned arity, unsigned width, size_t count, size_t bytes,
			const char *detail)
{
	assert_string_equal(node->op, op);
	assert_int_equal(node->depth, depth);
	assert_int_equal(node->arity, arity);
	assert_int_equal(node->width, width);
	assert_int_equal(node->count, count);
	assert_int_equal(node->bytes, bytes);
	assert_string_equal(node->detail, detail);
}

static void test_description(void **state)
{
	static const uint8_t bytes[] = CONCAT_2 "\x04" ROUTE_ROWS TABLES_2 PAYLOAD FLIP
						"\x01\x02" ZEROS SCAN "\x01\x07" CONST "\x05";
	struct brevis_node_info nodes[PROGRAM_MAX_NODES];
	struct program program;

	(void)state;
	assert_int_equal(
		program_parse(span_of(bytes, sizeof(bytes) - 1), 8, 8, NULL, &program, NULL),
		BREVIS_OK);
	assert_int_equal(program.size, 5);
	program_describe(&program, nodes);
	assert_node(&nodes[0], "concat", 1, 2, 8, 8, 2, "");
	assert_node(&nodes[1], "route", 2, 0, 8, 4, 20, "2x2x1;2,1;2");
	assert_node(&nodes[2], "flip", 2, 1, 8, 4, 6, "2x1x2");
	assert_node(&nodes[3], "scan", 3, 1, 8, 4, 3, "add,7");
	assert_node(&nodes[4], "const", 4, 0, 8, 3, 2, "5");
	program_release(&program);
}

/* A detail that is too long ends in dots. */
static void test_long_description(void **state)
{
	struct brevis_node_info nodes[PROGRAM_MAX_NODES];
	unsigned widths[50], i;
	struct buffer b = BUFFER_INIT;
	struct program program;

	(void)state;
	for (i = 0; i < 50; i++)
		widths[i] = i ? 1 : 15;
	program_put_merge(&b, widths, 50);
	for (i = 0; i < 50; i++)
		program_put_const(&b, widths[i], 0);
	assert_int_equal(program_parse(span_of(b.data, b.size), 64, 8, NULL, &program, NULL),
			 BREVIS_OK);
	program_describe(&program, nodes);
	assert_int_equal(strlen(nodes[0].detail), sizeof(nodes[0].detail) - 1);
	assert_memory_equal(nodes[0].detail, "15,1,1,", 7);
	assert_string_equal(nodes[0].detail + sizeof(nodes[0].detail) - 6, ",1...");
	program_release(&program);
	buffer_release(&b);
}

/* What the nodes take sums to what the program takes. */
static void test_bytes_of_nodes(void **state)
{
	int round;

	(void)state;
	for (round = 0; round < 300; round++) {
		struct brevis_node_info info[PROGRAM_MAX_NODES];
		unsigned nodes = PROGRAM_MAX_NODES - 1, i;
		struct tree *t = random_tree(32, 1 + (size_t)random_below(300), 1, &nodes);
		struct buffer b = BUFFER_INIT;
		struct program program;
		uint64_t sum = 0;

		put_tree(t, &b);
		assert_int_equal(
			program_parse(span_of(b.data, b.size), 32, t->count, NULL, &program, NULL),
			BREVIS_OK);
		program_describe(&program, info);
		for (i = 0; i < program.size; i++)
			sum += info[i].bytes;
		assert_int_equal(sum, b.size);
		program_release(&program);
		buffer_release(&b);
		free_tree(t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_each_rule_broken), TEST(test_canonical_merges),
		TEST(test_small_counts),     TEST(test_notation),
		TEST(test_description),      TEST(test_long_description),
		TEST(test_bytes_of_nodes),
	};

	seed_init("test_program");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
