/* SPDX-License-Identifier: Apache-2.0 */
#include "core/program/execute.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/program/dispatch.h"
#include "core/program/execution.h"
#include "core/program/fields.h"

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static int next_routed(struct execution *x, unsigned index, unsigned level, void *out, size_t count)
{
	const struct node *node = &x->program->nodes[index];
	struct cursor *cursor = &x->cursors[index];
	uint8_t *of_word = execution_block(x, level);

	route_classify(&cursor->lines, &node->grid, &node->classes, cursor->done, of_word, count);
	return literal_decoder_next_routed(cursor->decoder, of_word, out, count, x->err);
}

static int begin_lit(struct execution *x, unsigned index)
{
	const struct node *node = &x->program->nodes[index];
	struct cursor *cursor = &x->cursors[index];
	int status = literal_decoder_new(&node->literal, &cursor->decoder, x->err);

	if (!status && node->op == OP_ROUTE &&
	    !route_lines_make(&cursor->lines, &node->grid, &node->classes))
		status = error_nomem(x->err);
	return status;
}

/*
 * With count words more: after the last one a decoder can be checked. Then it goes, unless it is
 * wanted again: making it once more may take far longer than reading its words.
 */
static int end_lit(struct execution *x, unsigned index, size_t count)
{
	struct cursor *cursor = &x->cursors[index];
	int status;

	if (cursor->done + count < x->program->nodes[index].count)
		return BREVIS_OK;
	status = literal_decoder_finish(cursor->decoder, x->err);
	if (cursor->again)
		return status;
	literal_decoder_free(cursor->decoder);
	cursor->decoder = NULL;
	return status;
}

static int next_lit(struct execution *x, unsigned index, unsigned level, void *out, size_t count)
{
	const struct node *node = &x->program->nodes[index];
	struct cursor *cursor = &x->cursors[index];
	int status = BREVIS_OK;

	if (!cursor->decoder)
		status = begin_lit(x, index);
	if (!status && node->op == OP_ROUTE)
		status = next_routed(x, index, level, out, count);
	else if (!status)
		status = literal_decoder_next(cursor->decoder, out, count, x->err);
	return status ? status : end_lit(x, index, count);
}

int execution_next_joined(struct execution *x, unsigned index, unsigned level, uint8_t *codes,
			  size_t *count, unsigned width, struct kernel_join *join)
{
	const struct node *node = &x->program->nodes[index];
	struct cursor *cursor = &x->cursors[index];
	uint8_t *of_word = NULL;
	int status = BREVIS_OK;

	if (!cursor->decoder)
		status = begin_lit(x, index);
	if (status)
		return status;
	if (node->op == OP_ROUTE) {
		of_word = execution_block(x, level);
		route_classify(&cursor->lines, &node->grid, &node->classes, cursor->done, of_word,
			       *count);
	}
	*count = literal_decoder_next_joined(cursor->decoder, of_word, codes, *count, width, join);
	status = end_lit(x, index, *count);
	cursor->done += *count;
	return status;
}

static void fill_uint8_t(uint8_t *out, uint8_t value, size_t count)
{
	memset(out, value, count);
}

#define DEFINE_FILL(T)                                                                             \
	static void fill_##T(T *out, T value, size_t count)                                        \
	{                                                                                          \
		size_t i;                                                                          \
                                                                                                   \
		for (i = 0; i < count; i++)                                                        \
			out[i] = value;                                                            \
	}

DEFINE_FILL(uint16_t)
DEFINE_FILL(uint32_t)
DEFINE_FILL(uint64_t)

static void fill(void *out, unsigned width, uint64_t value, size_t count)
{
#define CALL(T) fill_##T(out, (T)value, count)
	DISPATCH_WORD(width, CALL)
#undef CALL
}

static int next_concat(struct execution *x, unsigned index, unsigned level, void *out, size_t count)
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
		n = smaller(count, cursor->child_left);
		status = execution_next(x, cursor->child, level, at, n);
		cursor->child_left -= n;
		at += n * word_bytes(nodes[index].width);
		count -= n;
	}
	return status;
}

