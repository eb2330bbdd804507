/* SPDX-License-Identifier: Apache-2.0 */
#include "core/synthesis/screen.h"

#include <stdlib.h>
#include <string.h>

#include "core/entropy/words.h"

/* ---- strings that come again ----------------------------------------------------------------- */

/* What is compared: no string of so many bytes comes twice by chance. */
#define STRING_BYTES 16

/* Bytes around the middle: as many as the search would look at for matches. */
#define MIDDLE_BYTES ((size_t)1 << 17)

/* Strings that are remembered, at places one step apart; and where they are looked for again. */
#define REMEMBERED 1024
#define SLOT_BITS  12
#define SPOTS      32

/* Spots that may be copies. */
#define SPOTS_MAX 1

static uint64_t hash(const uint8_t *string)
{
	uint64_t a, b;

	memcpy(&a, string, 8);
	memcpy(&b, string + 8, 8);
	a = (a ^ b << 29 ^ b >> 35) * UINT64_C(0x9e3779b97f4a7c15);
	return a >> (64 - SLOT_BITS);
}

/*
 * True if the string at `at` is remembered, from another place. slots: numbers of the strings that
 * are remembered, from 1 on; 0: none.
 */
static bool is_known(const uint8_t *bytes, size_t at, size_t step, const uint16_t *slots)
{
	size_t number = slots[hash(bytes + at)];
	size_t place = (number - 1) * step;

	return number && place != at && !memcmp(bytes + place, bytes + at, STRING_BYTES);
}

/*
 * Looks for strings that come twice in a part of the words. Between two places that are remembered
 * every word begins a string, so that of a copy that is long enough one is found, wherever its
 * original begins.
 */
static bool finds_strings(const struct words *in)
{
	unsigned size = word_bytes(in->width);
	size_t count = in->count * size < MIDDLE_BYTES ? in->count : MIDDLE_BYTES / size;
	const uint8_t *bytes = (const uint8_t *)in->data + (in->count - count) / 2 * size;
	size_t strings = count - STRING_BYTES / size, step = strings / REMEMBERED + 1, i, k;
	uint16_t slots[1 << SLOT_BITS] = {0};
	unsigned found = 0;

	for (i = 0; i * step < strings; i++)
		slots[hash(bytes + i * step * size)] = (uint16_t)(i + 1);
	for (i = 0; i < SPOTS && found <= SPOTS_MAX; i++) {
		size_t spot = (strings - step) / (SPOTS - 1) * i;
		bool known = false;

		for (k = 0; k < step && !known; k++)
			known = is_known(bytes, (spot + k) * size, step * size, slots);
		found += known;
	}
	return found > SPOTS_MAX;
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* Places at which runs are looked for, and those that may be in one. */
#define RUN_PLACES     512
#define RUN_PLACES_MAX 1

/* Looks for runs of equal words that are a 200th part of all, or more. */
static bool finds_runs(const struct words *in)
{
	unsigned size = word_bytes(in->width), found = 0;
	size_t all = in->count * size, step, i;
	const uint8_t *bytes = in->data;

	step = (in->count - STRING_BYTES / size - 1) / RUN_PLACES + 1;
	for (i = 0; i * size + size + STRING_BYTES <= all; i += step)
		found += !memcmp(bytes + i * size, bytes + i * size + size, STRING_BYTES);
	return found > RUN_PLACES_MAX;
}

/* ---- pairs of words -------------------------------------------------------------------------- */

/* Words of a run, and how far apart those are that are compared, at most. */
#define PAIR_WORDS    192
#define PAIR_DISTANCE 32
#define PAIR_RUNS     4

/* Upper bits of a word: sign, exponent, a little of the fraction. */
#define UPPER_BITS 11

/* Neighbours are compared with words so far apart. */
#define FAR 32

/* Neighbours are alike that differ by less than this part of what others do. */
#define NEAR_PARTS 4
#define NEAR_OF    9

/* What pairs of words have in common. */
struct pairs {
	uint64_t equal, alike; /* whole words; upper bits */
	uint64_t near, far; /* sums of differences of words that are neighbours, and that are not */
};

/* Loops that compilers vectorise: at most 2^15 equal pairs at a time. */
#define DEFINE_COMPARE(BITS)                                                                       \
	static void compare##BITS(struct pairs *p, const uint##BITS##_t *words)                    \
	{                                                                                          \
		size_t distance, i;                                                                \
                                                                                                   \
		for (distance = 1; distance <= PAIR_DISTANCE; distance++) {                        \
			uint##BITS##_t equal = 0, alike = 0;                                       \
                                                                                                   \
			for (i = 0; i < PAIR_WORDS - PAIR_DISTANCE; i++) {                         \
				uint##BITS##_t both = words[i] ^ words[i + distance];              \
                                                                                                   \
				equal = (uint##BITS##_t)(equal + !both);                           \
				alike = (uint##BITS##_t)(alike + !(both >> (BITS - UPPER_BITS)));  \
			}                                                                          \
			p->equal += equal;                                                         \
			p->alike += alike;                                                         \
		}                                                                                  \
	}                                                                                          \
                                                                                                   \
	static void subtract##BITS(struct pairs *p, const uint##BITS##_t *words)                   \
	{                                                                                          \
		uint32_t near = 0, far = 0;                                                        \
		size_t i;                                                                          \
                                                                                                   \
		for (i = 0; i < PAIR_WORDS - FAR; i++) {                                           \
			int32_t a = (int32_t)(words[i] >> (BITS - 16));                            \
			int32_t b = (int32_t)(words[i + 1] >> (BITS - 16));                        \
			int32_t c = (int32_t)(words[i + FAR] >> (BITS - 16));                      \
                                                                                                   \
			near += (uint32_t)abs(a - b);                                              \
			far += (uint32_t)abs(a - c);                                               \
		}                                                                                  \
		p->near += near;                                                                   \
		p->far += far;                                                                     \
	}

DEFINE_COMPARE(16)
DEFINE_COMPARE(32)

/*
 * True if more words are equal than those whose upper bits are, were all others chance; or if
 * neighbours differ by so much less than others that a scan saves a bit and more, or their signs,
 * which only a search codes apart, go together.
 */
static bool finds_pairs(const struct words *in)
{
	struct pairs p = {0};
	size_t i;

	for (i = 0; i < PAIR_RUNS; i++) {
		size_t at = (in->count - PAIR_WORDS) / (PAIR_RUNS - 1) * i;

		if (in->width == 16) {
			compare16(&p, (const uint16_t *)in->data + at);
			subtract16(&p, (const uint16_t *)in->data + at);
		} else {
			compare32(&p, (const uint32_t *)in->data + at);
			subtract32(&p, (const uint32_t *)in->data + at);
		}
	}
	return p.equal > (p.alike >> (in->width - UPPER_BITS)) * 2 + 16 ||
	       p.near * NEAR_OF < p.far * NEAR_PARTS;
}

bool screen_finds_nothing(const struct words *in)
{
	size_t period;

	return !finds_runs(in) && (in->width == 8 || !finds_pairs(in)) && !finds_strings(in) &&
	       !expand_repeat(in, &period);
}
