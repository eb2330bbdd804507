/* SPDX-License-Identifier: Apache-2.0 */
#include "core/synthesis/sketch.h"

#include <limits.h>
#include <string.h>

#include "core/base/bits.h"
#include "core/entropy/log2.h"
#include "core/entropy/words.h"
#include "core/kernels/kernels.h"

/* Longer streams are represented by runs of words, evenly spread: more of them if they are long. */
#define RUN_WORDS  512
#define RUNS       12
#define RUNS_MAX   64
#define RUNS_EVERY 32768 /* words */

/* Fewer words say nothing of so many bits. */
#define SMALL_WORDS 16384
#define SMALL_BITS  10

/* Bits of a code with an escape. */
#define CODE_BITS   8
#define CODES       255 /* without the escape */
#define FEWEST_BITS 8   /* what is raw then fits the kernels */

/* What a symbol takes in a frequency table, in bits. */
#define SYMBOL_COST 4

/* log2(e) with LOG2_FRACTION fraction bits. */
#define LOG2_E 94548

/* Words that are looked at for noise, about. */
#define NOISE_WORDS 4096

/* Bits right below those that are counted, which are to be noise. */
#define NOISE_BITS 3

/* What else is noticed in a sample. */
struct findings {
	uint64_t any, all; /* OR and AND of the words */
	size_t equal;      /* words that equal the one before */
	size_t zeros;      /* but for the sign */
	size_t noise_words;
	uint32_t noise[1 << NOISE_BITS];
	uint32_t lowest[256];
};

