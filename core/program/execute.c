/* SPDX-License-Identifier: Apache-2.0 */
#include "core/program/execute.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/program/dispatch.h"
#include "core/program/fields.h"

/* Words that pass through the whole tree at a time. A multiple of the lanes of every coding. */
#define BLOCK_WORDS 8192

/* Blocks of scratch memory: no node needs more than two, and leaves need none. */
#define SCRATCH_BLOCKS (2 * (PROGRAM_MAX_DEPTH - 1))

/* Where the execution of a node stands. */
struct cursor {
	size_t done;                     /* words it has yielded */
	struct literal_decoder *decoder; /* lit, from its first word on */
	bool again;                      /* lit: a repeat will want its words once more */
	unsigned child;                  /* concat: the child that is being read */
	size_t child_left;               /* concat: words it still has */
	uint8_t *copies;                 /* repeat of few words: some copies of them */
	uint64_t last;                   /* scan: the latest word */
	size_t escaped;                  /* escape: escaped words so far */
};

struct execution {
	const struct program *program;
	struct cursor cursors[PROGRAM_MAX_NODES];
	uint8_t *scratch; /* SCRATCH_BLOCKS blocks of 64-bit words */
	struct brevis_error *err;
};

/*
 * Yields the next count <= BLOCK_WORDS words of a node. Blocks of scratch memory from number level
 * on are free.
 */
static int next_words(struct execution *x, unsigned index, unsigned level, void *out, size_t count);

