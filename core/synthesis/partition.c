/* SPDX-License-Identifier: Apache-2.0 */
#include "core/synthesis/partition.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/bits.h"
#include "core/base/error.h"
#include "core/entropy/literal_encode.h"

/* Bits of the upper part, whose fields can be cut anywhere. */
#define UPPER_MAX 16

/* What one more field costs beside its words, in bits: operator, coding, parameters, its width. */
#define FIELD_OVERHEAD (8 * 5)

/* What a constant field costs in bits. */
#define CONST_COST (8 * 3)

/* From so many words on it is cheaper to fold one histogram than to count each field's. */
#define FOLD_MIN (1u << 15)

/* What is known of the words. */
struct statistics {
	const void *words;
	unsigned width;
	size_t count;
	unsigned upper_bits;
	unsigned lower_bytes;
	uint64_t varying; /* bits that are not the same in all words */
	uint32_t *upper;  /* counts of the upper bits together, if there are FOLD_MIN words */
	uint32_t *field;  /* counts of the field that is being priced */
};

/*
 * Loops over words of each type: bits that differ from the first word's, and the histogram of the
 * field that a shift and a mask cut out.
 */
#define DEFINE_LOOPS(T)                                                                            \
	static uint64_t varying_##T(const T *words, size_t count)                                  \
	{                                                                                          \
		T bits = 0;                                                                        \
		size_t i;                                                                          \
                                                                                                   \
		for (i = 0; i < count; i++)                                                        \
			bits = (T)(bits | (words[i] ^ words[0]));                                  \
		return bits;                                                                       \
	}                                                                                          \
                                                                                                   \
	static void count_##T(uint32_t *histogram, const T *words, size_t count, unsigned shift,   \
			      T mask)                                                              \
	{                                                                                          \
		size_t i;                                                                          \
                                                                                                   \
		for (i = 0; i < count; i++)                                                        \
			histogram[(words[i] >> shift) & mask]++;                                   \
	}

DEFINE_LOOPS(uint8_t)
DEFINE_LOOPS(uint16_t)
DEFINE_LOOPS(uint32_t)
DEFINE_LOOPS(uint64_t)

static uint64_t varying_bits(const void *words, unsigned width, size_t count)
{
	switch (width) {
	case 8:
		return varying_uint8_t(words, count);
	case 16:
		return varying_uint16_t(words, count);
	case 32:
		return varying_uint32_t(words, count);
	default:
		return varying_uint64_t(words, count);
	}
}

/* Counts the field of `bits` bits whose lowest bit is `shift`. */
static void count_field(const struct statistics *s, uint32_t *histogram, unsigned shift,
			unsigned bits)
{
	uint64_t mask = low_bits(bits);

	memset(histogram, 0, sizeof(*histogram) << bits);
	switch (s->width) {
	case 8:
		count_uint8_t(histogram, s->words, s->count, shift, (uint8_t)mask);
		break;
	case 16:
		count_uint16_t(histogram, s->words, s->count, shift, (uint16_t)mask);
		break;
	case 32:
		count_uint32_t(histogram, s->words, s->count, shift, (uint32_t)mask);
		break;
	default:
		count_uint64_t(histogram, s->words, s->count, shift, mask);
	}
}

/* Folds a histogram over 1 << bits values into that of the values without their lowest bit. */
static void fold_low(uint32_t *histogram, unsigned bits)
{
	size_t i;

	for (i = 0; i < (size_t)1 << (bits - 1); i++)
		histogram[i] = histogram[2 * i] + histogram[2 * i + 1];
}

/* Folds it into that of the values without their highest bit. */
static void fold_high(uint32_t *histogram, unsigned bits)
{
	size_t half = (size_t)1 << (bits - 1);
	size_t i;

	for (i = 0; i < half; i++)
		histogram[i] += histogram[half + i];
}

/* Cost in bits of a field as a const, or packed as it is. */
static uint64_t plain_cost(const struct statistics *s, unsigned shift, unsigned bits)
{
	if (!(s->varying >> shift & low_bits(bits)))
		return CONST_COST;
	return (uint64_t)bits * s->count + FIELD_OVERHEAD;
}

