/* SPDX-License-Identifier: Apache-2.0 */
/* Which rules are worth a try at a hole. */
#include "core/synthesis/rules.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/bits.h"
#include "core/base/error.h"
#include "core/entropy/log2.h"
#include "core/entropy/words.h"
#include "core/program/program.h"
#include "core/synthesis/rules_price.h"

/* What a rule asks of a hole's type, and from which effort on it is tried. */
struct rule_type {
	enum effort effort;
	unsigned least, most; /* width of words, in bits */
	bool bytes;           /* whole bytes */
	bool whole;           /* words of a tensor, not fields of them */
};

static const struct rule_type types[RULES] = {
	[RULE_LEAF] = {EFFORT_FAST, 1, 64, false, false},
	[RULE_MATCH] = {EFFORT_DEFAULT, 8, 64, true, true},
	[RULE_MERGE] = {EFFORT_FAST, 8, 64, false, true},
	[RULE_MERGE_ROUTED] = {EFFORT_DEFAULT, 8, 64, false, true},
	[RULE_MERGE_FLOAT] = {EFFORT_FAST, 8, 64, true, true},
	[RULE_MERGE_BITS] = {EFFORT_FAST, 8, 16, false, true},
	[RULE_MERGE_BYTES] = {EFFORT_FAST, 16, 64, true, true},
	[RULE_ROUTE] = {EFFORT_DEFAULT, 1, LITERAL_SYMBOL_BITS, false, false},
	[RULE_FLIP] = {EFFORT_DEFAULT, 8, 64, false, true},
	[RULE_MASK] = {EFFORT_DEFAULT, 8, 64, true, true},
	[RULE_ESCAPE] = {EFFORT_DEFAULT, 2, LITERAL_SYMBOL_BITS, false, false},
	[RULE_PACK] = {EFFORT_DEFAULT, 8, 64, true, true},
	[RULE_CONCAT] = {EFFORT_FAST, 1, 64, false, false},
	[RULE_REPEAT] = {EFFORT_FAST, 1, 64, false, false},
	[RULE_SCAN_XOR] = {EFFORT_DEFAULT, 8, 64, false, true},
	[RULE_SCAN_ADD] = {EFFORT_DEFAULT, 8, 64, false, true},
	[RULE_MAP + MAP_XOR] = {EFFORT_BEST, 8, 64, true, true},
	[RULE_MAP + MAP_ADD] = {EFFORT_DEFAULT, 8, 64, true, true},
	[RULE_MAP + MAP_ZIGZAG] = {EFFORT_BEST, 8, 64, true, true},
	[RULE_MAP + MAP_UNZIGZAG] = {EFFORT_DEFAULT, 8, 64, true, true},
	[RULE_MAP + MAP_GRAY] = {EFFORT_BEST, 8, 64, true, true},
	[RULE_MAP + MAP_UNGRAY] = {EFFORT_BEST, 8, 64, true, true},
	[RULE_MAP + MAP_REVERSE] = {EFFORT_BEST, 8, 64, true, true},
	[RULE_MAP + MAP_ROTATE] = {EFFORT_BEST, 8, 64, true, true},
};

/* Levels of Zstandard: where it wins by far it may take its time. */
#define MATCH_THOROUGH 19
#define MATCH_QUICK    6

/* Fewer bytes leave byte matching, whose frames alone take a dozen, nothing to find. */
#define MATCH_MIN 32

/* Bytes for which byte matching takes no time to speak of. */
#define MATCH_SMALL (1u << 14)
#define MATCH_SOME  (1u << 16)

/* A flip that does not promise to save one byte of so many is not worth its time. */
#define FLIP_GAIN_MIN 256

/* An escape that does not promise to save one byte of so many is none. */
#define ESCAPE_GAIN_MIN 512

/* Nodes of an escape and its children. */
#define ESCAPE_NODES 3

/* A hole whose rules are looked for. */
struct proposer {
	struct stream *stream;
	const struct place *place;
	enum effort effort;
	unsigned room; /* nodes */
	struct proposals *out;
	uint64_t leaf; /* bytes */
	uint64_t best; /* bytes, of the leaf or the best proposal so far */
	struct words sample;
	uint64_t sample_price; /* bits */
	struct brevis_error *err;
};

/* ---- types ---------------------------------------------------------------------------------- */

