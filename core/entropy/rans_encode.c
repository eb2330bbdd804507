/* SPDX-License-Identifier: Apache-2.0 */
#include "core/entropy/rans_encode.h"

#include "core/base/bits.h"
#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/entropy/log2.h"
#include "core/entropy/words.h"

#include <stdlib.h>
#include <string.h>

/* What encoding a symbol takes, its share being f of M slots from `start` on. */
struct symbol_code {
	uint64_t reciprocal; /* ceil(2^64 / f), or 2^64 - 1 if f is 1 */
	uint32_t limit;      /* a state from here on, f * 2^31 / M, first gives off 16 bits */
	uint16_t start;      /* if f is 1, with what the quotient, which is 1 too small, lacks */
	uint16_t others;     /* M - f */
};

unsigned rans_lanes(size_t count)
{
	/* A lane costs about a byte that one stream would not. */
	return count < 1024 ? 1 : count < 2048 ? 4 : count < 8192 ? 16 : 64;
}

uint64_t rans_payload_bound(uint64_t bits, unsigned lanes)
{
	/*
	 * A state takes 3 bits more than it holds. A lane may be lucky: a last word of 0, and a
	 * first symbol before it, cost nothing, where they were reckoned with up to 14 bits; and
	 * so may the roundings of states.
	 */
	uint64_t least = RANS_TAIL_BITS + (uint64_t)lanes * (RANS_EXCESS_BITS + RANS_LOW_BITS);
	uint64_t luck = (uint64_t)lanes * (FREQUENCY_BITS_MAX + 1), payload;

	bits -= bits >> 12;
	bits -= luck < bits ? luck : bits;
	payload = ((bits > least ? bits : least) + 7) / 8;
	return varint_size(payload) + payload;
}

uint64_t rans_size_bound(const struct frequency_plan *plan, unsigned lanes)
{
	return 1 + plan->bytes + rans_payload_bound(plan->cost >> LOG2_FRACTION, lanes);
}

static void fill_codes(struct symbol_code *codes, const uint16_t *shares, unsigned scale_bits,
		       unsigned width)
{
	uint32_t slots = 1u << scale_bits;
	unsigned start = 0;
	unsigned i;

	for (i = 0; i < 1u << width; i++) {
		uint32_t share = shares[i];

		if (!share)
			continue;
		codes[i].others = (uint16_t)(slots - share);
		codes[i].limit = share << (31 - scale_bits);
		codes[i].reciprocal = share > 1 ? UINT64_MAX / share + 1 : UINT64_MAX;
		codes[i].start = (uint16_t)(share > 1 ? start : start + slots - 1);
		start += share;
	}
}

typedef unsigned __int128 double_width;

/*
 * Encodes one word, units going backwards from *to. The high half of the product is the exact
 * quotient: with reciprocal * f = 2^64 + e, e < f <= 2^14, and state < 2^31, state * e < 2^64.
 */
ALWAYS_INLINE void put(const struct symbol_code *code, uint32_t *state, uint8_t **to)
{
	uint32_t x = *state;
	uint32_t full = x >= code->limit;
	uint32_t quotient;

	store_le16(*to - 2, (uint16_t)x);
	/* Without a branch: which states are full is as good as random. */
	*to -= 2 * (size_t)full;
	x = full ? x >> 16 : x;
	quotient = (uint32_t)((double_width)code->reciprocal * x >> 64);
	*state = x + code->start + quotient * code->others;
}

/* What encoding looks up, for all tables. */
struct encoder {
	unsigned lanes, scale_bits, width;
	uint32_t states[RANS_LANES_MAX];
	struct symbol_code *codes; /* 1 << width for each table, or */
	uint32_t *entries;         /* for kernels: 1 << RANS_CODE_BITS for each */
};

static bool fill_entries(struct encoder *e, const uint16_t *shares, unsigned tables)
{
	unsigned k;
	size_t i;

	e->entries = malloc(sizeof(*e->entries) * tables << RANS_CODE_BITS);
	for (k = 0; e->entries && k < tables; k++) {
		uint32_t *to = e->entries + ((size_t)k << RANS_CODE_BITS), start = 0;

		for (i = 0; i < (size_t)1 << e->width; i++) {
			uint32_t share = *shares++;

			to[i] = start << 16 | share;
			start += share;
		}
	}
	return e->entries;
}

