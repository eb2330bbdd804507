/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each variant's encoder crossed with each one's decoder, all of their memory between pages that
 * cannot be touched, and held to rANS as docs/FORMAT.md has it, written once more in plain words.
 */
#include "tests/unit/support.h"

#include "core/kernels/kernels.h"
#include "tests/unit/guarded.h"

enum { CLASSES_MAX = 32, GROUPS_MAX = 400, TRIALS = 160 };

/* ---- rANS in plain words --------------------------------------------------------------------- */

struct share {
	uint32_t start;
	uint32_t share;
};

/* What is coded. */
struct trial {
	unsigned scale_bits;
	unsigned lanes;
	unsigned class_count;
	bool classed; /* else the classes are not handed over */
	size_t groups;
	struct share shares[CLASSES_MAX][256];
	uint8_t classes[GROUPS_MAX * KERNEL_LANES_MAX];
	uint8_t codes[GROUPS_MAX * KERNEL_LANES_MAX];
	uint32_t states[KERNEL_LANES_MAX]; /* before encoding and after decoding */
	/* What it must come to. */
	uint32_t encoded_states[KERNEL_LANES_MAX];
	uint8_t bytes[GROUPS_MAX * KERNEL_GROUP_BYTES];
	size_t size;
};

static uint32_t plain_encode(uint32_t x, struct share s, unsigned scale_bits, uint8_t **to)
{
	if (x >= (uint64_t)s.share << (31 - scale_bits)) {
		*to -= 2;
		store_le16(*to, (uint16_t)x);
		x >>= 16;
	}
	return (x / s.share << scale_bits) + x % s.share + s.start;
}

static void encode_plainly(struct trial *t)
{
	uint8_t *to = t->bytes + sizeof(t->bytes);
	size_t i;

	memcpy(t->encoded_states, t->states, sizeof(t->states));
	for (i = t->groups * t->lanes; i-- > 0;) {
		uint32_t *x = &t->encoded_states[i % t->lanes];

		*x = plain_encode(*x, t->shares[t->classes[i]][t->codes[i]], t->scale_bits, &to);
	}
	t->size = (size_t)(t->bytes + sizeof(t->bytes) - to);
	memmove(t->bytes, to, t->size);
}

/* ---- random trials --------------------------------------------------------------------------- */

/* Gives n codes a share: one of them the rest, before that each the skew-th part of what is left.
 */
static void random_shares(struct share *shares, unsigned scale_bits, unsigned n, unsigned skew)
{
	unsigned rest = (unsigned)random_below(n);
	uint32_t start = 0;
	unsigned code, k = 0;

	memset(shares, 0, 256 * sizeof(*shares));
	for (code = 0; code < 256; code++) {
		uint32_t left = (1u << scale_bits) - start - (n - k);

		if (random_below(256 - code) >= n - k)
			continue;
		shares[code].start = start;
		shares[code].share = 1 + (k == rest ? left : left / skew);
		start += shares[code].share;
		k++;
	}
}

static void random_table(struct share *shares, unsigned scale_bits)
{
	unsigned many = 2 + (unsigned)random_below(255);

	switch (random_below(5)) {
	case 0: /* all for one, but of 12 bits, where slots cannot tell that */
		random_shares(shares, scale_bits, scale_bits < 12 ? 1 : 2, UINT32_MAX);
		break;
	case 1: /* nearly all for one */
		random_shares(shares, scale_bits, many, UINT32_MAX);
		break;
	case 2: /* all 256, some of them about alike */
		random_shares(shares, scale_bits, 256, 256);
		break;
	default:
		random_shares(shares, scale_bits, many, 2 + (unsigned)random_below(9));
	}
}

/* A code of the table, as often as its share says or as any other. */
static uint8_t random_code(const struct share *shares, unsigned scale_bits)
{
	uint32_t slot = (uint32_t)random_below(1u << scale_bits);
	unsigned code;

	if (random_below(4) == 0) {
		do
			code = (unsigned)random_below(256);
		while (!shares[code].share);
		return (uint8_t)code;
	}
	for (code = 0; slot - shares[code].start >= shares[code].share;)
		code++;
	return (uint8_t)code;
}

static uint32_t random_state_word(void)
{
	switch (random_below(4)) {
	case 0:
		return KERNEL_STATE_LOW;
	case 1:
		return (UINT32_C(1) << 31) - 1;
	default:
		return KERNEL_STATE_LOW << random_below(16) | (uint32_t)random_below(1 << 15);
	}
}

