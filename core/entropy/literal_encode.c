/* SPDX-License-Identifier: Apache-2.0 */
#include "core/entropy/literal_encode.h"

#include "core/base/bits.h"
#include "core/base/error.h"
#include "core/entropy/codebook_encode.h"
#include "core/entropy/histogram.h"
#include "core/entropy/huffman_encode.h"
#include "core/entropy/literal_library_encode.h"
#include "core/entropy/packed_encode.h"
#include "core/entropy/rans_encode.h"
#include "core/entropy/raw_encode.h"
#include "core/entropy/tally.h"

#include <string.h>

/* Fewer words than this are more likely to be coded best by Huffman, more of them by rANS. */
#define HUFFMAN_WORDS 4096

/* One call of literal_encode, and the smallest node found so far. */
struct encoding {
	struct buffer *out;
	size_t start; /* of the node in *out */
	const void *words;
	unsigned width;
	size_t count;
	const uint32_t *histogram; /* NULL: the words are too wide for one */
	const struct codebook *codebook;
	struct brevis_error *err;

	enum literal_coding coding;
	uint64_t size;
	bool written;  /* from start on; raw, packed and Huffman are written when they have won */
	uint64_t base; /* packed */
	unsigned bits;
};

static void put_op(struct encoding *e, enum literal_coding coding)
{
	buffer_u8(e->out, (uint8_t)(LITERAL_NODE | (unsigned)coding << 4));
}

static int choose_fixed(struct encoding *e, uint64_t smallest, uint64_t largest)
{
	uint64_t raw = 1 + (uint64_t)e->count * raw_bytes(e->width);
	uint64_t packed;

	e->base = smallest;
	e->bits = bit_length(largest - smallest);
	if (e->count > UINT64_MAX / 16 || !packed_size(e->count, e->bits, &packed))
		return error_set(e->err, BREVIS_E_USAGE, "literal: too many words");
	packed += 2 + varint_size(smallest);
	e->coding = raw <= packed ? LITERAL_RAW : LITERAL_PACKED;
	e->size = raw <= packed ? raw : packed;
	return BREVIS_OK;
}

static void write_raw(struct encoding *e)
{
	uint8_t *to;

	put_op(e, LITERAL_RAW);
	to = buffer_extend(e->out, e->count * raw_bytes(e->width));
	if (to)
		raw_encode(to, e->words, e->width, e->count);
}

static void write_packed(struct encoding *e)
{
	uint64_t size = 0;
	uint8_t *to;

	packed_size(e->count, e->bits, &size);
	put_op(e, LITERAL_PACKED);
	buffer_varint(e->out, e->base);
	buffer_u8(e->out, (uint8_t)e->bits);
	to = buffer_extend(e->out, size);
	if (to)
		packed_encode(to, e->words, e->width, e->count, e->base, e->bits);
}

/* The node that was written from `begin` on is the best one and takes the place of any before. */
static void take(struct encoding *e, enum literal_coding coding, size_t begin)
{
	size_t size = e->out->size - begin;

	if (begin > e->start)
		memmove(e->out->data + e->start, e->out->data + begin, size);
	e->out->size = e->start + size;
	e->coding = coding;
	e->size = size;
	e->written = true;
}

static int try_rans(struct encoding *e)
{
	struct rans_input in = {(void *)e->words, e->width, e->count, 1, NULL, NULL};
	struct frequency_plan plan;
	unsigned lanes = rans_lanes(e->count);
	size_t begin = e->out->size;
	bool fits = false;
	int status = frequency_plan_init(&plan, e->histogram, e->width, e->count, e->err);

	if (status || 1 + rans_size_bound(&plan, lanes) >= e->size)
		goto out;
	put_op(e, LITERAL_RANS);
	status = rans_encode(e->out, &plan, lanes, &in, e->size - 1, &fits, e->err);
	if (fits)
		take(e, LITERAL_RANS, begin);
	else
		e->out->size = begin;
out:
	frequency_plan_release(&plan);
	return status;
}

static int try_shared(struct encoding *e, const struct tally *tally)
{
	struct rans_input in = {(void *)e->words, e->width, e->count, 1, NULL, NULL};
	unsigned lanes = rans_lanes(e->count);
	size_t begin = e->out->size;
	unsigned number = 0;
	uint64_t cost = codebook_cheapest(e->codebook, tally, &number);
	bool fits;
	int status;

	if (cost == UINT64_MAX || 3 + rans_payload_bound(cost, lanes) >= e->size)
		return BREVIS_OK;
	put_op(e, LITERAL_SHARED);
	buffer_u8(e->out, (uint8_t)number);
	buffer_u8(e->out, (uint8_t)rans_lanes_code(lanes));
	status = rans_payload_encode(e->out, codebook_shares(e->codebook, number),
				     codebook_scale_bits(e->codebook, number), lanes, &in,
				     e->size - 3, &fits, e->err);
	if (fits)
		take(e, LITERAL_SHARED, begin);
	else
		e->out->size = begin;
	return status;
}

