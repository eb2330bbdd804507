/* SPDX-License-Identifier: Apache-2.0 */
/** Random trees of all operators, within the limits of programs. */
#ifndef TESTS_UNIT_RANDOM_TREE_H
#define TESTS_UNIT_RANDOM_TREE_H

#include "tests/unit/program_tree.h"

/* A random tree has at most so many words at any node, times what its root has. */
#define TREE_WORDS_MAX 300000

static inline uint64_t random_word(unsigned width)
{
	return random_next() >> (64 - width);
}

/** Random words that invite each of the codings: flat, skewed, narrow, few. */
static inline struct tree *random_lit(unsigned width, size_t count)
{
	struct tree *t = new_tree(OP_LIT, width, count);
	uint64_t base = random_word(width);
	unsigned kind = (unsigned)random_below(4);
	size_t i;

	t->words = must_alloc(count * sizeof(*t->words));
	for (i = 0; i < count; i++) {
		uint64_t v = random_word(width);

		if (kind == 1) /* geometric: Huffman or rANS */
			v = base ^ ((uint64_t)__builtin_ctzll(random_next() | UINT64_C(1) << 40) &
				    tree_mask(width));
		else if (kind == 2) /* a narrow range above a base: packed */
			v = base - base % 16 + (v & 7 & tree_mask(width));
		else if (kind == 3) /* two values */
			v = v & 1 ? base : base ^ 1;
		t->words[i] = v & tree_mask(width);
	}
	return t;
}

static inline struct tree *random_tree(unsigned width, size_t count, unsigned depth,
				       unsigned *nodes);

static inline void add_child(struct tree *t, unsigned width, size_t count, unsigned depth,
			     unsigned *nodes)
{
	t->children[t->arity] = random_tree(width, count, depth + 1, nodes);
	t->arity++;
}

static inline struct tree *random_concat(unsigned width, size_t count, unsigned depth,
					 unsigned *nodes)
{
	unsigned arity = 2 + (unsigned)random_below(*nodes > 40 && depth > 2 ? 20 : 3);
	struct tree *t;
	size_t left = count;

	if (count < arity)
		return NULL;
	t = new_tree(OP_CONCAT, width, count);
	*nodes -= arity;
	while (t->arity + 1 < arity) {
		size_t n = 1 + (size_t)random_below(left - (arity - 1 - t->arity));

		add_child(t, width, n, depth, nodes);
		left -= n;
	}
	add_child(t, width, left, depth, nodes);
	return t;
}

static inline struct tree *random_merge(unsigned width, size_t count, unsigned depth,
					unsigned *nodes)
{
	static const unsigned exponents[] = {8, 5, 11, 4};
	unsigned arity = 2 + (unsigned)random_below(3);
	unsigned kind = (unsigned)random_below(4), e = exponents[random_below(4)];
	struct tree *t = new_tree(OP_MERGE, width, count);
	unsigned left = width;

	if (kind == 0 && width >= 2 && width <= 16 && *nodes >= width) {
		for (*nodes -= width; t->arity < width;)
			add_child(t, 1, count, depth, nodes);
	} else if (kind == 1 && width >= 16 && width % 8 == 0 && *nodes >= width / 8) {
		for (*nodes -= width / 8; t->arity < width / 8;)
			add_child(t, 8, count, depth, nodes);
	} else if (kind == 2 && width >= e + 2) {
		*nodes -= 3;
		add_child(t, 1, count, depth, nodes);
		add_child(t, e, count, depth, nodes);
		add_child(t, width - 1 - e, count, depth, nodes);
	} else if (width >= arity) {
		*nodes -= arity;
		while (t->arity + 1 < arity) {
			unsigned w = 1 + (unsigned)random_below(left - (arity - 1 - t->arity));

			add_child(t, w, count, depth, nodes);
			left -= w;
		}
		add_child(t, left, count, depth, nodes);
	} else {
		free_tree(t);
		return NULL;
	}
	return t;
}