static void random_trial(struct trial *t)
{
	size_t i;

	t->scale_bits = 8 + (unsigned)random_below(5);
	t->lanes = random_below(2) ? 64 : 16;
	t->class_count = random_below(3) ? 1 + (unsigned)random_below(CLASSES_MAX) : 1;
	t->classed = t->class_count > 1 || random_below(4) == 0;
	t->groups = (size_t)random_below(random_below(4) ? 12 : GROUPS_MAX + 1);
	for (i = 0; i < t->class_count; i++)
		random_table(t->shares[i], t->scale_bits);
	for (i = 0; i < t->groups * t->lanes; i++) {
		t->classes[i] = (uint8_t)random_below(t->class_count);
		t->codes[i] = random_code(t->shares[t->classes[i]], t->scale_bits);
	}
	for (i = 0; i < KERNEL_LANES_MAX; i++)
		t->states[i] = random_state_word();
	encode_plainly(t);
}

/* ---- each with each -------------------------------------------------------------------------- */

/* The memory of one call; the tables and codes of both directions are of the same sizes. */
struct memory {
	struct guarded table;
	struct guarded states;
	struct guarded classes;
	struct guarded codes;
	struct guarded bytes;
	const uint8_t *given_classes; /* NULL, or in classes */
};

static struct memory memory_new(void)
{
	return (struct memory){
		.table = guarded_new(sizeof(uint32_t) * CLASSES_MAX << KERNEL_SCALE_MAX),
		.states = guarded_new(sizeof(uint32_t) * KERNEL_LANES_MAX),
		.classes = guarded_new((size_t)GROUPS_MAX * KERNEL_LANES_MAX),
		.codes = guarded_new((size_t)GROUPS_MAX * KERNEL_LANES_MAX),
		.bytes = guarded_new((GROUPS_MAX + 1) * KERNEL_GROUP_BYTES),
	};
}

static void memory_check(const struct memory *m)
{
	guarded_check(&m->table);
	guarded_check(&m->states);
	guarded_check(&m->classes);
	guarded_check(&m->codes);
	guarded_check(&m->bytes);
}

static void memory_free(struct memory *m)
{
	guarded_free(&m->table);
	guarded_free(&m->states);
	guarded_free(&m->classes);
	guarded_free(&m->codes);
	guarded_free(&m->bytes);
}

static void take_common(struct memory *m, const struct trial *t, enum guarded_side side)
{
	size_t count = t->groups * t->lanes;

	guarded_take(&m->states, sizeof(uint32_t) * t->lanes, side);
	guarded_take(&m->codes, count, side);
	guarded_take(&m->classes, count, side);
	memcpy(m->classes.data, t->classes, count);
	m->given_classes = t->classed ? m->classes.data : NULL;
}

static void take_shares(struct memory *m, const struct trial *t, enum guarded_side side)
{
	uint32_t *shares = guarded_take(&m->table, sizeof(uint32_t) * 256 * t->class_count, side);
	size_t class, code;

	for (class = 0; class < t->class_count; class ++) {
		for (code = 0; code < 256; code++) {
			const struct share *s = &t->shares[class][code];

			shares[class << 8 | code] = s->start << 16 | s->share;
		}
	}
}

static void take_slots(struct memory *m, const struct trial *t, enum guarded_side side)
{
	size_t size = sizeof(uint32_t) * t->class_count << t->scale_bits;
	uint32_t *slots = guarded_take(&m->table, size, side);
	uint32_t class, code, bias;

	for (class = 0; class < t->class_count; class ++) {
		for (code = 0; code < 256; code++) {
			const struct share *s = &t->shares[class][code];

			for (bias = 0; bias < s->share; bias++)
				slots[(class << t->scale_bits) + s->start + bias] =
					kernel_slot(code, s->share, bias);
		}
	}
}

/* From then on, the trial is what this encoder made of it. */
static void check_encode(const struct kernels *encoder, struct memory *m, struct trial *t,
			 enum guarded_side side)
{
	uint8_t *to, *begin;

	take_common(m, t, side);
	take_shares(m, t, side);
	memcpy(m->states.data, t->states, sizeof(uint32_t) * t->lanes);
	memcpy(m->codes.data, t->codes, t->groups * t->lanes);
	to = guarded_take(&m->bytes, 2 * t->groups * t->lanes, side);
	to += 2 * t->groups * t->lanes;
	begin = encoder->encode((const uint32_t *)(const void *)m->table.data, t->scale_bits,
				t->lanes, (uint32_t *)(void *)m->states.data, to, m->given_classes,
				m->codes.data, t->groups);
	assert_int_equal(to - begin, t->size);
	assert_memory_equal(begin, t->bytes, t->size);
	assert_memory_equal(m->states.data, t->encoded_states, sizeof(uint32_t) * t->lanes);
	memory_check(m);
	memcpy(t->bytes, begin, t->size);
	memcpy(t->encoded_states, m->states.data, sizeof(uint32_t) * t->lanes);
}

