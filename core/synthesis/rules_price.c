/* SPDX-License-Identifier: Apache-2.0 */
#include "core/synthesis/rules_price.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/bits.h"
#include "core/base/error.h"
#include "core/entropy/histogram.h"
#include "core/entropy/library_encode.h"
#include "core/entropy/raw_encode.h"
#include "core/entropy/words.h"
#include "core/kernels/kernels.h"
#include "core/program/program.h"

/* Words of a sample, in parts that are evenly spread. */
#define SAMPLE_PARTS 4
#define SAMPLE_PART  8192

/* Products of counts. */
typedef unsigned __int128 double_width;

/* ---- routed cuts ---------------------------------------------------------------------------- */

bool price_symbols(const struct stream *s, const struct partition *cut, unsigned *begin,
		   unsigned *end)
{
	uint64_t most = 0;
	unsigned at = 0, i;

	for (i = 0; i < cut->count && at < s->prices.upper; at += cut->widths[i], i++) {
		unsigned width = cut->widths[i];
		uint64_t plain = s->words.count * (uint64_t)width;
		uint64_t saved;

		if (at + width > s->prices.upper || s->prices.fields[at][width] >= plain)
			continue;
		saved = plain - s->prices.fields[at][width];
		/* A constant field saves all, and has nothing to classify. */
		if (saved > most &&
		    s->prices.varying >> (s->words.width - at - width) & low_bits(width)) {
			most = saved;
			*begin = at;
			*end = at + width;
		}
	}
	return most > 0;
}

static void make_cut(const struct partition_prices *prices, unsigned begin, unsigned end,
		     uint64_t routed_cost, struct partition *out, unsigned *routed)
{
	struct partition part;

	*out = (struct partition){0};
	if (begin)
		partition_best(prices, 0, begin, out);
	*routed = out->count;
	out->widths[out->count++] = end - begin;
	out->cost += routed_cost;
	if (end < prices->upper) {
		partition_best(prices, end, prices->upper, &part);
		partition_append(out, &part);
	}
	partition_append(out, &prices->lower);
}

/* The price of everything but the bits begin to end. */
static uint64_t rest_of(const struct partition_prices *prices, unsigned begin, unsigned end)
{
	struct partition cut;
	unsigned routed;

	make_cut(prices, begin, end, 0, &cut, &routed);
	return cut.cost + 32;
}

int price_routed_cut(struct stream *s, struct brevis_error *err)
{
	const struct partition_prices *prices = &s->prices;
	uint64_t rest[CLASSES_DROPS];
	unsigned begin = 0, end = 0, widest, drops;
	struct partition best;
	struct route_plan *plan = NULL;
	enum stream_meaning meaning;
	struct words symbols;
	uint32_t *histogram;
	int status;

	if (s->cut_priced)
		return BREVIS_OK;
	s->cut_priced = true;
	stream_price_cut(s, &best);
	if (s->meaning == MEANS_NOISE || !price_symbols(s, &best, &begin, &end))
		return BREVIS_OK;
	widest = end + 1 < prices->upper ? end + 1 : prices->upper;
	if (widest - begin > LITERAL_SYMBOL_BITS)
		widest = begin + LITERAL_SYMBOL_BITS;
	for (drops = 0; drops < CLASSES_DROPS && widest - drops > begin + 1; drops++)
		rest[drops] = rest_of(prices, begin, widest - drops);
	if (!drops)
		return BREVIS_OK;
	meaning = s->meaning == MEANS_FLOAT && begin ? MEANS_MAGNITUDE : s->meaning;
	/* This is the search for a plan of the whole words, too. */
	status = expand_fields(&s->words, s->words.width - widest, widest - begin, &symbols, err);
	if (status)
		return status;
	status = stream_fold(s, begin, widest - begin, &histogram, err);
	if (!status)
		status = classes_find(&symbols, &s->shape, histogram, stream_scale(meaning), 0,
				      rest, drops, &plan, err);
	free(histogram);
	words_free(&symbols);
	if (status || !plan)
		return status;
	end = widest - plan->dropped;
	make_cut(prices, begin, end, plan->cost, &s->routed_cut, &s->routed);
	if (s->routed_cut.cost >= best.cost) {
		route_plan_free(plan);
	} else if (s->routed_cut.count > 1) {
		s->cut_plan = plan;
	} else if (!s->planned) {
		s->plan = plan;
		s->planned = true;
	} else {
		route_plan_free(plan);
	}
	return BREVIS_OK;
}