static bool encoder_init(struct encoder *e, const uint16_t *shares, const struct rans_input *in)
{
	unsigned i;

	e->width = in->width;
	if (e->lanes >= RANS_KERNEL_LANES && rans_is_short(in->width, e->scale_bits))
		return fill_entries(e, shares, in->tables);
	e->codes = malloc((sizeof(*e->codes) << in->width) * in->tables);
	for (i = 0; e->codes && i < in->tables; i++)
		fill_codes(e->codes + ((size_t)i << in->width), shares + ((size_t)i << in->width),
			   e->scale_bits, in->width);
	return e->codes;
}

/* Encodes words of a block, whose first one has lane 0, from the last to the first. */
ALWAYS_INLINE uint8_t *encode(struct encoder *e, const void *words, unsigned size, size_t count,
			      const uint8_t *classes, unsigned lanes, uint8_t *to)
{
	const struct symbol_code *codes = e->codes;
	unsigned width = e->width;
	size_t i = count;

	while (i-- > 0) {
		size_t symbol = word_get(words, size, i);

		if (classes)
			symbol |= (size_t)classes[i] << width;
		put(&codes[symbol], &e->states[i % lanes], &to);
	}
	return to;
}

/* Where the codes of words are: a loop of its own, which compilers vectorise. */
static void find_places(const uint8_t *words, const uint8_t *classes, unsigned width, size_t count,
			uint16_t *places)
{
	size_t i;

	for (i = 0; i < count && !classes; i++)
		places[i] = words[i];
	for (; i < count; i++)
		places[i] = (uint16_t)(classes[i] << width | words[i]);
}

/* The same for bytes in 4 lanes, whose states stay in registers: few words are mostly coded so. */
static uint8_t *encode_4(struct encoder *e, const uint8_t *words, size_t count,
			 const uint8_t *classes, uint8_t *to)
{
	const struct symbol_code *codes = e->codes;
	uint16_t places[RANS_BLOCK_WORDS];
	size_t whole = count & ~(size_t)3, i;
	uint32_t states[4];

	to = encode(e, words + whole, 1, count - whole, classes ? classes + whole : NULL, 4, to);
	find_places(words, classes, e->width, whole, places);
	memcpy(states, e->states, sizeof(states));
	for (i = whole; i; i -= 4) {
		put(&codes[places[i - 1]], &states[3], &to);
		put(&codes[places[i - 2]], &states[2], &to);
		put(&codes[places[i - 3]], &states[1], &to);
		put(&codes[places[i - 4]], &states[0], &to);
	}
	memcpy(e->states, states, sizeof(states));
	return to;
}

static uint8_t *encode_scalar(struct encoder *e, const void *words, size_t count,
			      const uint8_t *classes, uint8_t *to)
{
	if (word_bytes(e->width) == 1 && e->lanes == 4)
		return encode_4(e, words, count, classes, to);
	return encode(e, words, word_bytes(e->width), count, classes, e->lanes, to);
}

/* Where a word's code is looked up. A code that has no share becomes 255. */
static size_t place_of(const struct encoder *e, void *words, size_t i, unsigned class)
{
	size_t word = word_get(words, word_bytes(e->width), i);
	size_t at = ((size_t) class << (e->entries ? RANS_CODE_BITS : e->width)) + word;

	if (!e->entries || e->entries[at] & 0xffff)
		return at;
	word_set(words, 1, i, 255);
	return at | 255;
}

/* The state behind a word of the tail, beside which nothing was given off. */
static uint64_t grow(const struct encoder *e, size_t at, uint32_t x)
{
	uint32_t slots = 1u << e->scale_bits, share, start;

	if (e->entries) {
		share = e->entries[at] & 0xffff;
		start = e->entries[at] >> 16;
	} else {
		share = slots - e->codes[at].others;
		start = e->codes[at].start - (share > 1 ? 0 : slots - 1);
	}
	return ((uint64_t)(x / share) << e->scale_bits) + x % share + start;
}