/* True if the children of a node by this rule are words of the tensor, not fields of them. */
static bool keeps_words(enum rule parent)
{
	return parent == RULES || parent == RULE_CONCAT || parent == RULE_REPEAT ||
	       parent == RULE_FLIP || parent == RULE_MASK || parent >= RULE_SCAN_XOR;
}

/* A scan or a map of a scan or a map is another one, or hopeless. */
static bool is_scan_or_map(enum rule parent)
{
	return parent >= RULE_SCAN_XOR && parent < RULES;
}

static bool is_allowed(enum rule rule, const struct words *words, const struct place *place)
{
	const struct rule_type *t = &types[rule];
	unsigned width = words->width;

	if (rule == RULE_LEAF)
		return true;
	/* A class is a stream without rows or columns; so is what an escape leaves. */
	if (words->count < 2 || place->depth >= PROGRAM_MAX_DEPTH || place->parent == RULE_ROUTE ||
	    place->parent == RULE_ESCAPE)
		return false;
	return width >= t->least && width <= t->most && (!t->bytes || width % 8 == 0) &&
	       (!t->whole || keeps_words(place->parent));
}

unsigned rules_admissible(const struct words *words, const struct place *place)
{
	unsigned n = 0, rule;

	for (rule = 0; rule < RULES; rule++)
		n += is_allowed((enum rule)rule, words, place);
	return n;
}

/* True if a rule may be tried here, with the effort there is. */
static bool is_tried(const struct proposer *p, enum rule rule)
{
	return p->effort >= types[rule].effort && is_allowed(rule, &p->stream->words, p->place);
}

/* Adds a proposal unless it is hopeless: parts that are leaves now may gain, but not so much. */
static struct proposal *propose(struct proposer *p, enum rule rule, uint64_t estimate)
{
	struct proposal *out;

	if (p->out->count == PROPOSALS_MAX || estimate > p->leaf + p->leaf / 8 + 16)
		return NULL;
	out = &p->out->list[p->out->count++];
	*out = (struct proposal){.rule = rule, .estimate = estimate};
	if (estimate < p->best)
		p->best = estimate;
	return out;
}

static uint64_t bytes_of(uint64_t bits)
{
	return (bits + 7) / 8;
}

/* ---- merges --------------------------------------------------------------------------------- */

/* Bytes of a merge node. */
static uint64_t merge_head(const struct partition *cut)
{
	return 2 + cut->count;
}

static void propose_cut(struct proposer *p, enum rule rule, const struct partition *cut,
			uint64_t head)
{
	struct proposal *out;

	if (cut->count < 2 || cut->count + 1 > p->room)
		return;
	out = propose(p, rule, head + bytes_of(cut->cost));
	if (out)
		out->cut = *cut;
}

/* A cut at given bits: the price of each field of the upper part, and of the lower part as it is.
 */
static bool price_fields(const struct partition_prices *prices, const unsigned *widths,
			 unsigned count, struct partition *out)
{
	unsigned begin = 0, i;

	*out = (struct partition){0};
	for (i = 0; i < count && begin < prices->upper; i++) {
		unsigned end = begin + widths[i];

		out->widths[out->count++] = widths[i];
		if (end > prices->upper) {
			/* The last field: what is left of the upper part, and all below. */
			out->cost +=
				prices->fields[begin][prices->upper - begin] + prices->lower.cost;
			return i + 1 == count;
		}
		out->cost += prices->fields[begin][widths[i]];
		begin = end;
	}
	for (; i < count; i++)
		out->widths[out->count++] = widths[i];
	out->cost += prices->lower.cost;
	return out->count <= PARTITION_MAX_FIELDS;
}

/* Sign, exponent and fraction, as the paper's merge of a dtype has them. */
static void propose_floats(struct proposer *p)
{
	static const unsigned exponents[] = {8, 5, 11, 4};
	unsigned width = p->stream->words.width, i;
	struct partition cut;

	for (i = 0; i < sizeof(exponents) / sizeof(exponents[0]); i++) {
		unsigned widths[3] = {1, exponents[i], 0};

		/* By width: 8 and 5 bits for 16, 8 for 32, 11 for 64, 4 and 5 for 8. */
		if ((width == 16 && i > 1) || (width == 32 && i) || (width == 64 && i != 2) ||
		    (width == 8 && i != 1 && i != 3))
			continue;
		/* A part of a field has any width. */
		if (width < exponents[i] + 2)
			continue;
		widths[2] = width - 1 - exponents[i];
		if (price_fields(&p->stream->prices, widths, 3, &cut))
			propose_cut(p, RULE_MERGE_FLOAT, &cut, 1);
	}
}

