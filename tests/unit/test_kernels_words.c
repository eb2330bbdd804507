/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each variant does with words, packed numbers and sums, held to the same in plain words; all
 * of its memory between pages that cannot be touched.
 */
#include "tests/unit/support.h"

#include "core/kernels/kernels.h"
#include "tests/unit/guarded.h"

enum { COUNT_MAX = 300, GROUPS_MAX = 70, ROWS_MAX = 520, LENGTH_MAX = 300, AREA_MAX = 2700 };

/* ---- cutting and joining --------------------------------------------------------------------- */

/* Numbers in memory, of bytes or of their own size: what 16- and 32-bit words share of a test. */
static uint32_t number_at(const void *numbers, unsigned bits, size_t i)
{
	uint8_t byte;
	uint16_t half;
	uint32_t word;

	switch (bits) {
	case 8:
		memcpy(&byte, (const uint8_t *)numbers + i, 1);
		return byte;
	case 16:
		memcpy(&half, (const uint8_t *)numbers + 2 * i, 2);
		return half;
	default:
		memcpy(&word, (const uint8_t *)numbers + 4 * i, 4);
		return word;
	}
}

static void set_number(void *numbers, unsigned bits, size_t i, uint32_t value)
{
	uint8_t byte = (uint8_t)value;
	uint16_t half = (uint16_t)value;

	switch (bits) {
	case 8:
		memcpy((uint8_t *)numbers + i, &byte, 1);
		break;
	case 16:
		memcpy((uint8_t *)numbers + 2 * i, &half, 2);
		break;
	default:
		memcpy((uint8_t *)numbers + 4 * i, &value, 4);
	}
}

struct words {
	unsigned bits;
	unsigned low_bits; /* of an element of low */
	struct kernel_cut cut;
	size_t count;
	size_t escaped;
	uint32_t words[COUNT_MAX];
	uint32_t codes[COUNT_MAX];
	uint32_t low[COUNT_MAX];
};

static uint32_t width_mask(unsigned bits)
{
	return (uint32_t)((UINT64_C(1) << bits) - 1);
}

/* The bits of a word as a ring of them, bit by bit. */
static uint32_t rotate_right(uint32_t word, unsigned bits, unsigned rotation)
{
	uint32_t turned = 0;
	unsigned i;

	for (i = 0; i < bits; i++)
		turned |= (word >> (i + rotation) % bits & 1) << i;
	return turned;
}

/* A code within the window, at its edges on both sides, or anywhere. */
static uint32_t random_code(unsigned codes)
{
	switch (random_below(5)) {
	case 0:
		return (uint32_t)random_below(5) - 2;
	case 1:
		return codes + (uint32_t)random_below(5) - 2;
	case 2:
		return (uint32_t)random_next();
	default:
		return (uint32_t)random_below(codes);
	}
}

/* Words with any low bits below such a code. */
static void random_words(struct words *w)
{
	unsigned top_bits = w->bits - w->cut.low;
	size_t i;

	w->count = (size_t)random_below(COUNT_MAX + 1);
	w->cut.codes = random_below(2) ? 255 : 1 + (unsigned)random_below(255);
	w->cut.base = (uint32_t)random_next() & width_mask(top_bits);
	if (random_below(4) == 0)
		w->cut.base = random_below(2) ? 0 : width_mask(top_bits);
	w->escaped = 0;
	for (i = 0; i < w->count; i++) {
		uint32_t top = (random_code(w->cut.codes) + w->cut.base) & width_mask(top_bits);
		/* What a code is counts from the base within the words' width, not within top's. */
		uint32_t code = (top - w->cut.base) & width_mask(w->bits);

		w->low[i] = (uint32_t)random_next() & width_mask(w->cut.low);
		w->codes[i] = code < w->cut.codes ? code : 255;
		w->escaped += code >= w->cut.codes;
		top = rotate_right(top, top_bits, w->cut.turn);
		w->words[i] = rotate_right(top << w->cut.low | w->low[i], w->bits, w->cut.rotation);
	}
}

struct memory {
	struct guarded words;
	struct guarded codes;
	struct guarded low;
};

static void take_memory(struct memory *m, const struct words *w, enum guarded_side side)
{
	guarded_take(&m->words, w->bits / 8 * w->count, side);
	guarded_take(&m->codes, w->count, side);
	guarded_take(&m->low, w->low_bits / 8 * w->count, side);
}

static void check_memory(const struct memory *m)
{
	guarded_check(&m->words);
	guarded_check(&m->codes);
	guarded_check(&m->low);
}