/* Whole groups go through a kernel, what is behind them one word after the other. */
static uint8_t *encode_kernel(struct encoder *e, uint8_t *codes, size_t count,
			      const uint8_t *classes, uint8_t *to)
{
	size_t groups = count / e->lanes, i;

	for (i = count; i-- > groups * e->lanes;) {
		size_t at = place_of(e, codes, i, classes ? classes[i] : 0);
		uint32_t share = e->entries[at] & 0xffff, *x = &e->states[i % e->lanes];

		if (*x >= share << (31 - e->scale_bits)) {
			to -= 2;
			store_le16(to, (uint16_t)*x);
			*x >>= 16;
		}
		*x = (uint32_t)grow(e, at, *x);
	}
	return kernels()->encode(e->entries, e->scale_bits, e->lanes, e->states, to, classes, codes,
				 groups);
}

/*
 * Puts the words of one group into the states, if there is room in all of them. classes: those of
 * the words. last: the words are the last ones of their lanes, which are the first states.
 */
static bool take_group(struct encoder *e, void *words, const uint8_t *classes, size_t begin,
		       size_t end, bool last)
{
	uint32_t states[RANS_LANES_MAX];
	bool fits = true;
	size_t i;

	memcpy(states, e->states, sizeof(states));
	for (i = begin; i < end; i++) {
		uint32_t *x = &states[i % e->lanes];
		size_t at = place_of(e, words, i, classes[i - begin]);
		uint64_t next = last ? word_get(words, word_bytes(e->width), i) : grow(e, at, *x);

		fits = fits && next < RANS_HIGH - RANS_LOW;
		*x = (uint32_t)next;
	}
	if (fits)
		memcpy(e->states, states, sizeof(states));
	return fits;
}

/* Encodes the tail: as many words of each lane as there is room for. Returns how many words are
 * left. */
static size_t encode_tail(struct encoder *e, const struct rans_input *in, unsigned *tail)
{
	uint8_t classes[RANS_TAIL_MAX * RANS_LANES_MAX] = {0};
	size_t most = (size_t)RANS_TAIL_MAX * e->lanes, end = in->count, begin;
	size_t first = end > most ? end - most : 0;
	unsigned j;

	if (in->classify)
		in->classify(in->ctx, first, classes, end - first);
	for (*tail = 0; end > first; end = begin, ++*tail) {
		begin = end > e->lanes ? end - e->lanes : 0;
		if (!take_group(e, in->words, classes + (begin - first), begin, end, !*tail))
			break;
	}
	for (j = 0; j < e->lanes; j++)
		e->states[j] += RANS_LOW;
	return end;
}

/* Encodes the words before the tail backwards from `to`, block by block. */
static uint8_t *encode_words(struct encoder *e, const struct rans_input *in, size_t end,
			     uint8_t *to)
{
	uint8_t classes[RANS_BLOCK_WORDS];

	while (end) {
		size_t first = (end - 1) / RANS_BLOCK_WORDS * RANS_BLOCK_WORDS;
		uint8_t *words = (uint8_t *)in->words + first * word_bytes(in->width);
		const uint8_t *of = in->classify ? classes : NULL;

		if (in->classify)
			in->classify(in->ctx, first, classes, end - first);
		to = e->entries ? encode_kernel(e, words, end - first, of, to)
				: encode_scalar(e, words, end - first, of, to);
		end = first;
	}
	return to;
}

unsigned rans_lanes_code(unsigned lanes)
{
	return lanes == 1 ? 0 : lanes == 4 ? 1 : lanes == 16 ? 2 : 3;
}

/* shares as for rans_payload_encode, but codes may have none (struct rans_input). */
static int units_encode(const uint16_t *shares, unsigned scale_bits, unsigned lanes,
			const struct rans_input *in, struct rans_units *out,
			struct brevis_error *err)
{
	struct encoder e = {.lanes = lanes, .scale_bits = scale_bits};
	size_t left;
	/* A word writes at most 2 bytes, and seldom so many. */
	size_t room = 2 * in->count + KERNEL_GROUP_BYTES;
	int status = BREVIS_OK;

	*out = (struct rans_units){.lanes = lanes, .memory = malloc(room)};
	if (!out->memory || !encoder_init(&e, shares, in)) {
		status = error_nomem(err);
		goto out;
	}
	out->units.end = out->memory + room;
	left = encode_tail(&e, in, &out->tail);
	out->units.at = encode_words(&e, in, left, out->memory + room);
	memcpy(out->states, e.states, sizeof(e.states));
out:
	free(e.codes);
	free(e.entries);
	return status;
}

