/* SPDX-License-Identifier: Apache-2.0 */
#include "core/entropy/rans.h"

#include "core/base/bits.h"
#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/entropy/codebook.h"
#include "core/entropy/words.h"

#include <stddef.h>
#include <string.h>

unsigned rans_lanes_of(unsigned code)
{
	static const unsigned lanes[4] = {1, 4, 16, 64};

	return code < 4 ? lanes[code] : 0;
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
	return BREVIS_OK;
}

int rans_payload_read(struct span *payload, unsigned lanes, unsigned *tail,
		      uint32_t states[RANS_LANES_MAX], struct brevis_error *err)
{
	size_t size = span_left(payload);
	struct bit_reader bits;
	unsigned i;

	bit_reader_init(&bits, *payload);
	*tail = (unsigned)bit_read(&bits, RANS_TAIL_BITS);
	for (i = 0; i < lanes; i++) {
		unsigned excess = (unsigned)bit_read(&bits, RANS_EXCESS_BITS);

		states[i] = RANS_LOW << excess | (uint32_t)bit_read(&bits, RANS_LOW_BITS + excess);
	}
	if (bits.in.failed || !bit_reader_end(&bits, payload) || span_left(payload) % 2)
		return error_set(err, BREVIS_E_FORMAT,
				 "rANS literal: a payload of %zu bytes for %u lanes", size, lanes);
	return BREVIS_OK;
}

size_t rans_slots_size(unsigned width, unsigned scale_bits)
{
	size_t entry = rans_is_short(width, scale_bits) ? sizeof(uint32_t) : sizeof(uint64_t);

	return entry << scale_bits;
}

/* Slots that are filled at a time: most shares are no larger. */
#define FILL 8

/* More slots than a share has are filled as long as there are so many: the next one's come after.
 */
static void fill_short(uint32_t *slots, unsigned width, unsigned scale_bits, const uint16_t *shares)
{
	const uint32_t *end = slots + ((size_t)1 << scale_bits);
	uint32_t symbol, share, bias, i;

	for (symbol = 0; symbol < 1u << width; symbol++, slots += share) {
		uint32_t first;

		share = shares[symbol];
		first = kernel_slot(symbol, share, 0);
		for (bias = 0; bias < share && end - slots >= (ptrdiff_t)bias + FILL; bias += FILL)
			for (i = 0; i < FILL; i++)
				slots[bias + i] = first + bias + i;
		for (; bias < share; bias++)
			slots[bias] = first + bias;
	}
}

static void fill_long(uint64_t *slots, unsigned width, const uint16_t *shares)
{
	uint64_t symbol, share, bias;

	for (symbol = 0; symbol < 1u << width; symbol++) {
		share = shares[symbol];
		for (bias = 0; bias < share; bias++)
			*slots++ = symbol << 32 | share << 16 | bias;
	}
}

void rans_slots_fill(void *slots, unsigned width, unsigned scale_bits, const uint16_t *shares)
{
	if (rans_is_short(width, scale_bits))
		fill_short(slots, width, scale_bits, shares);
	else
		fill_long(slots, width, shares);
}

size_t rans_decoder_size(const struct literal *literal)
{
	size_t size = offsetof(struct rans_decoder, own_slots);

	if (literal->coding == LITERAL_SHARED)
		return size;
	return size + literal->tables * rans_slots_size(literal->width, literal->bits);
}

/* Makes the slots of a literal that has its own tables. */
static int fill_own_slots(struct rans_decoder *d, const struct literal *literal,
			  struct brevis_error *err)
{
	size_t size = rans_slots_size(literal->width, literal->bits);
	struct span in = literal->table;
	struct frequency_table table;
	struct bit_reader bits;
	unsigned lanes, i;
	int status = rans_parameters_read(&in, &table, &lanes, err);

	bit_reader_init(&bits, in);
	for (i = 0; i < literal->tables && !status; i++) {
		uint16_t shares[1 << LITERAL_SYMBOL_BITS];

		memset(shares, 0, sizeof(*shares) << literal->width);
		status = frequency_table_read(&bits, literal->width, &table, shares, err);
		if (!status)
			rans_slots_fill((uint8_t *)d->own_slots + i * size, literal->width,
					literal->bits, shares);
	}
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
	d->width = literal->width;
	d->scale_bits = literal->bits;
	d->lanes = literal->lanes;
	rans_decoder_rewind(d, literal);
	return BREVIS_OK;
}

