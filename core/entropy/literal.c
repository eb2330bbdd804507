/* SPDX-License-Identifier: Apache-2.0 */
#include "core/entropy/literal.h"

#include "core/base/bits.h"
#include "core/base/bits.h"
#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/entropy/huffman.h"
#include "core/entropy/packed.h"
#include "core/entropy/rans.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct literal_decoder {
	struct literal literal;
	size_t done; /* words */
	union {
		struct huffman_decoder huffman;
		struct rans_decoder rans;
	} u; /* with a table behind it; no part of raw and packed decoders */
};

static int take_payload(struct span *in, uint64_t size, struct literal *out,
			struct brevis_error *err)
{
	uint64_t left = span_left(in);
	const uint8_t *at = span_take(in, size);

	if (!at)
		return error_set(err, BREVIS_E_FORMAT,
				 "literal: a payload of %llu bytes where %llu are left",
				 (unsigned long long)size, (unsigned long long)left);
	out->payload = span_of(at, (size_t)size);
	return BREVIS_OK;
}

/* Reads the payload's size and takes the payload. */
static int take_sized_payload(struct span *in, struct literal *out, struct brevis_error *err)
{
	uint64_t size = span_varint(in);

	if (in->failed)
		return error_set(err, BREVIS_E_FORMAT, "literal: damaged payload size");
	return take_payload(in, size, out, err);
}

static int parse_raw(struct span *in, struct literal *out, struct brevis_error *err)
{
	uint64_t size;

	if (out->width != 8 * word_bytes(out->width))
		return error_set(err, BREVIS_E_FORMAT, "raw literal: words of %u bits", out->width);
	if (!checked_mul(out->count, out->width / 8, &size))
		return error_set(err, BREVIS_E_FORMAT, "raw literal: too many words");
	return take_payload(in, size, out, err);
}

static int parse_packed(struct span *in, struct literal *out, struct brevis_error *err)
{
	uint64_t size;
	unsigned used;
	int status;

	out->base = span_varint(in);
	out->bits = span_u8(in);
	if (in->failed)
		return error_set(err, BREVIS_E_FORMAT, "packed literal: damaged base");
	if (out->base > low_bits(out->width) || out->bits > out->width)
		return error_set(
			err, BREVIS_E_FORMAT, "packed literal: %s is beyond words of %u bits",
			out->bits > out->width ? "its number of bits" : "its base", out->width);
	if (!packed_size(out->count, out->bits, &size))
		return error_set(err, BREVIS_E_FORMAT, "packed literal: too many words");
	status = take_payload(in, size, out, err);
	/* No overflow: packed_size has computed the same product. */
	used = (unsigned)((uint64_t)out->count * out->bits % 8);
	if (!status && used && out->payload.end[-1] >> used)
		return error_set(err, BREVIS_E_FORMAT, "packed literal: padding bits are set");
	return status;
}

static int parse_huffman(struct span *in, struct literal *out, struct brevis_error *err)
{
	const uint8_t *begin = in->at;
	struct huffman_table table;
	int status = huffman_table_read(in, out->width, &table, NULL, err);

	if (status)
		return status;
	if (UINT64_C(1) << table.longest > HUFFMAN_SLOTS_PER_WORD * (uint64_t)out->count)
		return error_set(err, BREVIS_E_FORMAT,
				 "Huffman literal: codes of %u bits for %zu words", table.longest,
				 out->count);
	out->table = span_of(begin, (size_t)(in->at - begin));
	return take_sized_payload(in, out, err);
}

static int parse_rans(struct span *in, struct literal *out, struct brevis_error *err)
{
	const uint8_t *begin = in->at;
	struct frequency_table table;
	unsigned i;
	int status = rans_parameters_read(in, &table, &out->lanes, err);

	if (!status)
		status = frequency_table_read(in, out->width, &table, NULL, err);
	if (status)
		return status;
	out->bits = table.scale_bits;
	if (out->bits > FREQUENCY_BITS_MIN &&
	    UINT64_C(1) << out->bits > RANS_SLOTS_PER_WORD * (uint64_t)out->count)
		return error_set(err, BREVIS_E_FORMAT,
				 "rANS literal: frequencies of %u bits for %zu words", out->bits,
				 out->count);
	out->table = span_of(begin, (size_t)(in->at - begin));
	status = take_sized_payload(in, out, err);
	if (status)
		return status;
	if (span_left(&out->payload) < 4 * out->lanes || span_left(&out->payload) % 2)
		return error_set(err, BREVIS_E_FORMAT,
				 "rANS literal: a payload of %zu bytes for %u lanes",
				 span_left(&out->payload), out->lanes);
	for (i = 0; i < out->lanes; i++)
		if (load_le32(out->payload.at + 4 * (size_t)i) < RANS_LOW)
			return error_set(err, BREVIS_E_FORMAT,
					 "rANS literal: state of lane %u is too small", i);
	return BREVIS_OK;
}