static unsigned excess_of(uint32_t state)
{
	return bit_length(state) - bit_length(RANS_LOW);
}

/* Bytes of a payload. */
static uint64_t payload_size(const struct rans_units *units)
{
	size_t bits = RANS_TAIL_BITS;
	unsigned i;

	for (i = 0; i < units->lanes; i++)
		bits += RANS_EXCESS_BITS + RANS_LOW_BITS + excess_of(units->states[i]);
	return (bits + 7) / 8 + span_left(&units->units);
}

void rans_units_put(struct buffer *out, const struct rans_units *units)
{
	struct bit_writer bits;
	unsigned i;

	buffer_varint(out, payload_size(units));
	bit_writer_init(&bits, out);
	bit_write(&bits, units->tail, RANS_TAIL_BITS);
	for (i = 0; i < units->lanes; i++) {
		unsigned excess = excess_of(units->states[i]);

		bit_write(&bits, excess, RANS_EXCESS_BITS);
		bit_write(&bits, units->states[i] ^ RANS_LOW << excess, RANS_LOW_BITS + excess);
	}
	bit_writer_flush(&bits);
	buffer_append(out, units->units.at, span_left(&units->units));
}

void rans_units_release(struct rans_units *units)
{
	free(units->memory);
	units->memory = NULL;
}

int rans_payload_encode(struct buffer *out, const uint16_t *shares, unsigned scale_bits,
			unsigned lanes, const struct rans_input *in, uint64_t limit, bool *fits,
			struct brevis_error *err)
{
	struct rans_units units;
	int status = units_encode(shares, scale_bits, lanes, in, &units, err);

	*fits = false;
	if (!status) {
		uint64_t size = payload_size(&units);

		*fits = varint_size(size) + size < limit;
	}
	if (*fits)
		rans_units_put(out, &units);
	rans_units_release(&units);
	return status;
}

/* The shares of all tables, one table behind the other. */
static uint16_t *join_shares(const struct frequency_plan *plans, const struct rans_input *in)
{
	size_t bytes = sizeof(uint16_t) << in->width;
	uint16_t *all = malloc(bytes * in->tables);
	unsigned i;

	for (i = 0; all && i < in->tables; i++)
		memcpy(all + ((size_t)i << in->width), plans[i].shares, bytes);
	return all;
}

static void put_tables(struct buffer *out, const struct frequency_plan *plans, unsigned lanes,
		       const struct rans_input *in)
{
	const struct frequency_table *first = &plans[0].table;
	struct bit_writer bits;
	unsigned i;

	buffer_u8(out, (uint8_t)((first->scale_bits - FREQUENCY_BITS_MIN) |
				 rans_lanes_code(lanes) << 3 | first->precision << 5));
	bit_writer_init(&bits, out);
	for (i = 0; i < in->tables; i++)
		frequency_table_write(&bits, &plans[i], in->width);
	bit_writer_flush(&bits);
}

int rans_tables_encode(struct buffer *out, const struct frequency_plan *plans, unsigned lanes,
		       const struct rans_input *in, struct rans_units *units,
		       struct brevis_error *err)
{
	uint16_t *shares = join_shares(plans, in);
	int status = shares ? BREVIS_OK : error_nomem(err);

	put_tables(out, plans, lanes, in);
	if (!status)
		status = units_encode(shares, plans[0].table.scale_bits, lanes, in, units, err);
	free(shares);
	return status;
}

int rans_encode(struct buffer *out, const struct frequency_plan *plans, unsigned lanes,
		const struct rans_input *in, uint64_t limit, bool *fits, struct brevis_error *err)
{
	uint16_t *shares = join_shares(plans, in);
	size_t before = out->size;
	uint64_t used;
	int status = shares ? BREVIS_OK : error_nomem(err);

	*fits = false;
	if (status)
		return status;
	put_tables(out, plans, lanes, in);
	used = out->size - before;
	if (used < limit)
		status = rans_payload_encode(out, shares, plans[0].table.scale_bits, lanes, in,
					     limit - used, fits, err);
	if (!*fits)
		out->size = before;
	free(shares);
	return status;
}
