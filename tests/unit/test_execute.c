/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What programs yield, compared with a naive evaluation (program_tree.h) on random trees, cut into
 * blocks everywhere; and what damaged programs do, which is no harm.
 */
#include "tests/unit/support.h"

#include "tests/unit/decoding.h"
#include "tests/unit/random_tree.h"

static const unsigned root_widths[] = {8, 16, 32, 64};

/* How often each operator and each coding was executed: a test of all must have met all. */
static unsigned executed[16];
static unsigned decoded[16];

static void count_nodes(const struct program *program)
{
	unsigned i;

	for (i = 0; i < program->size; i++) {
		executed[program->nodes[i].op]++;
		if (program->nodes[i].op == OP_LIT)
			decoded[program->nodes[i].literal.coding]++;
	}
}

/* Parses and executes the tree's bytes and compares with the naive evaluation. */
static void check_tree(const struct tree *t)
{
	struct buffer bytes = BUFFER_INIT;
	struct brevis_error err = {0};
	struct program program;
	uint64_t *expected = must_alloc(t->count * sizeof(*expected));
	uint8_t *got = must_alloc(t->count * (t->width / 8));
	uint8_t *copy;
	size_t i;
	int status;

	put_tree(t, &bytes);
	assert_false(buffer_failed(&bytes));
	copy = exact_copy(bytes.data, bytes.size);
	status = program_parse(span_of(copy, bytes.size), t->width, t->count, NULL, &program, &err);
	if (!status)
		status = program_execute(&program, got, &err);
	if (status)
		print_error("%s\n", err.message);
	assert_int_equal(status, BREVIS_OK);
	count_nodes(&program);
	program_release(&program);
	evaluate(t, expected);
	for (i = 0; i < t->count; i++) {
		uint64_t v = yielded_word(got, t->width, i);

		if (v != expected[i])
			print_error("word %zu of %zu\n", i, t->count);
		assert_int_equal(v, expected[i]);
	}
	free(copy);
	free(got);
	free(expected);
	buffer_release(&bytes);
}

/* Puts a literal of `lead` words before the tree: its blocks then begin in the middle of ours. */
static struct tree *displaced(struct tree *t, size_t lead)
{
	struct tree *both = new_tree(OP_CONCAT, t->width, lead + t->count);

	both->arity = 2;
	both->children[0] = random_lit(t->width, lead);
	both->children[1] = t;
	return both;
}

/* Makes a word of a root's width of one of any width, with zeros above. */
static struct tree *widened(struct tree *t)
{
	unsigned width = t->width <= 8 ? 8 : t->width <= 16 ? 16 : t->width <= 32 ? 32 : 64;
	struct tree *merge;

	if (t->width == width)
		return t;
	merge = new_tree(OP_MERGE, width, t->count);
	merge->arity = 2;
	merge->children[0] = new_tree(OP_CONST, width - t->width, t->count);
	merge->children[1] = t;
	return merge;
}

/* ---- what programs yield --------------------------------------------------------------------- */

/* Counts that have many divisors, and any. */
static size_t random_count(size_t most)
{
	size_t count = 1 + (size_t)random_below(most);

	return random_below(3) && count > 96 ? count - count % 96 : count;
}

static void test_execution(void **state)
{
	unsigned i;
	int round;

	(void)state;
	for (round = 0; round < 1500; round++) {
		unsigned width = root_widths[round % 4], nodes = PROGRAM_MAX_NODES - 3;
		size_t count = random_count(round % 10 ? 300 : 40000);
		struct tree *t = random_tree(width, count, 2, &nodes);

		t = displaced(t, 1 + (size_t)random_below(round % 3 ? 40 : 9000));
		check_tree(t);
		free_tree(t);
	}
	for (i = OP_LIT; i <= OP_FLIP; i++) {
		if (executed[i] < 50)
			print_error("operator %u executed %u times\n", i, executed[i]);
		assert_true(executed[i] >= 50);
	}
	for (i = LITERAL_RAW; i <= LITERAL_RANS; i++)
		assert_true(decoded[i] > 2);
}

/* Each operator on words of all widths. */
static void test_all_widths(void **state)
{
	unsigned width, op, tries;

	(void)state;
	for (width = 1; width <= 64; width++) {
		for (op = OP_LIT; op <= OP_FLIP; op++) {
			struct tree *t = NULL;

			if (op <= OP_CONST)
				t = random_lit(width, 77);
			for (tries = 0; !t && tries < 9; tries++) {
				/* All of its children are leaves: no nodes are left for others. */
				unsigned nodes = 23;

				t = random_operator((enum operation)op, width, 96 * 90, 3, &nodes);
			}
			if (!t)
				continue; /* nothing to pack in words of a prime width, say */
			t = displaced(widened(t), 1 + (size_t)random_below(50));
			check_tree(t);
			free_tree(t);
		}
	}
}