void rans_decoder_rewind(struct rans_decoder *d, const struct literal *literal)
{
	struct span payload = literal->payload;
	unsigned tail;
	size_t all;

	/* That was checked when it was parsed. */
	rans_payload_read(&payload, d->lanes, &tail, d->states, NULL);
	all = (size_t)tail * d->lanes;
	d->at = payload.at;
	d->lane = 0;
	d->tail = literal->count < all ? literal->count : all;
	d->main = literal->count - d->tail;
	d->in_tail = false;
	d->failed = false;
}

/* How a loop looks symbols up. Constant where it is inlined. */
struct lookup {
	const void *slots;
	const uint8_t *classes; /* or NULL */
	unsigned scale_bits;
	bool is_short;
};

/* The state behind word i, before renormalising. */
ALWAYS_INLINE uint32_t advance(const struct lookup *l, size_t i, uint32_t state, uint32_t *symbol)
{
	size_t slot = state & ((1u << l->scale_bits) - 1);

	if (l->classes)
		slot |= (size_t)l->classes[i] << l->scale_bits;
	if (l->is_short) {
		uint32_t entry = ((const uint32_t *)l->slots)[slot];

		*symbol = entry >> 12 & 0xff;
		return (entry >> 20) * (state >> l->scale_bits) + (entry & 0xfff);
	} else {
		uint64_t entry = ((const uint64_t *)l->slots)[slot];

		*symbol = (uint32_t)(entry >> 32);
		return (uint32_t)(entry >> 16 & 0xffff) * (state >> l->scale_bits) +
		       (uint32_t)(entry & 0xffff);
	}
}

/* Decodes word i where a unit can be read at *at in any case. */
ALWAYS_INLINE uint32_t step(const struct lookup *l, size_t i, uint32_t *state, const uint8_t **at)
{
	uint32_t symbol;
	uint32_t x = advance(l, i, *state, &symbol);
	uint32_t low = x < RANS_LOW;

	/* Keeps gcc from moving lanes into vectors and back between their table lookups. */
	__asm__("" : "+r"(low));
	/* Without a branch: which states refill is as good as random. */
	*state = x ^ ((x ^ (x << 16 | load_le16(*at))) & (0 - low));
	*at += 2 * (size_t)low;
	return symbol;
}

/* Decodes words one by one with every check. */
static void decode_checked(struct rans_decoder *d, const struct lookup *l, void *words,
			   size_t first, size_t end)
{
	unsigned size = word_bytes(d->width);
	size_t i;

	for (i = first; i < end; i++) {
		uint32_t symbol;
		uint32_t x = advance(l, i, d->states[d->lane], &symbol);

		if (x < RANS_LOW && d->end - d->at >= 2) {
			x = x << 16 | load_le16(d->at);
			d->at += 2;
		} else if (x < RANS_LOW) {
			d->failed = true;
			x |= RANS_LOW;
		}
		/* Damaged payloads must not leave the range that kernels rely on. */
		d->states[d->lane] = x & (RANS_HIGH - 1);
		d->lane = (d->lane + 1) % d->lanes;
		word_set(words, size, i, symbol);
	}
}

/* Decodes whole groups of 4 lanes while there is enough to read for all. Returns the first word
 * that is left. */
ALWAYS_INLINE size_t decode_4(struct rans_decoder *d, const struct lookup *l, void *words,
			      unsigned size, size_t i, size_t count)
{
	const uint8_t *at = d->at;
	uint32_t a = d->states[0];
	uint32_t b = d->states[1];
	uint32_t c = d->states[2];
	uint32_t e = d->states[3];

	for (; i + 4 <= count && d->end - at >= 8; i += 4) {
		word_set(words, size, i, step(l, i, &a, &at));
		word_set(words, size, i + 1, step(l, i + 1, &b, &at));
		word_set(words, size, i + 2, step(l, i + 2, &c, &at));
		word_set(words, size, i + 3, step(l, i + 3, &e, &at));
	}
	d->at = at;
	d->states[0] = a;
	d->states[1] = b;
	d->states[2] = c;
	d->states[3] = e;
	return i;
}

/* The same for any number of lanes. */
ALWAYS_INLINE size_t decode_many(struct rans_decoder *d, const struct lookup *l, void *words,
				 unsigned size, size_t i, size_t count)
{
	const uint8_t *at = d->at;
	unsigned lanes = d->lanes, j;

	for (; i + lanes <= count && d->end - at >= 2 * (ptrdiff_t)lanes; i += lanes)
		for (j = 0; j < lanes; j++)
			word_set(words, size, i + j, step(l, i + j, &d->states[j], &at));
	d->at = at;
	return i;
}

