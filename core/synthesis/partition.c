/* SPDX-License-Identifier: Apache-2.0 */
#include "core/synthesis/partition.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/bits.h"
#include "core/base/error.h"
#include "core/entropy/codebook_encode.h"
#include "core/entropy/tally.h"

/* What one more field costs beside its words, in bits: operator, coding, parameters, its width. */
#define FIELD_OVERHEAD (8 * 2)

/* What a constant field costs in bits. */
#define CONST_COST (8 * 2)

/* From so many words on it is cheaper to fold one histogram than to count each field's. */
#define FOLD_MIN (1u << 15)

/* More words than this have tables of their own. */
#define SHARED_MAX (1u << 16)

/* From so many words on folding is faster than counting a field, by far. */
#define KEEP_MIN (1u << 16)

/* What is known of the words. */
struct statistics {
	const void *words;
	unsigned width;
	size_t count;
	unsigned upper_bits;
	unsigned lower_bits;
	const struct codebook *codebook; /* or NULL */
	unsigned shared_bits;            /* widest words that it has a table for */
	uint64_t varying;                /* bits that are not the same in all words */
	uint32_t *upper;     /* counts of the upper bits together, if there are FOLD_MIN words */
	uint32_t *field;     /* counts of the field that is being priced */
	struct tally *tally; /* the same */
	/* Bits of the upper part that are as good as random together, and what they do not go
	 * below. */
	unsigned noise_begin, noise_end;
	uint64_t noise_bound;
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
	static void count_##T(uint32_t *histogram, uint32_t *second, const T *words, size_t count, \
			      unsigned shift, T mask)                                              \
	{                                                                                          \
		size_t i;                                                                          \
                                                                                                   \
		for (i = 0; i + 2 <= count; i += 2) {                                              \
			histogram[(words[i] >> shift) & mask]++;                                   \
			second[(words[i + 1] >> shift) & mask]++;                                  \
		}                                                                                  \
		if (i < count)                                                                     \
			histogram[(words[i] >> shift) & mask]++;                                   \
	}

DEFINE_LOOPS(uint8_t)
DEFINE_LOOPS(uint16_t)
DEFINE_LOOPS(uint32_t)
DEFINE_LOOPS(uint64_t)

static uint64_t varying_bits(const void *words, unsigned width, size_t count)
{
	switch (word_bytes(width)) {
	case 1:
		return varying_uint8_t(words, count);
	case 2:
		return varying_uint16_t(words, count);
	case 4:
		return varying_uint32_t(words, count);
	default:
		return varying_uint64_t(words, count);
	}
}

/*
 * Counts the field of `bits` bits whose lowest bit is `shift`. Every second one of many words is
 * counted in a table of its own, so that equal words side by side do not wait for each other.
 */