/* With `behind` bytes behind what was encoded. Returns the groups done. */
static size_t check_decode(const struct kernels *decoder, struct memory *m, const struct trial *t,
			   enum guarded_side side, size_t behind)
{
	const uint8_t *at, *end;
	size_t done;

	take_common(m, t, side);
	take_slots(m, t, side);
	memcpy(m->states.data, t->encoded_states, sizeof(uint32_t) * t->lanes);
	at = guarded_take(&m->bytes, t->size + behind, side);
	end = at + t->size + behind;
	memcpy(m->bytes.data, t->bytes, t->size);
	done = decoder->decode((const uint32_t *)(const void *)m->table.data, t->scale_bits,
			       t->lanes, (uint32_t *)(void *)m->states.data, &at, end,
			       m->given_classes, m->codes.data, t->groups);
	assert_true(done == t->groups ||
		    (done < t->groups && (size_t)(end - at) < KERNEL_GROUP_BYTES));
	assert_memory_equal(m->codes.data, t->codes, done * t->lanes);
	if (behind >= KERNEL_GROUP_BYTES)
		assert_int_equal(done, t->groups);
	if (done == t->groups) {
		assert_ptr_equal(at, end - behind);
		assert_memory_equal(m->states.data, t->states, sizeof(uint32_t) * t->lanes);
	}
	memory_check(m);
	return done;
}

/*
 * Decoding stops at the first group before which too few bytes are left, with the states and bytes
 * that encoding what is left leads to.
 */
static void check_rest(const struct kernels *decoder, struct memory *m, const struct trial *t)
{
	static struct trial rest;
	size_t done = 0;

	do {
		rest = *t;
		rest.groups = t->groups - done;
		memmove(rest.codes, t->codes + done * t->lanes, rest.groups * t->lanes);
		memmove(rest.classes, t->classes + done * t->lanes, rest.groups * t->lanes);
		encode_plainly(&rest);
		done++;
	} while (rest.size >= KERNEL_GROUP_BYTES);
	done = t->groups - rest.groups;
	assert_int_equal(check_decode(decoder, m, t, GUARDED_END, 0), done);
	assert_memory_equal(m->states.data, rest.encoded_states, sizeof(uint32_t) * t->lanes);
}

/* Number i of those packed. */
static uint32_t packed_number(const uint8_t *packed, unsigned bits, size_t i)
{
	uint32_t number = 0;
	unsigned k;

	for (k = 0; k < bits; k++) {
		size_t at = i * bits + k;

		number |= (uint32_t)(packed[at / 8] >> at % 8 & 1) << k;
	}
	return number;
}

/* The words that codes and low bits are joined to. */
static void check_joined(const struct kernel_join *join, unsigned width, const uint8_t *codes,
			 size_t count)
{
	unsigned bits = join->bits, top = width - bits, rotation = join->cut.rotation;
	size_t escaped = 0, i;

	for (i = 0; i < count; i++) {
		uint64_t high = codes[i] + join->cut.base, word;

		if (join->cut.turn)
			high = high >> 1 | (high & 1) << (top - 1);
		word = high << bits | packed_number(join->low, bits, i);
		word = word >> rotation | word << (width - rotation);
		if (width == 16)
			assert_int_equal(((uint16_t *)join->words)[i], word & 0xffff);
		else
			assert_int_equal(((uint32_t *)join->words)[i], word & 0xffffffff);
		escaped += codes[i] == 255;
	}
	assert_int_equal(join->escaped, escaped);
}

