/* SPDX-License-Identifier: Apache-2.0 */
#include "core/entropy/literal_encode.h"

#include "core/base/bits.h"
#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/entropy/histogram.h"
#include "core/entropy/huffman_encode.h"
#include "core/entropy/log2.h"
#include "core/entropy/packed_encode.h"
#include "core/entropy/rans_encode.h"

#include <string.h>

/* The smallest way found so far; sizes are those of complete literals. */
struct choice {
	enum literal_coding coding;
	uint64_t size;
	uint64_t base; /* packed */
	unsigned bits;
};

static int choose_fixed(struct choice *c, unsigned width, size_t count, uint64_t smallest,
			uint64_t largest, struct brevis_error *err)
{
	uint64_t size;

	*c = (struct choice){LITERAL_PACKED, 0, smallest, bit_length(largest - smallest)};
	if (!packed_size(count, c->bits, &size))
		return error_set(err, BREVIS_E_USAGE, "literal: too many words");
	c->size = 1 + varint_size(smallest) + 1 + size;
	if (width == 8 * word_bytes(width) && 1 + (uint64_t)count * (width / 8) <= c->size) {
		c->coding = LITERAL_RAW;
		c->size = 1 + (uint64_t)count * (width / 8);
	}
	return BREVIS_OK;
}

static void write_raw(struct buffer *out, const void *words, unsigned width, size_t count)
{
	unsigned size = word_bytes(width);
	uint8_t *to = buffer_extend(out, count * size);
	size_t i;

	if (!to || !count)
		return;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	(void)i;
	memcpy(to, words, count * size);
#else
	for (i = 0; i < count; i++, to += size) {
		if (size == 1)
			*to = ((const uint8_t *)words)[i];
		else if (size == 2)
			store_le16(to, ((const uint16_t *)words)[i]);
		else if (size == 4)
			store_le32(to, ((const uint32_t *)words)[i]);
		else
			store_le64(to, ((const uint64_t *)words)[i]);
	}
#endif
}

static void write_packed(struct buffer *out, const struct choice *c, const void *words,
			 unsigned width, size_t count)
{
	uint64_t size = 0;
	uint8_t *to;

	packed_size(count, c->bits, &size);
	buffer_varint(out, c->base);
	buffer_u8(out, (uint8_t)c->bits);
	to = buffer_extend(out, size);
	if (to)
		packed_encode(to, words, width, count, c->base, c->bits);
}

/*
 * A bound in bytes that no entropy coding goes below: the words' entropy, and in the table a bit
 * for every symbol that occurs.
 */
static uint64_t least_bytes(const uint32_t *histogram, unsigned symbols, size_t count)
{
	uint64_t cost = (uint64_t)count * log2_fixed((uint32_t)count);
	uint64_t own = 0;
	unsigned i;

	for (i = 0; i < symbols; i++)
		if (histogram[i])
			own += histogram[i] * (uint64_t)log2_fixed(histogram[i]) -
			       (UINT64_C(1) << LOG2_FRACTION);
	return cost > own ? (cost - own) >> (LOG2_FRACTION + 3) : 0;
}

/* Tries rANS; on success *c says so and the literal is in *out. */
static int try_rans(struct buffer *out, struct choice *c, const uint32_t *histogram,
		    const void *words, unsigned width, size_t count, struct brevis_error *err)
{
	struct frequency_plan plan;
	unsigned lanes = rans_lanes(count);
	size_t before = out->size;
	bool fits = false;
	int status = frequency_plan_init(&plan, histogram, width, count, err);

	if (status || 1 + rans_size_bound(&plan, lanes) >= c->size)
		goto out;
	buffer_u8(out, LITERAL_RANS);
	status = rans_encode(out, &plan, lanes, words, width, count, c->size - 1, &fits, err);
	if (!fits)
		out->size = before;
	else
		c->coding = LITERAL_RANS;
out:
	frequency_plan_release(&plan);
	return status;
}

/* Encodes words of at least two values with the best coding there is, *c or better. */
static int encode_symbols(struct buffer *out, struct choice *c, const uint32_t *histogram,
			  const void *words, unsigned width, size_t count, struct brevis_error *err)
{
	struct huffman_plan huffman;
	int status = huffman_plan_init(&huffman, histogram, width, err);

	if (status)
		goto out;
	if (1 + huffman_plan_size(&huffman) < c->size) {
		c->coding = LITERAL_HUFFMAN;
		c->size = 1 + huffman_plan_size(&huffman);
	}
	status = try_rans(out, c, histogram, words, width, count, err);
	if (status || c->coding != LITERAL_HUFFMAN)
		goto out;
	buffer_u8(out, LITERAL_HUFFMAN);
	huffman_encode(out, &huffman, words, width, count);
out:
	huffman_plan_release(&huffman);
	return status;
}

static int measure(uint32_t *histogram, const void *words, unsigned width, size_t count,
		   uint64_t *smallest, uint64_t *largest)
{
	unsigned last = (1u << width) - 1;
	unsigned first = 0;

	if (!histogram_of(histogram, words, width, count))
		return BREVIS_E_USAGE;
	while (!histogram[first])
		first++;
	while (!histogram[last])
		last--;
	*smallest = first;
	*largest = last;
	return BREVIS_OK;
}

int literal_encode(struct buffer *out, const void *words, unsigned width, size_t count,
		   struct brevis_error *err)
{
	uint32_t histogram[1 << LITERAL_SYMBOL_BITS];
	bool symbols = width <= LITERAL_SYMBOL_BITS && count > 0 && count <= UINT32_MAX;
	uint64_t smallest = 0;
	uint64_t largest = 0;
	struct choice c;
	int status = BREVIS_OK;

	if (symbols)
		status = measure(histogram, words, width, count, &smallest, &largest);
	else if (count)
		word_range(words, width, count, &smallest, &largest);
	if (status || largest > low_bits(width))
		return error_set(err, BREVIS_E_USAGE, "literal: a word has over %u bits", width);
	status = choose_fixed(&c, width, count, smallest, largest, err);
	if (status)
		return status;
	if (symbols && smallest != largest &&
	    1 + least_bytes(histogram, 1u << width, count) < c.size)
		status = encode_symbols(out, &c, histogram, words, width, count, err);
	if (!status && c.coding == LITERAL_RAW) {
		buffer_u8(out, LITERAL_RAW);
		write_raw(out, words, width, count);
	} else if (!status && c.coding == LITERAL_PACKED) {
		buffer_u8(out, LITERAL_PACKED);
		write_packed(out, &c, words, width, count);
	}
	if (!status && out->failed)
		status = error_nomem(err);
	return status;
}
