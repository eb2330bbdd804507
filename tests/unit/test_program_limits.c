/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of programs, each of them reached and exceeded. */
#include <zstd.h>

#include "tests/unit/program_cases.h"
#include "tests/unit/program_checks.h"

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

/* Tables of 1-bit words, four bits each: the word 1 has one slot, 0 has all others. */
#define TABLES_8  "\x88\x88\x88\x88"
#define TABLES_32 TABLES_8 TABLES_8 TABLES_8 TABLES_8

/* Scales of 8 and of 14 bits, one lane. */
#define SCALE_8  "\x00"
#define SCALE_14 "\x06"

/* In one lane, a tail of words 0: of the most, and of so many as there are flags. */
#define WORDS_0 "\x03\x0f\x00\x00"
#define FLAGS_0 "\x03\x04\x00\x00"

/* A route of 32 columns of a class each: 2^19 slots. */
static void put_large_route(struct buffer *out)
{
	static const char behind[] = SCALE_14 TABLES_32 WORDS_0;
	uint8_t of_column[32];
	const struct grid grid = {256, 32, 1};
	const struct route_classes classes = {1, 32, 32, NULL, of_column, NULL};
	unsigned i;

	for (i = 0; i < 32; i++)
		of_column[i] = (uint8_t)i;
	assert_int_equal(program_put_classes(out, &grid, &classes, NULL), BREVIS_OK);
	buffer_append(out, behind, sizeof(behind) - 1);
}

/* The slots of the tables of routes, literals and parameters. */
static void test_slot_limit(void **state)
{
	static const char small[] = RANS SCALE_8 "\x08" WORDS_0;
	static const char large[] = RANS SCALE_14 "\x08" WORDS_0;
	static const char flags[] = FLIP "\x04\x01" RANS SCALE_8 "\x08" FLAGS_0;
	struct buffer b = BUFFER_INIT;
	const size_t count = 8192;
	unsigned i;

	(void)state;
	buffer_append(&b, BITS, 1);
	put_large_route(&b);
	put_large_route(&b);
	assert_valid(&b, 2, count);

	buffer_clear(&b);
	buffer_append(&b, BITS, 1);
	put_large_route(&b);
	put_large_route(&b);
	buffer_append(&b, small, sizeof(small) - 1);
	assert_broken(&b, 3, count, "tables have too many slots");

	/* Parameters count too. */
	buffer_clear(&b);
	buffer_append(&b, flags, sizeof(flags) - 1);
	buffer_append(&b, BITS, 1);
	put_large_route(&b);
	buffer_append(&b, ZEROS, 3);
	assert_valid(&b, 2, count);
	b.size -= 3;
	put_large_route(&b);
	assert_broken(&b, 2, count, "tables have too many slots");

	/* A route and 32 literals are as much. */
	buffer_clear(&b);
	buffer_append(&b, BITS, 1);
	put_large_route(&b);
	for (i = 0; i < 32; i++)
		buffer_append(&b, large, sizeof(large) - 1);
	assert_valid(&b, 33, count);
	buffer_append(&b, small, sizeof(small) - 1);
	assert_broken(&b, 34, count, "tables have too many slots");
	buffer_release(&b);
}

struct word_case {
	const char *what;
	const uint8_t *bytes;
	size_t size;
	size_t most; /* words of 8 bits of the root */
	size_t more; /* the next number that is possible */
};

/* The words of all nodes, of at most 536,870,912 of them. */
static const struct word_case word_cases[] = {
	{"one node", BYTES(CONST "\x07"), 536870912, 536870913},
	{"two", BYTES(MAP "\x02" CONST "\x07"), 268435456, 268435457},
	{"a scan", BYTES(SCAN "\x00\x00" CONST "\x07"), 268435456, 268435457},
	{"fields", BYTES(FIELDS "\x02\x03" CONST "\x07" ZEROS), 178956970, 178956971},
	{"parts", BYTES(CONCAT_2 "\x05" MAP "\x02" ZEROS ZEROS), 268435453, 268435454},
	{"codes", BYTES(ESCAPE "\x08\x00\x00" ZEROS), 268435456, 268435457},
	{"escaped words", BYTES(ESCAPE "\x08\x00\x07" ZEROS ZEROS), 268435452, 268435453},
	{"bits", BYTES(PACK "\x08" ZEROS), 59652323, 59652324},
	/* Half of the words, but all of them twice. */
	{"a repeat", BYTES(REPEAT_2 ZEROS), 268435456, 268435458},
	{"a repeat of two", BYTES(REPEAT_2 MAP "\x02" ZEROS), 178956970, 178956972},
	{"a repeat of a repeat", BYTES(REPEAT_2 REPEAT_2 ZEROS), 178956968, 178956972},
	{"a repeat below a map", BYTES(MAP "\x02" REPEAT_2 ZEROS), 178956970, 178956972},
	{"a repeat of bits", BYTES(REPEAT_2 PACK "\x08" ZEROS), 53687090, 53687092},
	/* What follows the repeat is read once. */
	{"a repeat as a part", BYTES(CONCAT_2 "\x02" REPEAT_2 ZEROS ZEROS), 268435455, 268435456},
};

static void test_word_limit(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(word_cases) / sizeof(word_cases[0]); i++) {
		const struct word_case *c = &word_cases[i];
		struct buffer b = BUFFER_INIT;

		buffer_append(&b, c->bytes, c->size);
		if (parse(&b, 8, c->most, NULL) || !parse(&b, 8, c->more, NULL))
			print_error("%s\n", c->what);
		assert_valid(&b, 8, c->most);
		assert_broken(&b, 8, c->more, "nodes yield too many words");
		assert_broken(&b, 8, SIZE_MAX / 12 * 12, "nodes yield too many words");
		buffer_release(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_node_limit), TEST(test_parameters_are_no_nodes), TEST(test_depth_limit),
		TEST(test_side_limit), TEST(test_library_limit),           TEST(test_slot_limit),
		TEST(test_word_limit),
	};

	seed_init("test_program_limits");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