static void propose_planes(struct proposer *p)
{
	unsigned width = p->stream->words.width;
	unsigned widths[PARTITION_MAX_FIELDS];
	struct partition cut;
	unsigned i;

	for (i = 0; i < PARTITION_MAX_FIELDS; i++)
		widths[i] = 1;
	if (width >= 2 && width <= 16 && price_fields(&p->stream->prices, widths, width, &cut))
		propose_cut(p, RULE_MERGE_BITS, &cut, 1);
	for (i = 0; i < PARTITION_MAX_FIELDS; i++)
		widths[i] = 8;
	if (width >= 16 && width % 8 == 0 &&
	    price_fields(&p->stream->prices, widths, width / 8, &cut))
		propose_cut(p, RULE_MERGE_BYTES, &cut, 1);
}

static int propose_merges(struct proposer *p)
{
	struct stream *s = p->stream;
	struct partition cut, plain;
	int status = stream_price(s, p->err);

	if (status)
		return status;
	stream_price_cut(s, &plain);
	if (p->effort > EFFORT_FAST && p->place->depth < PROGRAM_MAX_DEPTH - 1) {
		struct proposal *out = NULL;

		status = price_routed_cut(s, p->err);
		cut = s->routed_cut;
		if (!status && s->cut_plan && cut.count + 1 <= p->room)
			out = propose(p, RULE_MERGE_ROUTED, merge_head(&cut) + bytes_of(cut.cost));
		if (out) {
			out->cut = cut;
			out->routed = s->routed;
		}
	}
	/* Fields that are routed come from the same prices: one of the two cuts is enough. */
	if (!s->cut_plan || p->effort != EFFORT_DEFAULT)
		propose_cut(p, RULE_MERGE, &plain, merge_head(&plain));
	if (p->effort < EFFORT_BEST && s->words.count > SMALL_WORDS)
		return status;
	if (is_tried(p, RULE_MERGE_FLOAT))
		propose_floats(p);
	propose_planes(p);
	return status;
}

/* ---- routes and flips ----------------------------------------------------------------------- */

static int propose_route(struct proposer *p)
{
	int status = stream_plan(p->stream, p->err);
	const struct route_plan *plan = p->stream->plan;

	if (!status && plan)
		propose(p, RULE_ROUTE, bytes_of(plan->cost));
	return status;
}

static int propose_flip(struct proposer *p)
{
	struct proposal *out = NULL;
	int status = price_flip(p->stream, p->err);
	uint64_t saved = p->stream->leaning / 8;

	if (!status && saved > p->best / FLIP_GAIN_MIN)
		out = propose(p, RULE_FLIP, p->best > saved ? p->best - saved : 1);
	if (out)
		out->grid = p->stream->leaning_grid;
	return status;
}

/* ---- rules that a sample prices ------------------------------------------------------------- */

/* The bytes that the whole stream would take, going by what its sample does. */
static uint64_t scale_up(const struct proposer *p, uint64_t bits)
{
	return bytes_of(bits * (p->stream->words.count >> 6) / ((p->sample.count >> 6) | 1)) + 8;
}

static int propose_scan(struct proposer *p, enum rule rule)
{
	struct words updates;
	uint64_t first, bits = 0;
	int status;

	status = expand_scan(&p->sample, rule == RULE_SCAN_XOR ? SCAN_XOR : SCAN_ADD, &first,
			     &updates, p->err);
	if (status)
		return status;
	if (rule == RULE_SCAN_ADD && !is_scan_promising(&p->sample, &updates))
		bits = UINT64_MAX / 2;
	else
		status = price_words(&updates, &bits, p->err);
	words_free(&updates);
	if (!status && bits + bits / 64 < p->sample_price)
		propose(p, rule, scale_up(p, bits));
	return status;
}

