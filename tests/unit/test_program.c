/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program must be: each rule broken once, each limit reached and exceeded; the canonical
 * forms that are written; and how programs read.
 */
#include "tests/unit/support.h"

#include <zstd.h>

#include "core/program/program.h"
#include "tests/unit/program_cases.h"
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

/* ---- limits ---------------------------------------------------------------------------------- */

static int parse(const struct buffer *bytes, unsigned width, size_t count, struct brevis_error *err)
{
	struct program program;
	int status;

	assert_false(buffer_failed(bytes));
	status =
		program_parse(span_of(bytes->data, bytes->size), width, count, NULL, &program, err);
	program_release(&program);
	return status;
}

static void assert_valid(const struct buffer *bytes, unsigned width, size_t count)
{
	struct brevis_error err = {0};
	int status = parse(bytes, width, count, &err);

	if (status)
		print_error("%s\n", err.message);
	assert_int_equal(status, BREVIS_OK);
}

static void assert_broken(const struct buffer *bytes, unsigned width, size_t count,
			  const char *message)
{
	struct brevis_error err = {0};

	assert_int_equal(parse(bytes, width, count, &err), BREVIS_E_FORMAT);
	if (!strstr(err.message, message))
		print_error("\"%s\" for \"%s\"\n", err.message, message);
	assert_non_null(strstr(err.message, message));
}

/* concat of arity children, the last of which follows. */
static void put_flat_concat(struct buffer *out, unsigned arity)
{
	size_t counts[PROGRAM_MAX_NODES] = {0};
	unsigned i;

	for (i = 0; i < arity; i++)
		counts[i] = 1;
	program_put_concat(out, counts, arity);
	for (i = 0; i + 1 < arity; i++)
		program_put_const(out, 8, i);
}

static void test_node_limit(void **state)
{
	struct buffer b = BUFFER_INIT;

	(void)state;
	put_flat_concat(&b, 63);
	program_put_const(&b, 8, 1);
	assert_valid(&b, 8, 63); /* 64 nodes */

	buffer_clear(&b);
	put_flat_concat(&b, 61);
	put_flat_concat(&b, 2);
	program_put_const(&b, 8, 1);
	assert_valid(&b, 8, 62); /* 64 nodes */

	buffer_clear(&b);
	put_flat_concat(&b, 62);
	put_flat_concat(&b, 2);
	program_put_const(&b, 8, 1);
	assert_broken(&b, 8, 63, "too many nodes");

	buffer_clear(&b);
	buffer_append(&b, BITS, 1);
	while (b.size < 1 + 63 * 3)
		buffer_append(&b, ZEROS, 3);
	assert_valid(&b, 63, 9); /* 64 nodes */
	buffer_release(&b);
}

/* Literals that are parameters are no nodes of the tree. */
static void test_parameters_are_no_nodes(void **state)
{
	static const uint8_t flags[] = {1, 0};
	static const struct grid grid = {32, 2, 1};
	struct buffer b = BUFFER_INIT;

	(void)state;
	assert_int_equal(program_put_flip(&b, &grid, flags, NULL), BREVIS_OK);
	put_flat_concat(&b, 62);
	program_put_const(&b, 8, 1);
	assert_broken(&b, 8, 63, "grid does not divide");
	assert_valid(&b, 8, 62); /* 64 nodes */
	buffer_release(&b);
}

/* A chain of depth nodes down the last children, of operators in turn. */
static void put_chain(struct buffer *out, unsigned depth, unsigned width, size_t count)
{
	size_t counts[2] = {1, count - 1};
	unsigned widths[2] = {1, width - 1};

	if (depth == 1) {
		program_put_const(out, width, 0);
		return;
	}
	switch (depth % 4) {
	case 0:
		program_put_concat(out, counts, 2);
		program_put_const(out, width, 1);
		put_chain(out, depth - 1, width, count - 1);
		break;
	case 1:
		program_put_merge(out, widths, 2);
		program_put_const(out, 1, 1);
		put_chain(out, depth - 1, width - 1, count);
		break;
	case 2:
		program_put_scan(out, SCAN_ADD, 1);
		put_chain(out, depth - 1, width, count - 1);
		break;
	default:
		program_put_map(out, MAP_GRAY, 0);
		put_chain(out, depth - 1, width, count);
	}
}

static void test_depth_limit(void **state)
{
	unsigned depth;

	(void)state;
	assert_int_equal(PROGRAM_MAX_DEPTH, 6);
	for (depth = 1; depth <= 20; depth++) {
		struct buffer b = BUFFER_INIT;

		put_chain(&b, depth, 64, 99);
		if (depth <= PROGRAM_MAX_DEPTH)
			assert_valid(&b, 64, 99);
		else
			assert_broken(&b, 64, 99, "nested too deeply");
		buffer_release(&b);
	}
}

