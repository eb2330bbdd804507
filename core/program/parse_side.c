/* SPDX-License-Identifier: Apache-2.0 */
/* Operators with side information: literals that are parameters, decoded before execution. */
#include "core/program/parser.h"

#include <stdlib.h>

#include "core/base/bits.h"
#include "core/base/bytes.h"
#include "core/base/error.h"

static int parse_grid(struct parser *p, struct node *node)
{
	struct grid *grid = &node->grid;
	uint64_t columns = span_varint(&p->in);
	uint64_t inner = span_varint(&p->in);
	uint64_t line;

	if (span_failed(&p->in))
		return parse_truncated(p);
	if (!columns || !inner)
		return parse_broken(p, "grid with a size of 0");
	if (!checked_mul(columns, inner, &line) || node->count % line)
		return parse_broken(p, "grid does not divide the number of words");
	*grid = (struct grid){(size_t)(node->count / line), (size_t)columns, (size_t)inner};
	return BREVIS_OK;
}

static int decode(struct parser *p, const struct literal *literal, uint8_t *words)
{
	struct literal_decoder *decoder;
	int status = literal_decoder_new(literal, &decoder, p->err);

	if (status)
		return status;
	status = literal_decoder_next(decoder, words, literal->count, p->err);
	if (!status)
		status = literal_decoder_finish(decoder, p->err);
	literal_decoder_free(decoder);
	return status;
}

/*
 * Reads a lit node of count words, each of which must be less than limit, at most 32 (that is the
 * rule), into new memory that the node owns.
 */
static int parse_side(struct parser *p, uint8_t **out, size_t count, unsigned limit,
		      const char *rule)
{
	unsigned byte = span_u8(&p->in);
	struct literal literal;
	size_t i;
	int status;

	if (span_failed(&p->in))
		return parse_truncated(p);
	if ((byte & 15) != OP_LIT)
		return parse_broken(p, "classes and flags that are no lit node");
	p->side_words += count;
	if (count > PROGRAM_MAX_SIDE_WORDS || p->side_words > PROGRAM_MAX_SIDE_WORDS)
		return parse_broken(p, "too many classes and flags");
	status = parse_literal(p, byte >> 4, bit_length(limit - 1), count, &literal);
	if (status)
		return status;
	*out = malloc(count);
	if (!*out)
		return error_nomem(p->err);
	status = decode(p, &literal, *out);
	for (i = 0; i < count && !status; i++)
		if ((*out)[i] >= limit)
			status = parse_broken(p, rule);
	return status;
}

/* The numbers of classes: without a map there are as many of words as of rows or columns. */
static int parse_class_numbers(struct parser *p, struct route_classes *classes)
{
	classes->row_classes = span_u8(&p->in);
	classes->column_classes = span_u8(&p->in);
	classes->classes = span_u8(&p->in);
	if (span_failed(&p->in))
		return parse_truncated(p);
	if (!classes->row_classes || classes->row_classes > ROUTE_MAX_CLASSES)
		return parse_broken(p, "route with a number of row classes out of range");
	if (!classes->column_classes || classes->column_classes > ROUTE_MAX_CLASSES)
		return parse_broken(p, "route with a number of column classes out of range");
	if (classes->classes < 2 || classes->classes > ROUTE_MAX_CLASSES)
		return parse_broken(p, "route with a number of classes out of range");
	if ((classes->row_classes == 1 || classes->column_classes == 1) &&
	    classes->classes != classes->row_classes * classes->column_classes)
		return parse_broken(p, "route without a map, and not a table for each class");
	return BREVIS_OK;
}

static int parse_classes(struct parser *p, struct node *node)
{
	struct route_classes *classes = &node->classes;
	unsigned r, c;
	int status = parse_class_numbers(p, classes);

	r = classes->row_classes;
	c = classes->column_classes;
	if (!status && r > 1)
		status = parse_side(p, &node->decoded[0], node->grid.rows, r,
				    "route with a row class out of range");
	if (!status && c > 1)
		status = parse_side(p, &node->decoded[1], node->grid.columns, c,
				    "route with a column class out of range");
	if (!status && r > 1 && c > 1)
		status = parse_side(p, &node->decoded[2], (size_t)r * c, classes->classes,
				    "route with a class in its map out of range");
	classes->of_row = node->decoded[0];
	classes->of_column = node->decoded[1];
	classes->map = node->decoded[2];
	return status;
}

int parse_route(struct parser *p, struct node *node, unsigned s, struct children *children)
{
	size_t counts[ROUTE_MAX_CLASSES];
	unsigned i;
	int status = parse_grid(p, node);

	(void)s;
	(void)children;
	if (!status)
		status = parse_classes(p, node);
	if (status)
		return status;
	route_count(&node->grid, &node->classes, counts);
	for (i = 0; i < node->classes.classes; i++)
		if (!counts[i])
			return parse_broken(p, "route with a class of no words");
	status = literal_parse_routed(&p->in, node->width, node->count, node->classes.classes,
				      &node->literal, p->err);
	return status ? status : parse_count_slots(p, &node->literal);
}

int parse_flip(struct parser *p, struct node *node, unsigned s, struct children *children)
{
	int status = parse_grid(p, node);

	(void)s;
	/* A word of one bit is a flag, whatever it is: no rule can be broken. */
	if (!status)
		status = parse_side(p, &node->decoded[0], node->grid.columns, 2, NULL);
	node->flags = node->decoded[0];
	node->arity = 1;
	children->width[0] = node->width;
	children->count[0] = node->count;
	return status;
}
