/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What programs yield, compared with a naive evaluation of the paper's Equation 6 on trees that
 * share no code with the library; and what damaged programs do, which is no harm.
 */
#include "tests/unit/support.h"

#include "core/base/bits.h"
#include "core/entropy/literal_encode.h"
#include "core/program/execute.h"
#include "core/program/fields.h"
#include "core/program/program.h"

/* A copy of exactly this size, so that a sanitizer sees a read past its end. */
static uint8_t *exact_copy(const void *bytes, size_t size)
{
	uint8_t *copy = must_alloc(size);

	if (size)
		memcpy(copy, bytes, size);
	return copy;
}

/* ---- what programs yield --------------------------------------------------------------------- */

/* A program as a tree, with its words where it is a literal: nothing is shared with the library. */
struct tree {
	enum { TREE_LIT, TREE_CONST, TREE_CONCAT, TREE_MERGE } op;
	unsigned width;
	size_t count;
	uint64_t *words; /* lit */
	uint64_t value;  /* const */
	unsigned arity;
	struct tree *children[8];
};

/* Exec of Equation 6, word by word. */
static void evaluate(const struct tree *t, uint64_t *out)
{
	uint64_t *field;
	size_t i, at = 0;
	unsigned j;

	switch (t->op) {
	case TREE_LIT:
		for (i = 0; i < t->count; i++)
			out[i] = t->words[i];
		break;
	case TREE_CONST:
		for (i = 0; i < t->count; i++)
			out[i] = t->value;
		break;
	case TREE_CONCAT:
		for (j = 0; j < t->arity; j++) {
			evaluate(t->children[j], out + at);
			at += t->children[j]->count;
		}
		break;
	case TREE_MERGE:
		field = must_alloc(t->count * sizeof(*field));
		for (i = 0; i < t->count; i++)
			out[i] = 0;
		for (j = 0; j < t->arity; j++) {
			evaluate(t->children[j], field);
			for (i = 0; i < t->count; i++)
				out[i] = out[i] * 2 << (t->children[j]->width - 1) | field[i];
		}
		free(field);
		break;
	}
}

/* Words as arrays of the library lay them out. */
static void *pack_words(const uint64_t *words, unsigned width, size_t count)
{
	unsigned size = width <= 8 ? 1 : width <= 16 ? 2 : width <= 32 ? 4 : 8;
	uint8_t *out = must_alloc(count * size);
	size_t i;

	for (i = 0; i < count; i++) {
		uint8_t w8 = (uint8_t)words[i];
		uint16_t w16 = (uint16_t)words[i];
		uint32_t w32 = (uint32_t)words[i];
		const void *from = size == 1   ? (const void *)&w8
				   : size == 2 ? (const void *)&w16
				   : size == 4 ? (const void *)&w32
					       : (const void *)&words[i];

		memcpy(out + i * size, from, size);
	}
	return out;
}

static void put_tree(const struct tree *t, struct buffer *out)
{
	size_t counts[8] = {0};
	unsigned widths[8] = {0}, i;
	void *words;

	for (i = 0; i < t->arity; i++) {
		counts[i] = t->children[i]->count;
		widths[i] = t->children[i]->width;
	}
	switch (t->op) {
	case TREE_LIT:
		words = pack_words(t->words, t->width, t->count);
		program_put_lit(out);
		assert_int_equal(literal_encode(out, words, t->width, t->count, NULL), BREVIS_OK);
		free(words);
		break;
	case TREE_CONST:
		program_put_const(out, t->width, t->value);
		break;
	case TREE_CONCAT:
		program_put_concat(out, counts, t->arity);
		break;
	case TREE_MERGE:
		program_put_merge(out, widths, t->arity);
		break;
	}
	for (i = 0; i < t->arity; i++)
		put_tree(t->children[i], out);
}

static void free_tree(struct tree *t)
{
	unsigned i;

	for (i = 0; i < t->arity; i++)
		free_tree(t->children[i]);
	free(t->words);
	free(t);
}

static struct tree *new_tree(unsigned width, size_t count)
{
	struct tree *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	t->width = width;
	t->count = count;
	return t;
}

static uint64_t random_word(unsigned width)
{
	return random_next() >> (64 - width);
}

/* Random words that invite each of the codings: flat, skewed, narrow, few. */
static struct tree *random_lit(unsigned width, size_t count)
{
	struct tree *t = new_tree(width, count);
	uint64_t base = random_word(width);
	unsigned kind = (unsigned)random_below(4);
	size_t i;

	t->op = TREE_LIT;
	t->words = must_alloc(count * sizeof(*t->words));
	for (i = 0; i < count; i++) {
		uint64_t v = random_word(width);

		if (kind == 1) /* geometric: Huffman or rANS */
			v = base ^ ((uint64_t)__builtin_ctzll(random_next() | UINT64_C(1) << 40) &
				    low_bits(width));
		else if (kind == 2) /* a narrow range above a base: packed */
			v = base - base % 16 + (v & 7 & low_bits(width));
		else if (kind == 3) /* two values */
			v = v & 1 ? base : base ^ 1;
		t->words[i] = v & low_bits(width);
	}
	return t;
}

