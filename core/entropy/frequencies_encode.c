/* SPDX-License-Identifier: Apache-2.0 */
#include "core/entropy/frequencies_encode.h"

#include "core/base/error.h"
#include "core/entropy/levels_encode.h"
#include "core/entropy/log2.h"
#include "core/entropy/rans.h"

#include <stdlib.h>
#include <string.h>

/* The smallest scale is taken that costs at most 1 / 2^TOLERANCE more than the best: it decodes
 * faster. */
#define TOLERANCE 10

/* Fraction bits of a share before it is rounded. */
#define TARGET_FRACTION 16

/* The symbols that occur, in order. */
struct occurring {
	uint32_t *counts;
	uint16_t *symbols;
	uint16_t *shares; /* under trial */
	unsigned n;
	unsigned rest; /* index of the most frequent one */
	uint64_t total;
};

unsigned frequency_precision(uint64_t total, unsigned symbols)
{
	/*
	 * Rounding to p bits costs about total / (33 * 4^p) bits, a bit more of precision one bit
	 * for each symbol that is not in the far tail, say half of them.
	 */
	unsigned p = 0;

	while (p < FREQUENCY_PRECISION_MAX && total >> (2 * p) > 22 * (uint64_t)symbols)
		p++;
	return p;
}

/*
 * Rounds target (with TARGET_FRACTION fraction bits) to a share of the given precision. Between a
 * power of two and its double, where there is nothing between, the costs break even not in the
 * middle but at 1 / ln 2.
 */
static unsigned round_share(uint64_t target, unsigned precision)
{
	unsigned whole = (unsigned)(target >> TARGET_FRACTION);
	unsigned below;
	unsigned shift;

	if (whole <= 1)
		return target < 94548 ? 1 : 2;
	below = bit_length(whole) - 1;
	if (!precision)
		return target < (uint64_t)94548 << below ? 1u << below : 2u << below;
	shift = TARGET_FRACTION + (below > precision ? below - precision : 0);
	return (unsigned)((target + (UINT64_C(1) << (shift - 1))) >> shift)
	       << (shift - TARGET_FRACTION);
}

static uint64_t target_of(uint32_t count, uint64_t factor)
{
	return count * factor >> (32 - TARGET_FRACTION);
}

/* Rounds all shares but the rest's for one factor (slots per word, 32 fraction bits). */
static uint64_t share_out(struct occurring *o, uint64_t factor, unsigned precision,
			  unsigned *at_least_one)
{
	uint64_t sum = 0;
	unsigned raised = 0;
	unsigned i;

	for (i = 0; i < o->n; i++) {
		uint64_t target = target_of(o->counts[i], factor);
		unsigned share = round_share(target, precision);

		if (i == o->rest)
			continue;
		raised += target < UINT64_C(1) << TARGET_FRACTION;
		sum += share;
		o->shares[i] = (uint16_t)share;
	}
	*at_least_one = raised;
	return sum;
}

/*
 * Shares that minimise the words' cost are proportional to the counts, but at least 1. So a common
 * factor is sought under which the rounded shares leave for the most frequent symbol about what is
 * its due: a 64th more or less costs next to nothing. n must be at most 1 << scale_bits.
 */
static void normalise(struct occurring *o, unsigned scale_bits, unsigned precision)
{
	uint64_t slots = UINT64_C(1) << scale_bits;
	uint64_t factor = (slots << 32) / o->total;
	unsigned raised;
	uint64_t sum = share_out(o, factor, precision, &raised);
	unsigned i;

	for (i = 0; i < 3; i++) {
		uint64_t due = target_of(o->counts[o->rest], factor) >> TARGET_FRACTION;
		uint64_t off = sum + due > slots ? sum + due - slots : slots - sum - due;

		if (off <= due / 64 || slots <= raised || sum + due <= raised)
			break;
		/* Only what is not raised to 1 scales with the factor. */
		factor = factor * (slots - raised) / (sum + due - raised);
		sum = share_out(o, factor, precision, &raised);
	}
	/* With a factor of 0 all shares are 1, which leaves enough. */
	while (sum >= slots) {
		factor -= factor / 16 + (factor > 0);
		sum = share_out(o, factor, precision, &raised);
	}
	o->shares[o->rest] = (uint16_t)(slots - sum);
}