static void check_cut(const struct kernels *k, const struct words *w, struct memory *m)
{
	void *words = m->words.data, *low = m->low.data;
	size_t escaped, i;

	for (i = 0; i < w->count; i++)
		set_number(words, w->bits, i, w->words[i]);
	if (w->bits == 16)
		escaped = k->cut16(&w->cut, words, m->codes.data, low, w->count);
	else
		escaped = k->cut32(&w->cut, words, m->codes.data, low, w->count);
	assert_int_equal(escaped, w->escaped);
	for (i = 0; i < w->count; i++) {
		assert_int_equal(m->codes.data[i], w->codes[i]);
		assert_int_equal(number_at(low, w->low_bits, i), w->low[i]);
	}
	check_memory(m);
}

static void check_join(const struct kernels *k, const struct words *w, struct memory *m)
{
	void *words = m->words.data, *low = m->low.data;
	size_t escaped, i;

	for (i = 0; i < w->count; i++) {
		m->codes.data[i] = (uint8_t)w->codes[i];
		set_number(low, w->low_bits, i, w->low[i]);
	}
	if (w->bits == 16)
		escaped = k->join16(&w->cut, words, m->codes.data, low, w->count);
	else
		escaped = k->join32(&w->cut, words, m->codes.data, low, w->count);
	assert_int_equal(escaped, w->escaped);
	for (i = 0; i < w->count; i++) {
		if (w->codes[i] < 255)
			assert_int_equal(number_at(words, w->bits, i), w->words[i]);
	}
	check_memory(m);
}

/* Both directions in each variant. */
static void check_cut_and_join(const struct words *w, struct memory *m)
{
	const struct kernels *const *k;
	unsigned side;

	for (k = kernels_available(); *k; k++) {
		for (side = 0; side < GUARDED_SIDES; side++) {
			take_memory(m, w, side);
			check_cut(*k, w, m);
			take_memory(m, w, side);
			check_join(*k, w, m);
		}
	}
}

static void check_words(unsigned bits, unsigned low_bits)
{
	struct words w = {.bits = bits, .low_bits = low_bits};
	struct memory m = {guarded_new(bits / 8 * COUNT_MAX), guarded_new(COUNT_MAX),
			   guarded_new(low_bits / 8 * COUNT_MAX)};
	struct kernel_cut *cut = &w.cut;

	for (cut->rotation = 0; cut->rotation < bits; cut->rotation++) {
		for (cut->low = 1; cut->low <= bits - 8; cut->low++) {
			for (cut->turn = 0; cut->turn <= 1; cut->turn++) {
				random_words(&w);
				check_cut_and_join(&w, &m);
			}
		}
	}
	guarded_free(&m.words);
	guarded_free(&m.codes);
	guarded_free(&m.low);
}

static void test_words_of_16_bits(void **state)
{
	(void)state;
	check_words(16, 8);
}

static void test_words_of_32_bits(void **state)
{
	(void)state;
	check_words(32, 32);
}

/* ---- packing --------------------------------------------------------------------------------- */

static void pack_plainly(uint8_t *packed, const uint8_t *numbers, unsigned bits, size_t count)
{
	size_t i;
	unsigned b;

	memset(packed, 0, bits * count / 8);
	for (i = 0; i < count; i++) {
		for (b = 0; b < bits; b++) {
			size_t place = i * bits + b;

			packed[place / 8] |= (uint8_t)((numbers[i] >> b & 1) << place % 8);
		}
	}
}

static void check_packing(const struct kernels *k, struct guarded *numbers, struct guarded *packed,
			  unsigned bits, size_t groups)
{
	uint8_t wanted[8 * GROUPS_MAX], given[8 * GROUPS_MAX];
	size_t slack = groups ? 8 - bits : 0, i;
	unsigned side;

	for (i = 0; i < 8 * groups; i++)
		given[i] = (uint8_t)random_below(1u << bits);
	pack_plainly(wanted, given, bits, 8 * groups);
	for (side = 0; side < GUARDED_SIDES; side++) {
		guarded_take(packed, bits * groups + slack, side);
		guarded_take(numbers, 8 * groups, side);
		memcpy(numbers->data, given, 8 * groups);
		k->pack8(packed->data, numbers->data, bits, groups);
		assert_memory_equal(packed->data, wanted, bits * groups);
		assert_memory_equal(numbers->data, given, 8 * groups);
		guarded_check(packed);
		/* What lies behind it says nothing, and stays. */
		memset(packed->data + bits * groups, 0xff, slack);
		memset(numbers->data, GUARDED_FILLING, 8 * groups);
		k->unpack8(numbers->data, packed->data, bits, groups);
		assert_memory_equal(numbers->data, given, 8 * groups);
		assert_memory_equal(packed->data, wanted, bits * groups);
		guarded_check(numbers);
		guarded_check(packed);
	}
}

