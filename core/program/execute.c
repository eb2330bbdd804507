/* SPDX-License-Identifier: Apache-2.0 */
#include "core/program/execute.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/program/fields.h"

/* Words that pass through the whole tree at a time. A multiple of the lanes of every coding. */
#define BLOCK_WORDS 8192

/* Where the execution of a node stands. */
struct cursor {
	struct literal_decoder *decoder; /* lit */
	unsigned child;                  /* concat: the child that is being read */
	size_t child_left;               /* concat: words it still has */
};

struct execution {
	const struct program *program;
	struct cursor cursors[PROGRAM_MAX_NODES];
	uint8_t *scratch; /* a block of 64-bit words for each level of merges */
	struct brevis_error *err;
};

static int next_words(struct execution *x, unsigned index, unsigned depth, void *out, size_t count);

static void fill(void *out, unsigned width, uint64_t value, size_t count)
{
	size_t i;

	switch (word_bytes(width)) {
	case 1:
		memset(out, (int)value, count);
		break;
	case 2:
		for (i = 0; i < count; i++)
			((uint16_t *)out)[i] = (uint16_t)value;
		break;
	case 4:
		for (i = 0; i < count; i++)
			((uint32_t *)out)[i] = (uint32_t)value;
		break;
	default:
		for (i = 0; i < count; i++)
			((uint64_t *)out)[i] = value;
	}
}

static int next_concat(struct execution *x, unsigned index, unsigned depth, void *out, size_t count)
{
	struct cursor *cursor = &x->cursors[index];
	const struct node *nodes = x->program->nodes;
	uint8_t *at = out;
	int status = BREVIS_OK;

	while (count && !status) {
		size_t n;

		if (!cursor->child_left) {
			cursor->child = cursor->child ? nodes[cursor->child].next : index + 1;
			cursor->child_left = nodes[cursor->child].count;
		}
		n = count < cursor->child_left ? count : cursor->child_left;
		status = next_words(x, cursor->child, depth, at, n);
		cursor->child_left -= n;
		at += n * word_bytes(nodes[index].width);
		count -= n;
	}
	return status;
}

static int next_merge(struct execution *x, unsigned index, unsigned depth, void *out, size_t count)
{
	const struct node *nodes = x->program->nodes;
	uint8_t *field = x->scratch + (size_t)depth * BLOCK_WORDS * 8;
	unsigned shift = nodes[index].width;
	unsigned i, child = index + 1;
	int status;

	for (i = 0; i < nodes[index].arity; i++, child = nodes[child].next) {
		status = next_words(x, child, depth + 1, field, count);
		if (status)
			return status;
		shift -= nodes[child].width;
		fields_insert(out, nodes[index].width, field, nodes[child].width, shift, i == 0,
			      count);
	}
	return BREVIS_OK;
}

/* Yields the next count <= BLOCK_WORDS words of a node. */
static int next_words(struct execution *x, unsigned index, unsigned depth, void *out, size_t count)
{
	const struct node *node = &x->program->nodes[index];

	switch (node->op) {
	case OP_LIT:
		return literal_decoder_next(x->cursors[index].decoder, out, count, x->err);
	case OP_CONST:
		fill(out, node->width, node->value, count);
		return BREVIS_OK;
	case OP_CONCAT:
		return next_concat(x, index, depth, out, count);
	case OP_MERGE:
		return next_merge(x, index, depth, out, count);
	}
	return error_set(x->err, BREVIS_E_USAGE, "program was not validated");
}

static int start(struct execution *x)
{
	const struct program *program = x->program;
	unsigned i;
	int status = BREVIS_OK;

	x->scratch = malloc((size_t)PROGRAM_MAX_DEPTH * BLOCK_WORDS * 8);
	if (!x->scratch)
		return error_nomem(x->err);
	for (i = 0; i < program->size && !status; i++)
		if (program->nodes[i].op == OP_LIT)
			status = literal_decoder_new(&program->nodes[i].literal,
						     &x->cursors[i].decoder, x->err);
	return status;
}

/* Every literal must have been used up, to its last bit. */
static int finish(struct execution *x)
{
	unsigned i;
	int status = BREVIS_OK;

	for (i = 0; i < x->program->size && !status; i++)
		if (x->cursors[i].decoder)
			status = literal_decoder_finish(x->cursors[i].decoder, x->err);
	return status;
}

int program_execute(const struct program *program, void *out, struct brevis_error *err)
{
	struct execution x = {.program = program, .err = err};
	const struct node *root = &program->nodes[0];
	size_t at, n;
	unsigned i;
	int status = start(&x);

	for (at = 0; at < root->count && !status; at += n) {
		uint8_t *words = (uint8_t *)out + at * word_bytes(root->width);

		n = root->count - at < BLOCK_WORDS ? root->count - at : BLOCK_WORDS;
		status = next_words(&x, 0, 0, words, n);
		fields_to_bytes(words, root->width, n);
	}
	if (!status)
		status = finish(&x);
	for (i = 0; i < program->size; i++)
		literal_decoder_free(x.cursors[i].decoder);
	free(x.scratch);
	return status;
}
