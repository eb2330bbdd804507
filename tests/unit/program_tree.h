/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Programs as trees with their words, and a naive evaluation of them, word by word as
 * docs/FORMAT.md says it, that shares no code with the library.
 */
#ifndef TESTS_UNIT_PROGRAM_TREE_H
#define TESTS_UNIT_PROGRAM_TREE_H

#include "tests/unit/support.h"

#include "core/entropy/literal_encode.h"
#include "core/program/program.h"

#define TREE_CHILDREN 32

struct tree {
	enum operation op;
	unsigned width;
	size_t count;
	uint64_t *words;   /* lit, route */
	uint64_t value;    /* const, scan: first, map: argument, escape: base */
	unsigned function; /* map, scan */
	size_t times;      /* repeat, pack, escape: escaped words */
	size_t columns, inner;
	unsigned row_classes, column_classes, classes;
	uint8_t *of_row, *of_column, *map; /* flip: flags in of_column */
	unsigned arity;
	struct tree *children[TREE_CHILDREN];
};

/** A copy of exactly this size, so that a sanitizer sees a read past its end. */
static inline uint8_t *exact_copy(const void *bytes, size_t size)
{
	uint8_t *copy = must_alloc(size);

	if (size)
		memcpy(copy, bytes, size);
	return copy;
}

static inline uint64_t tree_mask(unsigned width)
{
	return width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
}

/* ---- evaluation ------------------------------------------------------------------------------ */

static inline unsigned naive_bit(uint64_t x, unsigned i)
{
	return (unsigned)(x >> i & 1);
}

/** The functions of map, as the table of docs/FORMAT.md has them. */
static inline uint64_t naive_map(unsigned function, uint64_t argument, uint64_t x, unsigned width)
{
	unsigned __int128 modulus = (unsigned __int128)1 << width;
	unsigned __int128 wide = x;
	uint64_t out = 0;
	unsigned i, parity = 0;

	switch (function) {
	case 0:
		return x ^ argument;
	case 1:
		return (uint64_t)((wide + argument) % modulus);
	case 2:
		return (uint64_t)((wide < modulus / 2 ? 2 * wide : 2 * (modulus - wide) - 1) %
				  modulus);
	case 3:
		return (uint64_t)(x % 2 == 0 ? wide / 2 : modulus - (wide + 1) / 2);
	case 4:
		return x ^ x / 2;
	case 5:
		for (i = width; i--;) {
			parity ^= naive_bit(x, i);
			out = out * 2 + parity;
		}
		return out;
	case 6:
		for (i = 0; i < width; i++)
			out = out * 2 + naive_bit(x, i);
		return out;
	default:
		for (i = 0; i < width; i++)
			out |= (uint64_t)naive_bit(x, i) << (i + argument) % width;
		return out;
	}
}

static inline size_t tree_row(const struct tree *t, size_t i)
{
	return i / (t->columns * t->inner);
}

static inline size_t tree_column(const struct tree *t, size_t i)
{
	return i / t->inner % t->columns;
}

static inline unsigned tree_class(const struct tree *t, size_t i)
{
	if (t->row_classes == 1)
		return t->of_column[tree_column(t, i)];
	if (t->column_classes == 1)
		return t->of_row[tree_row(t, i)];
	return t->map[t->of_row[tree_row(t, i)] * t->column_classes +
		      t->of_column[tree_column(t, i)]];
}

/* One word of a node from the words of all its children; used[] counts words taken from each. */
static inline uint64_t naive_word(const struct tree *t, uint64_t *const *words, size_t i,
				  uint64_t before, size_t *used)
{
	uint64_t out = 0;
	unsigned j;

	switch (t->op) {
	case OP_LIT:
	case OP_ROUTE:
		return t->words[i];
	case OP_CONST:
		return t->value;
	case OP_CONCAT:
		for (j = 0; used[j] == t->children[j]->count;)
			j++;
		return words[j][used[j]++];
	case OP_REPEAT:
		return words[0][i % t->children[0]->count];
	case OP_MAP:
		return naive_map(t->function, t->value, words[0][i], t->width);
	case OP_SCAN:
		if (i == 0)
			return t->value;
		return t->function ? (before + words[0][i - 1]) & tree_mask(t->width)
				   : before ^ words[0][i - 1];
	case OP_MERGE:
		for (j = 0; j < t->arity; j++)
			out = out * 2 << (t->children[j]->width - 1) | words[j][i];
		return out;
	case OP_ESCAPE:
		if (t->times && words[0][i] == tree_mask(t->children[0]->width))
			return words[1][used[1]++];
		return t->value + words[0][i];
	case OP_PACK:
		for (j = (unsigned)t->times; j--;)
			out = out << t->children[0]->width | words[0][i * t->times + j];
		return out;
	case OP_FLIP:
		return words[0][i] ^ (uint64_t)t->of_column[tree_column(t, i)] << (t->width - 1);
	}
	fail();
	return 0;
}