/* ---- flips ---------------------------------------------------------------------------------- */

/* Words of each column that are looked at, in two halves. */
#define FLIP_WORDS 64

/*
 * How much the columns' signs lean to one side: words * 0.72 * b^2 bits, with b the root mean
 * square of their bias. That comes from the product of what two halves of some words say, far from
 * each other: chance, and neighbours that are alike, make as many negative ones as positive ones.
 */
static uint64_t flip_gain(const struct words *in, const struct grid *g, struct brevis_error *err,
			  int *status)
{
	uint32_t *set = malloc(sizeof(*set) * 2 * g->columns);
	int64_t product = 0;
	uint64_t chance;
	size_t seen[2], c;
	unsigned i;

	*status = set ? BREVIS_OK : error_nomem(err);
	for (i = 0; i < 2 && !*status; i++)
		*status = flip_count(in, g, FLIP_WORDS, &(struct flip_part){i, 2},
				     set + i * g->columns, &seen[i], err);
	for (c = 0; c < g->columns && !*status; c++) {
		int64_t lean = (int64_t)(2 * (uint64_t)set[c]) - (int64_t)seen[0];
		int64_t other = (int64_t)(2 * (uint64_t)set[g->columns + c]) - (int64_t)seen[1];

		product += lean * other;
	}
	free(set);
	if (*status || product <= 0)
		return 0;
	/* Five standard deviations of what chance makes, as it may be of only two columns. */
	chance = 25 * seen[0] * seen[1] * g->columns;
	if ((double_width)product * (uint64_t)product <= chance)
		return 0;
	return (uint64_t)((double_width)product * in->count / (seen[0] * seen[1] * g->columns)) *
	       72 / 100;
}

int price_flip(struct stream *s, struct brevis_error *err)
{
	unsigned axis, i;
	int status = BREVIS_OK;

	if (s->leaning_known)
		return BREVIS_OK;
	for (axis = 0; axis < s->shape.rank && !status; axis++) {
		struct grid g = {1, s->shape.extents[axis], 1};
		uint64_t gain;

		for (i = 0; i < axis; i++)
			g.rows *= s->shape.extents[i];
		for (i = axis + 1; i < s->shape.rank; i++)
			g.inner *= s->shape.extents[i];
		if (g.rows * g.columns * g.inner != s->words.count ||
		    g.columns > s->words.count / 16)
			continue;
		gain = flip_gain(&s->words, &g, err, &status);
		if (gain > 2 * g.columns + s->words.count / 100 && gain - g.columns > s->leaning) {
			s->leaning = gain - g.columns;
			s->leaning_grid = g;
		}
	}
	s->leaning_known = !status;
	return status;
}

/* ---- samples -------------------------------------------------------------------------------- */

int sample_words(const struct words *in, struct words *out, struct brevis_error *err)
{
	unsigned size = word_bytes(in->width);
	size_t part = SAMPLE_PART, i;
	uint8_t *to;

	if (in->count <= SAMPLE_PARTS * SAMPLE_PART)
		return words_copy(in, out, err) ? BREVIS_OK : BREVIS_E_NOMEM;
	to = words_alloc(in->width, SAMPLE_PARTS * part, out, err);
	if (!to)
		return BREVIS_E_NOMEM;
	for (i = 0; i < SAMPLE_PARTS; i++)
		memcpy(to + i * part * size,
		       (const uint8_t *)in->data +
			       (in->count - part) / (SAMPLE_PARTS - 1) * i * size,
		       part * size);
	return BREVIS_OK;
}