static struct tree *random_tree(unsigned width, size_t count, unsigned depth, unsigned *nodes);

static void add_concat_children(struct tree *t, unsigned depth, unsigned *nodes)
{
	size_t left = t->count;
	unsigned i;

	for (i = 0; i < t->arity; i++) {
		size_t n = left - (t->arity - 1 - i);

		if (i + 1 < t->arity)
			n = 1 + (size_t)random_below(n);
		else
			n = left;
		t->children[i] = random_tree(t->width, n, depth + 1, nodes);
		left -= n;
	}
}

static void add_merge_children(struct tree *t, unsigned depth, unsigned *nodes)
{
	unsigned left = t->width, i;

	for (i = 0; i < t->arity; i++) {
		unsigned w = left - (t->arity - 1 - i);

		if (i + 1 < t->arity)
			w = 1 + (unsigned)random_below(w);
		else
			w = left;
		t->children[i] = random_tree(w, t->count, depth + 1, nodes);
		left -= w;
	}
}

/* A random tree within the limits; *nodes is what may still be used. */
static struct tree *random_tree(unsigned width, size_t count, unsigned depth, unsigned *nodes)
{
	unsigned op = (unsigned)random_below(depth == 1 ? 6 : 4);
	unsigned arity = 2 + (unsigned)random_below(3);
	struct tree *t;

	if (depth == PROGRAM_MAX_DEPTH || *nodes < arity || (op < 4 && depth > 1 && op < 2)) {
		if (op % 2)
			return random_lit(width, count);
		t = new_tree(width, count);
		t->op = TREE_CONST;
		t->value = random_word(width);
		return t;
	}
	if (op % 2 && count >= arity) {
		t = new_tree(width, count);
		t->op = TREE_CONCAT;
		t->arity = arity;
		*nodes -= arity;
		add_concat_children(t, depth, nodes);
		return t;
	}
	if (width < arity)
		return random_lit(width, count);
	t = new_tree(width, count);
	t->op = TREE_MERGE;
	t->arity = arity;
	*nodes -= arity;
	add_merge_children(t, depth, nodes);
	return t;
}

/* How often each operator and each coding was executed: a test of all must have met all. */
static unsigned executed[8];
static unsigned decoded[4];

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
	unsigned size = t->width / 8;
	struct buffer bytes = BUFFER_INIT;
	struct brevis_error err = {0};
	struct program program;
	uint64_t *expected = must_alloc(t->count * sizeof(*expected));
	uint8_t *got = must_alloc(t->count * size);
	uint8_t *copy;
	size_t i;
	int status;

	put_tree(t, &bytes);
	assert_false(buffer_failed(&bytes));
	copy = exact_copy(bytes.data, bytes.size);
	status = program_parse(span_of(copy, bytes.size), t->width, t->count, &program, &err);
	if (!status)
		status = program_execute(&program, got, &err);
	if (status)
		print_error("%s\n", err.message);
	assert_int_equal(status, BREVIS_OK);
	count_nodes(&program);
	evaluate(t, expected);
	for (i = 0; i < t->count; i++) {
		uint64_t v = 0;

		memcpy(&v, got + i * size, size); /* little-endian host and wire */
		if (v != expected[i])
			print_error("word %zu of %zu\n", i, t->count);
		assert_int_equal(v, expected[i]);
	}
	free(copy);
	free(got);
	free(expected);
	buffer_release(&bytes);
}

static const unsigned root_widths[] = {8, 16, 32, 64};

static void test_execution(void **state)
{
	unsigned i;
	int round;

	(void)state;
	for (round = 0; round < 400; round++) {
		unsigned width = root_widths[round % 4];
		size_t count = 1 + (size_t)random_below(round % 10 ? 300 : 30000);
		unsigned nodes = PROGRAM_MAX_NODES - 1;
		struct tree *t = random_tree(width, count, 1, &nodes);

		check_tree(t);
		free_tree(t);
	}
	assert_true(executed[OP_LIT] && executed[OP_CONST] && executed[OP_CONCAT] &&
		    executed[OP_MERGE]);
	for (i = 0; i < 4; i++)
		assert_true(decoded[i] > 2);
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
				t = new_tree(root_widths[w], lengths[i]);
				t->op = TREE_CONCAT;
				t->arity = 2;
				t->children[0] = random_tree(t->width, cuts[j], 2, &nodes);
				t->children[1] =
					random_tree(t->width, t->count - cuts[j], 2, &nodes);
				check_tree(t);
				free_tree(t);
			}
		}
	}
}