/** Exec of Equation 6. out has room for t->count words. */
static inline void evaluate(const struct tree *t, uint64_t *out)
{
	uint64_t *words[TREE_CHILDREN] = {0};
	size_t used[TREE_CHILDREN] = {0};
	size_t i;
	unsigned j;

	for (j = 0; j < t->arity; j++) {
		words[j] = must_alloc(t->children[j]->count * sizeof(*words[j]));
		evaluate(t->children[j], words[j]);
	}
	for (i = 0; i < t->count; i++)
		out[i] = naive_word(t, words, i, i ? out[i - 1] : 0, used);
	for (j = 0; j < t->arity; j++)
		free(words[j]);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/** Words as arrays of the library lay them out. */
static inline void *pack_words(const uint64_t *words, unsigned width, size_t count)
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

/** Word i of those that a program yields, which are little-endian bytes on every machine. */
static inline uint64_t yielded_word(const uint8_t *bytes, unsigned width, size_t i)
{
	switch (width) {
	case 8:
		return bytes[i];
	case 16:
		return load_le16(bytes + 2 * i);
	case 32:
		return load_le32(bytes + 4 * i);
	default:
		return load_le64(bytes + 8 * i);
	}
}

static inline void put_lit(struct buffer *out, const uint64_t *words, unsigned width, size_t count)
{
	void *packed = pack_words(words, width, count);

	assert_int_equal(literal_encode(out, packed, width, count, NULL, NULL), BREVIS_OK);
	free(packed);
}

/* Concat and merge: what their children are. */
static inline void put_parts(const struct tree *t, struct buffer *out)
{
	size_t counts[TREE_CHILDREN] = {0};
	unsigned widths[TREE_CHILDREN] = {0}, i;

	for (i = 0; i < t->arity; i++) {
		counts[i] = t->children[i]->count;
		widths[i] = t->children[i]->width;
	}
	if (t->op == OP_CONCAT)
		program_put_concat(out, counts, t->arity);
	else
		program_put_merge(out, widths, t->arity);
}

/* Route and flip: what a grid has for each row and column, and the words of a route. */
static inline void put_grid(const struct tree *t, struct buffer *out)
{
	struct grid grid = {t->count / (t->columns * t->inner), t->columns, t->inner};
	struct route_classes classes = {
		.row_classes = t->row_classes,
		.column_classes = t->column_classes,
		.classes = t->classes,
		.of_row = t->of_row,
		.of_column = t->of_column,
		.map = t->map,
	};

	void *words;

	if (t->op == OP_FLIP) {
		assert_int_equal(program_put_flip(out, &grid, t->of_column, NULL), BREVIS_OK);
		return;
	}
	words = pack_words(t->words, t->width, t->count);
	assert_int_equal(program_put_route(out, &grid, &classes, words, t->width, NULL, NULL),
			 BREVIS_OK);
	free(words);
}

static inline void put_tree(const struct tree *t, struct buffer *out)
{
	unsigned i;

	switch (t->op) {
	case OP_LIT:
		put_lit(out, t->words, t->width, t->count);
		break;
	case OP_CONST:
		program_put_const(out, t->width, t->value);
		break;
	case OP_CONCAT:
	case OP_MERGE:
		put_parts(t, out);
		break;
	case OP_REPEAT:
		program_put_repeat(out, t->times);
		break;
	case OP_MAP:
		program_put_map(out, (enum map_function)t->function, t->value);
		break;
	case OP_SCAN:
		program_put_scan(out, (enum scan_function)t->function, t->value);
		break;
	case OP_ROUTE:
	case OP_FLIP:
		put_grid(t, out);
		break;
	case OP_ESCAPE:
		program_put_escape(out, t->children[0]->width, t->value, t->times);
		break;
	case OP_PACK:
		program_put_pack(out, (unsigned)t->times);
		break;
	}
	for (i = 0; i < t->arity; i++)
		put_tree(t->children[i], out);
}

static inline void free_tree(struct tree *t)
{
	unsigned i;

	for (i = 0; i < t->arity; i++)
		free_tree(t->children[i]);
	free(t->words);
	free(t->of_row);
	free(t->of_column);
	free(t->map);
	free(t);
}

static inline struct tree *new_tree(enum operation op, unsigned width, size_t count)
{
	struct tree *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	t->op = op;
	t->width = width;
	t->count = count;
	return t;
}

#endif
