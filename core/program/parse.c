/* SPDX-License-Identifier: Apache-2.0 */
#include "core/program/program.h"

#include "core/base/bits.h"
#include "core/base/bytes.h"
#include "core/base/error.h"

struct parser {
	struct span in;
	struct program *program;
	struct brevis_error *err;
};

static int parse_node(struct parser *p, unsigned width, size_t count, unsigned depth);

static int broken(struct parser *p, const char *rule)
{
	return error_set(p->err, BREVIS_E_FORMAT, "program: %s", rule);
}

static int truncated(struct parser *p)
{
	return broken(p, "cut short");
}

/* T-Lit: any n words of b bits. */
static int parse_lit(struct parser *p, struct node *node)
{
	return literal_parse(&p->in, node->width, node->count, &node->literal, p->err);
}

/* T-Const: n >= 1, the value fits the width. */
static int parse_const(struct parser *p, struct node *node)
{
	unsigned i;

	if (!node->count)
		return broken(p, "const of no words");
	for (i = 0; i < (node->width + 7) / 8; i++)
		node->value |= (uint64_t)span_u8(&p->in) << (8 * i);
	if (span_failed(&p->in))
		return truncated(p);
	if (node->value > low_bits(node->width))
		return broken(p, "const value is wider than its type");
	return BREVIS_OK;
}

/* T-Concat: k >= 2 children of the parent's width, none empty, whose lengths sum to n. */
static int parse_concat(struct parser *p, struct node *node, unsigned depth)
{
	uint64_t counts[PROGRAM_MAX_NODES];
	uint64_t left = node->count;
	unsigned i, previous = 0;
	int status;

	node->arity = span_u8(&p->in);
	if (node->arity < 2 || node->arity >= PROGRAM_MAX_NODES)
		return span_failed(&p->in) ? truncated(p) : broken(p, "concat arity out of range");
	for (i = 0; i + 1 < node->arity; i++) {
		counts[i] = span_varint(&p->in);
		if (span_failed(&p->in))
			return truncated(p);
		if (!counts[i] || counts[i] >= left)
			return broken(p, "concat lengths do not sum to that of the parent");
		left -= counts[i];
	}
	counts[i] = left;
	for (i = 0; i < node->arity; i++) {
		if (i)
			p->program->nodes[previous].next = p->program->size;
		previous = p->program->size;
		status = parse_node(p, node->width, (size_t)counts[i], depth + 1);
		if (status)
			return status;
	}
	return BREVIS_OK;
}

/* Reads the widths of a merge's children in the one form that is canonical for them. */
static int parse_cuts(struct parser *p, const struct node *node, unsigned widths[64],
		      unsigned *arity)
{
	unsigned form = span_u8(&p->in);
	unsigned i, sum = 0, ones = 0, eights = 0;
	unsigned k = form == MERGE_FIELDS  ? span_u8(&p->in)
		     : form == MERGE_BITS  ? node->width
		     : form == MERGE_BYTES ? node->width / 8
					   : 0;

	if (span_failed(&p->in))
		return truncated(p);
	if (form > MERGE_BYTES)
		return broken(p, "unknown form of merge");
	if (k < 2 || k > 64 || (form == MERGE_BYTES && node->width % 8))
		return broken(p, "merge arity out of range");
	for (i = 0; i < k; i++) {
		widths[i] = form == MERGE_FIELDS ? span_u8(&p->in) : form == MERGE_BITS ? 1 : 8;
		ones += widths[i] == 1;
		eights += widths[i] == 8;
		sum += widths[i];
		if (!widths[i])
			return span_failed(&p->in) ? truncated(p)
						   : broken(p, "merge field of no bits");
	}
	if (sum != node->width)
		return broken(p, "merge fields do not sum to the width of the parent");
	if (form == MERGE_FIELDS && (ones == k || eights == k))
		return broken(p, "merge of planes in the form of fields");
	*arity = k;
	return BREVIS_OK;
}

/* T-Merge: k >= 2 children of n >= 1 words each, whose widths sum to the parent's. */
static int parse_merge(struct parser *p, struct node *node, unsigned depth)
{
	unsigned widths[64];
	unsigned i, previous = 0;
	int status;

	if (!node->count)
		return broken(p, "merge of no words");
	status = parse_cuts(p, node, widths, &node->arity);
	for (i = 0; !status && i < node->arity; i++) {
		if (i)
			p->program->nodes[previous].next = p->program->size;
		previous = p->program->size;
		status = parse_node(p, widths[i], node->count, depth + 1);
	}
	return status;
}

static int parse_node(struct parser *p, unsigned width, size_t count, unsigned depth)
{
	unsigned op = span_u8(&p->in);
	struct node *node;

	if (span_failed(&p->in))
		return truncated(p);
	if (depth > PROGRAM_MAX_DEPTH)
		return broken(p, "nested too deeply");
	if (p->program->size == PROGRAM_MAX_NODES)
		return broken(p, "too many nodes");
	node = &p->program->nodes[p->program->size++];
	*node = (struct node){.op = (enum operation)op, .width = width, .count = count};
	switch (op) {
	case OP_LIT:
		return parse_lit(p, node);
	case OP_CONST:
		return parse_const(p, node);
	case OP_CONCAT:
		return parse_concat(p, node, depth);
	case OP_MERGE:
		return parse_merge(p, node, depth);
	default:
		return error_set(p->err, BREVIS_E_FORMAT, "program: unknown operator %u", op);
	}
}

int program_parse(struct span in, unsigned width, size_t count, struct program *out,
		  struct brevis_error *err)
{
	struct parser p = {in, out, err};
	int status;

	out->size = 0;
	if (!width || width > PROGRAM_MAX_WIDTH)
		return broken(&p, "width out of range");
	status = parse_node(&p, width, count, 1);
	if (!status && span_left(&p.in))
		return broken(&p, "bytes after its end");
	return status;
}
