/* SPDX-License-Identifier: Apache-2.0 */
#include "core/entropy/rans.h"

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/entropy/codebook.h"
#include "core/entropy/words.h"

#include <stddef.h>
#include <string.h>

unsigned rans_lanes_of(unsigned code)
{
	static const unsigned lanes[3] = {1, 4, 32};

	return code < 3 ? lanes[code] : 0;
}

int rans_parameters_read(struct span *in, struct frequency_table *table, unsigned *lanes,
			 struct brevis_error *err)
{
	unsigned parameters = span_u8(in);

	table->scale_bits = FREQUENCY_BITS_MIN + (parameters & 7);
	table->precision = parameters >> 5;
	*lanes = rans_lanes_of(parameters >> 3 & 3);
	if (in->failed)
		return error_set(err, BREVIS_E_FORMAT, "rANS table: cut short");
	if (table->scale_bits > FREQUENCY_BITS_MAX)
		return error_set(err, BREVIS_E_FORMAT, "rANS table: scale of %u bits, at most %d",
				 table->scale_bits, FREQUENCY_BITS_MAX);
	if (!*lanes)
		return error_set(err, BREVIS_E_FORMAT, "rANS literal: lanes are not 1, 4 or 32");
	return BREVIS_OK;
}

static bool has_short_entries(unsigned width, unsigned scale_bits)
{
	return width <= 8 && scale_bits <= RANS_SHORT_BITS;
}

size_t rans_slots_size(unsigned width, unsigned scale_bits)
{
	size_t entry = has_short_entries(width, scale_bits) ? sizeof(uint32_t) : sizeof(uint64_t);

	return entry << scale_bits;
}

void rans_slots_fill(void *slots, unsigned width, unsigned scale_bits, const uint16_t *shares)
{
	bool is_short = has_short_entries(width, scale_bits);
	uint32_t *short_entries = slots;
	uint64_t *long_entries = slots;
	unsigned slot = 0;
	unsigned symbol;

	for (symbol = 0; symbol < 1u << width; symbol++) {
		uint32_t share = shares[symbol];
		uint32_t bias;

		for (bias = 0; bias < share; bias++, slot++) {
			if (is_short)
				short_entries[slot] = symbol << 24 | share << 12 | bias;
			else
				long_entries[slot] = (uint64_t)symbol << 32 | share << 16 | bias;
		}
	}
}

size_t rans_decoder_size(const struct literal *literal)
{
	size_t size = offsetof(struct rans_decoder, own_slots);

	if (literal->coding == LITERAL_SHARED)
		return size;
	return size + rans_slots_size(literal->width, literal->bits);
}

/* Makes the slots of a literal that has its own table. */
static int fill_own_slots(struct rans_decoder *d, const struct literal *literal,
			  struct brevis_error *err)
{
	uint16_t shares[1 << LITERAL_SYMBOL_BITS] = {0};
	struct span in = literal->table;
	struct frequency_table table;
	unsigned lanes;
	int status = rans_parameters_read(&in, &table, &lanes, err);

	if (!status)
		status = frequency_table_read(&in, literal->width, &table, shares, err);
	if (!status)
		rans_slots_fill(d->own_slots, literal->width, literal->bits, shares);
	d->slots = d->own_slots;
	return status;
}

int rans_decoder_init(struct rans_decoder *d, const struct literal *literal,
		      struct brevis_error *err)
{
	int status = BREVIS_OK;

	if (literal->coding == LITERAL_SHARED)
		d->slots = codebook_slots(literal->codebook, literal->number);
	else
		status = fill_own_slots(d, literal, err);
	if (status)
		return status;
	d->end = literal->payload.end;
	d->scale_bits = literal->bits;
	d->lanes = literal->lanes;
	rans_decoder_rewind(d, literal);
	return BREVIS_OK;
}

void rans_decoder_rewind(struct rans_decoder *d, const struct literal *literal)
{
	unsigned i;

	d->at = literal->payload.at;
	d->lane = 0;
	d->failed = false;
	for (i = 0; i < d->lanes; i++, d->at += 4)
		d->states[i] = load_le32(d->at);
}

/* The state behind the word whose slot has this share and bias, before renormalising. */
ALWAYS_INLINE uint32_t advance(const void *slots, uint32_t state, unsigned scale_bits,
			       bool is_short, uint32_t *symbol)
{
	uint32_t slot = state & ((1u << scale_bits) - 1);

	if (is_short) {
		uint32_t entry = ((const uint32_t *)slots)[slot];

		*symbol = entry >> 24;
		return (entry >> 12 & 0xfff) * (state >> scale_bits) + (entry & 0xfff);
	} else {
		uint64_t entry = ((const uint64_t *)slots)[slot];

		*symbol = (uint32_t)(entry >> 32);
		return (uint32_t)(entry >> 16 & 0xffff) * (state >> scale_bits) +
		       (uint32_t)(entry & 0xffff);
	}
}

/* Decodes one word where a 16-bit word can be read at *at in any case. */
ALWAYS_INLINE uint32_t step(const void *slots, uint32_t *state, const uint8_t **at,
			    unsigned scale_bits, bool is_short)
{
	uint32_t symbol;
	uint32_t x = advance(slots, *state, scale_bits, is_short, &symbol);
	uint32_t low = x < RANS_LOW;

	/* Keeps gcc from moving lanes into vectors and back between their table lookups. */
	__asm__("" : "+r"(low));
	/* Without a branch: which states refill is as good as random. */
	*state = x ^ ((x ^ (x << 16 | load_le16(*at))) & (0 - low));
	*at += 2 * (size_t)low;
	return symbol;
}