/** A divisor of n, of any size. */
static inline size_t random_divisor(size_t n)
{
	size_t d = 1 + (size_t)random_below(n);
	unsigned tries;

	for (tries = 0; tries < 60 && n % d; tries++)
		d = 1 + (size_t)random_below(tries % 2 ? n : n / 8 + 1);
	return n % d ? (random_below(2) ? 1 : n) : d;
}

static inline struct tree *random_repeat(unsigned width, size_t count, unsigned depth,
					 unsigned *nodes)
{
	size_t words = random_divisor(count);
	struct tree *t;

	if (words == count)
		return NULL;
	t = new_tree(OP_REPEAT, width, count);
	t->times = count / words;
	*nodes -= 1;
	add_child(t, width, words, depth, nodes);
	return t;
}

static inline struct tree *random_map(unsigned width, size_t count, unsigned depth, unsigned *nodes)
{
	struct tree *t = new_tree(OP_MAP, width, count);

	t->function = width == 1 ? 0 : (unsigned)random_below(8);
	if (t->function <= 1)
		t->value = random_word(width);
	if (t->function <= 1 &&
	    (!t->value || (t->function && t->value == UINT64_C(1) << (width - 1))))
		t->value = 1;
	if (t->function == 1 && width == 2)
		t->value = 3;
	if (t->function == 7)
		t->value = 1 + random_below(width - 1);
	*nodes -= 1;
	add_child(t, width, count, depth, nodes);
	return t;
}

static inline struct tree *random_scan(unsigned width, size_t count, unsigned depth,
				       unsigned *nodes)
{
	struct tree *t;

	if (count < 2)
		return NULL;
	t = new_tree(OP_SCAN, width, count);
	t->function = (unsigned)random_below(2);
	t->value = random_word(width);
	*nodes -= 1;
	add_child(t, width, count - 1, depth, nodes);
	return t;
}

/* Shares of n things in classes, each of which gets one if there are enough. */
static inline uint8_t *random_classes(size_t n, unsigned classes)
{
	uint8_t *of = must_alloc(n);
	size_t i;

	for (i = 0; i < n; i++)
		of[i] = (uint8_t)(i < classes ? i : random_below(classes));
	for (i = n; i-- > 1;) {
		size_t j = (size_t)random_below(i + 1);
		uint8_t swap = of[i];

		of[i] = of[j];
		of[j] = swap;
	}
	return of;
}

static inline void random_grid(struct tree *t)
{
	size_t line = random_divisor(t->count);

	t->inner = random_below(3) ? random_divisor(line) : 1;
	t->columns = line / t->inner;
}

/* Words of a route: a literal's of any kind, most of them moved by what their class says. */
static inline void random_route_words(struct tree *t)
{
	struct tree *lit = random_lit(t->width, t->count);
	uint64_t by_class[TREE_CHILDREN];
	unsigned k;
	size_t i;

	for (k = 0; k < TREE_CHILDREN; k++)
		by_class[k] = random_below(4) ? random_word(t->width) : 0;
	t->words = lit->words;
	for (i = 0; i < t->count; i++)
		t->words[i] ^= by_class[tree_class(t, i)];
	lit->words = NULL;
	free_tree(lit);
}