int price_words(const struct words *words, uint64_t *bits, struct brevis_error *err)
{
	struct stream s = {.words = *words};
	struct partition cut;
	int status = stream_price(&s, err);

	free(s.upper);
	if (status)
		return status;
	*bits = stream_price_cut(&s, &cut);
	return BREVIS_OK;
}

/* A loop for each type of words, so that the compiler vectorises it. */
#define DEFINE_COUNT(T)                                                                            \
	static size_t count_##T(const T *words, size_t count, T word)                              \
	{                                                                                          \
		size_t n = 0, i, k;                                                                \
                                                                                                   \
		for (i = 0; i < count; i += k) {                                                   \
			T some = 0;                                                                \
                                                                                                   \
			/* As many as the type holds. */                                           \
			for (k = 0; k < 255 && i + k < count; k++)                                 \
				some = (T)(some + (words[i + k] == word));                         \
			n += some;                                                                 \
		}                                                                                  \
		return n;                                                                          \
	}

DEFINE_COUNT(uint8_t)
DEFINE_COUNT(uint16_t)
DEFINE_COUNT(uint32_t)
DEFINE_COUNT(uint64_t)

static size_t count_word(const struct words *words, uint64_t word)
{
	switch (word_bytes(words->width)) {
	case 1:
		return count_uint8_t(words->data, words->count, (uint8_t)word);
	case 2:
		return count_uint16_t(words->data, words->count, (uint16_t)word);
	case 4:
		return count_uint32_t(words->data, words->count, (uint32_t)word);
	default:
		return count_uint64_t(words->data, words->count, word);
	}
}

void words_summary(const struct words *words, uint64_t *smallest, uint64_t *common)
{
	unsigned size = word_bytes(words->width);
	uint64_t candidates[4], largest;
	size_t most = 0, i;

	word_range(words->data, words->width, words->count, smallest, &largest);
	candidates[0] = 0;
	for (i = 1; i < 4; i++)
		candidates[i] = word_get(words->data, size, words->count * i / 4);
	*common = 0;
	for (i = 0; i < 4; i++) {
		size_t n = count_word(words, candidates[i]);

		if (n > most) {
			most = n;
			*common = candidates[i];
		}
	}
}

/* A sixteenth of the words at least: a bit for each of the others is to be earned. */
static bool is_common(const struct words *words, size_t equal)
{
	return equal >= words->count / 16 && equal < words->count && equal >= 16;
}

bool is_mask_promising(const struct words *words)
{
	uint64_t smallest, common;

	words_summary(words, &smallest, &common);
	return is_common(words, count_word(words, common));
}

int price_mask(const struct words *words, uint64_t word, uint64_t *bits, struct brevis_error *err)
{
	size_t equal = count_word(words, word);
	uint32_t mask[2] = {(uint32_t)equal, (uint32_t)(words->count - equal)};
	struct words codes, others;
	int status;

	*bits = 0;
	/* The code of all other words stands for the word above this one: there has to be one. */
	if (!is_common(words, equal) || word == low_bits(words->width))
		return BREVIS_OK;
	status = expand_escape(words, 1, word, &codes, &others, err);
	if (status)
		return status;
	if (others.count)
		status = price_words(&others, bits, err);
	if (others.count && !status)
		*bits += literal_cost(mask, 1, words->count) + 64;
	words_free(&codes);
	words_free(&others);
	return status;
}

bool is_scan_promising(const struct words *words, const struct words *updates)
{
	unsigned size = word_bytes(words->width);
	uint64_t smallest = UINT64_MAX, largest = 0, length = 0;
	size_t i;

	for (i = 0; i < updates->count; i++) {
		uint64_t word = word_get(words->data, size, i);
		uint64_t update = word_get(updates->data, size, i);
		uint64_t negative = (0 - update) & low_bits(words->width);

		smallest = word < smallest ? word : smallest;
		largest = word > largest ? word : largest;
		length += bit_length(update < negative ? update : negative) + (update > 0);
	}
	return length * 8 < (uint64_t)updates->count * 7 * bit_length(largest - smallest);
}

