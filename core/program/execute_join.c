/* SPDX-License-Identifier: Apache-2.0 */
/* The shape that nearly all tensors have, by kernels instead of node by node. */
#include <string.h>

#include "core/base/bits.h"
#include "core/base/error.h"
#include "core/entropy/packed.h"
#include "core/entropy/words.h"
#include "core/program/execution.h"

/* Words that are joined at a time: with their codes and low bits they stay in the first cache. */
#define PART_WORDS 4096

/* ---- recognising ----------------------------------------------------------------------------- */

static bool is_rotation(const struct node *node)
{
	return node->op == OP_MAP && node->form == MAP_ROTATE;
}

/* The high field of the merge: codes with or without an escape, turned or not. */
static bool find_codes(const struct program *program, unsigned index, struct join *join)
{
	const struct node *nodes = program->nodes;

	if (is_rotation(&nodes[index])) {
		if (nodes[index].value != nodes[index].width - 1)
			return false;
		join->cut.turn = 1;
		index++;
	}
	join->codes = index;
	if (nodes[index].op == OP_ESCAPE) {
		join->codes = index + 1;
		join->cut.base = (uint32_t)nodes[index].value;
		if (nodes[index].times)
			join->escape = index;
	}
	/* Kernels tell the largest code of 8 bits only. */
	return nodes[join->codes].width == 8 || (nodes[join->codes].width < 8 && !join->escape);
}

/* The low field: kernels want bytes or, below 32-bit words, words of their own size. */
static bool find_low(const struct program *program, unsigned index, struct join *join)
{
	const struct node *node = &program->nodes[index];
	const struct literal *literal = &node->literal;
	bool whole = literal->coding == LITERAL_RAW && node->width % 8 == 0;
	unsigned width = join->width == 16 ? 8 : 32;

	join->low = index;
	join->cut.low = node->width;
	if (node->width > (join->width == 16 ? 8 : 24))
		return false;
	if (node->op == OP_LIT &&
	    (whole || (literal->coding == LITERAL_PACKED && !literal->base && literal->bits))) {
		join->bits = *literal;
		join->bits.coding = LITERAL_PACKED;
		join->bits.width = width;
		join->bits.bits = whole ? node->width : literal->bits;
		return true;
	}
	return word_bytes(node->width) == width / 8;
}

static bool is_plain(const struct node *node)
{
	return node->op == OP_LIT && node->literal.coding <= LITERAL_PACKED;
}

static bool is_rans(const struct node *node)
{
	return (node->op == OP_LIT || node->op == OP_ROUTE) && literal_joins(&node->literal);
}

struct join join_find(const struct program *program, unsigned index)
{
	static const struct join none;
	const struct node *nodes = program->nodes;
	struct join join = {.width = nodes[index].width, .cut = {.codes = 255}};
	unsigned rotation = 0, high, low;

	if (join.width != 16 && join.width != 32)
		return none;
	if (is_rotation(&nodes[index]))
		rotation = (unsigned)nodes[index++].value;
	if (nodes[index].op != OP_MERGE || nodes[index].arity != 2)
		return none;
	high = index + 1;
	low = nodes[high].next;
	/* The low bits may come first: with another rotation it is the same. */
	if (is_plain(&nodes[high]) && !is_plain(&nodes[low])) {
		rotation += join.width - nodes[high].width;
		high = low;
		low = index + 1;
	}
	join.cut.rotation = (2 * join.width - rotation) % join.width;
	if (!find_codes(program, high, &join) || !find_low(program, low, &join))
		return none;
	join.at_once = join.bits.bits && is_rans(&nodes[join.codes]);
	return join;
}

/* ---- joining --------------------------------------------------------------------------------- */

/* A part of the words. */
struct part {
	uint8_t *codes;
	uint8_t *words;
	size_t count;
	size_t escaped; /* how many of the codes are 255 */
};

static int next_low(struct execution *x, const struct join *join, unsigned level, void *low,
		    size_t count)
{
	size_t *done = &x->cursors[join->low].done;
	int status;

	if (!join->bits.bits)
		return execution_next(x, join->low, level, low, count);
	status = packed_decode(&join->bits, *done, low, count, x->err);
	*done += count;
	return status;
}

