/* SPDX-License-Identifier: Apache-2.0 */
#include "core/synthesis/prior.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/bits.h"
#include "core/base/error.h"
#include "core/entropy/log2.h"
#include "core/entropy/words.h"

/* A calibration sees four tensors of at most 64 nodes each. */
#define ENTRIES_MAX 1024

/* A context that was seen less often says too little. */
#define SEEN_MIN 2

/* Words whose features stand for all. */
#define FEATURE_WORDS 1024

/* Sizes are told apart by powers of 2, up to this one. */
#define SIZE_STEPS 17

/* Where nothing is known, and at least two rules compete. */
#define UNIFORM_FLOOR (UINT64_C(1) << LOG2_FRACTION)

struct entry {
	uint64_t key;
	uint16_t counts[RULES];
	uint32_t total;
};

struct prior {
	unsigned count;
	uint64_t floor;                    /* least cost of a rule where there is a choice */
	struct entry entries[ENTRIES_MAX]; /* by ascending key */
};

struct prior *prior_new(void)
{
	struct prior *p = calloc(1, sizeof(*p));

	if (p)
		p->floor = UNIFORM_FLOOR;
	return p;
}

void prior_free(struct prior *prior)
{
	free(prior);
}

/* ---- contexts ------------------------------------------------------------------------------- */

/* A share in four steps: none, up to an eighth, up to a half, more. */
static uint64_t share_step(size_t part, size_t all)
{
	return part == 0 ? 0 : part * 8 <= all ? 1 : part * 2 <= all ? 2 : 3;
}

/* Features in 8 bits: zero words, distinct words, equal neighbours, length of differences. */
static uint64_t features(const struct words *words)
{
	unsigned size = word_bytes(words->width);
	size_t n = words->count < FEATURE_WORDS ? words->count : FEATURE_WORDS;
	size_t begin = (words->count - n) / 2, i;
	uint8_t seen[FEATURE_WORDS / 8] = {0};
	size_t zeros = 0, distinct = 0, equal = 0, length = 0;
	uint64_t previous = 0;

	for (i = 0; i < n; i++) {
		uint64_t word = word_get(words->data, size, begin + i);
		uint64_t up = (word - previous) & low_bits(words->width);
		uint64_t down = (previous - word) & low_bits(words->width);
		unsigned slot = (unsigned)(word * UINT64_C(0x9E3779B97F4A7C15) >> 54);

		zeros += word == 0;
		distinct += !(seen[slot / 8] >> slot % 8 & 1);
		seen[slot / 8] = (uint8_t)(seen[slot / 8] | 1u << slot % 8);
		equal += i && word == previous;
		length += bit_length(up < down ? up : down);
		previous = word;
	}
	return share_step(zeros, n) | share_step(distinct, n) << 2 | share_step(equal, n) << 4 |
	       share_step(length, n * words->width) << 6;
}

struct prior_context prior_context_of(const struct words *words, const struct place *place)
{
	struct prior_context c = {.admissible = rules_admissible(words, place)};
	unsigned position = place->position < 7 ? place->position : 7;
	/* Samples of large tensors are cut short: all of them are one size. */
	unsigned size =
		bit_length(words->count) < SIZE_STEPS ? bit_length(words->count) : SIZE_STEPS;
	uint64_t coarse = words->width | (uint64_t)place->parent << 7 | (uint64_t)position << 12;
	uint64_t middle = coarse | (uint64_t)place->depth << 15 | (uint64_t)place->dtype << 18 |
			  (uint64_t)size << 24;

	/* The level is a part of the key. */
	c.keys[2] = coarse | UINT64_C(2) << 62;
	c.keys[1] = middle | UINT64_C(1) << 62;
	c.keys[0] = middle;
	/* Without a choice nobody asks for more. */
	if (c.admissible > 1)
		c.keys[0] |= features(words) << 31;
	return c;
}

/* ---- counts --------------------------------------------------------------------------------- */