static uint8_t *scratch_block(const struct execution *x, unsigned level)
{
	return x->scratch + (size_t)level * BLOCK_WORDS * 8;
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * After the last word a decoder can be checked; then it goes, unless it is wanted again: making it
 * once more may take far longer than reading its words.
 */
static int next_lit(struct execution *x, unsigned index, void *out, size_t count)
{
	const struct node *node = &x->program->nodes[index];
	struct cursor *cursor = &x->cursors[index];
	int status = BREVIS_OK;

	if (!cursor->decoder)
		status = literal_decoder_new(&node->literal, &cursor->decoder, x->err);
	if (!status)
		status = literal_decoder_next(cursor->decoder, out, count, x->err);
	if (status || cursor->done + count < node->count)
		return status;
	status = literal_decoder_finish(cursor->decoder, x->err);
	if (cursor->again)
		return status;
	literal_decoder_free(cursor->decoder);
	cursor->decoder = NULL;
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
		status = next_words(x, cursor->child, level, at, n);
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
	status = next_words(x, index + 1, level, cursor->copies, words);
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
			status = next_words(x, index + 1, level, at, n);
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
	int status = next_words(x, index + 1, level, out, count);

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
	status = next_words(x, index + 1, level, steps, count);
	if (!status)
		scan_apply((enum scan_function)node->form, &cursor->last, steps, node->width,
			   count);
	return status;
}

static int next_merge(struct execution *x, unsigned index, unsigned level, void *out, size_t count)
{
	const struct node *nodes = x->program->nodes;
	uint8_t *field = scratch_block(x, level);
	unsigned shift = nodes[index].width;
	unsigned i, child = index + 1;
	int status;

	for (i = 0; i < nodes[index].arity; i++, child = nodes[child].next) {
		status = next_words(x, child, level + 1, field, count);
		if (status)
			return status;
		shift -= nodes[child].width;
		fields_insert(out, nodes[index].width, field, nodes[child].width, shift, i == 0,
			      count);
	}
	return BREVIS_OK;
}

/* Reads what each class needs for this block, one after another, then deals it out. */
static int next_route(struct execution *x, unsigned index, unsigned level, void *out, size_t count)
{
	const struct node *nodes = x->program->nodes;
	const struct node *node = &nodes[index];
	uint8_t *parts = scratch_block(x, level);
	uint8_t *of_word = scratch_block(x, level + 1);
	size_t counts[ROUTE_MAX_CLASSES], at[ROUTE_MAX_CLASSES] = {0};
	size_t sum = 0;
	unsigned i, child = index + 1;
	int status = BREVIS_OK;

	route_classify(&node->grid, &node->classes, x->cursors[index].done, of_word, count);
	route_tally(of_word, count, counts);
	for (i = 0; i < node->arity && !status; i++, child = nodes[child].next) {
		at[i] = sum;
		if (counts[i])
			status = next_words(x, child, level + 2,
					    parts + sum * word_bytes(node->width), counts[i]);
		sum += counts[i];
	}
	if (!status)
		route_gather(out, parts, node->width, of_word, at, count);
	return status;
}

static int next_escape(struct execution *x, unsigned index, unsigned level, void *out, size_t count)
{
	const struct node *nodes = x->program->nodes;
	const struct node *node = &nodes[index];
	struct cursor *cursor = &x->cursors[index];
	unsigned first = index + 1, second = nodes[first].next;
	uint8_t *codes = scratch_block(x, level);
	uint8_t *escaped = scratch_block(x, level + 1);
	size_t n;
	int status = next_words(x, first, level + 1, codes, count);

	if (status)
		return status;
	n = fields_from_codes(out, node->width, codes, nodes[first].width, node->value, count);
	if (!node->times || !n)
		return BREVIS_OK;
	if (n > node->times - cursor->escaped)
		return error_set(x->err, BREVIS_E_FORMAT,
				 "program: payload with more codes of escaped words than there are "
				 "words");
	cursor->escaped += n;
	status = next_words(x, second, level + 2, escaped, n);
	if (!status)
		fields_escape(out, node->width, codes, nodes[first].width, escaped, count);
	return status;
}

/* The child yields several words for each: a block of them at a time. */
static int next_pack(struct execution *x, unsigned index, unsigned level, void *out, size_t count)
{
	const struct node *node = &x->program->nodes[index];
	unsigned k = (unsigned)node->times;
	uint8_t *fields = scratch_block(x, level);
	uint8_t *at = out;
	int status = BREVIS_OK;

	while (count && !status) {
		size_t n = smaller(count, BLOCK_WORDS / k);

		status = next_words(x, index + 1, level + 1, fields, n * k);
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
	int status = next_words(x, index + 1, level, out, count);

	if (!status)
		grid_flip(&node->grid, node->flags, x->cursors[index].done, out, node->width,
			  count);
	return status;
}

static int dispatch(struct execution *x, unsigned index, unsigned level, void *out, size_t count)
{
	const struct node *node = &x->program->nodes[index];

	switch (node->op) {
	case OP_LIT:
		return next_lit(x, index, out, count);
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
	case OP_ROUTE:
		return next_route(x, index, level, out, count);
	case OP_ESCAPE:
		return next_escape(x, index, level, out, count);
	case OP_PACK:
		return next_pack(x, index, level, out, count);
	case OP_FLIP:
		return next_flip(x, index, level, out, count);
	}
	return error_set(x->err, BREVIS_E_USAGE, "program was not validated");
}

static int next_words(struct execution *x, unsigned index, unsigned level, void *out, size_t count)
{
	int status = dispatch(x, index, level, out, count);

	x->cursors[index].done += count;
	return status;
}

int program_execute(const struct program *program, void *out, struct brevis_error *err)
{
	struct execution x = {.program = program, .err = err};
	const struct node *root = &program->nodes[0];
	size_t at, n;
	unsigned i;
	int status = BREVIS_OK;

	x.scratch = malloc((size_t)SCRATCH_BLOCKS * BLOCK_WORDS * 8);
	if (!x.scratch)
		return error_nomem(err);
	mark_again(&x);
	for (at = 0; at < root->count && !status; at += n) {
		uint8_t *words = (uint8_t *)out + at * word_bytes(root->width);

		n = smaller(root->count - at, BLOCK_WORDS);
		status = next_words(&x, 0, 0, words, n);
		fields_to_bytes(words, root->width, n);
	}
	if (!status)
		status = check_used_up(&x, 0, program->size);
	for (i = 0; i < program->size; i++) {
		literal_decoder_free(x.cursors[i].decoder);
		free(x.cursors[i].copies);
	}
	free(x.scratch);
	return status;
}