static uint64_t words_cost(const struct occurring *o, unsigned scale_bits)
{
	uint64_t cost = o->total * scale_bits << LOG2_FRACTION;
	unsigned i;

	for (i = 0; i < o->n; i++)
		cost -= o->counts[i] * (uint64_t)log2_fixed(o->shares[i]);
	return cost;
}

/* Writes a table. */
static void write_table(struct level_writer *w, const struct occurring *o, unsigned precision,
			unsigned width)
{
	unsigned first = o->symbols[0];
	unsigned last = o->symbols[o->n - 1];
	unsigned next = first;
	unsigned zeros = 0;
	unsigned i;

	level_write_bits(w, first, width);
	level_write_bits(w, last - first - 1, width);
	level_write_bits(w, o->symbols[o->rest] - first, bit_length(last - first));
	for (i = 0; i < o->n; i++) {
		unsigned level = bit_length(o->shares[i]);
		unsigned stored = level - 1 < precision ? level - 1 : precision;

		zeros += o->symbols[i] - next;
		next = o->symbols[i] + 1u;
		/* It is not listed; zeros on both sides of it are one run. */
		if (i == o->rest)
			continue;
		level_write_zeros(w, zeros);
		zeros = 0;
		level_write(w, level);
		level_write_bits(w,
				 (unsigned)o->shares[i] >> (level - 1 - stored) & low_bits(stored),
				 stored);
	}
	level_write_zeros(w, zeros);
}

/* Bits that write_table writes. */
static uint64_t table_bits(const struct occurring *o, unsigned precision, unsigned width)
{
	unsigned first = o->symbols[0], previous = 1, next = first, zeros = 0, i;
	uint64_t size = 2 * width + bit_length((uint64_t)o->symbols[o->n - 1] - first);

	for (i = 0; i < o->n; i++) {
		unsigned level = bit_length(o->shares[i]);

		zeros += o->symbols[i] - next;
		next = o->symbols[i] + 1u;
		if (i == o->rest)
			continue;
		if (zeros)
			size += level_zeros_bits(zeros);
		zeros = 0;
		size += level_bits(previous, level);
		size += level - 1 < precision ? level - 1 : precision;
		previous = level;
	}
	return size + (zeros ? level_zeros_bits(zeros) : 0);
}

/* Both parts of a trial's price, for the shares it leaves in *o. */
static void try_scale(struct occurring *o, unsigned scale_bits, unsigned precision, unsigned width,
		      struct frequency_plan *trial)
{
	normalise(o, scale_bits, precision);
	trial->table.scale_bits = scale_bits;
	trial->table.precision = precision;
	trial->cost = words_cost(o, scale_bits);
	trial->bytes = (table_bits(o, precision, width) + 7) / 8;
}

static uint64_t price(const struct frequency_plan *trial)
{
	return trial->cost + (trial->bytes << (LOG2_FRACTION + 3));
}

/*
 * Finds the scale: the smallest one that is as good as the cheapest, or hardly worse. Literals of
 * few words never pay for a large one. Leaves its shares in *o.
 */
static void choose(struct occurring *o, unsigned width, struct frequency_plan *best)
{
	uint16_t shares[1 << LITERAL_SYMBOL_BITS];
	unsigned precision = frequency_precision(o->total, o->n);
	unsigned lowest = bit_length(o->n - 1);
	unsigned scale_bits = bit_length(o->total) - 2;
	struct frequency_plan trial = *best;
	unsigned most;
	uint64_t cheapest;

	lowest = lowest > FREQUENCY_BITS_MIN ? lowest : FREQUENCY_BITS_MIN;
	scale_bits = scale_bits > lowest ? scale_bits : lowest;
	most = width <= RANS_CODE_BITS ? KERNEL_SCALE_MAX : FREQUENCY_BITS_MAX;
	scale_bits = scale_bits < most ? scale_bits : most;
	try_scale(o, scale_bits, precision, width, best);
	cheapest = price(best);
	memcpy(shares, o->shares, sizeof(*shares) * o->n);
	while (scale_bits-- > lowest) {
		try_scale(o, scale_bits, precision, width, &trial);
		if (price(&trial) > cheapest + (cheapest >> TOLERANCE))
			break;
		cheapest = price(&trial) < cheapest ? price(&trial) : cheapest;
		*best = trial;
		memcpy(shares, o->shares, sizeof(*shares) * o->n);
	}
	memcpy(o->shares, shares, sizeof(*shares) * o->n);
}

