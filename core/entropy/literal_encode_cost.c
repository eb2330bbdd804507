/* SPDX-License-Identifier: Apache-2.0 */
#include "core/entropy/literal_encode.h"

#include "core/base/bits.h"
#include "core/entropy/frequencies_encode.h"
#include "core/entropy/levels_encode.h"
#include "core/entropy/log2.h"
#include "core/entropy/rans_encode.h"
#include "core/entropy/raw.h"

#define KRAFT_FRACTION 30

/* log2(e) with LOG2_FRACTION fraction bits. */
#define LOG2_E 94548

/* What one pass over a histogram finds. */
struct summary {
	unsigned n; /* symbols that occur */
	unsigned first;
	unsigned last;
	uint64_t rans;    /* bits, LOG2_FRACTION fraction bits ... */
	uint64_t raised;  /* ... and words that symbols rarer than one slot of a table count more */
	uint64_t huffman; /* bits with codes of rounded lengths ... */
	uint64_t kraft;   /* ... which take this share of all codes, KRAFT_FRACTION fraction bits */
};

static struct summary summarise(const uint32_t *histogram, unsigned symbols, size_t count)
{
	uint32_t all = count ? log2_fixed((uint32_t)count) : 0;
	uint64_t slot = count >> FREQUENCY_BITS_MAX;
	struct summary s = {0};
	unsigned i;

	for (i = 0; i < symbols; i++) {
		uint32_t bits;
		unsigned length;

		if (!histogram[i])
			continue;
		if (!s.n++)
			s.first = i;
		s.last = i;
		bits = all - log2_fixed(histogram[i]);
		if (histogram[i] < slot) {
			s.rans += (uint64_t)histogram[i] * FREQUENCY_BITS_MAX << LOG2_FRACTION;
			s.raised += slot - histogram[i];
		} else {
			s.rans += histogram[i] * (uint64_t)bits;
		}
		length = (bits + (1u << (LOG2_FRACTION - 1))) >> LOG2_FRACTION;
		length = length < 1 ? 1 : length < KRAFT_FRACTION ? length : KRAFT_FRACTION;
		s.huffman += (uint64_t)histogram[i] * length;
		s.kraft += UINT64_C(1) << (KRAFT_FRACTION - length);
	}
	return s;
}

/* Bits of a frequency table whose levels follow the counts. */
static uint64_t table_bits(const uint32_t *histogram, const struct summary *s, unsigned width,
			   size_t count)
{
	unsigned precision = frequency_precision(count, s->n);
	uint64_t factor = ((uint64_t)1 << (32 + 11)) / count;
	struct level_writer w;
	unsigned zeros = 0;
	unsigned i;

	level_writer_init(&w, NULL);
	level_write_bits(&w, 0, 2 * width + bit_length(s->last - s->first));
	for (i = s->first; i <= s->last; i++) {
		unsigned level;

		if (!histogram[i]) {
			zeros++;
			continue;
		}
		if (zeros)
			level_write_zeros(&w, zeros);
		zeros = 0;
		level = bit_length(histogram[i] * factor >> 32);
		level = level ? level : 1;
		level_write(&w, level);
		w.size += level - 1 < precision ? level - 1 : precision;
	}
	return w.size;
}

/* Bits of a Huffman payload. Codes that are too many all grow by what it takes. */
static uint64_t huffman_bits(const struct summary *s, size_t count)
{
	uint64_t one = UINT64_C(1) << KRAFT_FRACTION;
	uint64_t excess;

	if (s->kraft <= one)
		return s->huffman;
	/* Less 8 bits of it, for log2_fixed. */
	excess = log2_fixed((uint32_t)(s->kraft >> 8)) -
		 ((uint64_t)(KRAFT_FRACTION - 8) << LOG2_FRACTION);
	return s->huffman + (count * excess >> LOG2_FRACTION);
}

static uint64_t fixed_cost(const struct summary *s, unsigned width, size_t count)
{
	unsigned bits = bit_length(s->last - s->first);
	uint64_t cost = 8 * (2 + varint_size(s->first) + ((uint64_t)count * bits + 7) / 8);
	uint64_t raw = 8 * (1 + (uint64_t)count * raw_bytes(width));

	return raw < cost ? raw : cost;
}

/* Bits of a rANS payload. What rare symbols have too much of a table, all others have too little.
 */
static uint64_t rans_bits(const struct summary *s, size_t count)
{
	uint64_t bits = (s->rans + s->raised * LOG2_E) >> LOG2_FRACTION;

	/* Of each lane's state, 24 bits are no information. */
	return bits + 24 * rans_lanes(count);
}

uint64_t literal_cost(const uint32_t *histogram, unsigned width, size_t count)
{
	struct summary s = summarise(histogram, 1u << width, count);
	uint64_t fixed = fixed_cost(&s, width, count);
	uint64_t rans;
	uint64_t huffman;
	uint64_t coded;

	if (s.n < 2)
		return fixed;
	rans = rans_bits(&s, count);
	huffman = huffman_bits(&s, count);
	coded = rans < huffman ? rans : huffman;
	/* Coding, parameters, payload size. */
	coded += 8 * (2 + varint_size(coded / 8)) + table_bits(histogram, &s, width, count);
	return coded < fixed ? coded : fixed;
}

uint64_t literal_bound(const uint32_t *histogram, unsigned width, size_t count)
{
	uint64_t cost = (uint64_t)count * log2_fixed((uint32_t)count);
	/* What both logarithms may be off by, and luck. */
	uint64_t slack = (uint64_t)count << (LOG2_FRACTION - 14);
	unsigned i;

	for (i = 0; i < 1u << width; i++)
		if (histogram[i])
			cost -= histogram[i] * (uint64_t)log2_fixed(histogram[i]);
	slack += cost >> 12;
	return 1 + (cost > slack ? (cost - slack) >> (LOG2_FRACTION + 3) : 0);
}