/* The least cost of a field with this histogram. */
static uint64_t field_cost(const struct statistics *s, const uint32_t *histogram, unsigned shift,
			   unsigned bits)
{
	uint64_t plain = plain_cost(s, shift, bits);
	uint64_t coded;

	if (plain == CONST_COST)
		return plain;
	coded = literal_cost(histogram, bits, s->count) + FIELD_OVERHEAD;
	return coded < plain ? coded : plain;
}

/*
 * Widest field that can gain from an entropy coding: with more symbols than words, hardly any
 * symbol comes twice.
 */
static unsigned widest_coded(const struct statistics *s, unsigned bits)
{
	unsigned most = bit_length(s->count) + 1;

	if (most > LITERAL_SYMBOL_BITS)
		most = LITERAL_SYMBOL_BITS;
	return bits < most ? bits : most;
}

/*
 * Prices all fields that begin at the same bit, `left` bits above the lowest of the upper part:
 * cost[w] is that of w bits. The histogram of the widest one gives those of all others.
 */
static void price_fields_from(struct statistics *s, unsigned left, uint64_t cost[UPPER_MAX + 1])
{
	unsigned lower = s->lower_bytes * 8;
	unsigned coded = widest_coded(s, left);
	unsigned bits;

	if (s->upper) {
		memcpy(s->field, s->upper, sizeof(*s->field) << left);
		for (bits = left; bits > coded; bits--)
			fold_low(s->field, bits);
		fold_high(s->upper, left);
	} else {
		count_field(s, s->field, lower + left - coded, coded);
	}
	for (bits = left; bits > coded; bits--)
		cost[bits] = plain_cost(s, lower + left - bits, bits);
	for (; bits; bits--) {
		cost[bits] = field_cost(s, s->field, lower + left - bits, bits);
		fold_low(s->field, bits);
	}
}

/* The cheapest way to cut the upper part: best[e] is that of its first e bits. */
static void cut_upper(struct statistics *s, struct partition *out)
{
	uint64_t cost[UPPER_MAX + 1];
	uint64_t best[UPPER_MAX + 1];
	unsigned from[UPPER_MAX + 1] = {0};
	unsigned bits = s->upper_bits;
	unsigned begin, end, i;

	memset(best, 0xff, sizeof(best));
	best[0] = 0;
	for (begin = 0; begin < bits; begin++) {
		price_fields_from(s, bits - begin, cost);
		for (end = begin + 1; end <= bits; end++) {
			if (best[begin] + cost[end - begin] < best[end]) {
				best[end] = best[begin] + cost[end - begin];
				from[end] = begin;
			}
		}
	}
	out->count = 0;
	for (end = bits; end; end = from[end])
		out->count++;
	for (end = bits, i = out->count; end; end = from[end])
		out->widths[--i] = end - from[end];
}

/* Adds the bytes below, neighbours that are both constant or both incompressible as one field. */
static void add_lower(struct statistics *s, struct partition *out)
{
	uint64_t plain = 8 * (uint64_t)s->count + FIELD_OVERHEAD;
	uint64_t previous = 0;
	unsigned shift;

	for (shift = s->lower_bytes * 8; shift; shift -= 8) {
		uint64_t cost;

		count_field(s, s->field, shift - 8, 8);
		cost = field_cost(s, s->field, shift - 8, 8);
		if (cost == previous && (cost == CONST_COST || cost == plain))
			out->widths[out->count - 1] += 8;
		else
			out->widths[out->count++] = 8;
		previous = cost;
	}
}

int partition_find(const void *words, unsigned width, size_t count, struct partition *out,
		   struct brevis_error *err)
{
	struct statistics s = {.words = words, .width = width, .count = count};
	uint32_t *histograms = malloc(sizeof(*histograms) * 2 << UPPER_MAX);

	if (!histograms)
		return error_nomem(err);
	s.upper_bits = width < UPPER_MAX ? width : UPPER_MAX;
	s.lower_bytes = (width - s.upper_bits) / 8;
	s.varying = varying_bits(words, width, count);
	s.field = histograms;
	if (count >= FOLD_MIN) {
		s.upper = histograms + (1 << UPPER_MAX);
		count_field(&s, s.upper, s.lower_bytes * 8, s.upper_bits);
	}
	cut_upper(&s, out);
	add_lower(&s, out);
	free(histograms);
	return BREVIS_OK;
}
