/* SPDX-License-Identifier: Apache-2.0 */
#include "core/program/parser.h"

#include <stdlib.h>

#include "core/base/bits.h"
#include "core/base/bytes.h"
#include "core/base/error.h"

/* A small number that says that a varint follows, and what the smaller ones leave to it. */
#define SMALL_LONG  15
#define SMALL_FIRST 2

int parse_broken(struct parser *p, const char *rule)
{
	return error_set(p->err, BREVIS_E_FORMAT, "program: %s", rule);
}

int parse_truncated(struct parser *p)
{
	return parse_broken(p, "cut short, or a number is malformed");
}

int parse_count_slots(struct parser *p, const struct literal *literal)
{
	if (literal->coding == LITERAL_RANS)
		p->slots += (uint64_t)literal->tables << literal->bits;
	return p->slots > PROGRAM_MAX_SLOTS ? parse_broken(p, "its tables have too many slots")
					    : BREVIS_OK;
}

int parse_literal(struct parser *p, unsigned coding, unsigned width, size_t count,
		  struct literal *out)
{
	int status = literal_parse(&p->in, coding, width, count, p->codebook, out, p->err);

	if (status)
		return status;
	if (!checked_add(p->library_bytes, literal_library_bytes(out), &p->library_bytes) ||
	    p->library_bytes > PROGRAM_MAX_LIBRARY_BYTES)
		return parse_broken(p, "its Zstandard and LZMA2 literals yield too much");
	return parse_count_slots(p, out);
}

static int too_many_words(struct parser *p)
{
	return parse_broken(p, "its nodes yield too many words");
}

/* ---- the operators --------------------------------------------------------------------------- */

static int parse_lit(struct parser *p, struct node *node, unsigned s, struct children *children)
{
	(void)children;
	return parse_literal(p, s, node->width, node->count, &node->literal);
}

static int parse_const(struct parser *p, struct node *node, unsigned s, struct children *children)
{
	(void)s;
	(void)children;
	node->value = span_varint(&p->in);
	if (span_failed(&p->in))
		return parse_truncated(p);
	if (node->value > low_bits(node->width))
		return parse_broken(p, "const value is wider than its type");
	return BREVIS_OK;
}

/* A small count: in s, or behind it. */
static int parse_small_count(struct parser *p, unsigned s, uint64_t *count)
{
	*count = s + SMALL_FIRST;
	if (s < SMALL_LONG)
		return BREVIS_OK;
	*count = span_varint(&p->in);
	if (span_failed(&p->in))
		return parse_truncated(p);
	if (*count < SMALL_LONG + SMALL_FIRST)
		return parse_broken(p, "small count in the form of a large one");
	return BREVIS_OK;
}

/* T-Concat: k >= 2 children of the parent's width, none empty, whose lengths sum to n. */
static int parse_concat(struct parser *p, struct node *node, unsigned s, struct children *children)
{
	uint64_t k;
	size_t left = node->count;
	unsigned i;
	int status = parse_small_count(p, s, &k);

	if (status)
		return status;
	if (k > PROGRAM_MAX_ARITY)
		return parse_broken(p, "concat of too many children");
	node->arity = (unsigned)k;
	for (i = 0; i < node->arity; i++) {
		uint64_t count = i + 1 < node->arity ? span_varint(&p->in) : left;

		if (span_failed(&p->in))
			return parse_truncated(p);
		if (!count)
			return parse_broken(p, "concat with a child of no words");
		if (i + 1 < node->arity && count >= left)
			return parse_broken(p, "concat lengths do not sum to that of the parent");
		children->width[i] = node->width;
		children->count[i] = (size_t)count;
		left -= (size_t)count;
	}
	return BREVIS_OK;
}

