/* SPDX-License-Identifier: Apache-2.0 */
#include "core/entropy/literal_encode.h"

#include <string.h>

#include "core/base/bits.h"
#include "core/entropy/frequencies_encode.h"
#include "core/entropy/levels_encode.h"
#include "core/entropy/log2.h"
#include "core/entropy/rans_encode.h"
#include "core/entropy/raw.h"
#include "core/entropy/tally.h"

#define KRAFT_FRACTION 30

/* log2(e) with LOG2_FRACTION fraction bits. */
#define LOG2_E 94548

/* So many words are never best coded by Huffman, whose codes have whole bits. */
#define HUFFMAN_MAX 16384

/* ---- tallies -------------------------------------------------------------------------------- */

static void sum_own(struct tally *t)
{
	unsigned i;

	t->own = 0;
	for (i = 0; i < t->n; i++)
		t->own += log2_weighted(t->counts[i]);
}

void tally_take(struct tally *t, const uint32_t *histogram, unsigned width, size_t count)
{
	unsigned all = 1u << width, n = 0, i, j;

	t->width = width;
	t->count = count;
	for (i = 0; i + 4 <= all; i += 4) {
		uint64_t pair[2];

		/* Most values of wide words do not occur. */
		memcpy(pair, histogram + i, sizeof(pair));
		if (!(pair[0] | pair[1]))
			continue;
		for (j = i; j < i + 4; j++) {
			t->symbols[n] = (uint16_t)j;
			t->counts[n] = histogram[j];
			n += histogram[j] > 0;
		}
	}
	for (; i < all; i++) {
		t->symbols[n] = (uint16_t)i;
		t->counts[n] = histogram[i];
		n += histogram[i] > 0;
	}
	t->n = n;
	sum_own(t);
}

void tally_fold(struct tally *t)
{
	unsigned last = t->symbols[0] / 2u, sum = t->counts[0], n = 0, i;

	for (i = 1; i < t->n; i++) {
		unsigned symbol = t->symbols[i] / 2u;

		/* Written in any case, and kept when the next one is another. */
		t->symbols[n] = (uint16_t)last;
		t->counts[n] = sum;
		n += symbol != last;
		sum = symbol != last ? t->counts[i] : sum + t->counts[i];
		last = symbol;
	}
	t->symbols[n] = (uint16_t)last;
	t->counts[n] = sum;
	t->n = n + 1;
	t->width--;
	sum_own(t);
}

/* ---- costs ---------------------------------------------------------------------------------- */

/* What one pass over a tally finds. */
struct summary {
	uint64_t rans;    /* bits, LOG2_FRACTION fraction bits ... */
	uint64_t raised;  /* ... and words that symbols rarer than one slot of a table count more */
	uint64_t huffman; /* bits with codes of rounded lengths ... */
	uint64_t kraft;   /* ... which take this share of all codes, KRAFT_FRACTION fraction bits */
};

static struct summary summarise_rans(const struct tally *t)
{
	uint64_t slot = t->count >> FREQUENCY_BITS_MAX;
	uint64_t all = log2_fixed((uint32_t)t->count);
	struct summary s = {.rans = t->count * all - t->own};
	unsigned i;

	/* No symbol is so rare. */
	if (!slot)
		return s;
	for (i = 0, s.rans = 0; i < t->n; i++) {
		uint32_t n = t->counts[i];

		if (n < slot) {
			s.rans += (uint64_t)n * FREQUENCY_BITS_MAX << LOG2_FRACTION;
			s.raised += slot - n;
		} else {
			s.rans += n * all - log2_weighted(n);
		}
	}
	return s;
}

static void summarise_huffman(const struct tally *t, struct summary *s)
{
	uint32_t all = log2_fixed((uint32_t)t->count);
	unsigned i;

	for (i = 0; i < t->n; i++) {
		uint32_t bits = all - log2_fixed(t->counts[i]);
		unsigned length = (bits + (1u << (LOG2_FRACTION - 1))) >> LOG2_FRACTION;

		length = length < 1 ? 1 : length < KRAFT_FRACTION ? length : KRAFT_FRACTION;
		s->huffman += (uint64_t)t->counts[i] * length;
		s->kraft += UINT64_C(1) << (KRAFT_FRACTION - length);
	}
}

/* Bits of a frequency table whose levels follow the counts. */
static uint64_t table_bits(const struct tally *t)
{
	unsigned precision = frequency_precision(t->count, t->n);
	uint64_t factor = ((uint64_t)1 << (32 + 11)) / t->count;
	unsigned next = t->symbols[0], previous = 1, i;
	uint64_t size = 2 * t->width + bit_length((uint64_t)t->symbols[t->n - 1] - next);

	for (i = 0; i < t->n; i++) {
		unsigned level = bit_length(t->counts[i] * factor >> 32);

		if (t->symbols[i] > next)
			size += level_zeros_bits(t->symbols[i] - next);
		next = t->symbols[i] + 1u;
		level = level ? level : 1;
		size += level_bits(previous, level);
		size += level - 1 < precision ? level - 1 : precision;
		previous = level;
	}
	return size;
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

static uint64_t fixed_cost(const struct tally *t)
{
	unsigned first = t->symbols[0], bits = bit_length((uint64_t)t->symbols[t->n - 1] - first);
	uint64_t cost = 8 * (2 + varint_size(first) + ((uint64_t)t->count * bits + 7) / 8);
	uint64_t raw = 8 * (1 + (uint64_t)t->count * raw_bytes(t->width));

	return raw < cost ? raw : cost;
}

/* Bits of a rANS payload. What rare symbols have too much of a table, all others have too little.
 */
static uint64_t rans_bits(const struct summary *s, size_t count)
{
	uint64_t bits = (s->rans + s->raised * LOG2_E) >> LOG2_FRACTION;

	return bits + rans_lanes_cost(rans_lanes(count));
}

uint64_t tally_cost(const struct tally *t)
{
	uint64_t fixed = fixed_cost(t), table, coded;
	struct summary s;

	if (t->n < 2)
		return fixed;
	s = summarise_rans(t);
	table = table_bits(t);
	coded = rans_bits(&s, t->count);
	if (t->count < HUFFMAN_MAX) {
		uint64_t huffman = s.rans >> LOG2_FRACTION;

		/* It is no less than the entropy, but for what logarithms may be off by. */
		if (huffman + table >= fixed + (t->count >> 12))
			return fixed;
		summarise_huffman(t, &s);
		huffman = huffman_bits(&s, t->count);
		coded = coded < huffman ? coded : huffman;
	}
	/* Coding, parameters, payload size. */
	coded += 8 * (2 + varint_size(coded / 8)) + table;
	return coded < fixed ? coded : fixed;
}

uint64_t tally_bound(const struct tally *t)
{
	uint64_t cost = log2_weighted((uint32_t)t->count);
	/* What both logarithms may be off by, and luck. */
	uint64_t slack = (uint64_t)t->count << (LOG2_FRACTION - 14);

	cost -= t->own;
	slack += cost >> 12;
	return 1 + (cost > slack ? (cost - slack) >> (LOG2_FRACTION + 3) : 0);
}

uint64_t literal_cost(const uint32_t *histogram, unsigned width, size_t count)
{
	struct tally tally;

	tally_take(&tally, histogram, width, count);
	return tally_cost(&tally);
}
