/* SPDX-License-Identifier: Apache-2.0 */
#include "core/synthesis/synthesize.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/bits.h"
#include "core/base/error.h"
#include "core/entropy/histogram.h"
#include "core/entropy/literal_encode.h"
#include "core/entropy/words.h"
#include "core/program/fields.h"
#include "core/program/program.h"
#include "core/synthesis/partition.h"

/* A run at an end of the stream is split off if it has at least this many words. */
#define RUN_MIN 64

/* A target stream: what a hole of the program must yield. */
struct target {
	const void *words;
	unsigned width;
	size_t count;
};

static uint64_t word_at(const struct target *t, size_t i)
{
	return word_get(t->words, word_bytes(t->width), i);
}

static struct target part(const struct target *t, size_t begin, size_t count)
{
	const uint8_t *at = (const uint8_t *)t->words + begin * word_bytes(t->width);

	return (struct target){at, t->width, count};
}

/* Length of the run of equal words that the stream begins with. */
static size_t run_at_start(const struct target *t)
{
	uint64_t first = word_at(t, 0);
	size_t n = 1;

	while (n < t->count && word_at(t, n) == first)
		n++;
	return n;
}

static size_t run_at_end(const struct target *t)
{
	uint64_t last = word_at(t, t->count - 1);
	size_t n = 1;

	while (n < t->count && word_at(t, t->count - 1 - n) == last)
		n++;
	return n;
}

static int emit_leaf(const struct target *t, struct buffer *out, struct brevis_error *err)
{
	if (run_at_start(t) == t->count) {
		program_put_const(out, t->width, word_at(t, 0));
		return BREVIS_OK;
	}
	program_put_lit(out);
	return literal_encode(out, t->words, t->width, t->count, err);
}

static int emit_merge(const struct target *t, const struct partition *cut, struct buffer *out,
		      struct brevis_error *err)
{
	struct target field = {.count = t->count};
	unsigned shift = t->width;
	unsigned i;
	void *words = malloc(t->count * word_bytes(t->width));
	int status = words ? BREVIS_OK : error_nomem(err);

	program_put_merge(out, cut->widths, cut->count);
	for (i = 0; i < cut->count && !status; i++) {
		shift -= cut->widths[i];
		fields_extract(t->words, t->width, words, cut->widths[i], shift, t->count);
		field.words = words;
		field.width = cut->widths[i];
		status = emit_leaf(&field, out, err);
	}
	free(words);
	return status;
}

/*
 * Bytes that the plain leaf takes at least. Words too wide for an entropy coding are packed, by
 * their range; what narrow ones take is only known once they are written.
 */
static size_t leaf_size_min(const struct target *t)
{
	uint64_t smallest, largest;

	if (t->width <= LITERAL_SYMBOL_BITS)
		return 0;
	word_range(t->words, t->width, t->count, &smallest, &largest);
	return t->count / 8 * bit_length(largest - smallest);
}

/* The smaller of the best merge and the plain leaf. */
static int emit_merge_or_leaf(const struct target *t, struct buffer *out, struct brevis_error *err)
{
	size_t start = out->size, merge_size, leaf_size;
	struct partition cut;
	int status = partition_find(t->words, t->width, t->count, &cut, err);

	if (status || cut.count == 1)
		return status ? status : emit_leaf(t, out, err);
	status = emit_merge(t, &cut, out, err);
	merge_size = out->size - start;
	if (status || leaf_size_min(t) >= merge_size)
		return status;
	status = emit_leaf(t, out, err);
	leaf_size = out->size - start - merge_size;
	if (leaf_size < merge_size) {
		memmove(out->data + start, out->data + start + merge_size, leaf_size);
		merge_size = leaf_size;
	}
	out->size = start + merge_size;
	return status;
}

/* concat: runs of one word at either end, and what is between them. */
static int emit_ends(const struct target *t, size_t head, size_t tail, struct buffer *out,
		     struct brevis_error *err)
{
	size_t body = t->count - head - tail;
	struct target middle = part(t, head, body);
	size_t counts[3];
	unsigned n = 0;
	int status = BREVIS_OK;

	if (head)
		counts[n++] = head;
	if (body)
		counts[n++] = body;
	if (tail)
		counts[n++] = tail;
	program_put_concat(out, counts, n);
	if (head)
		program_put_const(out, t->width, word_at(t, 0));
	if (body)
		status = emit_merge_or_leaf(&middle, out, err);
	if (tail)
		program_put_const(out, t->width, word_at(t, t->count - 1));
	return status;
}

static int emit_program(const struct target *t, struct buffer *out, struct brevis_error *err)
{
	size_t head = run_at_start(t);
	size_t tail;

	if (head == t->count)
		return emit_leaf(t, out, err);
	tail = run_at_end(t);
	if (head < RUN_MIN)
		head = 0;
	if (tail < RUN_MIN)
		tail = 0;
	if (head || tail)
		return emit_ends(t, head, tail, out, err);
	return emit_merge_or_leaf(t, out, err);
}

int synthesize(const void *words, unsigned width, size_t count, struct buffer *out,
	       struct brevis_error *err)
{
	struct target t = {words, width, count};
	size_t size = count * (width / 8);
	void *swapped = NULL;
	int status;

	if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ && width > 8) {
		swapped = malloc(size);
		if (!swapped)
			return error_nomem(err);
		t.words = memcpy(swapped, words, size);
		fields_to_bytes(swapped, width, count);
	}
	status = emit_program(&t, out, err);
	free(swapped);
	return status;
}