/* Lengths around the size of a block, and concat boundaries on and around its ends. */
static void test_block_boundaries(void **state)
{
	static const size_t lengths[] = {1,    2,     8191,  8192,  8193,
					 8223, 16383, 16384, 16385, 24576 + 5};
	static const size_t cuts[] = {1, 4, 31, 33, 8191, 8192, 8193, 16384};
	size_t i, j;
	unsigned w;

	(void)state;
	for (w = 0; w < 4; w++) {
		for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
			unsigned nodes = PROGRAM_MAX_NODES - 1;
			struct tree *t = random_tree(root_widths[w], lengths[i], 1, &nodes);

			check_tree(t);
			free_tree(t);
			for (j = 0; j < sizeof(cuts) / sizeof(cuts[0]); j++) {
				if (cuts[j] >= lengths[i])
					continue;
				nodes = PROGRAM_MAX_NODES - 3;
				t = random_tree(root_widths[w], lengths[i] - cuts[j], 2, &nodes);
				t = displaced(t, cuts[j]);
				check_tree(t);
				free_tree(t);
			}
		}
	}
}

/* A leaf of one of the codings that have lanes, or any other. */
static struct tree *random_leaf(unsigned width, size_t count)
{
	struct tree *t = random_below(3) ? NULL : random_route(width, count);

	return t ? t : random_lit(width, count);
}

/*
 * Leaves of every coding at every offset from their lanes, of which there are more if there are
 * more words: blocks of a concat's children.
 */
static void test_shifted_codings(void **state)
{
	static const size_t leads[] = {1, 33, 8191, 4097};
	int i;

	(void)state;
	for (i = 0; i < 4 * 40; i++) {
		size_t body = (i % 5 ? 20000 : 70000) + (size_t)random_below(9);
		struct tree *merge = new_tree(OP_MERGE, 16, body);

		merge->arity = 2;
		merge->children[0] = random_leaf(1 + (unsigned)random_below(15), body);
		merge->children[1] = random_leaf(16 - merge->children[0]->width, body);
		merge = displaced(merge, leads[i % 4]);
		check_tree(merge);
		free_tree(merge);
	}
}

/* Repetitions that are kept, and such that are decoded anew; and one within the other. */
static void test_repeats(void **state)
{
	static const size_t lengths[] = {1,    2,    3,    31,   2048,  2731,
					 4096, 8191, 8192, 8193, 10000, 16384};
	size_t i, inner;
	int round;

	(void)state;
	for (round = 0; round < 8; round++) {
		for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
			unsigned nodes = PROGRAM_MAX_NODES - 6;
			size_t words = lengths[i],
			       times = 2 + (size_t)random_below(20000 / words + 3);
			struct tree *t = new_tree(OP_REPEAT, 16, words * times);
			struct tree *child;

			inner = words % 2 ? 1 : 2;
			child = random_tree(16, words / inner, 4, &nodes);
			if (inner == 2) {
				struct tree *twice = new_tree(OP_REPEAT, 16, words);

				twice->times = 2;
				twice->arity = 1;
				twice->children[0] = child;
				child = twice;
			}
			t->times = times;
			t->arity = 1;
			t->children[0] = child;
			t = displaced(t, 1 + (size_t)random_below(9000));
			check_tree(t);
			free_tree(t);
		}
	}
}

/* An operator of several blocks below a repeat that begins it again. */
static void test_restarts(void **state)
{
	unsigned op;
	int round;

	(void)state;
	for (op = OP_CONCAT; op <= OP_FLIP; op++) {
		for (round = 0; round < 12; round++) {
			unsigned nodes = PROGRAM_MAX_NODES - 4;
			unsigned width = op == OP_ROUTE ? 8 : 32;
			struct tree *child, *t = new_tree(OP_REPEAT, width, 3 * 96 * 111);

			child = random_operator((enum operation)op, width, 96 * 111, 3, &nodes);
			if (!child)
				child = random_lit(width, 96 * 111);
			t->times = 3;
			t->arity = 1;
			t->children[0] = child;
			t = displaced(t, 1 + (size_t)random_below(9000));
			check_tree(t);
			free_tree(t);
		}
	}
}

/* ---- hostile bytes --------------------------------------------------------------------------- */