/* Of 64 lanes, with low bits behind which no more can be read than kernels may. */
static void check_join(const struct kernels *decoder, struct memory *m, const struct trial *t,
		       unsigned width)
{
	unsigned bits = 1 + (unsigned)random_below(width == 16 ? 8 : 24);
	struct kernel_cut cut = {(unsigned)random_below(width), bits, 0, 255,
				 (unsigned)random_below(2)};
	size_t count = t->groups * t->lanes, size = count * width / 8, i;
	size_t packed = bits * count / 8 + KERNEL_LOW_SLACK;
	struct guarded low = guarded_new(packed), words = guarded_new(size);
	struct kernel_join join = {.cut = cut, .bits = bits};
	const uint8_t *at;
	size_t done;

	join.low = guarded_take(&low, packed, GUARDED_END);
	join.words = guarded_take(&words, size, GUARDED_END);
	for (i = 0; i < packed; i++)
		low.data[i] = (uint8_t)random_next();
	join.cut.base = (uint32_t)random_below((1u << (width - bits)) - 255);
	take_common(m, t, GUARDED_END);
	take_slots(m, t, GUARDED_END);
	memcpy(m->states.data, t->encoded_states, sizeof(uint32_t) * t->lanes);
	at = guarded_take(&m->bytes, t->size + KERNEL_GROUP_BYTES, GUARDED_END);
	memcpy(m->bytes.data, t->bytes, t->size);
	done = (width == 16 ? decoder->decode16 : decoder->decode32)(
		(const uint32_t *)(const void *)m->table.data, t->scale_bits,
		(uint32_t *)(void *)m->states.data, &at, at + t->size + KERNEL_GROUP_BYTES,
		m->given_classes, m->codes.data, t->groups, &join);
	assert_int_equal(done, t->groups);
	assert_memory_equal(m->codes.data, t->codes, count);
	assert_memory_equal(m->states.data, t->states, sizeof(uint32_t) * t->lanes);
	check_joined(&join, width, t->codes, count);
	memory_check(m);
	guarded_check(&low);
	guarded_check(&words);
	guarded_free(&low);
	guarded_free(&words);
}

static void check_joins(struct memory *m, const struct trial *t)
{
	const struct kernels *const *decoder;

	for (decoder = kernels_available(); *decoder; decoder++) {
		check_join(*decoder, m, t, 16);
		check_join(*decoder, m, t, 32);
	}
}

static void test_each_with_each(void **state)
{
	static struct trial trial;
	struct memory m = memory_new();
	const struct kernels *const *encoder, *const *decoder;
	unsigned i, side;

	(void)state;
	for (i = 0; i < TRIALS; i++) {
		random_trial(&trial);
		for (encoder = kernels_available(); *encoder; encoder++) {
			for (side = 0; side < GUARDED_SIDES; side++)
				check_encode(*encoder, &m, &trial, side);
			for (decoder = kernels_available(); *decoder; decoder++) {
				check_decode(*decoder, &m, &trial, GUARDED_END, KERNEL_GROUP_BYTES);
				check_decode(*decoder, &m, &trial, GUARDED_BEGIN,
					     (size_t)random_below(KERNEL_GROUP_BYTES + 1));
			}
		}
		if (trial.lanes == 64 && trial.groups)
			check_joins(&m, &trial);
		for (decoder = kernels_available(); trial.groups < 12 && *decoder; decoder++)
			check_rest(*decoder, &m, &trial);
	}
	memory_free(&m);
}

/* ---- divisions ------------------------------------------------------------------------------- */

/* A state next to a multiple of the share, or to where a unit is given off. */
static uint32_t edge_state(uint32_t share, unsigned scale_bits)
{
	uint64_t limit = (uint64_t)share << (31 - scale_bits);
	uint64_t quotient = (uint64_t)1 << (31 - scale_bits);
	uint64_t x;

	switch (random_below(4)) {
	case 0: /* large quotients are the ones that floats get wrong */
		x = limit - share * random_below(1000);
		break;
	case 1:
		x = limit;
		break;
	case 2:
		x = share * (quotient / 2 + random_below(quotient / 2));
		break;
	default:
		x = share * random_below(quotient);
	}
	x += random_below(3) - 1;
	if (x < KERNEL_STATE_LOW || x >> 63)
		x = KERNEL_STATE_LOW;
	return x >> 31 ? (UINT32_C(1) << 31) - 1 : (uint32_t)x;
}

/* Each share of each scale, eight times, at quotients that are hard to get right. */
static void test_quotients(void **state)
{
	static struct trial t;
	struct memory m = memory_new();
	const struct kernels *const *encoder;
	uint32_t share;
	unsigned j;

	(void)state;
	t.lanes = KERNEL_LANES_MAX;
	t.groups = 1;
	t.class_count = 1;
	for (t.scale_bits = 8; t.scale_bits <= KERNEL_SCALE_MAX; t.scale_bits++) {
		for (share = 1; share <= 1u << t.scale_bits; share += 8) {
			for (j = 0; j < t.lanes; j++) {
				struct share *s = &t.shares[0][j];

				s->share = share + j % 8;
				if (s->share > 1u << t.scale_bits)
					s->share = 1u << t.scale_bits;
				s->start =
					(uint32_t)random_below((1u << t.scale_bits) - s->share + 1);
				t.states[j] = edge_state(s->share, t.scale_bits);
				t.codes[j] = (uint8_t)j;
			}
			encode_plainly(&t);
			for (encoder = kernels_available(); *encoder; encoder++)
				check_encode(*encoder, &m, &t, GUARDED_END);
		}
	}
	memory_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_each_with_each),
		TEST(test_quotients),
	};

	seed_init("test_kernels_rans");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