/* Loops of their own for what compilers can vectorise, and for each table. */
#define DEFINE_COUNT(BITS)                                                                         \
	static void look##BITS(struct findings *f, const uint##BITS##_t *words, size_t count)      \
	{                                                                                          \
		uint##BITS##_t any = 0, all = (uint##BITS##_t) ~0, equal = 0, zeros = 0;           \
		size_t i;                                                                          \
                                                                                                   \
		for (i = 0; i + 1 < count; i++) {                                                  \
			any |= words[i];                                                           \
			all &= words[i];                                                           \
			equal = (uint##BITS##_t)(equal + (words[i] == words[i + 1]));              \
			zeros = (uint##BITS##_t)(zeros + ((uint##BITS##_t)(words[i] << 1) == 0));  \
		}                                                                                  \
		f->any |= any;                                                                     \
		f->all &= all;                                                                     \
		f->equal += equal;                                                                 \
		f->zeros += zeros;                                                                 \
	}                                                                                          \
                                                                                                   \
	ALWAYS_INLINE void find_places##BITS(int16_t *places, const uint##BITS##_t *words,         \
					     size_t count, unsigned bits)                          \
	{                                                                                          \
		uint##BITS##_t mask = (uint##BITS##_t)(((1u << bits) - 1) << 1);                   \
		unsigned shift = BITS - 2 - bits;                                                  \
		size_t i;                                                                          \
                                                                                                   \
		for (i = 0; i < count; i++)                                                        \
			places[i] =                                                                \
				(int16_t)((words[i] >> shift & mask) | words[i] >> (BITS - 1));    \
	}                                                                                          \
                                                                                                   \
	/* Counts bits, and how often they are set together: so nothing is looked up. */           \
	ALWAYS_INLINE void count_noise##BITS(struct findings *f, const uint##BITS##_t *words,      \
					     size_t count, unsigned bits)                          \
	{                                                                                          \
		unsigned shift = BITS - 1 - bits - NOISE_BITS;                                     \
		uint##BITS##_t n1 = 0, n2 = 0, n4 = 0, n3 = 0, n5 = 0, n6 = 0, n7 = 0;             \
		size_t i;                                                                          \
                                                                                                   \
		for (i = 0; i < count; i++) {                                                      \
			uint##BITS##_t a = (uint##BITS##_t)(words[i] >> shift);                    \
			uint##BITS##_t b = a >> 1, c = a >> 2;                                     \
                                                                                                   \
			n1 = (uint##BITS##_t)(n1 + (a & 1));                                       \
			n2 = (uint##BITS##_t)(n2 + (b & 1));                                       \
			n4 = (uint##BITS##_t)(n4 + (c & 1));                                       \
			n3 = (uint##BITS##_t)(n3 + (a & b & 1));                                   \
			n5 = (uint##BITS##_t)(n5 + (a & c & 1));                                   \
			n6 = (uint##BITS##_t)(n6 + (b & c & 1));                                   \
			n7 = (uint##BITS##_t)(n7 + (a & b & c & 1));                               \
		}                                                                                  \
		f->noise[7] += n7;                                                                 \
		f->noise[6] += (uint32_t)n6 - n7;                                                  \
		f->noise[5] += (uint32_t)n5 - n7;                                                  \
		f->noise[3] += (uint32_t)n3 - n7;                                                  \
		f->noise[4] += (uint32_t)n4 - n5 - n6 + n7;                                        \
		f->noise[2] += (uint32_t)n2 - n3 - n6 + n7;                                        \
		f->noise[1] += (uint32_t)n1 - n3 - n5 + n7;                                        \
		f->noise[0] += (uint32_t)count - n1 - n2 - n4 + n3 + n5 + n6 - n7;                 \
		f->noise_words += count;                                                           \
	}

DEFINE_COUNT(16)
DEFINE_COUNT(32)

static void count_lowest(struct findings *f, const uint32_t *words, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		f->lowest[words[i] & 0xff]++;
}

static void find_range(struct sketch *s, const int16_t *places, size_t count)
{
	int16_t low = places[0], high = places[0];
	size_t i;

	for (i = 0; i < count; i++) {
		low = places[i] < low ? places[i] : low;
		high = places[i] > high ? places[i] : high;
	}
	s->first = (unsigned)low < s->first ? (unsigned)low : s->first;
	s->last = (unsigned)high > s->last ? (unsigned)high : s->last;
}

/* Counts at most RUN_WORDS words. */
ALWAYS_INLINE void count_run_of(struct sketch *s, struct findings *f, const struct words *in,
				size_t first, size_t count, unsigned bits)
{
	const uint16_t *shorts = (const uint16_t *)in->data + first;
	const uint32_t *longs = (const uint32_t *)in->data + first;
	bool noise = f->noise_words < NOISE_WORDS;
	int16_t places[RUN_WORDS];
	size_t i;

	if (in->width == 16) {
		look16(f, shorts, count);
		find_places16(places, shorts, count, bits);
		if (noise)
			count_noise16(f, shorts, count, bits);
	} else {
		look32(f, longs, count);
		find_places32(places, longs, count, bits);
		if (noise) {
			count_noise32(f, longs, count, bits);
			count_lowest(f, longs, count);
		}
	}
	find_range(s, places, count);
	for (i = 0; i < count; i++)
		s->counts[places[i]]++;
	s->words += count;
}

static void count_run(struct sketch *s, struct findings *f, const struct words *in, size_t first,
		      size_t count)
{
	/* Shifts by constants are faster. */
	if (s->bits == SMALL_BITS)
		count_run_of(s, f, in, first, count, SMALL_BITS);
	else
		count_run_of(s, f, in, first, count, SKETCH_BITS);
}

/*
 * True if the counts of 2^bits values are what chance makes of equal probabilities: their entropy
 * then lacks about 2^bits / (2 ln 2) bits for all words together; twice that and a 32nd of a bit
 * for each word are let pass.
 */
static bool is_noise(const uint32_t *counts, unsigned bits, size_t words)
{
	uint64_t cost = words * (uint64_t)log2_fixed((uint32_t)words);
	uint64_t lack;
	unsigned i;

	for (i = 0; i < 1u << bits; i++)
		cost -= log2_weighted(counts[i]);
	lack = words * (uint64_t)bits << LOG2_FRACTION;
	lack = lack > cost ? lack - cost : 0;
	return lack >> LOG2_FRACTION <= ((uint64_t)3 << bits) / 2 + words / 32 + 8;
}

static bool find_plain(const struct sketch *s, const struct findings *f, unsigned width)
{
	uint64_t raw = low_bits(width - 1 - s->bits); /* each of these bits must vary */
	size_t some = s->words / 256 + 8;

	if (f->equal > some || f->zeros > some)
		return false;
	if (~(f->any & ~f->all) & raw)
		return false;
	return is_noise(f->noise, NOISE_BITS, f->noise_words) &&
	       (width == 16 || is_noise(f->lowest, 8, f->noise_words));
}

static size_t runs_of(size_t count)
{
	size_t runs = RUNS + count / RUNS_EVERY;

	return runs < RUNS_MAX ? runs : RUNS_MAX;
}

static void count_bytes(struct sketch *s, struct findings *f, const uint8_t *bytes, size_t count)
{
	size_t i;

	for (i = 0; i + 1 < count; i++) {
		f->any |= bytes[i];
		f->all &= bytes[i];
		f->equal += bytes[i] == bytes[i + 1];
		s->counts[bytes[i]]++;
	}
	s->words += count - 1;
}

void sketch_take_bytes(struct sketch *s, const struct words *in)
{
	struct findings f = {.all = UINT64_MAX};
	size_t runs = runs_of(in->count), i;
	uint64_t squares = 0;

	s->bits = 8;
	s->words = 0;
	memset(s->counts, 0, sizeof(*s->counts) << s->bits);
	if (in->count <= runs * RUN_WORDS) {
		count_bytes(s, &f, in->data, in->count);
	} else {
		for (i = 0; i < runs; i++)
			count_bytes(s, &f,
				    (const uint8_t *)in->data +
					    (in->count - RUN_WORDS) / (runs - 1) * i,
				    RUN_WORDS);
	}
	for (i = 0; i < 256; i++)
		squares += (uint64_t)s->counts[i] * s->counts[i];
	s->is_plain =
		(f.any & ~f.all) == 0xff && f.equal <= 3 * (squares / s->words) + s->words / 16 + 8;
}

void sketch_take(struct sketch *s, const struct words *in)
{
	struct findings f = {.all = UINT64_MAX};
	size_t runs, i;

	s->bits = in->count < SMALL_WORDS ? SMALL_BITS : SKETCH_BITS;
	memset(s->counts, 0, sizeof(*s->counts) << (s->bits + 1));
	s->words = 0;
	s->first = UINT_MAX;
	s->last = 0;
	runs = runs_of(in->count);
	if (in->count <= runs * RUN_WORDS) {
		for (i = 0; i < in->count; i += RUN_WORDS)
			count_run(s, &f, in, i,
				  in->count - i < RUN_WORDS ? in->count - i : RUN_WORDS);
	} else {
		for (i = 0; i < runs; i++)
			count_run(s, &f, in, (in->count - RUN_WORDS) / (runs - 1) * i, RUN_WORDS);
	}
	s->is_plain = find_plain(s, &f, in->width);
}

/* Begins the window of CODES values that holds most words. */
static unsigned choose_base(const uint32_t *counts, unsigned first, unsigned last, unsigned bits)
{
	unsigned highest = (1u << bits) - (1u << CODE_BITS);
	unsigned base = first < highest ? first : highest;
	unsigned best = base, i;
	uint64_t inside = 0, most;

	for (i = first; i < base + CODES && i <= last; i++)
		inside += counts[i];
	for (most = inside; base < highest && base + CODES <= last; base++) {
		inside += counts[base + CODES];
		inside -= counts[base];
		if (inside > most) {
			most = inside;
			best = base + 1;
		}
	}
	return best;
}

/* Values that are priced, and what they are out of. */
struct pricing {
	const uint32_t *counts; /* those from first to last */
	unsigned first, last, bits;
	uint64_t words; /* sampled */
	uint64_t all;   /* log2 of that */
	uint32_t slot;  /* words to a slot of a table */
};

static uint32_t count_of(const struct pricing *p, unsigned value)
{
	return value >= p->first && value <= p->last ? p->counts[value] : 0;
}

/*
 * What a value costs that has a code, with LOG2_FRACTION fraction bits. It takes a slot at least,
 * and the others have that much less: even if it did not come in the sample, it will in the whole.
 */
static uint64_t coded_cost(const struct pricing *p, uint32_t n)
{
	if (n >= p->slot)
		return n * p->all - log2_weighted(n);
	return ((uint64_t)n * KERNEL_SCALE_MAX << LOG2_FRACTION) + (uint64_t)(p->slot - n) * LOG2_E;
}

/*
 * Escapes rare values at one end of the window, from `from` on in steps of `step`: as many as pay.
 * Returns how many; counts their words.
 */
static unsigned escape_rare(const struct pricing *p, unsigned from, int step, unsigned most,
			    uint32_t *escaped)
{
	int64_t gain = 0, best = 0;
	uint32_t sum = *escaped;
	unsigned best_count = 0, i;

	for (i = 0; i < most; i++) {
		uint32_t n = count_of(p, (unsigned)((int)from + step * (int)i));

		sum += n;
		gain += (int64_t)coded_cost(p, n);
		gain -= (int64_t)(n * (p->all - (sum ? log2_fixed(sum) : 0)));
		gain -= (int64_t)n * p->bits << LOG2_FRACTION;
		if (gain < best - (int64_t)(p->words << LOG2_FRACTION) / 64)
			break;
		if (gain > best) {
			best = gain;
			best_count = i + 1;
			*escaped = sum;
		}
	}
	return best_count;
}

/* Chooses which values have codes. */
static void choose_codes(const struct pricing *p, struct sketch_cut *cut)
{
	uint32_t escaped = 0;
	unsigned first, end, i;

	cut->code_bits = CODE_BITS;
	cut->base = choose_base(p->counts, p->first, p->last, p->bits);
	first = cut->base;
	end = cut->base + CODES;
	for (i = p->first; i < first; i++)
		escaped += p->counts[i];
	for (i = end; i <= p->last; i++)
		escaped += p->counts[i];
	if (p->slot) {
		first += escape_rare(p, first, 1, CODES / 2, &escaped);
		/* The window moves along, as far as there is room. */
		end = end < p->last + 1 ? end : p->last + 1;
		end -= escape_rare(p, end - 1, -1, (end - first) / 2, &escaped);
	}
	cut->codes = end - first;
	i = (1u << p->bits) - (1u << CODE_BITS);
	cut->base = first < i ? first : i;
	cut->codes += first - cut->base;
}

/* Tables that a route of so many words is likely to have. */
static unsigned tables_of(size_t count)
{
	return count >= (size_t)1 << 18 ? 10 : count >= (size_t)1 << 15 ? 5 : 2;
}

/* Prices a cut of `count` words. */
static struct sketch_cut price(const struct pricing *p, unsigned width, size_t count)
{
	struct sketch_cut cut = {.symbol_bits = p->bits, .code_bits = p->bits};
	uint64_t cost = 0;
	uint32_t escaped = 0;
	unsigned distinct = 0, i;

	if (p->bits > CODE_BITS)
		choose_codes(p, &cut);
	else
		cut.codes = CODES;
	for (i = p->first; i <= p->last; i++) {
		if (p->bits > CODE_BITS && i - cut.base >= cut.codes) {
			escaped += p->counts[i];
		} else if (p->counts[i]) {
			distinct++;
			cost += coded_cost(p, p->counts[i]);
		}
	}
	cost += escaped * p->all - log2_weighted(escaped);
	cost += (uint64_t)escaped * p->bits << LOG2_FRACTION;
	/* All words are like those of the sample. */
	cost = (cost / p->words) * count >> LOG2_FRACTION;
	cut.cost = cost + (uint64_t)count * (width - p->bits) +
		   SYMBOL_COST * (uint64_t)distinct * tables_of(count);
	return cut;
}

/* Joins values that differ in the lowest bit only. from may be to. */
static void fold(struct pricing *p, const uint32_t *from, uint32_t *to)
{
	unsigned i;

	p->first /= 2;
	p->last /= 2;
	p->bits--;
	for (i = p->first; i <= p->last; i++)
		to[i] = from[2 * i] + from[2 * i + 1];
	/* What the next folding looks at. */
	if (p->first % 2)
		to[p->first - 1] = 0;
	if (p->last % 2 == 0)
		to[p->last + 1] = 0;
}

/* Joins those that differ in the fraction's lowest bit only, and not in the sign. */
static void fold_signed(struct pricing *p, uint32_t *counts)
{
	unsigned i;

	p->first = p->first / 4 * 2;
	p->last = p->last / 4 * 2 + 1;
	p->bits--;
	for (i = p->first; i < p->last; i += 2) {
		uint32_t positive = counts[2 * i] + counts[2 * i + 2];

		counts[i + 1] = counts[2 * i + 1] + counts[2 * i + 3];
		counts[i] = positive;
	}
	if (p->first % 4)
		counts[p->first - 1] = counts[p->first - 2] = 0;
	if (p->last % 4 == 1)
		counts[p->last + 1] = counts[p->last + 2] = 0;
	p->first += !counts[p->first];
	p->last -= !counts[p->last];
}

struct sketch_cut sketch_choose(const struct sketch *s, unsigned width, size_t count, bool has_sign)
{
	uint32_t counts[2 << SKETCH_BITS];
	struct pricing p = {.counts = counts,
			    .first = s->first,
			    .last = s->last,
			    .bits = s->bits + 1,
			    .words = s->words,
			    .all = log2_fixed((uint32_t)s->words),
			    .slot = (uint32_t)(s->words >> KERNEL_SCALE_MAX)};
	struct sketch_cut best = {.cost = UINT64_MAX};

	if (has_sign) {
		unsigned begin = s->first / 4 * 4, end = s->last / 4 * 4 + 4;

		memcpy(counts + begin, s->counts + begin, sizeof(*counts) * (end - begin));
	} else {
		fold(&p, s->counts, counts);
	}
	while (p.bits >= FEWEST_BITS) {
		struct sketch_cut cut = price(&p, width, count);

		cut.has_sign = has_sign;
		if (cut.cost < best.cost)
			best = cut;
		if (has_sign)
			fold_signed(&p, counts);
		else
			fold(&p, counts, counts);
	}
	return best;
}

uint64_t sketch_ideal(const struct sketch *s, unsigned width, size_t count)
{
	uint64_t cost = s->words * (uint64_t)log2_fixed((uint32_t)s->words);
	unsigned i, j, distinct = 0;

	/* Two bits less than there are, so that a sample can tell. */
	for (i = 0; i < 2u << s->bits; i += 8) {
		for (j = i; j < i + 2; j++) {
			uint32_t n = s->counts[j] + s->counts[j + 2] + s->counts[j + 4] +
				     s->counts[j + 6];

			cost -= log2_weighted(n);
			distinct += n > 0;
		}
	}
	/* A sample's entropy is short of the truth by 1 / (2 ln 2) bits for each symbol. */
	cost += (uint64_t)distinct * LOG2_E / 2;
	return ((cost / s->words) * count >> LOG2_FRACTION) +
	       (uint64_t)count * (width + 1 - s->bits);
}

void sketch_histogram(const struct sketch *s, const struct sketch_cut *cut, uint32_t histogram[256])
{
	unsigned dropped = s->bits + cut->has_sign - cut->symbol_bits, i;

	memset(histogram, 0, sizeof(*histogram) * 256);
	for (i = s->first; i <= s->last; i++) {
		unsigned value = i >> 1 >> dropped;

		if (!s->counts[i])
			continue;
		if (cut->has_sign)
			value = value << 1 | (i & 1);
		value -= cut->base;
		histogram[value < cut->codes ? value : 255] += s->counts[i];
	}
}