/* ---- escapes -------------------------------------------------------------------------------- */

/* Codes are at most so many bits narrower than the symbols. */
#define ESCAPE_NARROWER 4

/* The first of `codes` neighbouring symbols that are together most common. */
static size_t densest(const uint32_t *histogram, size_t symbols, size_t codes)
{
	uint64_t sum = 0, most;
	size_t best = 0, i;

	for (i = 0; i < codes; i++)
		sum += histogram[i];
	most = sum;
	for (i = codes; i < symbols; i++) {
		sum = sum + histogram[i] - histogram[i - codes];
		if (sum > most) {
			most = sum;
			best = i - codes + 1;
		}
	}
	return best;
}

/* Bits of codes of `width` bits from base on, and of the escaped symbols. work: 2 histograms. */
static uint64_t escape_cost(const struct stream *s, unsigned width, size_t base, uint32_t *work)
{
	size_t symbols = (size_t)1 << s->words.width, codes = ((size_t)1 << width) - 1, i;
	uint32_t *coded = work, *escaped = work + symbols;
	uint32_t rare = 0;

	memcpy(coded, s->histogram + base, sizeof(*coded) * codes);
	memcpy(escaped, s->histogram, sizeof(*escaped) * symbols);
	memset(escaped + base, 0, sizeof(*escaped) * codes);
	for (i = 0; i < symbols; i++)
		rare += escaped[i];
	coded[codes] = rare;
	if (!rare)
		return UINT64_MAX;
	return literal_cost(coded, width, s->words.count) +
	       literal_cost(escaped, s->words.width, rare) + 64;
}

int price_escape(const struct stream *s, unsigned *width, uint64_t *base, uint64_t *bits,
		 struct brevis_error *err)
{
	size_t symbols = (size_t)1 << s->words.width;
	uint32_t *work;
	unsigned w;

	*bits = UINT64_MAX;
	if (!s->histogram || s->noise)
		return BREVIS_OK;
	work = malloc(sizeof(*work) * 2 * symbols);
	if (!work)
		return error_nomem(err);
	for (w = s->words.width - 1; w && w + ESCAPE_NARROWER >= s->words.width; w--) {
		size_t codes = ((size_t)1 << w) - 1;
		size_t first = densest(s->histogram, symbols, codes);
		uint64_t cost;

		/* The code after the last one is to be a word, too. */
		if (first + codes >= symbols)
			first = symbols - codes - 1;
		cost = escape_cost(s, w, first, work);
		if (cost < *bits) {
			*bits = cost;
			*width = w;
			*base = first;
		}
	}
	free(work);
	return BREVIS_OK;
}

/* ---- byte matching -------------------------------------------------------------------------- */

/* Bytes that are compressed to see. */
#define MATCH_SAMPLE ((size_t)1 << 17)
#define MATCH_GLANCE ((size_t)1 << 14)

int price_match(const struct words *words, enum look look, uint64_t *bytes,
		struct brevis_error *err)
{
	const struct library_effort effort = {.zstd_level = look == LOOK_GLANCE ? 1 : 3};
	unsigned size = word_bytes(words->width);
	size_t most = look == LOOK_GLANCE ? MATCH_GLANCE : MATCH_SAMPLE;
	size_t all = words->count * size;
	size_t part = all < most ? all : most;
	const uint8_t *at = (const uint8_t *)words->data + (words->count - part / size) / 2 * size;
	struct buffer out = BUFFER_INIT;
	uint8_t *copy = malloc(part);
	bool fits = false;
	int status = copy ? BREVIS_OK : error_nomem(err);

	/* Matches are looked for in the bytes that the coding has, whatever the machine's order. */
	if (!status) {
		raw_encode(copy, at, words->width, part / size);
		status = library_encode(&out, LIBRARY_ZSTD, &effort, copy, part, part, &fits, err);
	}
	*bytes = !status && fits ? (uint64_t)out.size * all / part : UINT64_MAX;
	buffer_release(&out);
	free(copy);
	return status;
}