/* The most words of side information that there may be: in one table, and in two. */
static void test_side_limit(void **state)
{
	static const char one[] = FLIP "\x80\x80\x80\x02\x01" ZEROS ZEROS;
	static const char two[] =
		FLIP "\x80\x80\x80\x01\x01" ZEROS FLIP "\x80\x80\x80\x01\x01" ZEROS ZEROS;
	struct buffer b = BUFFER_INIT;

	(void)state;
	buffer_append(&b, one, sizeof(one) - 1);
	assert_valid(&b, 8, 4194304);
	assert_valid(&b, 8, 2 * 4194304);
	buffer_clear(&b);
	buffer_append(&b, two, sizeof(two) - 1);
	assert_valid(&b, 8, 2097152);
	buffer_release(&b);
}

/* A lit node in Zstandard's coding, of zero bytes. */
static void put_zstd(struct buffer *out, size_t size)
{
	size_t bound = ZSTD_compressBound(size), n;
	uint8_t *zeros = calloc(size, 1), *frame = must_alloc(bound);

	assert_non_null(zeros);
	n = ZSTD_compress(frame, bound, zeros, size, 1);
	assert_false(ZSTD_isError(n));
	buffer_u8(out, LITERAL_NODE | LITERAL_ZSTD << 4);
	buffer_varint(out, n);
	buffer_append(out, frame, n);
	free(zeros);
	free(frame);
}

/* The bytes that libraries yield, in children and in parameters. */
static void test_library_limit(void **state)
{
	const size_t half = 16777216;
	size_t counts[2] = {half, half};
	struct buffer b = BUFFER_INIT;

	(void)state;
	program_put_concat(&b, counts, 2);
	put_zstd(&b, half);
	put_zstd(&b, half);
	assert_valid(&b, 8, 2 * half);

	buffer_clear(&b);
	program_put_concat(&b, counts, 2);
	put_zstd(&b, half);
	put_zstd(&b, half + 1);
	assert_broken(&b, 8, 2 * half + 1, "Zstandard and LZMA2 literals yield too much");

	buffer_clear(&b);
	buffer_append(&b, FLIP "\x01\x01", 3);
	put_zstd(&b, 1);
	program_put_concat(&b, counts, 2);
	put_zstd(&b, half);
	put_zstd(&b, half);
	assert_broken(&b, 8, 2 * half, "Zstandard and LZMA2 literals yield too much");
	buffer_release(&b);
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
	{8, 12, BYTES(ROUTE "\x02\x03\x02\x01\x02" PACKED "\x00\x01\x01" CONST "\x01" CONST "\x02"),
	 "route_{2x2x3;2,1;2}(const8,6(1), const8,6(2))"},
	{8, 4,
	 BYTES(ROUTE "\x02\x01\x02\x02\x02" PACKED "\x00\x01\x01" PACKED "\x00\x01\x01" PACKED
		     "\x00\x01\x07" CONST "\x01" CONST "\x02"),
	 "route_{2x2x1;2,2;2}(const8,1(1), const8,3(2))"},
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
	static const uint8_t bytes[] =
		CONCAT_2 "\x04" ROUTE "\x02\x01\x02\x01\x02" PACKED "\x00\x01\x01" CONST "\x01" RAW
			 "AB" FLIP "\x01\x02" ZEROS SCAN "\x01\x07" CONST "\x05";
	struct brevis_node_info nodes[PROGRAM_MAX_NODES];
	struct program program;

	(void)state;
	assert_int_equal(
		program_parse(span_of(bytes, sizeof(bytes) - 1), 8, 8, NULL, &program, NULL),
		BREVIS_OK);
	assert_int_equal(program.size, 7);
	program_describe(&program, nodes);
	assert_node(&nodes[0], "concat", 1, 2, 8, 8, 2, "");
	assert_node(&nodes[1], "route", 2, 2, 8, 4, 10, "2x2x1;2,1;2");
	assert_node(&nodes[2], "const", 3, 0, 8, 2, 2, "1");
	assert_node(&nodes[3], "lit", 3, 0, 8, 2, 3, "raw");
	assert_node(&nodes[4], "flip", 2, 1, 8, 4, 6, "2x1x2");
	assert_node(&nodes[5], "scan", 3, 1, 8, 4, 3, "add,7");
	assert_node(&nodes[6], "const", 4, 0, 8, 3, 2, "5");
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
		TEST(test_each_rule_broken),
		TEST(test_node_limit),
		TEST(test_parameters_are_no_nodes),
		TEST(test_depth_limit),
		TEST(test_side_limit),
		TEST(test_library_limit),
		TEST(test_canonical_merges),
		TEST(test_small_counts),
		TEST(test_notation),
		TEST(test_description),
		TEST(test_long_description),
		TEST(test_bytes_of_nodes),
	};

	seed_init("test_program");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