/* Lists the symbols that occur. The arrays are of 1 << width entries. */
static void list_occurring(struct occurring *o, const uint32_t *histogram, unsigned symbols)
{
	unsigned i;

	for (i = 0; i < symbols; i++) {
		if (!histogram[i])
			continue;
		if (o->n == 0 || histogram[i] > o->counts[o->rest])
			o->rest = o->n;
		o->counts[o->n] = histogram[i];
		o->symbols[o->n++] = (uint16_t)i;
	}
}

static void fill_plan(struct frequency_plan *plan, const struct occurring *o)
{
	unsigned i;

	for (i = 0; i < o->n; i++)
		plan->shares[o->symbols[i]] = o->shares[i];
	plan->table.first = o->symbols[0];
	plan->table.range = o->symbols[o->n - 1] - o->symbols[0] + 1u;
	plan->table.rest = (unsigned)o->symbols[o->rest] - o->symbols[0];
}

int frequency_plan_init(struct frequency_plan *plan, const uint32_t *histogram, unsigned width,
			uint64_t total, struct brevis_error *err)
{
	uint32_t counts[1 << LITERAL_SYMBOL_BITS];
	uint16_t symbols[1 << LITERAL_SYMBOL_BITS];
	uint16_t shares[1 << LITERAL_SYMBOL_BITS];
	struct occurring o = {
		.counts = counts, .symbols = symbols, .shares = shares, .total = total};

	*plan = (struct frequency_plan){.shares = calloc((size_t)1 << width, sizeof(uint16_t))};
	if (!plan->shares)
		return error_nomem(err);
	list_occurring(&o, histogram, 1u << width);
	choose(&o, width, plan);
	fill_plan(plan, &o);
	return BREVIS_OK;
}

int frequency_plan_scaled(struct frequency_plan *plan, const uint32_t *histogram, unsigned width,
			  uint64_t total, unsigned scale_bits, unsigned precision,
			  struct brevis_error *err)
{
	uint32_t counts[1 << LITERAL_SYMBOL_BITS];
	uint16_t symbols[1 << LITERAL_SYMBOL_BITS];
	uint16_t shares[1 << LITERAL_SYMBOL_BITS];
	struct occurring o = {
		.counts = counts, .symbols = symbols, .shares = shares, .total = total};

	*plan = (struct frequency_plan){.shares = calloc((size_t)1 << width, sizeof(uint16_t))};
	if (!plan->shares)
		return error_nomem(err);
	list_occurring(&o, histogram, 1u << width);
	normalise(&o, scale_bits, precision);
	plan->table.scale_bits = scale_bits;
	plan->table.precision = precision;
	fill_plan(plan, &o);
	return BREVIS_OK;
}

void frequency_plan_release(struct frequency_plan *plan)
{
	free(plan->shares);
	plan->shares = NULL;
}

void frequency_table_write(struct bit_writer *bits, const struct frequency_plan *plan,
			   unsigned width)
{
	uint16_t symbols[1 << LITERAL_SYMBOL_BITS];
	uint16_t shares[1 << LITERAL_SYMBOL_BITS];
	struct occurring o = {.symbols = symbols, .shares = shares};
	struct level_writer w;
	unsigned i;

	for (i = 0; i < plan->table.range; i++) {
		if (i == plan->table.rest)
			o.rest = o.n;
		if (!plan->shares[plan->table.first + i])
			continue;
		symbols[o.n] = (uint16_t)(plan->table.first + i);
		shares[o.n++] = plan->shares[plan->table.first + i];
	}
	level_writer_init(&w, bits);
	write_table(&w, &o, plan->table.precision, width);
}
