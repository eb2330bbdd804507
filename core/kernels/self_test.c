/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a variant is to be trusted: a few dozen microseconds of the same work for it and for the
 * scalar variant. It is there for compilers, processors and emulators that do other than what they
 * should; that the variants are right at all is for the tests to show.
 */
#include <string.h>

#include "core/kernels/variants.h"

enum {
	CLASSES = 2,
	ALPHABET = 16, /* codes of a class that have a share */
	GROUPS = 6,
	CODES = GROUPS * KERNEL_LANES_MAX,
	WORDS = 199, /* more than once around any loop, and a rest */
	PACKED_GROUPS = 9,
	ROWS = 3,
	LENGTH = 67,
};

struct tables {
	unsigned scale_bits;
	uint32_t slots[CLASSES << KERNEL_SCALE_MAX];
	uint32_t shares[CLASSES << 8];
};

/* The same numbers each time. */
static uint32_t draw(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

static uint32_t code_of(unsigned k)
{
	return k * (255 / (ALPHABET - 1));
}

/* One code of the first class has all that others leave, in the second each half of that. */
static void fill_tables(struct tables *t, unsigned scale_bits)
{
	unsigned class, k;

	memset(t->shares, 0, sizeof(t->shares));
	t->scale_bits = scale_bits;
	for (class = 0; class < CLASSES; class ++) {
		uint32_t *slots = t->slots + ((size_t) class << scale_bits);
		uint32_t start = 0;

		for (k = 0; k < ALPHABET; k++) {
			uint32_t others = ALPHABET - 1 - k;
			uint32_t left = (1u << scale_bits) - start - others;
			uint32_t share = !others ? left : class ? (left + 1) / 2 : 1;
			uint32_t bias;

			t->shares[class << 8 | code_of(k)] = start << 16 | share;
			for (bias = 0; bias < share; bias++)
				slots[start + bias] = kernel_slot(code_of(k), share, bias);
			start += share;
		}
	}
}

/* What is coded, and what a variant makes of it. */
struct rans_trial {
	const struct tables *tables;
	const uint8_t *classes;
	const uint8_t *codes; /* some without a share */
	unsigned lanes;
};

struct rans_result {
	uint32_t states[KERNEL_LANES_MAX];
	const uint8_t *begin;
	const uint8_t *end;
	uint8_t codes[CODES]; /* changed to such as have a share */
	/* What is encoded, and as much behind it as decoding wants to see. */
	uint8_t bytes[(GROUPS + 1) * KERNEL_GROUP_BYTES];
};

static void fill_states(uint32_t *states)
{
	uint32_t seed = 1;
	unsigned j;

	for (j = 0; j < KERNEL_LANES_MAX; j++)
		states[j] = KERNEL_STATE_LOW << draw(&seed) % 16 | draw(&seed) % KERNEL_STATE_LOW;
}

static void encode_with(const struct kernels *v, const struct rans_trial *t, struct rans_result *r)
{
	memset(r->bytes, 0, sizeof(r->bytes));
	memcpy(r->codes, t->codes, sizeof(r->codes));
	fill_states(r->states);
	r->end = r->bytes + GROUPS * KERNEL_GROUP_BYTES;
	r->begin = v->encode(t->tables->shares, t->tables->scale_bits, t->lanes, r->states,
			     r->bytes + GROUPS * KERNEL_GROUP_BYTES, t->classes, r->codes, GROUPS);
}

/* Decodes all groups, or those that are left if there are a few bytes less. */
static bool decodes(const struct kernels *v, const struct rans_trial *t,
		    const struct rans_result *r, size_t missing)
{
	uint8_t codes[2][CODES];
	uint32_t states[2][KERNEL_LANES_MAX];
	const struct kernels *variants[2] = {&kernels_scalar, v};
	const uint8_t *at[2] = {r->begin, r->begin};
	size_t done[2], i;

	for (i = 0; i < 2; i++) {
		memset(codes[i], 0, sizeof(codes[i]));
		memcpy(states[i], r->states, sizeof(states[i]));
		done[i] = variants[i]->decode(
			t->tables->slots, t->tables->scale_bits, t->lanes, states[i], &at[i],
			r->end + KERNEL_GROUP_BYTES - missing, t->classes, codes[i], GROUPS);
	}
	return done[0] == done[1] && at[0] == at[1] &&
	       memcmp(codes[0], codes[1], sizeof(codes[0])) == 0 &&
	       memcmp(states[0], states[1], sizeof(states[0])) == 0;
}

/* The same, joined at once with what was encoded as low bits. */
static bool joins(const struct kernels *v, const struct rans_trial *t, const struct rans_result *r,
		  unsigned width, unsigned bits)
{
	const struct kernels *variants[2] = {&kernels_scalar, v};
	struct kernel_cut cut = {bits & 1, bits, bits % 8 ? 77 : 0, 255, bits >> 1 & 1};
	uint8_t codes[2][CODES], low[CODES * 24 / 8 + KERNEL_LOW_SLACK];
	uint32_t words[2][CODES];
	uint32_t states[2][KERNEL_LANES_MAX];
	const uint8_t *at[2] = {r->begin, r->begin};
	size_t done[2], escaped[2], i;

	for (i = 0; i < sizeof(low); i++)
		low[i] = r->bytes[i % sizeof(r->bytes)];
	for (i = 0; i < 2; i++) {
		const struct kernels *k = variants[i];
		struct kernel_join join = {cut, low, bits, words[i], 1};

		memset(codes[i], 0, sizeof(codes[i]));
		memset(words[i], 0, sizeof(words[i]));
		memcpy(states[i], r->states, sizeof(states[i]));
		done[i] = (width == 16 ? k->decode16 : k->decode32)(
			t->tables->slots, t->tables->scale_bits, states[i], &at[i],
			r->end + KERNEL_GROUP_BYTES / 2, t->classes, codes[i], GROUPS, &join);
		escaped[i] = join.escaped;
	}
	return done[0] == done[1] && at[0] == at[1] && escaped[0] == escaped[1] &&
	       memcmp(codes[0], codes[1], sizeof(codes[0])) == 0 &&
	       memcmp(words[0], words[1], sizeof(words[0])) == 0 &&
	       memcmp(states[0], states[1], sizeof(states[0])) == 0;
}

/* Scales and classes tell how many low bits there are, so that all numbers of 16-bit words' come.
 */
static bool both_join(const struct kernels *v, const struct rans_trial *t,
		      const struct rans_result *r)
{
	unsigned scale_bits = t->tables->scale_bits;
	unsigned bits = scale_bits - (scale_bits > 10 ? 8 : 7) + (t->classes ? 4 : 0);

	return joins(v, t, r, 16, bits) && joins(v, t, r, 32, 3 * bits);
}

static bool rans_agrees(const struct kernels *v, const struct rans_trial *t)
{
	struct rans_result scalar, other;

	encode_with(&kernels_scalar, t, &scalar);
	encode_with(v, t, &other);
	if (other.end - other.begin != scalar.end - scalar.begin)
		return false;
	if (memcmp(other.begin, scalar.begin, (size_t)(scalar.end - scalar.begin)) != 0 ||
	    memcmp(other.codes, scalar.codes, sizeof(scalar.codes)) != 0 ||
	    memcmp(other.states, scalar.states, sizeof(scalar.states)) != 0)
		return false;
	if (t->lanes == KERNEL_LANES_MAX && !both_join(v, t, &scalar))
		return false;
	return decodes(v, t, &scalar, 0) && decodes(v, t, &scalar, 3 * (size_t)t->lanes);
}

static bool all_rans_agrees(const struct kernels *v)
{
	static const uint8_t scales[] = {8, 9, 10, 11, 12};
	struct tables tables;
	uint8_t classes[CODES], codes[CODES];
	uint32_t seed = 2;
	size_t s, i;

	for (s = 0; s < sizeof(scales); s++) {
		struct rans_trial t = {&tables, NULL, codes, 16};

		fill_tables(&tables, scales[s]);
		for (i = 0; i < CODES; i++) {
			classes[i] = draw(&seed) % CLASSES;
			codes[i] = (uint8_t)(code_of(draw(&seed) % ALPHABET) ^
					     (draw(&seed) % 32 == 0));
		}
		if (!rans_agrees(v, &t))
			return false;
		t.lanes = 64;
		if (!rans_agrees(v, &t))
			return false;
		t.classes = classes;
		if (!rans_agrees(v, &t))
			return false;
		t.lanes = 16;
		if (!rans_agrees(v, &t))
			return false;
	}
	return true;
}

/* Word i: at an edge of the window that codes have, within it, or next to it. */
static uint32_t word_near(const struct kernel_cut *cut, unsigned bits, size_t i, uint32_t *seed)
{
	unsigned top = bits - cut->low;
	uint32_t edge = (i & 8 ? cut->codes : 0) - (i & 4 ? 1 : 0);
	uint32_t code = i % 4 ? draw(seed) % (cut->codes + 16) - 8 : edge;
	uint32_t mask = (1u << top) - 1;
	uint32_t v = (cut->base + code) & mask;
	uint32_t u = (v >> cut->turn | v << (top - cut->turn)) & mask;
	uint32_t t = u << cut->low | (draw(seed) & ((1u << cut->low) - 1));

	return t >> cut->rotation | t << (bits - cut->rotation) % bits;
}

/* What is joined from escaped codes says nothing, so it is made equal. */
#define DEFINE_CUT_AGREES(BITS, LOW)                                                               \
	static bool cut##BITS##_agrees(const struct kernels *v, const struct kernel_cut *cut)      \
	{                                                                                          \
		uint##BITS##_t words[WORDS], joined[WORDS] = {0};                                  \
		uint8_t codes[2][WORDS];                                                           \
		LOW low[2][WORDS];                                                                 \
		uint32_t seed = 3;                                                                 \
		size_t escaped, i;                                                                 \
                                                                                                   \
		for (i = 0; i < WORDS; i++)                                                        \
			words[i] = (uint##BITS##_t)word_near(cut, BITS, i, &seed);                 \
		escaped = kernels_scalar.cut##BITS(cut, words, codes[0], low[0], WORDS);           \
		if (v->cut##BITS(cut, words, codes[1], low[1], WORDS) != escaped ||                \
		    memcmp(codes[0], codes[1], sizeof(codes[0])) != 0 ||                           \
		    memcmp(low[0], low[1], sizeof(low[0])) != 0)                                   \
			return false;                                                              \
		if (v->join##BITS(cut, joined, codes[0], low[0], WORDS) != escaped)                \
			return false;                                                              \
		for (i = 0; i < WORDS; i++) {                                                      \
			if (codes[0][i] == 255)                                                    \
				joined[i] = words[i];                                              \
		}                                                                                  \
		return memcmp(joined, words, sizeof(words)) == 0;                                  \
	}

DEFINE_CUT_AGREES(16, uint8_t)
DEFINE_CUT_AGREES(32, uint32_t)

static bool all_cuts_agree(const struct kernels *v)
{
	static const struct kernel_cut cuts16[] = {
		{1, 8, 0, 255, 0}, {0, 3, 0x700, 200, 1}, {12, 1, 0x7ff8, 255, 0}};
	static const struct kernel_cut cuts32[] = {
		{1, 24, 0, 255, 0}, {0, 17, 0x1f80, 200, 1}, {9, 1, 0x7ffffff8, 255, 1}};
	size_t i;

	for (i = 0; i < sizeof(cuts16) / sizeof(cuts16[0]); i++) {
		if (!cut16_agrees(v, &cuts16[i]) || !cut32_agrees(v, &cuts32[i]))
			return false;
	}
	return true;
}

static bool packing_agrees(const struct kernels *v)
{
	uint8_t numbers[8 * PACKED_GROUPS], unpacked[sizeof(numbers)];
	uint8_t packed[2][sizeof(numbers) + 7] = {{0}};
	uint32_t seed = 4;
	unsigned bits;
	size_t i;

	for (bits = 1; bits <= 8; bits++) {
		for (i = 0; i < sizeof(numbers); i++)
			numbers[i] = (uint8_t)(draw(&seed) & ((1u << bits) - 1));
		kernels_scalar.pack8(packed[0], numbers, bits, PACKED_GROUPS);
		v->pack8(packed[1], numbers, bits, PACKED_GROUPS);
		if (memcmp(packed[0], packed[1], (size_t)bits * PACKED_GROUPS) != 0)
			return false;
		v->unpack8(unpacked, packed[0], bits, PACKED_GROUPS);
		if (memcmp(unpacked, numbers, sizeof(numbers)) != 0)
			return false;
	}
	return true;
}

static bool wide_packing_agrees(const struct kernels *v)
{
	uint32_t numbers[8 * PACKED_GROUPS], unpacked[8 * PACKED_GROUPS];
	uint8_t packed[2][24 * PACKED_GROUPS + KERNEL_PACKED_SLACK] = {{0}};
	uint32_t seed = 6;
	unsigned bits;
	size_t i;

	for (bits = 1; bits <= 24; bits++) {
		for (i = 0; i < 8 * PACKED_GROUPS; i++)
			numbers[i] = draw(&seed) & ((1u << bits) - 1);
		kernels_scalar.pack32(packed[0], numbers, bits, PACKED_GROUPS);
		v->pack32(packed[1], numbers, bits, PACKED_GROUPS);
		if (memcmp(packed[0], packed[1], (size_t)bits * PACKED_GROUPS) != 0)
			return false;
		v->unpack32(unpacked, packed[0], bits, PACKED_GROUPS);
		if (memcmp(unpacked, numbers, sizeof(numbers)) != 0)
			return false;
	}
	return true;
}

struct sums {
	uint32_t rows[ROWS];
	uint32_t places[LENGTH];
};

static bool sums_agree(const struct kernels *v)
{
	uint16_t words16[ROWS * LENGTH];
	uint8_t words8[ROWS * LENGTH];
	struct sums scalar = {{1}, {2}}, other = scalar;
	uint32_t seed = 5;
	size_t i;

	for (i = 0; i < ROWS * LENGTH; i++) {
		words16[i] = (uint16_t)draw(&seed);
		words8[i] = (uint8_t)draw(&seed);
	}
	kernels_scalar.sum8(words8, ROWS, LENGTH, 1, 0x7f, scalar.rows, scalar.places);
	v->sum8(words8, ROWS, LENGTH, 1, 0x7f, other.rows, other.places);
	if (memcmp(&scalar, &other, sizeof(scalar)) != 0)
		return false;
	kernels_scalar.sum16(words16, ROWS, LENGTH, 4, 0xfff, scalar.rows, scalar.places);
	v->sum16(words16, ROWS, LENGTH, 4, 0xfff, other.rows, other.places);
	return memcmp(&scalar, &other, sizeof(scalar)) == 0;
}

bool kernels_agree(const struct kernels *variant)
{
	return all_cuts_agree(variant) && packing_agrees(variant) && wide_packing_agrees(variant) &&
	       sums_agree(variant) && all_rans_agrees(variant);
}