static size_t decode_kernel(struct rans_decoder *d, const struct lookup *l, uint8_t *words,
			    size_t i, size_t count)
{
	size_t groups = (count - i) / d->lanes;

	return i + d->lanes * kernels()->decode(l->slots, l->scale_bits, d->lanes, d->states,
						&d->at, d->end, l->classes ? l->classes + i : NULL,
						words + i, groups);
}

/* All groups of words that begin at lane 0, as far as no check is needed. */
static size_t decode_groups(struct rans_decoder *d, const struct lookup *l, void *words, size_t i,
			    size_t count)
{
	struct lookup fixed = *l;

	if (l->is_short && d->lanes >= RANS_KERNEL_LANES)
		return decode_kernel(d, l, words, i, count);
	/* Constants are faster. */
	fixed.is_short = true;
	if (l->is_short && d->lanes == 4 && l->classes)
		return decode_4(d, &fixed, words, 1, i, count);
	fixed.classes = NULL;
	if (l->is_short && d->lanes == 4)
		return decode_4(d, &fixed, words, 1, i, count);
	fixed = *l;
	fixed.is_short = false;
	if (!l->is_short && d->lanes == 4 && word_bytes(d->width) == 2)
		return decode_4(d, &fixed, words, 2, i, count);
	return decode_many(d, l, words, word_bytes(d->width), i, count);
}

/* Decodes words before the tail. */
static void decode_main(struct rans_decoder *d, const struct lookup *l, void *words, size_t count)
{
	size_t lead = (d->lanes - d->lane) % d->lanes;
	size_t done = lead < count ? lead : count;

	decode_checked(d, l, words, 0, done);
	done = decode_groups(d, l, words, done, count);
	decode_checked(d, l, words, done, count);
	d->main -= count;
}

/* The last word of a lane: what is left of its state, if that is a word. */
static uint32_t take_last(struct rans_decoder *d)
{
	uint32_t x = d->states[d->lane];
	bool is_word = x < UINT32_C(1) << d->width;

	d->states[d->lane] = is_word ? 0 : x;
	return is_word ? x : 0;
}

static void begin_tail(struct rans_decoder *d)
{
	unsigned j;

	for (j = 0; j < d->lanes; j++)
		d->states[j] -= RANS_LOW;
	d->in_tail = true;
}

/* Decodes words of the tail, for which states shrink. */
static void decode_tail(struct rans_decoder *d, const struct lookup *l, void *words, size_t first,
			size_t end)
{
	unsigned size = word_bytes(d->width);
	uint32_t symbol;
	size_t i;

	if (!d->in_tail)
		begin_tail(d);
	for (i = first; i < end; i++) {
		if (d->tail-- > d->lanes)
			d->states[d->lane] = advance(l, i, d->states[d->lane], &symbol);
		else
			symbol = take_last(d);
		d->lane = (d->lane + 1) % d->lanes;
		word_set(words, size, i, symbol);
	}
}

int rans_decode(struct rans_decoder *d, void *words, const uint8_t *classes, size_t count,
		struct brevis_error *err)
{
	struct lookup l = {d->slots, classes, d->scale_bits,
			   rans_is_short(d->width, d->scale_bits)};
	size_t before = count < d->main ? count : d->main;

	if (before)
		decode_main(d, &l, words, before);
	if (before < count)
		decode_tail(d, &l, words, before, count);
	if (d->failed)
		return error_set(err, BREVIS_E_FORMAT, "rANS literal: cut short");
	return BREVIS_OK;
}

size_t rans_decode_join(struct rans_decoder *d, const uint8_t *classes, uint8_t *codes,
			size_t count, unsigned width, struct kernel_join *join)
{
	const struct kernels *k = kernels();
	size_t groups = (count < d->main ? count : d->main) / KERNEL_LANES_MAX;

	if (d->lane)
		return 0;
	groups = (width == 16 ? k->decode16 : k->decode32)(
		d->slots, d->scale_bits, d->states, &d->at, d->end, classes, codes, groups, join);
	d->main -= groups * KERNEL_LANES_MAX;
	return groups * KERNEL_LANES_MAX;
}

int rans_decoder_finish(const struct rans_decoder *d, struct brevis_error *err)
{
	uint32_t last = d->in_tail ? 0 : RANS_LOW;
	unsigned i;

	if (d->at != d->end)
		return error_set(err, BREVIS_E_FORMAT, "rANS literal: bytes after the last word");
	for (i = 0; i < d->lanes; i++)
		if (d->states[i] != last)
			return error_set(err, BREVIS_E_FORMAT,
					 "rANS literal: lane %u does not end as it must", i);
	return BREVIS_OK;
}