/* T-Repeat: n = k * m. */
static int parse_repeat(struct parser *p, struct node *node, unsigned s, struct children *children)
{
	uint64_t k;
	int status = parse_small_count(p, s, &k);

	if (status)
		return status;
	if (node->count % k)
		return parse_broken(p, "repeat count does not divide the number of words");
	node->times = (size_t)k;
	node->arity = 1;
	children->width[0] = node->width;
	children->count[0] = node->count / node->times;
	return BREVIS_OK;
}

/* Reads the argument of a map, if its function has one. */
static int parse_map_argument(struct parser *p, struct node *node)
{
	switch (node->form) {
	case MAP_XOR:
	case MAP_ADD:
		node->value = span_varint(&p->in);
		if (span_failed(&p->in))
			return parse_truncated(p);
		if (!node->value || node->value > low_bits(node->width))
			return parse_broken(p, "map argument out of range");
		if (node->form == MAP_ADD && node->value == UINT64_C(1) << (node->width - 1))
			return parse_broken(p, "map adds what is to be an XOR");
		return BREVIS_OK;
	case MAP_ROTATE:
		node->value = span_u8(&p->in);
		if (span_failed(&p->in))
			return parse_truncated(p);
		if (!node->value || node->value >= node->width)
			return parse_broken(p, "map rotation out of range");
		return BREVIS_OK;
	default:
		if (node->width < 2)
			return parse_broken(p, "map function that does nothing to 1 bit");
		return BREVIS_OK;
	}
}

/* T-Map: a bijection that is not the identity, each in one form. */
static int parse_map(struct parser *p, struct node *node, unsigned s, struct children *children)
{
	(void)s;
	node->form = span_u8(&p->in);
	if (span_failed(&p->in))
		return parse_truncated(p);
	if (node->form >= MAP_FUNCTIONS)
		return parse_broken(p, "unknown function of map");
	node->arity = 1;
	children->width[0] = node->width;
	children->count[0] = node->count;
	return parse_map_argument(p, node);
}

/* T-Scan: n >= 2. */
static int parse_scan(struct parser *p, struct node *node, unsigned s, struct children *children)
{
	(void)s;
	node->form = span_u8(&p->in);
	node->value = span_varint(&p->in);
	if (span_failed(&p->in))
		return parse_truncated(p);
	if (node->form >= SCAN_FUNCTIONS)
		return parse_broken(p, "unknown function of scan");
	if (node->count < 2)
		return parse_broken(p, "scan of a single word");
	if (node->value > low_bits(node->width))
		return parse_broken(p, "scan begins with a word wider than its type");
	node->arity = 1;
	children->width[0] = node->width;
	children->count[0] = node->count - 1;
	return BREVIS_OK;
}

static int parse_escape(struct parser *p, struct node *node, unsigned s, struct children *children)
{
	unsigned width = span_u8(&p->in);
	uint64_t escaped;

	(void)s;
	node->value = span_varint(&p->in);
	escaped = span_varint(&p->in);
	if (span_failed(&p->in))
		return parse_truncated(p);
	if (!width || width > node->width)
		return parse_broken(p, "escape with codes of a width out of range");
	if (width == node->width && node->value)
		return parse_broken(p, "escape with codes of full width and a base");
	if (node->value > low_bits(node->width) - low_bits(width))
		return parse_broken(p, "escape with codes beyond the words of its type");
	if (escaped > node->count)
		return parse_broken(p, "escape with more escaped words than words");
	node->times = (size_t)escaped;
	node->arity = escaped ? 2 : 1;
	children->width[0] = width;
	children->count[0] = node->count;
	children->width[1] = node->width;
	children->count[1] = node->times;
	return BREVIS_OK;
}