/* escape_{1,0,escaped}(codes, words) of 8 bits and n words, two thirds of whose codes are 1. */
static int execute_escapes(size_t n, size_t escaped, size_t times, struct brevis_error *err)
{
	uint8_t *out = must_alloc(n * times), *codes = must_alloc(n), *words = must_alloc(escaped);
	struct buffer bytes = BUFFER_INIT;
	struct program program;
	size_t i;
	int status;

	for (i = 0; i < n; i++)
		codes[i] = i % 3 != 0;
	if (times > 1)
		program_put_repeat(&bytes, times);
	program_put_escape(&bytes, 1, 0, escaped);
	assert_int_equal(literal_encode(&bytes, codes, 1, n, NULL, NULL), BREVIS_OK);
	random_fill(words, escaped);
	if (escaped)
		assert_int_equal(literal_encode(&bytes, words, 8, escaped, NULL, NULL), BREVIS_OK);
	assert_int_equal(
		program_parse(span_of(bytes.data, bytes.size), 8, n * times, NULL, &program, NULL),
		BREVIS_OK);
	status = program_execute(&program, out, err);
	program_release(&program);
	buffer_release(&bytes);
	free(out);
	free(codes);
	free(words);
	return status;
}

/* How many codes stand for escaped words is known only when they are decoded. */
static void test_escape_counts(void **state)
{
	static const size_t sizes[] = {3, 300, 8192, 30000};
	size_t i, times;

	(void)state;
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t n = sizes[i], escaped = n - (n + 2) / 3;

		for (times = 1; times <= 3; times++) {
			struct brevis_error err = {0};

			assert_int_equal(execute_escapes(n, escaped, times, &err), BREVIS_OK);
			assert_int_equal(execute_escapes(n, 0, times, &err), BREVIS_OK);
			assert_int_equal(execute_escapes(n, escaped - 1, times, &err),
					 BREVIS_E_FORMAT);
			assert_non_null(strstr(err.message, "payload with more codes of escaped"));
			assert_int_equal(execute_escapes(n, escaped + 1, times, &err),
					 BREVIS_E_FORMAT);
			assert_non_null(strstr(err.message, "payload with fewer codes of escaped"));
		}
	}
}

/* No beginning of a program is a program. */
static void test_every_truncation(void **state)
{
	int round;

	(void)state;
	for (round = 0; round < 60; round++) {
		unsigned nodes = PROGRAM_MAX_NODES - 1;
		size_t count = 1 + (size_t)random_below(40);
		struct tree *t = random_tree(root_widths[round % 4], count, 1, &nodes);
		struct buffer bytes = BUFFER_INIT;
		size_t size;

		put_tree(t, &bytes);
		for (size = 0; size < bytes.size; size++) {
			uint8_t *copy = exact_copy(bytes.data, size);
			struct program program;

			assert_int_equal(program_parse(span_of(copy, size), t->width, count, NULL,
						       &program, NULL),
					 BREVIS_E_FORMAT);
			program_release(&program);
			free(copy);
		}
		buffer_release(&bytes);
		free_tree(t);
	}
}

/* Damaged programs are refused, or yield words; what they do to memory the sanitizers see. */
static void test_damaged_programs(void **state)
{
	unsigned survived = 0, failed = 0;
	int round;

	(void)state;
	for (round = 0; round < 8000; round++) {
		unsigned nodes = PROGRAM_MAX_NODES - 1;
		size_t count = 1 + (size_t)random_below(round % 3 ? 60 : 2000);
		struct tree *t = random_tree(root_widths[round % 4], count, 1, &nodes);
		struct buffer bytes = BUFFER_INIT;
		struct brevis_error err = {0};
		struct program program;
		uint8_t *copy, *out = must_alloc(count * 8);
		unsigned damage = 1 + (unsigned)random_below(3);
		int status;

		put_tree(t, &bytes);
		copy = exact_copy(bytes.data, bytes.size);
		while (damage--)
			copy[random_below(random_below(2)   ? bytes.size
					  : bytes.size < 24 ? bytes.size
							    : 24)] ^=
				(uint8_t)(1 + random_below(255));
		status = program_parse(span_of(copy, bytes.size), t->width, count, NULL, &program,
				       &err);
		if (!status) {
			struct buffer text = BUFFER_INIT;

			program_print(&program, &text);
			assert_false(buffer_failed(&text));
			buffer_release(&text);
			status = program_execute(&program, out, &err);
			survived += !status;
			failed += !!status;
		}
		if (status && status != BREVIS_E_FORMAT)
			print_error("%d %s\n", status, err.message);
		assert_true(status == BREVIS_OK || status == BREVIS_E_FORMAT);
		program_release(&program);
		free(copy);
		free(out);
		buffer_release(&bytes);
		free_tree(t);
	}
	assert_true(survived > 1000 && failed > 30);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_execution),        TEST(test_all_widths),
		TEST(test_block_boundaries), TEST(test_shifted_codings),
		TEST(test_repeats),          TEST(test_restarts),
		TEST(test_escape_counts),    TEST(test_every_truncation),
		TEST(test_damaged_programs),
	};

	seed_init("test_execute");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