static int propose_map(struct proposer *p, enum map_function function, uint64_t argument)
{
	struct proposal *out = NULL;
	struct words words;
	uint64_t bits = 0;
	int status = expand_map(&p->sample, function, argument, &words, p->err);

	if (status)
		return status;
	status = price_words(&words, &bits, p->err);
	words_free(&words);
	if (!status && bits + bits / 128 + 16 < p->sample_price)
		out = propose(p, (enum rule)(RULE_MAP + function), scale_up(p, bits));
	if (out)
		out->number = argument;
	return status;
}

static int propose_maps(struct proposer *p)
{
	unsigned width = p->stream->words.width;
	uint64_t top = UINT64_C(1) << (width - 1);
	uint64_t smallest, common;
	int status = propose_map(p, MAP_UNZIGZAG, 0);

	words_summary(&p->sample, &smallest, &common);
	if (!status && smallest && smallest != top)
		status = propose_map(p, MAP_ADD, smallest);
	if (p->effort < EFFORT_BEST)
		return status;
	if (!status && common)
		status = propose_map(p, MAP_XOR, common);
	if (!status)
		status = propose_map(p, MAP_ZIGZAG, 0);
	if (!status)
		status = propose_map(p, MAP_GRAY, 0);
	if (!status)
		status = propose_map(p, MAP_UNGRAY, 0);
	if (!status)
		status = propose_map(p, MAP_REVERSE, 0);
	/* Rotated right by one, the sign of a float comes below its fraction. */
	if (!status)
		status = propose_map(p, MAP_ROTATE, width - 1);
	return status;
}

static int propose_mask(struct proposer *p)
{
	struct proposal *out = NULL;
	uint64_t smallest, common, bits = 0;
	int status;

	words_summary(&p->sample, &smallest, &common);
	/* The code that escapes must be a word, too; and it has two children. */
	if (common == low_bits(p->stream->words.width) || p->room < ESCAPE_NODES)
		return BREVIS_OK;
	status = price_mask(&p->sample, common, &bits, p->err);
	if (!status && bits && bits + bits / 128 < p->sample_price)
		out = propose(p, RULE_MASK, scale_up(p, bits));
	if (out) {
		out->width = 1;
		out->number = common;
	}
	return status;
}

/* Integers that hold several numbers of 4 or 8 bits each. */
static int propose_pack(struct proposer *p)
{
	unsigned width = p->stream->words.width;
	unsigned part;
	int status = BREVIS_OK;

	for (part = 4; part <= 8 && !status; part *= 2) {
		struct proposal *out = NULL;
		struct words words;
		uint64_t bits = 0;

		if (width % part || width < 2 * part)
			continue;
		status = expand_pack(&p->sample, width / part, &words, p->err);
		if (status)
			return status;
		status = price_words(&words, &bits, p->err);
		words_free(&words);
		if (!status && bits < p->sample_price + p->sample_price / 256)
			out = propose(p, RULE_PACK, scale_up(p, bits));
		if (out)
			out->number = width / part;
	}
	return status;
}

static int propose_by_sample(struct proposer *p)
{
	struct stream *s = p->stream;
	bool whole = s->words.width % 8 == 0;
	bool integers = s->meaning == MEANS_INTEGER;
	int status = sample_words(&s->words, &p->sample, p->err);

	if (status)
		return status;
	if (!integers && p->effort < EFFORT_BEST && s->words.count > SMALL_WORDS &&
	    !is_mask_promising(&p->sample)) {
		words_free(&p->sample);
		return BREVIS_OK;
	}
	status = price_words(&p->sample, &p->sample_price, p->err);
	if (!status && (integers || p->effort == EFFORT_BEST || s->words.count <= SMALL_WORDS))
		status = propose_scan(p, RULE_SCAN_ADD);
	if (!status && (p->effort == EFFORT_BEST || s->words.count <= SMALL_WORDS))
		status = propose_scan(p, RULE_SCAN_XOR);
	if (!status && whole && (integers || p->effort == EFFORT_BEST))
		status = propose_maps(p);
	if (!status && whole)
		status = propose_mask(p);
	if (!status && whole && integers)
		status = propose_pack(p);
	words_free(&p->sample);
	return status;
}

/* ---- regions -------------------------------------------------------------------------------- */