static int parse_pack(struct parser *p, struct node *node, unsigned s, struct children *children)
{
	unsigned k = span_u8(&p->in);

	(void)s;
	if (span_failed(&p->in))
		return parse_truncated(p);
	if (k < 2)
		return parse_broken(p, "pack of fewer than 2 words");
	if (node->width % k)
		return parse_broken(p, "pack count does not divide the width");
	if (node->count > PROGRAM_MAX_WORDS / k)
		return too_many_words(p);
	node->times = k;
	node->arity = 1;
	children->width[0] = node->width / k;
	children->count[0] = node->count * k;
	return BREVIS_OK;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* How the parameters of each operator are read. */
static const struct syntax {
	int (*parse)(struct parser *p, struct node *node, unsigned s, struct children *children);
	bool has_small; /* s, the number in the upper bits of its op byte, means something */
} operators[] = {
	[OP_LIT] = {parse_lit, true},        [OP_CONST] = {parse_const, false},
	[OP_CONCAT] = {parse_concat, true},  [OP_REPEAT] = {parse_repeat, true},
	[OP_MAP] = {parse_map, false},       [OP_SCAN] = {parse_scan, false},
	[OP_MERGE] = {parse_merge, true},    [OP_ROUTE] = {parse_route, false},
	[OP_ESCAPE] = {parse_escape, false}, [OP_PACK] = {parse_pack, false},
	[OP_FLIP] = {parse_flip, false},
};

static int parse_node(struct parser *p, unsigned width, size_t count, unsigned depth, size_t reads);

static int parse_children(struct parser *p, struct node *node, const struct children *children)
{
	struct program *program = p->program;
	size_t reads = node->op == OP_REPEAT ? node->reads * node->times : node->reads;
	unsigned i, child;
	int status = BREVIS_OK;

	for (i = 0; i < node->arity && !status; i++) {
		child = program->size;
		status = parse_node(p, children->width[i], children->count[i], node->depth + 1,
				    reads);
		if (!status && i + 1 < node->arity)
			program->nodes[child].next = program->size;
	}
	return status;
}

static int parse_node(struct parser *p, unsigned width, size_t count, unsigned depth, size_t reads)
{
	const uint8_t *begin = p->in.at;
	unsigned byte = span_u8(&p->in);
	unsigned op = byte & 15, s = byte >> 4;
	struct children children;
	struct node *node;
	int status;

	if (span_failed(&p->in))
		return parse_truncated(p);
	if (op >= sizeof(operators) / sizeof(operators[0]) || !operators[op].parse)
		return error_set(p->err, BREVIS_E_FORMAT, "program: unknown operator %u", op);
	if (s && !operators[op].has_small)
		return parse_broken(p, "operator with a number that it does not have");
	if (depth > PROGRAM_MAX_DEPTH)
		return parse_broken(p, "nested too deeply");
	if (p->program->size == PROGRAM_MAX_NODES)
		return parse_broken(p, "too many nodes");
	/* This bounds the next product of reads too: no repeat has more reads than words. */
	if (count > (PROGRAM_MAX_WORDS - p->words) / reads)
		return too_many_words(p);
	p->words += reads * count;
	node = &p->program->nodes[p->program->size++];
	*node = (struct node){.op = (enum operation)op,
			      .width = width,
			      .count = count,
			      .depth = depth,
			      .reads = reads};
	status = operators[op].parse(p, node, s, &children);
	node->bytes = (size_t)(p->in.at - begin);
	if (!status)
		status = parse_children(p, node, &children);
	node->end = p->program->size;
	return status;
}

int program_parse(struct span in, unsigned width, size_t count, const struct codebook *codebook,
		  struct program *out, struct brevis_error *err)
{
	struct parser p = {.in = in, .codebook = codebook, .program = out, .err = err};
	int status;

	out->size = 0;
	if (!width || width > PROGRAM_MAX_WIDTH)
		return parse_broken(&p, "width out of range");
	if (!count)
		return parse_broken(&p, "of no words");
	status = parse_node(&p, width, count, 1, 1);
	if (!status && span_left(&p.in))
		return parse_broken(&p, "bytes after its end");
	return status;
}

void program_release(struct program *program)
{
	unsigned i, j;

	for (i = 0; i < program->size; i++)
		for (j = 0; j < 3; j++)
			free(program->nodes[i].decoded[j]);
	program->size = 0;
}