static size_t join_words(const struct join *join, const void *low, const struct part *part)
{
	void *words = part->words;

	if (join->width == 16)
		return kernels()->join16(&join->cut, words, part->codes, low, part->count);
	return kernels()->join32(&join->cut, words, part->codes, low, part->count);
}

/* The word, which has its low field already, with a high one. */
static uint64_t with_high(const struct join *join, uint64_t word, uint64_t high)
{
	const struct kernel_cut *cut = &join->cut;
	unsigned bits = join->width - cut->low;

	if (cut->turn)
		high = high >> 1 | (high & 1) << (bits - 1);
	word = word << cut->rotation | word >> (join->width - cut->rotation);
	word = high << cut->low | (word & low_bits(cut->low));
	return (word >> cut->rotation | word << (join->width - cut->rotation)) &
	       low_bits(join->width);
}

/* Replaces the words whose code is 255. */
static int patch(struct execution *x, const struct join *join, unsigned level,
		 const struct part *part)
{
	const struct node *nodes = x->program->nodes;
	unsigned second = nodes[join->escape + 1].next;
	unsigned size = word_bytes(nodes[second].width);
	void *others = execution_block(x, level);
	size_t place = 0, i;
	int status = execution_count_escaped(x, join->escape, part->escaped);

	if (!status)
		status = execution_next(x, second, level + 1, others, part->escaped);
	for (i = 0; i < part->escaped && !status; i++, place++) {
		const uint8_t *at = memchr(part->codes + place, 255, part->count - place);

		place = (size_t)(at - part->codes);
		word_set(part->words, join->width / 8, place,
			 with_high(join, word_get(part->words, join->width / 8, place),
				   word_get(others, size, i)));
	}
	return status;
}

/* How many of count words can be joined at once, as far as their low bits are concerned. */
static size_t count_at_once(const struct literal *bits, const uint8_t *low, size_t count)
{
	size_t left = (size_t)(bits->payload.end - low);
	size_t group = (size_t)bits->bits * KERNEL_LANES_MAX / 8;
	size_t groups = left < KERNEL_LOW_SLACK ? 0 : (left - KERNEL_LOW_SLACK) / group;

	return groups < count / KERNEL_LANES_MAX ? groups * KERNEL_LANES_MAX
						 : count / KERNEL_LANES_MAX * KERNEL_LANES_MAX;
}

/* Decodes and joins words at once. part->count becomes how many of them were, perhaps none. */
static int next_at_once(struct execution *x, const struct join *join, unsigned level,
			struct part *part)
{
	const struct literal *bits = &join->bits;
	size_t *done = &x->cursors[join->low].done;
	const uint8_t *low = bits->payload.at + *done / 8 * bits->bits;
	struct kernel_join k = {join->cut, low, bits->bits, part->words, 0};
	int status;

	part->count = *done % 8 ? 0 : count_at_once(bits, low, part->count);
	if (!part->count)
		return BREVIS_OK;
	status = execution_next_joined(x, join->codes, level, part->codes, &part->count,
				       join->width, &k);
	*done += part->count;
	part->escaped = k.escaped;
	return status;
}

/* Decodes words, then joins them. */
static int next_part(struct execution *x, const struct join *join, unsigned level,
		     struct part *part)
{
	void *low = execution_block(x, level);
	int status = execution_next(x, join->codes, level + 1, part->codes, part->count);

	if (!status)
		status = next_low(x, join, level + 1, low, part->count);
	if (!status)
		part->escaped = join_words(join, low, part);
	return status;
}

int join_next(struct execution *x, unsigned index, unsigned level, void *out, size_t count)
{
	const struct join *join = &x->cursors[index].join;
	struct part part = {execution_block(x, level), out, 0, 0};
	bool at_once = join->at_once;
	int status = BREVIS_OK;

	while (count && !status) {
		part.count = count < PART_WORDS ? count : PART_WORDS;
		part.escaped = 0;
		if (at_once)
			status = next_at_once(x, join, level + 1, &part);
		else
			status = next_part(x, join, level + 1, &part);
		at_once = at_once && part.count;
		if (!status && part.escaped && join->escape)
			status = patch(x, join, level + 1, &part);
		part.words += part.count * (join->width / 8);
		count -= part.count;
	}
	return status;
}