static void propose_regions(struct proposer *p)
{
	struct stream *s = p->stream;
	struct proposal *out = NULL;
	struct runs runs;
	size_t period, run;

	if (p->room >= 2 && expand_repeat(&s->words, &period))
		out = propose(p, RULE_REPEAT,
			      2 + p->leaf * period / s->words.count +
				      (p->leaf * period % s->words.count > 0));
	if (out) {
		/* A leaf of few words has no part that grows with their number. */
		if (period * ((s->words.width + 7) / 8) + 2 < out->estimate)
			out->estimate = period * ((s->words.width + 7) / 8) + 2;
		out->number = s->words.count / period;
	}
	/* Fields of many words have runs where the words have. */
	if ((!keeps_words(p->place->parent) && s->words.count > SMALL_WORDS) ||
	    p->place->parent == RULE_CONCAT || p->room < RUNS_MAX_CUTS + 4)
		return;
	expand_runs(&s->words, &runs);
	if (!runs.head && !runs.tail && !runs.count)
		return;
	run = runs.head + runs.tail;
	/* What the runs at the ends cost as a part of the whole. */
	out = propose(p, RULE_CONCAT, p->best - p->best * (uint64_t)run / s->words.count / 4 + 8);
	if (out)
		out->runs = runs;
}

/*
 * Floats, in which matches are rare, get but a glance at first. A look is in haste: byte matching
 * does better where it has time. It takes so much of it that large streams must promise more.
 */
static int propose_match(struct proposer *p)
{
	const struct words *words = &p->stream->words;
	uint64_t best = p->best, bytes = best;
	uint64_t most = best + best / (best < MATCH_SMALL ? 8 : 64);
	struct proposal *out;
	int status = BREVIS_OK;

	if (p->stream->meaning == MEANS_FLOAT)
		status = price_match(words, LOOK_GLANCE, &bytes, p->err);
	if (!status && bytes <= best + best / 8)
		status = price_match(words, LOOK_SAMPLE, &bytes, p->err);
	if (status || bytes > most)
		return status;
	out = propose(p, RULE_MATCH, bytes - bytes / 16);
	if (out) {
		out->number = p->effort;
		out->width =
			p->effort == EFFORT_BEST || best < MATCH_SOME || bytes < best - best / 32
				? MATCH_THOROUGH
				: MATCH_QUICK;
	}
	return status;
}

/* ---- escapes -------------------------------------------------------------------------------- */

/* Rare symbols make tables large: codes for the common ones, and an escape. */
static int propose_escape(struct proposer *p)
{
	struct proposal *out = NULL;
	uint64_t bits, base;
	unsigned width;
	int status;

	/* It has two children. */
	if (p->room < ESCAPE_NODES)
		return BREVIS_OK;
	status = price_escape(p->stream, &width, &base, &bits, p->err);
	if (!status && bits / 8 + p->leaf / ESCAPE_GAIN_MIN < p->leaf)
		out = propose(p, RULE_ESCAPE, bytes_of(bits));
	if (out) {
		out->width = width;
		out->number = base;
	}
	return status;
}

/* ---- all ------------------------------------------------------------------------------------ */

int rules_propose(struct stream *stream, const struct place *place, enum effort effort,
		  unsigned room, struct proposals *out, struct brevis_error *err)
{
	struct proposer p = {.stream = stream,
			     .place = place,
			     .effort = effort,
			     .room = room,
			     .out = out,
			     .err = err};
	int status = stream_measure(stream, err);

	out->count = 0;
	if (status || stream->constant || room < 2)
		return status;
	p.leaf = p.best = stream->estimate;
	if (is_tried(&p, RULE_MERGE))
		status = propose_merges(&p);
	/* The best route of a cut is that of the cut's field. */
	if (!status && is_tried(&p, RULE_ROUTE) && !stream->cut_plan)
		status = propose_route(&p);
	if (!status && is_tried(&p, RULE_ESCAPE))
		status = propose_escape(&p);
	if (!status && is_tried(&p, RULE_FLIP) && stream->meaning == MEANS_FLOAT &&
	    place->parent != RULE_FLIP)
		status = propose_flip(&p);
	/* A scan or a map of a scan or a map is another one, or hopeless. */
	if (!status && is_tried(&p, RULE_SCAN_ADD) && !is_scan_or_map(place->parent))
		status = propose_by_sample(&p);
	if (!status && is_tried(&p, RULE_REPEAT))
		propose_regions(&p);
	if (!status && is_tried(&p, RULE_MATCH) && place->depth == 1 &&
	    stream->words.count * (stream->words.width / 8) >= MATCH_MIN)
		status = propose_match(&p);
	return status;
}
