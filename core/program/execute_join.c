/* SPDX-License-Identifier: Apache-2.0 */
/* The shape that nearly all tensors have, by kernels instead of node by node. */
#include <string.h>

#include "core/base/bits.h"
#include "core/base/error.h"
#include "core/entropy/packed.h"
#include "core/entropy/words.h"
#include "core/program/execution.h"

/* Words that are joined at a time: with their codes and low bits they stay in the first cache. */
#define PART_WORDS 2048

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
	return join;
}

/* ---- joining --------------------------------------------------------------------------------- */

/* The codes of a part of the words, and the other field. */
struct part {
	const uint8_t *codes;
	const void *low;
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

static size_t join_words(const struct join *join, void *words, const struct part *part)
{
	const struct kernel_cut *cut = &join->cut;

	if (join->width == 16)
		return kernels()->join16(cut, words, part->codes, part->low, part->count);
	return kernels()->join32(cut, words, part->codes, part->low, part->count);
}

/* The word of a high and a low field. */
static uint64_t word_of(const struct join *join, uint64_t high, uint64_t low)
{
	const struct kernel_cut *cut = &join->cut;
	unsigned bits = join->width - cut->low;
	uint64_t word;

	if (cut->turn)
		high = high >> 1 | (high & 1) << (bits - 1);
	word = high << cut->low | low;
	return (word >> cut->rotation | word << (join->width - cut->rotation)) &
	       low_bits(join->width);
}

/* Replaces the words whose code is 255. */
static int patch(struct execution *x, const struct join *join, unsigned level, void *words,
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
		word_set(words, join->width / 8, place,
			 word_of(join, word_get(others, size, i),
				 word_get(part->low, join->width == 16 ? 1 : 4, place)));
	}
	return status;
}

int join_next(struct execution *x, unsigned index, unsigned level, void *out, size_t count)
{
	const struct join *join = &x->cursors[index].join;
	uint8_t *codes = execution_block(x, level);
	uint8_t *low = execution_block(x, level + 1);
	uint8_t *words = out;
	struct part part = {codes, low, 0, 0};
	int status = execution_next(x, join->codes, level + 1, codes, count);

	for (; count && !status; count -= part.count) {
		part.count = count < PART_WORDS ? count : PART_WORDS;
		status = next_low(x, join, level + 2, low, part.count);
		if (!status)
			part.escaped = join_words(join, words, &part);
		if (!status && part.escaped && join->escape)
			status = patch(x, join, level + 2, words, &part);
		words += part.count * (join->width / 8);
		part.codes += part.count;
	}
	return status;
}