/* Plans a Huffman coding, which wins if it stays the smallest. Of equals it is the first. */
static int try_huffman(struct encoding *e, struct huffman_plan *plan)
{
	bool after = e->coding > LITERAL_HUFFMAN;
	uint64_t most = e->size + after - 1;
	bool fits;
	int status = huffman_plan_try(plan, e->histogram, e->width, most - 1, &fits, e->err);

	if (status || !fits)
		return status;
	e->coding = LITERAL_HUFFMAN;
	e->size = 1 + huffman_plan_size(plan);
	e->written = false;
	return BREVIS_OK;
}

/* Tries the entropy codings on words of at least two values. */
static int try_symbols(struct encoding *e, const struct tally *tally)
{
	struct huffman_plan huffman = {.lengths = NULL};
	bool few = e->count < HUFFMAN_WORDS;
	int status = BREVIS_OK;

	if (few)
		status = try_huffman(e, &huffman);
	if (!status)
		status = try_rans(e);
	if (!status && !few)
		status = try_huffman(e, &huffman);
	if (!status)
		status = try_shared(e, tally);
	if (status || e->coding != LITERAL_HUFFMAN)
		goto out;
	e->out->size = e->start;
	put_op(e, LITERAL_HUFFMAN);
	huffman_encode(e->out, &huffman, e->words, e->width, e->count);
	e->written = true;
out:
	huffman_plan_release(&huffman);
	return status;
}

static void histogram_range(const uint32_t *histogram, unsigned width, uint64_t *smallest,
			    uint64_t *largest)
{
	unsigned last = (1u << width) - 1;
	unsigned first = 0;

	while (!histogram[first])
		first++;
	while (!histogram[last])
		last--;
	*smallest = first;
	*largest = last;
}

/* Finds the range of the words; counts them into `counts` if they are narrow and not counted yet.
 */
static int measure(struct encoding *e, bool noise, uint32_t *counts, uint64_t *smallest,
		   uint64_t *largest)
{
	bool narrow = e->width <= LITERAL_SYMBOL_BITS && e->count <= UINT32_MAX && !noise;
	bool fits = true;

	if (narrow && !e->histogram) {
		fits = histogram_of(counts, e->words, e->width, e->count);
		e->histogram = counts;
	}
	if (narrow && fits) {
		histogram_range(e->histogram, e->width, smallest, largest);
	} else if (fits) {
		e->histogram = NULL;
		word_range(e->words, e->width, e->count, smallest, largest);
		fits = *largest <= low_bits(e->width);
	}
	if (!fits)
		return error_set(e->err, BREVIS_E_USAGE, "literal: a word has over %u bits",
				 e->width);
	return BREVIS_OK;
}

int literal_encode(struct buffer *out, const void *words, unsigned width, size_t count,
		   const struct literal_options *options, struct brevis_error *err)
{
	static const struct literal_options none;
	uint32_t counts[1 << LITERAL_SYMBOL_BITS];
	struct encoding e = {.out = out,
			     .start = out->size,
			     .words = words,
			     .width = width,
			     .count = count,
			     .err = err};
	uint64_t smallest, largest;
	struct tally tally;
	bool found = false;
	int status;

	if (!options)
		options = &none;
	if (!count)
		return error_set(err, BREVIS_E_USAGE, "literal: no words");
	e.histogram = options->histogram;
	e.codebook = options->codebook;
	status = measure(&e, options->noise, counts, &smallest, &largest);
	if (!status)
		status = choose_fixed(&e, smallest, largest);
	if (!status && e.histogram && smallest != largest) {
		tally_take(&tally, e.histogram, width, count);
		if (tally_bound(&tally) < e.size)
			status = try_symbols(&e, &tally);
	}
	if (!status && (options->zstd_level || options->lzma))
		status = literal_library_encode(out, e.start, words, width, count, options, &e.size,
						&found, err);
	if (!status && !found && !e.written) {
		if (e.coding == LITERAL_RAW)
			write_raw(&e);
		else
			write_packed(&e);
	}
	if (!status && out->failed)
		status = error_nomem(err);
	return status;
}
