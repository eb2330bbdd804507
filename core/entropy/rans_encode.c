/* SPDX-License-Identifier: Apache-2.0 */
#include "core/entropy/rans_encode.h"

#include "core/base/bytes.h"
#include "core/base/error.h"
#include "core/entropy/log2.h"
#include "core/entropy/words.h"

#include <stdlib.h>
#include <string.h>

/* What encoding a symbol takes, its share being f of M slots from `start` on. */
struct symbol_code {
	uint64_t reciprocal; /* ceil(2^32 * M / f) */
	uint32_t limit;      /* a state from here on, f * 2^32 / M, first gives off 16 bits */
	uint16_t start;
	uint16_t others; /* M - f */
};

unsigned rans_lanes(size_t count)
{
	/*
	 * A lane costs about 3 bytes that one stream would not; from these counts on that is less
	 * than a thousandth of what such literals take.
	 */
	return count < 4096 ? 1 : count < (size_t)1 << 17 ? 4 : 32;
}

uint64_t rans_payload_bound(uint64_t bits, unsigned lanes)
{
	uint64_t payload = 4 * (uint64_t)lanes;

	/* The roundings of states may be lucky, and a state holds up to 16 bits of the words. */
	bits -= bits >> 12;
	payload += bits > 16 * lanes ? (bits - 16 * lanes) / 8 : 0;
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
		codes[i].reciprocal = ((UINT64_C(1) << (32 + scale_bits)) + share - 1) / share;
		codes[i].limit = share << (32 - scale_bits);
		codes[i].start = (uint16_t)start;
		codes[i].others = (uint16_t)(slots - share);
		start += share;
	}
}

/*
 * Encodes one word, 16-bit words going backwards from *to. The product does not overflow: with
 * reciprocal * f = 2^32 * M + e, e < f < M, and state < f * 2^32 / M it is below 2^64; and
 * state * e < 2^32 * M makes its high part the exact quotient.
 */
ALWAYS_INLINE void put(const struct symbol_code *code, uint32_t *state, uint8_t **to,
		       unsigned scale_bits)
{
	uint32_t x = *state;
	uint32_t full = x >= code->limit;
	uint32_t quotient;

	store_le16(*to - 2, (uint16_t)x);
	/* Without a branch: which states are full is as good as random. */
	*to -= 2 * (size_t)full;
	x ^= (x ^ x >> 16) & (0 - full);
	quotient = (uint32_t)(x * code->reciprocal >> (32 + scale_bits));
	*state = x + code->start + quotient * code->others;
}

/*
 * Encodes words from the last to the first, backwards from `to`, never below `floor`. A group
 * writes at most 2 bytes a lane. Returns where the 16-bit words begin, or NULL for lack of room.
 */
ALWAYS_INLINE uint8_t *encode(const struct symbol_code *codes, const void *words, unsigned size,
			      size_t count, unsigned lanes, unsigned scale_bits, uint32_t *states,
			      uint8_t *floor, uint8_t *to)
{
	size_t i = count;

	for (; i % lanes; i--)
		put(&codes[word_get(words, size, i - 1)], &states[(i - 1) % lanes], &to,
		    scale_bits);
	while (i) {
		unsigned j = lanes;

		if (to - floor < 2 * (ptrdiff_t)lanes)
			return NULL;
		i -= lanes;
		while (j-- > 0)
			put(&codes[word_get(words, size, i + j)], &states[j], &to, scale_bits);
	}
	return to;
}

static uint8_t *encode_words(const struct symbol_code *codes, const void *words, unsigned width,
			     size_t count, unsigned lanes, unsigned scale_bits, uint32_t *states,
			     uint8_t *floor, uint8_t *to)
{
	bool bytes = word_bytes(width) == 1;

	if (lanes == 32 && bytes)
		return encode(codes, words, 1, count, 32, scale_bits, states, floor, to);
	if (lanes == 32)
		return encode(codes, words, 2, count, 32, scale_bits, states, floor, to);
	if (lanes == 4 && bytes)
		return encode(codes, words, 1, count, 4, scale_bits, states, floor, to);
	if (lanes == 4)
		return encode(codes, words, 2, count, 4, scale_bits, states, floor, to);
	return encode(codes, words, word_bytes(width), count, 1, scale_bits, states, floor, to);
}

unsigned rans_lanes_code(unsigned lanes)
{
	return lanes == 1 ? 0 : lanes == 4 ? 1 : 2;
}

int rans_payload_encode(struct buffer *out, const uint16_t *shares, unsigned scale_bits,
			unsigned lanes, const void *words, unsigned width, size_t count,
			uint64_t limit, bool *fits, struct brevis_error *err)
{
	struct symbol_code *codes = malloc(sizeof(*codes) << width);
	uint32_t states[RANS_LANES_MAX];
	size_t before = out->size;
	/* A word writes at most 2 bytes, and a group may begin where there is room for none. */
	size_t room = (limit < 2 * (uint64_t)count ? limit : 2 * count) + 4 * lanes;
	uint8_t *area;
	uint8_t *begin;
	size_t size;
	unsigned i;

	*fits = false;
	if (!codes)
		return error_nomem(err);
	fill_codes(codes, shares, scale_bits, width);
	for (i = 0; i < lanes; i++)
		states[i] = RANS_LOW;
	/* The words go to the end of the room, then move down behind size and states. */
	area = buffer_reserve(out, 10 + 4 * (size_t)lanes + room);
	if (!area)
		goto out;
	area += 10 + 4 * (size_t)lanes;
	begin = encode_words(codes, words, width, count, lanes, scale_bits, states, area,
			     area + room);
	size = begin ? (size_t)(area + room - begin) : 0;
	buffer_varint(out, 4 * (uint64_t)lanes + size);
	*fits = begin && out->size - before + 4 * lanes + size < limit;
	if (!*fits) {
		out->size = before;
		goto out;
	}
	for (i = 0; i < lanes; i++, out->size += 4)
		store_le32(out->data + out->size, states[i]);
	memmove(out->data + out->size, begin, size);
	out->size += size;
out:
	free(codes);
	return out->failed ? error_nomem(err) : BREVIS_OK;
}

int rans_encode(struct buffer *out, const struct frequency_plan *plan, unsigned lanes,
		const void *words, unsigned width, size_t count, uint64_t limit, bool *fits,
		struct brevis_error *err)
{
	unsigned scale_bits = plan->table.scale_bits;
	size_t before = out->size;
	uint64_t used;
	int status = BREVIS_OK;

	*fits = false;
	buffer_u8(out, (uint8_t)((scale_bits - FREQUENCY_BITS_MIN) | rans_lanes_code(lanes) << 3 |
				 plan->table.precision << 5));
	frequency_table_write(out, plan, width);
	used = out->size - before;
	if (used < limit)
		status = rans_payload_encode(out, plan->shares, scale_bits, lanes, words, width,
					     count, limit - used, fits, err);
	if (!*fits)
		out->size = before;
	return status;
}