/* ---- repeat ---------------------------------------------------------------------------------- */

/* Copies of its child that a repeat keeps; 0: the child is too long to be kept. */
static size_t copies_kept(const struct program *program, unsigned index)
{
	return smaller(program->nodes[index].times, BLOCK_WORDS / program->nodes[index + 1].count);
}

static int make_copies(struct execution *x, unsigned index, unsigned level)
{
	struct cursor *cursor = &x->cursors[index];
	size_t words = x->program->nodes[index + 1].count;
	size_t size = words * word_bytes(x->program->nodes[index].width);
	size_t kept = copies_kept(x->program, index);
	size_t i;
	int status = BREVIS_OK;

	if (!cursor->copies)
		cursor->copies = malloc(kept * size);
	if (!cursor->copies)
		return error_nomem(x->err);
	status = execution_next(x, index + 1, level, cursor->copies, words);
	for (i = 1; i < kept && !status; i++)
		memcpy(cursor->copies + i * size, cursor->copies, size);
	return status;
}

static int repeat_copies(struct execution *x, unsigned index, unsigned level, uint8_t *out,
			 size_t count)
{
	struct cursor *cursor = &x->cursors[index];
	size_t size = word_bytes(x->program->nodes[index].width);
	size_t period = copies_kept(x->program, index) * x->program->nodes[index + 1].count;
	size_t at = cursor->done % period;
	int status = cursor->done ? BREVIS_OK : make_copies(x, index, level);

	while (count && !status) {
		size_t n = smaller(count, period - at);

		memcpy(out, cursor->copies + at * size, n * size);
		out += n * size;
		count -= n;
		at = 0;
	}
	return status;
}

/* Whether damaged codes have left escaped words unused. Other nodes always use up their children.
 */
static int check_used_up(struct execution *x, unsigned first, unsigned end)
{
	unsigned i;

	for (i = first; i < end; i++)
		if (x->program->nodes[i].op == OP_ESCAPE &&
		    x->cursors[i].escaped != x->program->nodes[i].times)
			return error_set(x->err, BREVIS_E_FORMAT,
					 "program: payload with fewer codes of escaped words than "
					 "there are words");
	return BREVIS_OK;
}

/* Back to the first word of these nodes, all of whose words have been read. */
static int restart(struct execution *x, unsigned first, unsigned end)
{
	unsigned i;
	int status = check_used_up(x, first, end);

	for (i = first; i < end && !status; i++) {
		struct cursor *cursor = &x->cursors[i];

		if (cursor->decoder)
			literal_decoder_rewind(cursor->decoder);
		*cursor = (struct cursor){.copies = cursor->copies,
					  .lines = cursor->lines,
					  .flags = cursor->flags,
					  .join = cursor->join,
					  .decoder = cursor->decoder,
					  .again = cursor->again};
	}
	return status;
}

/* Marks what the repeats will restart. */
static void mark_again(struct execution *x)
{
	const struct node *nodes = x->program->nodes;
	unsigned i, j;

	for (i = 0; i < x->program->size; i++)
		if (nodes[i].op == OP_REPEAT && !copies_kept(x->program, i))
			for (j = i + 1; j < nodes[i].end; j++)
				x->cursors[j].again = true;
}

static int next_repeat(struct execution *x, unsigned index, unsigned level, void *out, size_t count)
{
	const struct node *node = &x->program->nodes[index];
	size_t words = x->program->nodes[index + 1].count;
	size_t done = x->cursors[index].done;
	uint8_t *at = out;
	int status = BREVIS_OK;

	if (copies_kept(x->program, index))
		return repeat_copies(x, index, level, out, count);
	while (count && !status) {
		size_t n = smaller(count, words - done % words);

		if (done && done % words == 0)
			status = restart(x, index + 1, node->end);
		if (!status)
			status = execution_next(x, index + 1, level, at, n);
		at += n * word_bytes(node->width);
		done += n;
		count -= n;
	}
	return status;
}

