/* SPDX-License-Identifier: Apache-2.0 */
#include "core/entropy/literal.h"

#include "core/base/bits.h"
#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/entropy/huffman.h"
#include "core/entropy/library_decode.h"
#include "core/entropy/packed.h"
#include "core/entropy/rans.h"
#include "core/entropy/raw.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct literal_decoder {
	struct literal literal;
	size_t done;      /* words */
	uint8_t *library; /* what a library has made of the payload, or NULL */
	union {
		struct huffman_decoder huffman;
		struct rans_decoder rans;
	} u; /* with a table behind it; no part of the decoders of other codings */
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

	if (!checked_mul(out->count, raw_bytes(out->width), &size))
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

/* Takes what both rANS codings have behind their tables. */
static int take_rans_payload(struct span *in, struct literal *out, struct brevis_error *err)
{
	uint32_t states[RANS_LANES_MAX];
	struct span payload;
	unsigned tail;
	int status = take_sized_payload(in, out, err);

	payload = out->payload;
	if (!status)
		status = rans_payload_read(&payload, out->lanes, &tail, states, err);
	if (!status && tail && (size_t)(tail - 1) * out->lanes >= out->count)
		return error_set(err, BREVIS_E_FORMAT,
				 "rANS literal: a tail of %u times %u for %zu words", tail,
				 out->lanes, out->count);
	return status;
}

/* Parameters and `tables` tables, then the payload. */
static int parse_rans(struct span *in, unsigned tables, struct literal *out,
		      struct brevis_error *err)
{
	const uint8_t *begin = in->at;
	struct frequency_table table;
	struct bit_reader bits;
	unsigned i;
	int status = rans_parameters_read(in, &table, &out->lanes, err);

	bit_reader_init(&bits, *in);
	for (i = 0; i < tables && !status; i++)
		status = frequency_table_read(&bits, out->width, &table, NULL, err);
	if (!status)
		status = frequency_tables_end(&bits, in, err);
	if (status)
		return status;
	out->tables = tables;
	out->bits = table.scale_bits;
	if (out->bits > FREQUENCY_BITS_MIN &&
	    UINT64_C(1) << out->bits > RANS_SLOTS_PER_WORD * (uint64_t)out->count)
		return error_set(err, BREVIS_E_FORMAT,
				 "rANS literal: frequencies of %u bits for %zu words", out->bits,
				 out->count);
	out->table = span_of(begin, (size_t)(in->at - begin));
	return take_rans_payload(in, out, err);
}

static int parse_shared(struct span *in, const struct codebook *codebook, struct literal *out,
			struct brevis_error *err)
{
	unsigned count = codebook ? codebook_count(codebook) : 0;

	out->codebook = codebook;
	out->number = span_u8(in);
	out->lanes = rans_lanes_of(span_u8(in));
	if (in->failed)
		return error_set(err, BREVIS_E_FORMAT, "shared literal: cut short");
	if (out->number >= count)
		return error_set(err, BREVIS_E_FORMAT,
				 "shared literal: table %u of a codebook of %u tables", out->number,
				 count);
	if (codebook_width(codebook, out->number) != out->width)
		return error_set(err, BREVIS_E_FORMAT,
				 "shared literal: words of %u bits, table %u is for %u", out->width,
				 out->number, codebook_width(codebook, out->number));
	if (!out->lanes)
		return error_set(err, BREVIS_E_FORMAT, "shared literal: lanes are not 0 to 3");
	out->bits = codebook_scale_bits(codebook, out->number);
	return take_rans_payload(in, out, err);
}

static int parse_library(struct span *in, struct literal *out, struct brevis_error *err)
{
	uint64_t size;

	if (!checked_mul(out->count, raw_bytes(out->width), &size) || size > SIZE_MAX)
		return error_set(err, BREVIS_E_FORMAT, "literal: too many words");
	return take_sized_payload(in, out, err);
}

int literal_parse(struct span *in, unsigned coding, unsigned width, size_t count,
		  const struct codebook *codebook, struct literal *out, struct brevis_error *err)
{
	struct literal literal = {
		.coding = (enum literal_coding)coding, .width = width, .count = count};
	int status;

	if (!count)
		return error_set(err, BREVIS_E_FORMAT, "literal: no words");
	if (coding >= LITERAL_HUFFMAN && coding <= LITERAL_SHARED && width > LITERAL_SYMBOL_BITS)
		return error_set(err, BREVIS_E_FORMAT,
				 "literal: words of %u bits cannot be entropy-coded", width);
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
		status = parse_rans(in, 1, &literal, err);
		break;
	case LITERAL_SHARED:
		status = parse_shared(in, codebook, &literal, err);
		break;
	case LITERAL_ZSTD:
	case LITERAL_LZMA2:
		status = parse_library(in, &literal, err);
		break;
	default:
		return error_set(err, BREVIS_E_FORMAT, "literal: unknown coding %u", coding);
	}
	if (!status)
		*out = literal;
	return status;
}

int literal_parse_routed(struct span *in, unsigned width, size_t count, unsigned classes,
			 struct literal *out, struct brevis_error *err)
{
	*out = (struct literal){.coding = LITERAL_RANS, .width = width, .count = count};
	if (width > LITERAL_SYMBOL_BITS)
		return error_set(err, BREVIS_E_FORMAT, "route: words of %u bits, at most %d", width,
				 LITERAL_SYMBOL_BITS);
	return parse_rans(in, classes, out, err);
}

