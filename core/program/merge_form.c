/* SPDX-License-Identifier: Apache-2.0 */
/* The forms of merge: what the fields of words are called when they are usual ones. */
#include "core/program/parser.h"

unsigned merge_exponent(unsigned form)
{
	switch (form) {
	case MERGE_FLOAT_8:
		return 8;
	case MERGE_FLOAT_5:
		return 5;
	case MERGE_FLOAT_11:
		return 11;
	case MERGE_FLOAT_4:
		return 4;
	default:
		return 0;
	}
}

enum merge_form merge_form_of(const unsigned *widths, unsigned arity)
{
	unsigned i, ones = 0, eights = 0;

	for (i = 0; i < arity; i++) {
		ones += widths[i] == 1;
		eights += widths[i] == 8;
	}
	if (ones == arity)
		return MERGE_BITS;
	if (eights == arity)
		return MERGE_BYTES;
	if (arity == 3 && widths[0] == 1)
		for (i = MERGE_FLOAT_8; i <= MERGE_FLOAT_4; i++)
			if (widths[1] == merge_exponent(i))
				return (enum merge_form)i;
	return MERGE_FIELDS;
}

/* The widths that form 0 stores; the last one is what the others leave. */
static int read_widths(struct parser *p, struct node *node, struct children *children)
{
	unsigned left = node->width;
	unsigned i;

	node->arity = span_u8(&p->in);
	if (span_failed(&p->in))
		return parse_truncated(p);
	if (node->arity < 2)
		return parse_broken(p, "merge of fewer than 2 children");
	if (node->arity > PROGRAM_MAX_ARITY)
		return parse_broken(p, "merge of too many children");
	for (i = 0; i + 1 < node->arity; i++) {
		children->width[i] = span_u8(&p->in);
		if (span_failed(&p->in))
			return parse_truncated(p);
		if (!children->width[i])
			return parse_broken(p, "merge with a field of no bits");
		if (children->width[i] >= left)
			return parse_broken(p, "merge fields do not sum to the width");
		left -= children->width[i];
	}
	children->width[i] = left;
	if (merge_form_of(children->width, node->arity) != MERGE_FIELDS)
		return parse_broken(p, "merge with widths that another form has");
	return BREVIS_OK;
}

/* All children of the same width: 1 or 8. */
static int set_planes(struct parser *p, struct node *node, unsigned bits, struct children *children)
{
	unsigned i;

	node->arity = node->width / bits;
	if (node->width % bits || node->arity < 2)
		return parse_broken(p, "merge of planes does not fit the width");
	if (node->arity > PROGRAM_MAX_ARITY)
		return parse_broken(p, "merge of too many bit planes");
	for (i = 0; i < node->arity; i++)
		children->width[i] = bits;
	return BREVIS_OK;
}

/* T-Merge: k >= 2 children of n words each, whose widths sum to the parent's. */
int parse_merge(struct parser *p, struct node *node, unsigned s, struct children *children)
{
	unsigned exponent = merge_exponent(s);
	unsigned i;
	int status = BREVIS_OK;

	node->form = s;
	if (s > MERGE_FLOAT_4)
		return parse_broken(p, "unknown form of merge");
	if (s == MERGE_FIELDS) {
		status = read_widths(p, node, children);
	} else if (s == MERGE_BITS || s == MERGE_BYTES) {
		status = set_planes(p, node, s == MERGE_BITS ? 1 : 8, children);
	} else if (node->width < exponent + 2) {
		status = parse_broken(p, "merge of a float does not fit the width");
	} else {
		node->arity = 3;
		children->width[0] = 1;
		children->width[1] = exponent;
		children->width[2] = node->width - 1 - exponent;
	}
	for (i = 0; i < node->arity && !status; i++)
		children->count[i] = node->count;
	return status;
}