/* ---- the other operators --------------------------------------------------------------------- */

static int next_map(struct execution *x, unsigned index, unsigned level, void *out, size_t count)
{
	const struct node *node = &x->program->nodes[index];
	int status = execution_next(x, index + 1, level, out, count);

	if (!status)
		map_apply((enum map_function)node->form, node->value, out, node->width, count);
	return status;
}

static int next_scan(struct execution *x, unsigned index, unsigned level, void *out, size_t count)
{
	const struct node *node = &x->program->nodes[index];
	struct cursor *cursor = &x->cursors[index];
	uint8_t *steps = out;
	int status;

	if (!cursor->done) {
		cursor->last = node->value;
		fill(out, node->width, node->value, 1);
		steps += word_bytes(node->width);
		count--;
	}
	if (!count)
		return BREVIS_OK;
	status = execution_next(x, index + 1, level, steps, count);
	if (!status)
		scan_apply((enum scan_function)node->form, &cursor->last, steps, node->width,
			   count);
	return status;
}

static int next_merge(struct execution *x, unsigned index, unsigned level, void *out, size_t count)
{
	const struct node *nodes = x->program->nodes;
	uint8_t *field = execution_block(x, level);
	unsigned shift = nodes[index].width;
	unsigned i, child = index + 1;
	int status;

	for (i = 0; i < nodes[index].arity; i++, child = nodes[child].next) {
		status = execution_next(x, child, level + 1, field, count);
		if (status)
			return status;
		shift -= nodes[child].width;
		fields_insert(out, nodes[index].width, field, nodes[child].width, shift, i == 0,
			      count);
	}
	return BREVIS_OK;
}

int execution_count_escaped(struct execution *x, unsigned index, size_t n)
{
	struct cursor *cursor = &x->cursors[index];

	if (n > x->program->nodes[index].times - cursor->escaped)
		return error_set(x->err, BREVIS_E_FORMAT,
				 "program: payload with more codes of escaped words than there are "
				 "words");
	cursor->escaped += n;
	return BREVIS_OK;
}

static int next_escape(struct execution *x, unsigned index, unsigned level, void *out, size_t count)
{
	const struct node *nodes = x->program->nodes;
	const struct node *node = &nodes[index];
	unsigned first = index + 1, second = nodes[first].next;
	/* Codes that are the words, but for those that are escaped, need no place of their own. */
	bool in_place = !node->value && word_bytes(node->width) == word_bytes(nodes[first].width);
	uint8_t *codes = in_place ? out : execution_block(x, level);
	uint8_t *escaped = execution_block(x, level + 1);
	size_t n;
	int status = execution_next(x, first, level + 1, codes, count);

	if (status)
		return status;
	n = fields_from_codes(out, node->width, codes, nodes[first].width, node->value, count);
	if (!node->times || !n)
		return BREVIS_OK;
	status = execution_count_escaped(x, index, n);
	if (!status)
		status = execution_next(x, second, level + 2, escaped, n);
	if (!status)
		fields_escape(out, node->width, codes, nodes[first].width, escaped, n, count);
	return status;
}

/* The child yields several words for each: a block of them at a time. */
static int next_pack(struct execution *x, unsigned index, unsigned level, void *out, size_t count)
{
	const struct node *node = &x->program->nodes[index];
	unsigned k = (unsigned)node->times;
	uint8_t *fields = execution_block(x, level);
	uint8_t *at = out;
	int status = BREVIS_OK;

	while (count && !status) {
		size_t n = smaller(count, BLOCK_WORDS / k);

		status = execution_next(x, index + 1, level + 1, fields, n * k);
		if (!status)
			fields_pack(at, node->width, fields, k, n);
		at += n * word_bytes(node->width);
		count -= n;
	}
	return status;
}