/* Decodes words one by one with every check. */
static void decode_checked(struct rans_decoder *d, void *words, unsigned size, size_t first,
			   size_t end, bool is_short)
{
	size_t i;

	for (i = first; i < end; i++) {
		uint32_t symbol;
		uint32_t x =
			advance(d->slots, d->states[d->lane], d->scale_bits, is_short, &symbol);

		if (x < RANS_LOW && d->end - d->at >= 2) {
			x = x << 16 | load_le16(d->at);
			d->at += 2;
		} else if (x < RANS_LOW) {
			d->failed = true;
			x |= RANS_LOW;
		}
		d->states[d->lane] = x;
		d->lane = (d->lane + 1) % d->lanes;
		word_set(words, size, i, symbol);
	}
}

/* Decodes whole groups of 4 lanes while there is enough to read for all. Returns words done. */
ALWAYS_INLINE size_t decode_4(struct rans_decoder *d, void *words, unsigned size, size_t count,
			      unsigned scale_bits, bool is_short)
{
	const void *slots = d->slots;
	const uint8_t *at = d->at;
	uint32_t a = d->states[0];
	uint32_t b = d->states[1];
	uint32_t c = d->states[2];
	uint32_t e = d->states[3];
	size_t i;

	for (i = 0; i + 4 <= count && d->end - at >= 8; i += 4) {
		word_set(words, size, i, step(slots, &a, &at, scale_bits, is_short));
		word_set(words, size, i + 1, step(slots, &b, &at, scale_bits, is_short));
		word_set(words, size, i + 2, step(slots, &c, &at, scale_bits, is_short));
		word_set(words, size, i + 3, step(slots, &e, &at, scale_bits, is_short));
	}
	d->at = at;
	d->states[0] = a;
	d->states[1] = b;
	d->states[2] = c;
	d->states[3] = e;
	return i;
}

/* The same for 32 lanes. */
ALWAYS_INLINE size_t decode_32(struct rans_decoder *d, void *words, unsigned size, size_t count,
			       unsigned scale_bits, bool is_short)
{
	const void *slots = d->slots;
	const uint8_t *at = d->at;
	uint32_t states[32];
	size_t i;
	unsigned j;

	memcpy(states, d->states, sizeof(states));
	for (i = 0; i + 32 <= count && d->end - at >= 64; i += 32) {
		for (j = 0; j < 32; j += 4) {
			word_set(words, size, i + j,
				 step(slots, &states[j], &at, scale_bits, is_short));
			word_set(words, size, i + j + 1,
				 step(slots, &states[j + 1], &at, scale_bits, is_short));
			word_set(words, size, i + j + 2,
				 step(slots, &states[j + 2], &at, scale_bits, is_short));
			word_set(words, size, i + j + 3,
				 step(slots, &states[j + 3], &at, scale_bits, is_short));
		}
	}
	d->at = at;
	memcpy(d->states, states, sizeof(states));
	return i;
}

ALWAYS_INLINE void decode(struct rans_decoder *d, void *words, unsigned size, size_t count,
			  unsigned scale_bits, bool is_short)
{
	size_t lead = (d->lanes - d->lane) % d->lanes;
	size_t done = lead < count ? lead : count;
	void *rest = (uint8_t *)words + done * size;

	decode_checked(d, words, size, 0, done, is_short);
	if (d->lanes == 32)
		done += decode_32(d, rest, size, count - done, scale_bits, is_short);
	else if (d->lanes == 4)
		done += decode_4(d, rest, size, count - done, scale_bits, is_short);
	decode_checked(d, words, size, done, count, is_short);
}

int rans_decode(struct rans_decoder *d, void *words, unsigned width, size_t count,
		struct brevis_error *err)
{
	/* Constant shifts are faster where code for any instruction set is wanted. */
	if (has_short_entries(width, d->scale_bits) && d->scale_bits == 11)
		decode(d, words, 1, count, 11, true);
	else if (has_short_entries(width, d->scale_bits) && d->scale_bits == 12)
		decode(d, words, 1, count, 12, true);
	else if (has_short_entries(width, d->scale_bits))
		decode(d, words, 1, count, d->scale_bits, true);
	else if (word_bytes(width) == 1)
		decode(d, words, 1, count, d->scale_bits, false);
	else if (d->scale_bits == 11)
		decode(d, words, 2, count, 11, false);
	else if (d->scale_bits == 12)
		decode(d, words, 2, count, 12, false);
	else
		decode(d, words, 2, count, d->scale_bits, false);
	if (d->failed)
		return error_set(err, BREVIS_E_FORMAT, "rANS literal: cut short");
	return BREVIS_OK;
}

int rans_decoder_finish(const struct rans_decoder *d, struct brevis_error *err)
{
	unsigned i;

	if (d->failed)
		return error_set(err, BREVIS_E_FORMAT, "rANS literal: cut short");
	if (d->at != d->end)
		return error_set(err, BREVIS_E_FORMAT, "rANS literal: bytes after the last word");
	for (i = 0; i < d->lanes; i++)
		if (d->states[i] != RANS_LOW)
			return error_set(err, BREVIS_E_FORMAT,
					 "rANS literal: lane %u does not end as it must", i);
	return BREVIS_OK;
}