static void count_field(const struct statistics *s, uint32_t *histogram, unsigned shift,
			unsigned bits)
{
	bool twice = bits <= LITERAL_SYMBOL_BITS && s->count >> bits;
	uint32_t *second = twice ? histogram + ((size_t)1 << bits) : histogram;
	uint64_t mask = low_bits(bits);
	size_t i;

	memset(histogram, 0, sizeof(*histogram) << (bits + twice));
	switch (word_bytes(s->width)) {
	case 1:
		count_uint8_t(histogram, second, s->words, s->count, shift, (uint8_t)mask);
		break;
	case 2:
		count_uint16_t(histogram, second, s->words, s->count, shift, (uint16_t)mask);
		break;
	case 4:
		count_uint32_t(histogram, second, s->words, s->count, shift, (uint32_t)mask);
		break;
	default:
		count_uint64_t(histogram, second, s->words, s->count, shift, mask);
	}
	for (i = 0; twice && i < (size_t)1 << bits; i++)
		histogram[i] += second[i];
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

/* The least cost of a field with this tally, and what no leaf goes below. */
static uint64_t field_cost(const struct statistics *s, unsigned shift, uint64_t *bound)
{
	const struct tally *tally = s->tally;
	uint64_t plain = plain_cost(s, shift, tally->width);
	uint64_t coded;

	*bound = 0;
	if (plain == CONST_COST)
		return plain;
	*bound = 8 * tally_bound(tally);
	/* So many words take a table of this size for nothing: two bits for each symbol. */
	if (*bound + 64 + 3 * tally->n >= plain)
		return plain;
	coded = tally_cost(tally) + FIELD_OVERHEAD;
	plain = coded < plain ? coded : plain;
	coded = codebook_tally_cost(s->codebook, tally);
	return coded < plain ? coded : plain;
}

/*
 * Widest field that can gain from an entropy coding: with more symbols than words, hardly any
 * symbol comes twice.
 */
static unsigned widest_coded(const struct statistics *s, unsigned bits)
{
	unsigned most = bit_length(s->count);

	if (most > LITERAL_SYMBOL_BITS)
		most = LITERAL_SYMBOL_BITS;
	if (most < 8)
		most = 8;
	/* A shared table has nothing to learn from the words. */
	if (most < s->shared_bits)
		most = s->shared_bits;
	return bits < most ? bits : most;
}

/* Prices a field within bits that are as good as random: so it is itself. */
static uint64_t noise_cost(const struct statistics *s, unsigned begin, unsigned bits,
			   uint64_t *bound)
{
	uint64_t others = s->count * (uint64_t)(s->noise_end - s->noise_begin - bits);

	*bound = s->noise_bound > others ? s->noise_bound - others : 0;
	return plain_cost(s, s->width - begin - bits, bits);
}

/* Notes that the field of the tally is as good as random, if it is: a table would save nothing. */
static void note_noise(struct statistics *s, unsigned begin, uint64_t bound)
{
	unsigned bits = s->tally->width;
	/* Chance takes 1 / (2 ln 2) bits for each symbol off the entropy, if it comes often. */
	uint64_t chance = s->count >> 3 >> bits ? UINT64_C(1) << bits : 0;

	if (bound + 64 + chance < (uint64_t)bits * s->count || begin + bits <= s->noise_end)
		return;
	s->noise_begin = begin;
	s->noise_end = begin + bits;
	s->noise_bound = bound;
}

static void take_tally(struct statistics *s, unsigned left, unsigned coded)
{
	unsigned bits;

	if (s->upper) {
		memcpy(s->field, s->upper, sizeof(*s->field) << left);
		for (bits = left; bits > coded; bits--)
			fold_low(s->field, bits);
	} else {
		count_field(s, s->field, s->lower_bits + left - coded, coded);
	}
	tally_take(s->tally, s->field, coded, s->count);
}

/*
 * Prices all fields that begin at the same bit: cost[w] is that of w bits. The tally of the widest
 * one gives those of all others.
 */
static void price_fields_from(struct statistics *s, unsigned begin,
			      uint64_t cost[PARTITION_UPPER + 1],
			      uint64_t bound[PARTITION_UPPER + 1])
{
	unsigned left = s->upper_bits - begin, coded = widest_coded(s, left), bits;

	for (bits = left; bits > coded; bits--) {
		cost[bits] = plain_cost(s, s->width - begin - bits, bits);
		bound[bits] = 0;
	}
	if (bits && begin + bits > s->noise_end)
		take_tally(s, left, coded);
	for (; bits && begin + bits > s->noise_end; bits--, tally_fold(s->tally)) {
		cost[bits] = field_cost(s, s->width - begin - bits, &bound[bits]);
		note_noise(s, begin, bound[bits]);
	}
	for (; bits; bits--)
		cost[bits] = noise_cost(s, begin, bits, &bound[bits]);
	if (s->upper)
		fold_high(s->upper, left);
}

/*
 * The bits below the upper part: whole bytes from the top, cut where varying bits begin or end, so
 * that the zeros of a float that was a shorter one are a field; neighbours that are both constant,
 * or both incompressible, are one field.
 */
static void price_lower(struct statistics *s, struct partition *out)
{
	unsigned shift = s->lower_bits, bits;
	bool constant, plain, was_constant = false, was_plain = false;
	uint64_t cost, bound;

	*out = (struct partition){0};
	for (; shift; shift -= bits) {
		bits = shift % 8 ? shift % 8 : 8;
		constant = !(s->varying >> (shift - bits) & low_bits(bits));
		/* A byte whose lower bits never vary ends above them. */
		while (!constant && !(s->varying & low_bits(shift - bits + 1)))
			bits--;
		count_field(s, s->field, shift - bits, bits);
		tally_take(s->tally, s->field, bits, s->count);
		cost = field_cost(s, shift - bits, &bound);
		plain = cost == (uint64_t)bits * s->count + FIELD_OVERHEAD;
		if (out->count && ((constant && was_constant) || (plain && was_plain))) {
			out->widths[out->count - 1] += bits;
			cost = constant ? 0 : cost - FIELD_OVERHEAD;
		} else {
			out->widths[out->count++] = bits;
		}
		out->cost += cost;
		/* Fields that were joined may go below the sum of their bounds. */
		out->bound += plain ? 0 : bound;
		was_constant = constant;
		was_plain = plain;
	}
}

void partition_best(const struct partition_prices *prices, unsigned begin, unsigned end,
		    struct partition *out)
{
	uint64_t best[PARTITION_UPPER + 1];
	unsigned from[PARTITION_UPPER + 1] = {0};
	unsigned a, b, i;

	memset(best, 0xff, sizeof(best));
	best[begin] = 0;
	for (a = begin; a < end; a++) {
		for (b = a + 1; b <= end; b++) {
			if (best[a] + prices->fields[a][b - a] < best[b]) {
				best[b] = best[a] + prices->fields[a][b - a];
				from[b] = a;
			}
		}
	}
	out->cost = best[end];
	out->count = 0;
	out->bound = 0;
	for (b = end; b > begin; b = from[b]) {
		out->count++;
		out->bound += prices->bounds[from[b]][b - from[b]];
	}
	for (b = end, i = out->count; b > begin; b = from[b])
		out->widths[--i] = b - from[b];
}

void partition_append(struct partition *to, const struct partition *more)
{
	unsigned i;

	for (i = 0; i < more->count; i++)
		to->widths[to->count++] = more->widths[i];
	to->cost += more->cost;
	to->bound += more->bound;
}

static void use_codebook(struct statistics *s, const struct codebook *codebook)
{
	unsigned i;

	s->codebook = codebook;
	for (i = 0; codebook && i < codebook_count(codebook); i++)
		if (codebook_width(codebook, i) > s->shared_bits)
			s->shared_bits = codebook_width(codebook, i);
}

int partition_fold(const uint32_t *upper, unsigned bits, unsigned above, unsigned width,
		   uint32_t *out, struct brevis_error *err)
{
	unsigned below = bits - above - width;
	size_t all = (size_t)1 << (bits - above), i, k;
	uint32_t *sum = calloc(all, sizeof(*sum));

	if (!sum)
		return error_nomem(err);
	for (k = 0; k < (size_t)1 << above; k++)
		for (i = 0; i < all; i++)
			sum[i] += upper[k << (bits - above) | i];
	memset(out, 0, sizeof(*out) << width);
	for (i = 0; i < all; i++)
		out[i >> below] += sum[i];
	free(sum);
	return BREVIS_OK;
}

int partition_price(const void *words, unsigned width, size_t count,
		    const struct codebook *codebook, struct partition_prices *out, uint32_t **upper,
		    struct brevis_error *err)
{
	struct statistics s = {.words = words, .width = width, .count = count};
	uint32_t *histograms = malloc(sizeof(*histograms) * 2 << PARTITION_UPPER);
	struct tally tally;
	unsigned begin;

	*upper = NULL;
	if (!histograms)
		return error_nomem(err);
	if (count <= SHARED_MAX)
		use_codebook(&s, codebook);
	s.upper_bits = width < PARTITION_UPPER ? width : PARTITION_UPPER;
	s.lower_bits = width - s.upper_bits;
	s.varying = varying_bits(words, width, count);
	s.field = histograms;
	s.tally = &tally;
	if (count >= FOLD_MIN) {
		s.upper = histograms + (1 << PARTITION_UPPER);
		count_field(&s, s.upper, s.lower_bits, s.upper_bits);
	}
	if (count >= KEEP_MIN) {
		*upper = malloc(sizeof(**upper) << s.upper_bits);
		if (*upper)
			memcpy(*upper, s.upper, sizeof(**upper) << s.upper_bits);
	}
	out->upper = s.upper_bits;
	out->varying = s.varying;
	for (begin = 0; begin < s.upper_bits; begin++)
		price_fields_from(&s, begin, out->fields[begin], out->bounds[begin]);
	price_lower(&s, &out->lower);
	free(histograms);
	return BREVIS_OK;
}