/* A literal of each coding below a merge, read in blocks that a concat has shifted. */
static void test_shifted_codings(void **state)
{
	static const size_t heads[] = {1, 3, 17, 8191};
	size_t i;

	(void)state;
	for (i = 0; i < 4 * 40; i++) {
		size_t head = heads[i % 4], body = 20000 + (size_t)random_below(9);
		struct tree *t = new_tree(16, head + body);
		struct tree *merge = new_tree(16, body);

		t->op = TREE_CONCAT;
		t->arity = 2;
		t->children[0] = random_lit(16, head);
		t->children[1] = merge;
		merge->op = TREE_MERGE;
		merge->arity = 2;
		merge->children[0] = random_lit(1 + (unsigned)random_below(15), body);
		merge->children[1] = random_lit(16 - merge->children[0]->width, body);
		check_tree(t);
		free_tree(t);
	}
}

/* ---- hostile bytes --------------------------------------------------------------------------- */

/* No beginning of a program is a program. */
static void test_every_truncation(void **state)
{
	int round;

	(void)state;
	for (round = 0; round < 40; round++) {
		unsigned nodes = PROGRAM_MAX_NODES - 1;
		size_t count = 1 + (size_t)random_below(40);
		struct tree *t = random_tree(root_widths[round % 4], count, 1, &nodes);
		struct buffer bytes = BUFFER_INIT;
		size_t size;

		put_tree(t, &bytes);
		for (size = 0; size < bytes.size; size++) {
			uint8_t *copy = exact_copy(bytes.data, size);
			struct program program;

			assert_int_equal(
				program_parse(span_of(copy, size), t->width, count, &program, NULL),
				BREVIS_E_FORMAT);
			free(copy);
		}
		buffer_release(&bytes);
		free_tree(t);
	}
}

/* Damaged programs are refused, or yield words; what they do to memory the sanitizers see. */
static void test_damaged_programs(void **state)
{
	int round;

	(void)state;
	for (round = 0; round < 3000; round++) {
		unsigned nodes = PROGRAM_MAX_NODES - 1;
		size_t count = 1 + (size_t)random_below(round % 50 ? 60 : 9000);
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
			copy[random_below(random_below(2) ? bytes.size : bytes.size % 24 + 1) %
			     bytes.size] ^= (uint8_t)(1 + random_below(255));
		status = program_parse(span_of(copy, bytes.size), t->width, count, &program, &err);
		if (!status) {
			struct buffer text = BUFFER_INIT;

			program_print(&program, &text);
			assert_false(buffer_failed(&text));
			buffer_release(&text);
			status = program_execute(&program, out, &err);
		}
		assert_true(status == BREVIS_OK || status == BREVIS_E_FORMAT);
		free(copy);
		free(out);
		buffer_release(&bytes);
		free_tree(t);
	}
}

/* ---- fields ---------------------------------------------------------------------------------- */

/* All widths of words, all widths of fields, the extreme shifts and one between. */
static void test_fields(void **state)
{
	enum { COUNT = 37 };
	unsigned width, field, k;

	(void)state;
	for (width = 1; width <= 64; width++) {
		for (field = 1; field <= width; field++) {
			unsigned shifts[3] = {0, width - field,
					      (unsigned)random_below(width - field + 1)};

			for (k = 0; k < 3; k++) {
				uint64_t words[COUNT], parts[COUNT], back[COUNT] = {0};
				unsigned shift = shifts[k], i;
				void *packed, *cut = must_alloc(COUNT * 8);
				void *again = must_alloc(COUNT * 8);
				void *wanted, *rest;

				for (i = 0; i < COUNT; i++) {
					words[i] = random_word(width);
					parts[i] = words[i] >> shift & low_bits(field);
					back[i] = words[i] & ~(low_bits(field) << shift);
				}
				packed = pack_words(words, width, COUNT);
				wanted = pack_words(parts, field, COUNT);
				fields_extract(packed, width, cut, field, shift, COUNT);
				assert_memory_equal(cut, wanted, COUNT * word_bytes(field));
				/* As the first field it sets the word, ... */
				for (i = 0; i < COUNT; i++)
					parts[i] <<= shift;
				memset(again, 0xa5, COUNT * 8);
				fields_insert(again, width, cut, field, shift, true, COUNT);
				free(wanted);
				wanted = pack_words(parts, width, COUNT);
				assert_memory_equal(again, wanted, COUNT * word_bytes(width));
				/* ... as a further one it joins the others. */
				rest = pack_words(back, width, COUNT);
				fields_insert(rest, width, cut, field, shift, false, COUNT);
				assert_memory_equal(rest, packed, COUNT * word_bytes(width));
				free(packed);
				free(cut);
				free(again);
				free(wanted);
				free(rest);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_execution),        TEST(test_block_boundaries),
		TEST(test_shifted_codings),  TEST(test_every_truncation),
		TEST(test_damaged_programs), TEST(test_fields),
	};

	seed_init("test_execute");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