static inline struct tree *random_route(unsigned width, size_t count)
{
	struct tree *t;
	size_t counts[TREE_CHILDREN] = {0}, rows, i;
	unsigned classes = 2 + (unsigned)random_below(random_below(8) ? 3 : 31), used = 0, k;

	if (width > LITERAL_SYMBOL_BITS)
		return NULL;
	t = new_tree(OP_ROUTE, width, count);
	random_grid(t);
	rows = count / (t->columns * t->inner);
	t->classes = classes;
	t->row_classes = rows < classes || random_below(3) == 0 ? 1 : classes;
	t->column_classes = t->columns < classes || random_below(3) == 0 ? 1 : classes;
	if (t->row_classes > 1)
		t->of_row = random_classes(rows, t->row_classes);
	if (t->column_classes > 1)
		t->of_column = random_classes(t->columns, t->column_classes);
	if (t->row_classes > 1 && t->column_classes > 1)
		t->map = random_classes((size_t)classes * classes, classes);
	for (i = 0; i < count && (t->row_classes > 1 || t->column_classes > 1); i++)
		counts[tree_class(t, i)]++;
	for (k = 0; k < classes; k++)
		used += counts[k] > 0;
	if (used < classes) {
		free_tree(t);
		return NULL;
	}
	random_route_words(t);
	return t;
}

static inline struct tree *random_escape(unsigned width, size_t count, unsigned depth,
					 unsigned *nodes)
{
	unsigned w = 1 + (unsigned)random_below(width);
	struct tree *t = new_tree(OP_ESCAPE, width, count);
	uint64_t *codes;
	size_t i;

	if (w < width)
		t->value = random_below(tree_mask(width) - tree_mask(w)) + random_below(2);
	*nodes -= 2;
	add_child(t, w, count, depth, nodes);
	codes = must_alloc(count * sizeof(*codes));
	evaluate(t->children[0], codes);
	for (i = 0; i < count; i++)
		t->times += codes[i] == tree_mask(w);
	free(codes);
	/* Where no code is for an escaped word, the largest one is a code as any other. */
	if (random_below(4) == 0)
		t->times = 0;
	if (t->times)
		add_child(t, width, t->times, depth, nodes);
	return t;
}

static inline struct tree *random_pack(unsigned width, size_t count, unsigned depth,
				       unsigned *nodes)
{
	unsigned k = (unsigned)random_divisor(width);
	struct tree *t;

	if (k == 1 || count * k > TREE_WORDS_MAX)
		return NULL;
	t = new_tree(OP_PACK, width, count);
	t->times = k;
	*nodes -= 1;
	add_child(t, width / k, count * k, depth, nodes);
	return t;
}

static inline struct tree *random_flip(unsigned width, size_t count, unsigned depth,
				       unsigned *nodes)
{
	struct tree *t = new_tree(OP_FLIP, width, count);

	random_grid(t);
	t->of_column = random_classes(t->columns, 2);
	*nodes -= 1;
	add_child(t, width, count, depth, nodes);
	return t;
}

static inline struct tree *random_operator(enum operation op, unsigned width, size_t count,
					   unsigned depth, unsigned *nodes)
{
	switch (op) {
	case OP_CONCAT:
		return random_concat(width, count, depth, nodes);
	case OP_REPEAT:
		return random_repeat(width, count, depth, nodes);
	case OP_MAP:
		return random_map(width, count, depth, nodes);
	case OP_SCAN:
		return random_scan(width, count, depth, nodes);
	case OP_MERGE:
		return random_merge(width, count, depth, nodes);
	case OP_ROUTE:
		return random_route(width, count);
	case OP_ESCAPE:
		return random_escape(width, count, depth, nodes);
	case OP_PACK:
		return random_pack(width, count, depth, nodes);
	default:
		return random_flip(width, count, depth, nodes);
	}
}

/** A random tree within the limits; *nodes is what may still be used below it. */
static inline struct tree *random_tree(unsigned width, size_t count, unsigned depth,
				       unsigned *nodes)
{
	struct tree *t = NULL;

	if (depth<PROGRAM_MAX_DEPTH && * nodes> 23 && random_below(depth + 4) < 4)
		t = random_operator((enum operation)(OP_CONCAT + random_below(9)), width, count,
				    depth, nodes);
	if (!t && random_below(3)) {
		t = random_lit(width, count);
	} else if (!t) {
		t = new_tree(OP_CONST, width, count);
		t->value = random_word(width);
	}
	return t;
}

#endif