static int next_flip(struct execution *x, unsigned index, unsigned level, void *out, size_t count)
{
	const struct node *node = &x->program->nodes[index];
	const struct grid *grid = &node->grid;
	struct cursor *cursor = &x->cursors[index];
	int status = execution_next(x, index + 1, level, out, count);

	if (status)
		return status;
	if (!grid_has_row_flags(grid)) {
		grid_flip(grid, node->flags, cursor->done, out, node->width, count);
		return BREVIS_OK;
	}
	if (!cursor->flags)
		cursor->flags = grid_row_flags(grid, node->flags);
	if (!cursor->flags)
		return error_nomem(x->err);
	grid_flip_row(grid->columns * grid->inner, cursor->flags, cursor->done, out, node->width,
		      count);
	return BREVIS_OK;
}

static int dispatch(struct execution *x, unsigned index, unsigned level, void *out, size_t count)
{
	const struct node *node = &x->program->nodes[index];

	switch (node->op) {
	case OP_LIT:
	case OP_ROUTE:
		return next_lit(x, index, level, out, count);
	case OP_CONST:
		fill(out, node->width, node->value, count);
		return BREVIS_OK;
	case OP_CONCAT:
		return next_concat(x, index, level, out, count);
	case OP_REPEAT:
		return next_repeat(x, index, level, out, count);
	case OP_MAP:
		return next_map(x, index, level, out, count);
	case OP_SCAN:
		return next_scan(x, index, level, out, count);
	case OP_MERGE:
		return next_merge(x, index, level, out, count);
	case OP_ESCAPE:
		return next_escape(x, index, level, out, count);
	case OP_PACK:
		return next_pack(x, index, level, out, count);
	case OP_FLIP:
		return next_flip(x, index, level, out, count);
	}
	return error_set(x->err, BREVIS_E_USAGE, "program was not validated");
}

int execution_next(struct execution *x, unsigned index, unsigned level, void *out, size_t count)
{
	int status = x->cursors[index].join.width ? join_next(x, index, level, out, count)
						  : dispatch(x, index, level, out, count);

	x->cursors[index].done += count;
	return status;
}

static void begin(struct execution *x, bool by_node)
{
	unsigned i;

	for (i = 0; i < x->program->size; i++) {
		x->cursors[i] = (struct cursor){0};
		if (!by_node)
			x->cursors[i].join = join_find(x->program, i);
	}
	mark_again(x);
}

static void end(struct execution *x)
{
	unsigned i;

	for (i = 0; i < x->program->size; i++) {
		literal_decoder_free(x->cursors[i].decoder);
		if (x->program->nodes[i].op == OP_ROUTE)
			route_lines_release(&x->cursors[i].lines);
		free(x->cursors[i].flags);
		free(x->cursors[i].copies);
	}
}

int executor_run(struct executor *executor, const struct program *program, void *out,
		 struct brevis_error *err)
{
	const struct node *root = &program->nodes[0];
	size_t size = word_bytes(root->width);
	struct execution x;
	size_t at, n;
	int status = BREVIS_OK;

	if (!executor->scratch)
		executor->scratch = malloc((size_t)SCRATCH_BLOCKS * BLOCK_WORDS * 8);
	if (!executor->scratch)
		return error_nomem(err);
	x.program = program;
	x.scratch = executor->scratch;
	x.err = err;
	begin(&x, executor->by_node);
	for (at = 0; at < root->count && !status; at += n) {
		void *words = out ? (uint8_t *)out + at * size : execution_block(&x, 0);

		n = smaller(root->count - at, BLOCK_WORDS);
		status = execution_next(&x, 0, out ? 0 : 1, words, n);
		fields_to_bytes(words, root->width, n);
		if (executor->written && !status)
			executor->written(executor->ctx, words, n * size);
	}
	if (!status)
		status = check_used_up(&x, 0, program->size);
	end(&x);
	return status;
}

void executor_release(struct executor *executor)
{
	free(executor->scratch);
	executor->scratch = NULL;
}