int literal_parse(struct span *in, unsigned width, size_t count, struct literal *out,
		  struct brevis_error *err)
{
	struct literal literal = {.width = width, .count = count};
	unsigned coding = span_u8(in);
	int status;

	if (in->failed)
		return error_set(err, BREVIS_E_FORMAT, "literal: cut short");
	if (coding == LITERAL_HUFFMAN || coding == LITERAL_RANS) {
		if (width > LITERAL_SYMBOL_BITS || count == 0)
			return error_set(err, BREVIS_E_FORMAT,
					 "literal: %zu words of %u bits cannot be entropy-coded",
					 count, width);
	}
	switch (coding) {
	case LITERAL_RAW:
		status = parse_raw(in, &literal, err);
		break;
	case LITERAL_PACKED:
		status = parse_packed(in, &literal, err);
		break;
	case LITERAL_HUFFMAN:
		status = parse_huffman(in, &literal, err);
		break;
	case LITERAL_RANS:
		status = parse_rans(in, &literal, err);
		break;
	default:
		return error_set(err, BREVIS_E_FORMAT, "literal: unknown coding %u", coding);
	}
	if (status)
		return status;
	literal.coding = (enum literal_coding)coding;
	*out = literal;
	return BREVIS_OK;
}

static size_t decoder_size(const struct literal *literal)
{
	size_t size = offsetof(struct literal_decoder, u);

	if (literal->coding == LITERAL_HUFFMAN)
		return size + huffman_decoder_size(literal);
	if (literal->coding == LITERAL_RANS)
		return size + rans_decoder_size(literal);
	return size;
}

int literal_decoder_new(const struct literal *literal, struct literal_decoder **out,
			struct brevis_error *err)
{
	struct literal_decoder *d = malloc(decoder_size(literal));
	int status = BREVIS_OK;

	if (!d)
		return error_nomem(err);
	d->literal = *literal;
	d->done = 0;
	if (literal->coding == LITERAL_HUFFMAN)
		status = huffman_decoder_init(&d->u.huffman, literal, err);
	else if (literal->coding == LITERAL_RANS)
		status = rans_decoder_init(&d->u.rans, literal, err);
	if (status)
		free(d);
	else
		*out = d;
	return status;
}

static void copy_raw(const struct literal *literal, size_t first, void *words, size_t count)
{
	unsigned size = word_bytes(literal->width);
	const uint8_t *at = literal->payload.at + first * size;
	size_t i;

	if (!count)
		return;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	(void)i;
	memcpy(words, at, count * size);
#else
	for (i = 0; i < count; i++, at += size) {
		if (size == 1)
			((uint8_t *)words)[i] = *at;
		else if (size == 2)
			((uint16_t *)words)[i] = load_le16(at);
		else if (size == 4)
			((uint32_t *)words)[i] = load_le32(at);
		else
			((uint64_t *)words)[i] = load_le64(at);
	}
#endif
}

int literal_decoder_next(struct literal_decoder *decoder, void *words, size_t count,
			 struct brevis_error *err)
{
	const struct literal *literal = &decoder->literal;
	size_t first = decoder->done;

	if (count > literal->count - first)
		return error_set(err, BREVIS_E_USAGE, "literal: more words wanted than it holds");
	decoder->done += count;
	switch (literal->coding) {
	case LITERAL_RAW:
		copy_raw(literal, first, words, count);
		return BREVIS_OK;
	case LITERAL_PACKED:
		return packed_decode(literal, first, words, count, err);
	case LITERAL_HUFFMAN:
		return huffman_decode(&decoder->u.huffman, words, literal->width, count, err);
	default:
		return rans_decode(&decoder->u.rans, words, literal->width, count, err);
	}
}

int literal_decoder_finish(const struct literal_decoder *decoder, struct brevis_error *err)
{
	if (decoder->done != decoder->literal.count)
		return error_set(err, BREVIS_E_USAGE, "literal: not all of its words were wanted");
	switch (decoder->literal.coding) {
	case LITERAL_HUFFMAN:
		return huffman_decoder_finish(&decoder->u.huffman, err);
	case LITERAL_RANS:
		return rans_decoder_finish(&decoder->u.rans, err);
	default:
		return BREVIS_OK;
	}
}

void literal_decoder_free(struct literal_decoder *decoder)
{
	free(decoder);
}