static void test_packing(void **state)
{
	struct guarded numbers = guarded_new(8 * GROUPS_MAX);
	struct guarded packed = guarded_new(8 * GROUPS_MAX);
	const struct kernels *const *k;
	size_t groups;
	unsigned bits;

	(void)state;
	for (k = kernels_available(); *k; k++) {
		for (bits = 1; bits <= 8; bits++) {
			for (groups = 0; groups <= GROUPS_MAX; groups++)
				check_packing(*k, &numbers, &packed, bits, groups);
		}
	}
	guarded_free(&numbers);
	guarded_free(&packed);
}

/* ---- sums ------------------------------------------------------------------------------------ */

struct sums {
	unsigned bits;
	size_t rows;
	size_t length;
	unsigned shift;
	uint32_t mask;
	uint32_t words[AREA_MAX];
	uint32_t row_before[ROWS_MAX], row_after[ROWS_MAX];
	uint32_t place_before[LENGTH_MAX], place_after[LENGTH_MAX];
};

static void random_sums(struct sums *s)
{
	unsigned field = 1 + (unsigned)random_below(s->bits < 12 ? s->bits : 12);
	bool full = random_below(3) == 0;
	size_t r, i;

	/* Few rows, or so many that their sums have more than 16 bits. */
	s->rows = (size_t)random_below(random_below(3) ? 10 : ROWS_MAX + 1);
	s->length = (size_t)random_below(LENGTH_MAX + 1);
	if (s->rows * s->length > AREA_MAX)
		s->length = AREA_MAX / s->rows;
	s->shift = (unsigned)random_below(s->bits - field + 1);
	s->mask = width_mask(field);
	random_fill(s->row_before, sizeof(s->row_before));
	random_fill(s->place_before, sizeof(s->place_before));
	for (r = 0; r < s->rows; r++)
		s->row_after[r] = s->row_before[r] /= 2;
	for (i = 0; i < s->length; i++)
		s->place_after[i] = s->place_before[i] /= 2;
	for (i = 0; i < s->rows * s->length; i++) {
		uint32_t v;

		s->words[i] = (uint32_t)random_next() & width_mask(s->bits);
		if (full || random_below(3) == 0)
			s->words[i] = width_mask(s->bits);
		v = s->words[i] >> s->shift & s->mask;
		s->row_after[i / s->length] += v;
		s->place_after[i % s->length] += v;
	}
}

struct sums_memory {
	struct guarded words;
	struct guarded rows;
	struct guarded places;
};

static void check_sums(const struct kernels *k, const struct sums *s, struct sums_memory *m,
		       enum guarded_side side)
{
	uint32_t *rows = guarded_take(&m->rows, sizeof(uint32_t) * s->rows, side);
	uint32_t *places = guarded_take(&m->places, sizeof(uint32_t) * s->length, side);
	void *words = guarded_take(&m->words, s->bits / 8 * s->rows * s->length, side);
	size_t i;

	memcpy(rows, s->row_before, sizeof(uint32_t) * s->rows);
	memcpy(places, s->place_before, sizeof(uint32_t) * s->length);
	for (i = 0; i < s->rows * s->length; i++)
		set_number(words, s->bits, i, s->words[i]);
	if (s->bits == 8)
		k->sum8(words, s->rows, s->length, s->shift, s->mask, rows, places);
	else
		k->sum16(words, s->rows, s->length, s->shift, s->mask, rows, places);
	assert_memory_equal(rows, s->row_after, sizeof(uint32_t) * s->rows);
	assert_memory_equal(places, s->place_after, sizeof(uint32_t) * s->length);
	guarded_check(&m->rows);
	guarded_check(&m->places);
	guarded_check(&m->words);
}

static void test_sums(void **state)
{
	enum { TRIALS = 100 };
	static struct sums s;
	struct sums_memory m = {guarded_new((size_t)2 * AREA_MAX),
				guarded_new(sizeof(uint32_t) * ROWS_MAX),
				guarded_new(sizeof(uint32_t) * LENGTH_MAX)};
	const struct kernels *const *k;
	unsigned i, side;

	(void)state;
	for (i = 0; i < TRIALS; i++) {
		s.bits = i % 2 ? 8 : 16;
		random_sums(&s);
		for (k = kernels_available(); *k; k++) {
			for (side = 0; side < GUARDED_SIDES; side++)
				check_sums(*k, &s, &m, side);
		}
	}
	guarded_free(&m.words);
	guarded_free(&m.rows);
	guarded_free(&m.places);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_words_of_16_bits),
		TEST(test_words_of_32_bits),
		TEST(test_packing),
		TEST(test_sums),
	};

	seed_init("test_kernels_words");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
