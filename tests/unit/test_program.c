/* SPDX-License-Identifier: Apache-2.0 */
/* What a program must be: each typing rule broken once, each limit, the canonical form of merges.
 */
#include "tests/unit/support.h"

#include "core/program/program.h"
#include "tests/unit/program_cases.h"

/* A copy of exactly this size, so that a sanitizer sees a read past its end. */
static uint8_t *exact_copy(const void *bytes, size_t size)
{
	uint8_t *copy = must_alloc(size);

	if (size)
		memcpy(copy, bytes, size);
	return copy;
}

static void test_each_rule_broken(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		const struct broken *b = &broken[i];
		uint8_t *bytes = exact_copy(b->bytes, b->size);
		struct program program;
		struct brevis_error err = {0};
		int status =
			program_parse(span_of(bytes, b->size), b->width, b->count, &program, &err);

		if (status != BREVIS_E_FORMAT || !strstr(err.message, b->message))
			print_error("%s: status %d, \"%s\"\n", b->what, status, err.message);
		assert_int_equal(status, BREVIS_E_FORMAT);
		assert_non_null(strstr(err.message, b->message));
		assert_int_equal(
			program_parse(span_of(bytes, b->size), b->width, b->count, &program, NULL),
			BREVIS_E_FORMAT);
		free(bytes);
	}
}

static int parse(const struct buffer *bytes, unsigned width, size_t count, struct brevis_error *err)
{
	struct program program;

	return program_parse(span_of(bytes->data, bytes->size), width, count, &program, err);
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
	struct brevis_error err = {0};

	(void)state;
	put_flat_concat(&b, 63);
	program_put_const(&b, 8, 1);
	assert_int_equal(parse(&b, 8, 63, &err), BREVIS_OK); /* 64 nodes */

	buffer_clear(&b);
	put_flat_concat(&b, 61);
	put_flat_concat(&b, 2);
	program_put_const(&b, 8, 1);
	assert_int_equal(parse(&b, 8, 62, &err), BREVIS_OK); /* 64 nodes */

	buffer_clear(&b);
	put_flat_concat(&b, 62);
	put_flat_concat(&b, 2);
	program_put_const(&b, 8, 1);
	assert_int_equal(parse(&b, 8, 63, &err), BREVIS_E_FORMAT);
	assert_non_null(strstr(err.message, "too many nodes"));

	/* All 64 bit planes and the merge itself are one too many. */
	buffer_clear(&b);
	buffer_append(&b, MERGE BITS, 2);
	while (b.size < 2 + 64 * 4)
		buffer_append(&b, ZEROS, 4);
	assert_int_equal(parse(&b, 64, 9, &err), BREVIS_E_FORMAT);
	assert_non_null(strstr(err.message, "too many nodes"));
	b.size -= 4;
	assert_int_equal(parse(&b, 63, 9, &err), BREVIS_OK);
	buffer_release(&b);
}

/* A chain of depth nodes down the last children, of concat and merge in turn. */
static void put_chain(struct buffer *out, unsigned depth, unsigned width, size_t count)
{
	size_t counts[2] = {1, count - 1};
	unsigned widths[2] = {1, width - 1};

	if (depth == 1) {
		program_put_const(out, width, 0);
	} else if (depth % 2) {
		program_put_concat(out, counts, 2);
		program_put_const(out, width, 1);
		put_chain(out, depth - 1, width, count - 1);
	} else {
		program_put_merge(out, widths, 2);
		program_put_const(out, 1, 1);
		put_chain(out, depth - 1, width - 1, count);
	}
}

static void test_depth_limit(void **state)
{
	unsigned depth;

	(void)state;
	for (depth = 1; depth <= 20; depth++) {
		struct buffer b = BUFFER_INIT;
		struct brevis_error err = {0};
		int status;

		put_chain(&b, depth, 64, 99);
		status = parse(&b, 64, 99, &err);
		if (depth <= PROGRAM_MAX_DEPTH) {
			assert_int_equal(status, BREVIS_OK);
		} else {
			assert_int_equal(status, BREVIS_E_FORMAT);
			assert_non_null(strstr(err.message, "nested too deeply"));
		}
		buffer_release(&b);
	}
}

static void test_canonical_merges(void **state)
{
	static const struct {
		unsigned count;
		unsigned widths[8];
		const char *bytes;
		size_t size;
	} cases[] = {
		{2, {8, 8}, MERGE PLANES, 2},
		{4, {8, 8, 8, 8}, MERGE PLANES, 2},
		{8, {1, 1, 1, 1, 1, 1, 1, 1}, MERGE BITS, 2},
		{2, {1, 1}, MERGE BITS, 2},
		{3, {1, 8, 7}, MERGE FIELDS "\x03\x01\x08\x07", 6},
		{2, {9, 7}, MERGE FIELDS "\x02\x09\x07", 5},
		{2, {1, 8}, MERGE FIELDS "\x02\x01\x08", 5},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buffer b = BUFFER_INIT;
		unsigned width = 0, j;

		program_put_merge(&b, cases[i].widths, cases[i].count);
		assert_int_equal(b.size, cases[i].size);
		assert_memory_equal(b.data, cases[i].bytes, b.size);
		for (j = 0; j < cases[i].count; j++) {
			width += cases[i].widths[j];
			buffer_append(&b, ZEROS, 4);
		}
		assert_int_equal(parse(&b, width, 5, NULL), BREVIS_OK);
		buffer_release(&b);
	}
}

/* ---- notation -------------------------------------------------------------------------------- */

static void test_print(void **state)
{
	static const uint8_t bytes[] = CONCAT "\x02\x03" CONST "\x34\x12" MERGE FIELDS
					      "\x02\x09\x07" LIT PACKED "\x00\x01\x02" ZEROS;
	struct program program;
	struct buffer text = BUFFER_INIT;

	(void)state;
	assert_int_equal(program_parse(span_of(bytes, sizeof(bytes) - 1), 16, 5, &program, NULL),
			 BREVIS_OK);
	program_print(&program, &text);
	buffer_u8(&text, 0);
	assert_string_equal((char *)text.data,
			    "concat(const16,3(4660), merge(lit9{packed 1 B}, lit7{packed 0 B}))");
	buffer_release(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_each_rule_broken), TEST(test_node_limit), TEST(test_depth_limit),
		TEST(test_canonical_merges), TEST(test_print),
	};

	seed_init("test_program");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