/* The entry of a key, or where it belongs. */
static unsigned position_of(const struct prior *p, uint64_t key)
{
	unsigned low = 0, high = p->count;

	while (low < high) {
		unsigned middle = (low + high) / 2;

		if (p->entries[middle].key < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static const struct entry *find(const struct prior *p, uint64_t key)
{
	unsigned i = position_of(p, key);

	return i < p->count && p->entries[i].key == key ? &p->entries[i] : NULL;
}

/* (N(r) + 1/2) / (N + |R| / 2) */
static uint64_t cost_in(const struct entry *e, enum rule rule, unsigned admissible)
{
	return log2_fixed(2 * e->total + admissible) - log2_fixed(2u * e->counts[rule] + 1);
}

/*
 * Finds the floor anew, from the counts as they are: a prior that was learned must guide a search
 * as one that was read does. Where as few rules as possible compete each costs least.
 */
static void find_floor(struct prior *p)
{
	unsigned i, r;

	p->floor = UNIFORM_FLOOR;
	for (i = 0; i < p->count; i++) {
		const struct entry *e = &p->entries[i];
		unsigned common = 0;

		if (e->total < SEEN_MIN)
			continue;
		for (r = 1; r < RULES; r++)
			if (e->counts[r] > e->counts[common])
				common = r;
		if (cost_in(e, (enum rule)common, 2) < p->floor)
			p->floor = cost_in(e, (enum rule)common, 2);
	}
}

int prior_count(struct prior *p, const struct prior_context *context, enum rule rule,
		struct brevis_error *err)
{
	unsigned level;

	for (level = 0; level < PRIOR_LEVELS; level++) {
		uint64_t key = context->keys[level];
		unsigned i = position_of(p, key);
		struct entry *e = &p->entries[i];

		if (i == p->count || e->key != key) {
			if (p->count == ENTRIES_MAX)
				return error_set(err, BREVIS_E_LIMIT, "the prior has no room left");
			memmove(e + 1, e, sizeof(*e) * (p->count - i));
			p->count++;
			*e = (struct entry){.key = key};
		}
		if (e->counts[rule] == UINT16_MAX)
			continue;
		e->counts[rule]++;
		e->total++;
	}
	find_floor(p);
	return BREVIS_OK;
}

uint64_t prior_cost(const struct prior *p, const struct prior_context *context, enum rule rule)
{
	unsigned level;

	if (context->admissible < 2)
		return 0;
	for (level = 0; p && level < PRIOR_LEVELS; level++) {
		const struct entry *e = find(p, context->keys[level]);

		if (e && e->total >= SEEN_MIN)
			return cost_in(e, rule, context->admissible);
	}
	return log2_fixed(context->admissible);
}

uint64_t prior_floor(const struct prior *p, unsigned admissible)
{
	if (admissible < 2)
		return 0;
	return p ? p->floor : UNIFORM_FLOOR;
}

/* ---- bytes ---------------------------------------------------------------------------------- */

/*
 * count:varint, then for each entry by ascending key: the key's distance from the one before as a
 * varint, the number of rules that were counted as u8, and for each u8 rule and varint count.
 */
void prior_write(const struct prior *p, struct buffer *out)
{
	uint64_t last = 0;
	unsigned i, r;

	buffer_varint(out, p->count);
	for (i = 0; i < p->count; i++) {
		const struct entry *e = &p->entries[i];
		uint8_t rules = 0;

		for (r = 0; r < RULES; r++)
			rules = (uint8_t)(rules + (e->counts[r] > 0));
		buffer_varint(out, e->key - last);
		buffer_u8(out, rules);
		for (r = 0; r < RULES; r++) {
			if (!e->counts[r])
				continue;
			buffer_u8(out, (uint8_t)r);
			buffer_varint(out, e->counts[r]);
		}
		last = e->key;
	}
}

static bool parse_entry(struct span *in, struct entry *e)
{
	unsigned rules = span_u8(in);
	unsigned next = 0;

	if (!rules)
		return false;
	for (; rules; rules--) {
		unsigned rule = span_u8(in);
		uint64_t count = span_varint(in);

		if (span_failed(in) || rule < next || rule >= RULES || !count || count > UINT16_MAX)
			return false;
		e->counts[rule] = (uint16_t)count;
		e->total += (uint32_t)count;
		next = rule + 1;
	}
	return !span_failed(in);
}

int prior_parse(struct span *in, struct prior **out, struct brevis_error *err)
{
	struct prior *p = prior_new();
	uint64_t count = span_varint(in);
	uint64_t key = 0;
	bool good = !span_failed(in) && count <= ENTRIES_MAX;

	if (!p)
		return error_nomem(err);
	while (good && p->count < count) {
		struct entry *e = &p->entries[p->count];
		uint64_t step = span_varint(in);

		good = (step > 0 || p->count == 0) && step <= UINT64_MAX - key;
		key += step;
		e->key = key;
		good = good && parse_entry(in, e);
		p->count++;
	}
	if (!good) {
		prior_free(p);
		return error_set(err, BREVIS_E_FORMAT, "the prior is damaged");
	}
	find_floor(p);
	*out = p;
	return BREVIS_OK;
}