static bool is_library(const struct literal *literal)
{
	return literal->coding == LITERAL_ZSTD || literal->coding == LITERAL_LZMA2;
}

uint64_t literal_library_bytes(const struct literal *literal)
{
	return is_library(literal) ? (uint64_t)literal->count * raw_bytes(literal->width) : 0;
}

static size_t decoder_size(const struct literal *literal)
{
	size_t size = offsetof(struct literal_decoder, u);

	if (literal->coding == LITERAL_HUFFMAN)
		return size + huffman_decoder_size(literal);
	if (literal->coding == LITERAL_RANS || literal->coding == LITERAL_SHARED)
		return size + rans_decoder_size(literal);
	return size;
}

static int decode_library(struct literal_decoder *d, struct brevis_error *err)
{
	const struct literal *literal = &d->literal;
	size_t size = (size_t)literal_library_bytes(literal);
	struct brevis_error why;
	int status;

	d->library = malloc(size);
	if (!d->library)
		return error_nomem(err);
	status = library_decode(literal->coding == LITERAL_ZSTD ? LIBRARY_ZSTD : LIBRARY_LZMA2,
				literal->payload, (struct span){0}, d->library, size, &why);
	if (status)
		return error_set(err, status, "literal: %s", why.message);
	return BREVIS_OK;
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
	d->library = NULL;
	if (literal->coding == LITERAL_HUFFMAN)
		status = huffman_decoder_init(&d->u.huffman, literal, err);
	else if (literal->coding == LITERAL_RANS || literal->coding == LITERAL_SHARED)
		status = rans_decoder_init(&d->u.rans, literal, err);
	else if (is_library(literal))
		status = decode_library(d, err);
	if (status)
		literal_decoder_free(d);
	else
		*out = d;
	return status;
}

/* Words first..first + count of those that lie in bytes as the raw coding has them. */
static int next_raw(const struct literal *literal, const uint8_t *bytes, size_t first, void *words,
		    size_t count, struct brevis_error *err)
{
	if (!raw_decode(bytes + first * raw_bytes(literal->width), words, literal->width, count))
		return error_set(err, BREVIS_E_FORMAT, "literal: a word has over %u bits",
				 literal->width);
	return BREVIS_OK;
}

/* Counts the next count words as decoded. */
static int go_on(struct literal_decoder *decoder, size_t count, struct brevis_error *err)
{
	if (count > decoder->literal.count - decoder->done)
		return error_set(err, BREVIS_E_USAGE, "literal: more words wanted than it holds");
	decoder->done += count;
	return BREVIS_OK;
}

int literal_decoder_next_routed(struct literal_decoder *decoder, const uint8_t *classes,
				void *words, size_t count, struct brevis_error *err)
{
	int status = go_on(decoder, count, err);

	return status ? status : rans_decode(&decoder->u.rans, words, classes, count, err);
}

bool literal_joins(const struct literal *literal)
{
	return (literal->coding == LITERAL_RANS || literal->coding == LITERAL_SHARED) &&
	       literal->lanes == KERNEL_LANES_MAX && rans_is_short(literal->width, literal->bits);
}

size_t literal_decoder_next_joined(struct literal_decoder *decoder, const uint8_t *classes,
				   uint8_t *codes, size_t count, unsigned width,
				   struct kernel_join *join)
{
	size_t done = 0;

	if (count <= decoder->literal.count - decoder->done)
		done = rans_decode_join(&decoder->u.rans, classes, codes, count, width, join);
	decoder->done += done;
	return done;
}

int literal_decoder_next(struct literal_decoder *decoder, void *words, size_t count,
			 struct brevis_error *err)
{
	const struct literal *literal = &decoder->literal;
	size_t first = decoder->done;
	int status = go_on(decoder, count, err);

	if (status)
		return status;
	switch (literal->coding) {
	case LITERAL_RAW:
		return next_raw(literal, literal->payload.at, first, words, count, err);
	case LITERAL_PACKED:
		return packed_decode(literal, first, words, count, err);
	case LITERAL_HUFFMAN:
		return huffman_decode(&decoder->u.huffman, words, literal->width, count, err);
	case LITERAL_RANS:
	case LITERAL_SHARED:
		return rans_decode(&decoder->u.rans, words, NULL, count, err);
	default:
		return next_raw(literal, decoder->library, first, words, count, err);
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
	case LITERAL_SHARED:
		return rans_decoder_finish(&decoder->u.rans, err);
	default:
		return BREVIS_OK;
	}
}

void literal_decoder_rewind(struct literal_decoder *decoder)
{
	const struct literal *literal = &decoder->literal;

	decoder->done = 0;
	if (literal->coding == LITERAL_HUFFMAN)
		huffman_decoder_rewind(&decoder->u.huffman);
	else if (literal->coding == LITERAL_RANS || literal->coding == LITERAL_SHARED)
		rans_decoder_rewind(&decoder->u.rans, literal);
}

void literal_decoder_free(struct literal_decoder *decoder)
{
	if (!decoder)
		return;
	free(decoder->library);
	free(decoder);
}
