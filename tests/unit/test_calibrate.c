/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calibration: which tensors it looks at, and how much of them; that it learns what is there; that
 * nothing but the tensors decides what it learns.
 */
#include "tests/unit/synthesis_cases.h"

#include "core/entropy/codebook.h"
#include "core/synthesis/calibrate.h"

/* ---- reading what a prior has counted ----------------------------------------------------------
 */

/* Levels of a context, by the highest bits of its key (core/synthesis/prior.c). */
enum { FINE = 0, MIDDLE = 1, COARSE = 2 };

struct seen {
	unsigned count;
	struct {
		uint64_t key;
		unsigned counts[RULES];
	} entries[1024];
};

static void look_into(const struct prior *prior, struct seen *out)
{
	struct buffer bytes = BUFFER_INIT;
	struct span in;
	uint64_t key = 0;
	unsigned i, rules;

	prior_write(prior, &bytes);
	in = span_of(bytes.data, bytes.size);
	memset(out, 0, sizeof(*out));
	out->count = (unsigned)span_varint(&in);
	for (i = 0; i < out->count; i++) {
		key += span_varint(&in);
		out->entries[i].key = key;
		for (rules = span_u8(&in); rules; rules--) {
			unsigned rule = span_u8(&in);

			out->entries[i].counts[rule] = (unsigned)span_varint(&in);
		}
	}
	assert_false(span_failed(&in));
	assert_int_equal(span_left(&in), 0);
	buffer_release(&bytes);
}

/* How often roots were given a rule; RULES: any. dtype 64: of any type. */
static unsigned roots(const struct seen *seen, enum rule rule, unsigned dtype)
{
	unsigned i, r, n = 0;

	for (i = 0; i < seen->count; i++) {
		uint64_t key = seen->entries[i].key;

		if (key >> 62 != MIDDLE || (key >> 7 & 31) != RULES ||
		    (dtype < 64 && (key >> 18 & 63) != dtype))
			continue;
		for (r = 0; r < RULES; r++)
			if (rule == RULES || r == rule)
				n += seen->entries[i].counts[r];
	}
	return n;
}

/* ---- the sample --------------------------------------------------------------------------------
 */

enum { MANY = 40 };

struct tensors {
	struct sample_tensor list[MANY];
	struct tensor_kind kinds[MANY];
	size_t count;
};

static void add_tensor(struct tensors *t, const void *words, unsigned width, size_t count,
		       struct tensor_kind kind)
{
	assert_true(t->count < MANY);
	t->kinds[t->count] = kind;
	t->list[t->count] = (struct sample_tensor){words, width, count, &t->kinds[t->count]};
	t->count++;
}

static void calibrate(const struct tensors *t, struct seen *out)
{
	struct prior *prior = NULL;

	assert_int_equal(calibrate_prior(t->list, t->count, NULL, &prior, NULL), BREVIS_OK);
	look_into(prior, out);
	prior_free(prior);
}

/* Constant tensors have one production each, so that their number shows. */
static void test_at_most_four(void **state)
{
	static const uint8_t zeros[8 * 1000];
	static struct seen seen;
	struct tensors t = {.count = 0};
	size_t n;

	(void)state;
	for (n = 0; n < MANY; n++) {
		calibrate(&t, &seen);
		assert_int_equal(roots(&seen, RULES, 64), n < 4 ? n : 4);
		assert_int_equal(roots(&seen, RULE_LEAF, 64), n < 4 ? n : 4);
		add_tensor(&t, zeros, 32, 100 + n * 7, TENSOR("F32", 100 + n * 7));
	}
}

/* Each type has its share, and the first ones what is left over. */
static void test_types_share(void **state)
{
	static const char *const dtypes[] = {"BF16", "F32", "U8", "I64", "F16", "I32"};
	static const uint8_t zeros[8 * 100];
	static struct seen seen;
	size_t types, i;

	(void)state;
	for (types = 1; types <= 6; types++) {
		struct tensors t = {.count = 0};
		unsigned of_types = 0, least = 4;

		for (i = 0; i < 6 * types; i++) {
			unsigned dtype = dtype_number(dtypes[i % types]);

			add_tensor(&t, zeros, dtype_at(dtype)->word_bits, 90 - i,
				   TENSOR(dtypes[i % types], 90 - i));
		}
		calibrate(&t, &seen);
		for (i = 0; i < types; i++) {
			unsigned n = roots(&seen, RULES, dtype_number(dtypes[i]));

			of_types += n > 0;
			least = n < least ? n : least;
		}
		assert_int_equal(roots(&seen, RULES, 64), 4);
		assert_int_equal(of_types, types < 4 ? types : 4);
		assert_int_equal(least, types == 1 ? 4 : types == 2 ? 2 : types <= 4 ? 1 : 0);
	}
}

/* Of tensors of one type those are taken that stand for most bytes. */
static void test_sizes_are_stratified(void **state)
{
	static const uint8_t zeros[1 << 16];
	static struct seen seen;
	struct tensors t = {.count = 0};
	unsigned i, small = 0, large = 0;

	(void)state;
	for (i = 0; i < 20; i++)
		add_tensor(&t, zeros, 8, 100, TENSOR("U8", 100));
	for (i = 0; i < 4; i++)
		add_tensor(&t, zeros, 8, 1 << 15, TENSOR("U8", 1 << 15));
	calibrate(&t, &seen);
	for (i = 0; i < seen.count; i++) {
		uint64_t key = seen.entries[i].key;

		if (key >> 62 == MIDDLE && (key >> 24 & 127) == 7)
			small += seen.entries[i].counts[RULE_LEAF];
		if (key >> 62 == MIDDLE && (key >> 24 & 127) == 16)
			large += seen.entries[i].counts[RULE_LEAF];
	}
	assert_int_equal(small, 0);
	assert_int_equal(large, 4);
}

/* Elements of a tensor that are looked at, at most; the paper's evaluation has 16 times as many. */
#define SAMPLE ((size_t)1 << 16)

/* Of a large tensor only a part is looked at: whole slices, if one fits. */
static void test_large_tensors_are_shortened(void **state)
{
	static const struct {
		size_t rows, columns, expected;
	} cases[] = {
		{SAMPLE, 1, SAMPLE},     {SAMPLE + 1, 1, SAMPLE}, {3, SAMPLE, SAMPLE},
		{2, SAMPLE + 5, SAMPLE}, {4000, 1000, 65 * 1000}, {65, 1000, 65 * 1000},
	};
	static struct seen seen;
	uint8_t *zeros = calloc(4000, 1000);
	size_t i;

	(void)state;
	assert_non_null(zeros);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tensors t = {.count = 0};
		size_t count = cases[i].rows * cases[i].columns;
		unsigned k;

		/* A last word that differs is not seen if it is beyond the sample. */
		zeros[count - 1] = 1;
		add_tensor(&t, zeros, 8, count, TENSOR("U8", cases[i].rows, cases[i].columns));
		calibrate(&t, &seen);
		assert_int_equal(roots(&seen, RULE_LEAF, 64) > 0 && seen.count == PRIOR_LEVELS,
				 cases[i].expected < count);
		for (k = 0; k < seen.count; k++)
			if (seen.entries[k].key >> 62 == MIDDLE &&
			    (seen.entries[k].key >> 7 & 31) == RULES)
				assert_int_equal(seen.entries[k].key >> 24 & 127,
						 bit_length(cases[i].expected));
		zeros[count - 1] = 0;
	}
	free(zeros);
}

/* ---- what is learned ---------------------------------------------------------------------------
 */

/* Weights become merges, and the same is learned each time, in whatever memory the tensors are. */
static void test_weights_are_merged(void **state)
{
	enum { COUNT = 20000 };
	static uint16_t words[4][COUNT], copies[4][COUNT];
	static struct seen seen;
	struct tensors t = {.count = 0}, u = {.count = 0};
	struct prior *a = NULL, *b = NULL;
	struct buffer first = BUFFER_INIT, second = BUFFER_INIT;
	unsigned i;

	(void)state;
	random_bf16(words, (size_t)4 * COUNT, 0.02f);
	memcpy(copies, words, sizeof(words));
	for (i = 0; i < 4; i++) {
		add_tensor(&t, words[i], 16, COUNT - i, TENSOR("BF16", COUNT - i));
		add_tensor(&u, copies[i], 16, COUNT - i, TENSOR("BF16", COUNT - i));
	}
	calibrate(&t, &seen);
	assert_int_equal(roots(&seen, RULE_MERGE, 64) + roots(&seen, RULE_MERGE_ROUTED, 64), 4);
	assert_int_equal(calibrate_prior(t.list, t.count, NULL, &a, NULL), BREVIS_OK);
	assert_int_equal(calibrate_prior(u.list, u.count, NULL, &b, NULL), BREVIS_OK);
	prior_write(a, &first);
	prior_write(b, &second);
	assert_int_equal(first.size, second.size);
	assert_memory_equal(first.data, second.data, first.size);
	prior_free(a);
	prior_free(b);
	buffer_release(&first);
	buffer_release(&second);
}

/* The prior orders the search and never makes it fail; what it found is found again with it. */
static void test_prior_guides(void **state)
{
	enum { COUNT = 20000 };
	static uint16_t words[COUNT];
	struct tensors t = {.count = 0};
	struct prior *prior = NULL;
	struct synthesis_options options = {.budget = 2};
	struct found guided;
	size_t unguided;

	(void)state;
	random_bf16(words, COUNT, 0.02f);
	add_tensor(&t, words, 16, COUNT, TENSOR("BF16", COUNT));
	assert_int_equal(calibrate_prior(t.list, t.count, NULL, &prior, NULL), BREVIS_OK);
	unguided = size_at(words, 16, COUNT, &t.kinds[0], BREVIS_PRESET_DEFAULT);
	options.prior = prior;
	guided = synthesize_with(words, 16, COUNT, &t.kinds[0], &options);
	assert_true(guided.bytes.size <= unguided);
	found_release(&guided);
	prior_free(prior);
}

/* ---- the codebook ------------------------------------------------------------------------------
 */

/* Small tensors of weights, as many as asked for. */
static size_t learn_codebook(size_t tensors, size_t count, const char *dtype, struct buffer *out)
{
	static uint8_t words[MANY * 2000 * 4];
	struct tensors t = {.count = 0};
	unsigned width = dtype_at(dtype_number(dtype))->word_bits;
	size_t i;

	assert_true(tensors * count * (width / 8) <= sizeof(words));
	if (width == 16)
		random_bf16(words, tensors * count, 0.02f);
	else if (width == 32)
		random_f32(words, tensors * count, 0.02f);
	for (i = 0; i < tensors; i++)
		add_tensor(&t, words + i * count * (width / 8), width, count, TENSOR(dtype, count));
	assert_int_equal(calibrate_codebook(t.list, t.count, out, NULL), BREVIS_OK);
	return out->size;
}

static void test_codebook_of_small_tensors(void **state)
{
	static const char *const dtypes[] = {"BF16", "F32"};
	struct buffer bytes = BUFFER_INIT, again = BUFFER_INIT;
	struct codebook *codebook = NULL;
	unsigned i;

	(void)state;
	for (i = 0; i < 2; i++) {
		buffer_clear(&bytes);
		buffer_clear(&again);
		assert_true(learn_codebook(30, 1000, dtypes[i], &bytes) > 0);
		assert_int_equal(codebook_parse(bytes.data, bytes.size, &codebook, NULL),
				 BREVIS_OK);
		assert_in_range(codebook_count(codebook), 1, CODEBOOK_TABLES_MAX);
		assert_true(bytes.size <= CODEBOOK_BYTES_MAX);
		codebook_free(codebook);
		random_state = test_seed;
		learn_codebook(30, 1000, dtypes[i], &bytes);
		random_state = test_seed;
		learn_codebook(30, 1000, dtypes[i], &again);
		assert_memory_equal(bytes.data + bytes.size - again.size, again.data, again.size);
	}
	buffer_release(&bytes);
	buffer_release(&again);
}

/* Few, tiny, large or constant tensors have no use for one. */
static void test_no_codebook(void **state)
{
	struct buffer bytes = BUFFER_INIT;

	(void)state;
	assert_int_equal(learn_codebook(0, 1000, "BF16", &bytes), 0);
	assert_int_equal(learn_codebook(7, 1000, "BF16", &bytes), 0);
	assert_int_equal(learn_codebook(MANY, 50, "BF16", &bytes), 0);
	assert_int_equal(learn_codebook(20, 1000, "I32", &bytes) > 0, true);
	buffer_clear(&bytes);
	assert_int_equal(learn_codebook(20, 1000, "F64", &bytes), 0);
	buffer_release(&bytes);
}

/* Constant words of each width, the lowest and the highest, give no table of one symbol, which
 * there is none of. */
static void test_codebook_of_constants(void **state)
{
	static const char *const dtypes[] = {"U8", "BF16", "F32", "I8", "U8", "BF16", "F32", "I8"};
	static uint8_t constants[2][4 * 1000];
	struct buffer bytes = BUFFER_INIT;
	struct codebook *codebook = NULL;
	size_t i, k;

	(void)state;
	memset(constants[1], 0xff, sizeof(constants[1]));
	for (k = 0; k < 8; k++) {
		struct tensors t = {.count = 0};

		for (i = 0; i < 20; i++)
			add_tensor(&t, constants[k / 4],
				   dtype_at(dtype_number(dtypes[k]))->word_bits, 1000,
				   TENSOR(dtypes[k], 1000));
		buffer_clear(&bytes);
		assert_int_equal(calibrate_codebook(t.list, t.count, &bytes, NULL), BREVIS_OK);
		if (!bytes.size)
			continue;
		assert_int_equal(codebook_parse(bytes.data, bytes.size, &codebook, NULL),
				 BREVIS_OK);
		codebook_free(codebook);
	}
	buffer_release(&bytes);
}

/* Whatever the tensors, what is written is a codebook, and literals may use it. */
static void test_codebooks_of_all_sorts(void **state)
{
	unsigned round;

	(void)state;
	for (round = 0; round < 60; round++) {
		struct tensors t = {.count = 0};
		struct buffer bytes = BUFFER_INIT;
		struct codebook *codebook = NULL;
		void *memory[MANY];
		size_t i, n = (size_t)random_below(MANY);
		unsigned w = (unsigned)random_below(4);

		for (i = 0; i < n; i++) {
			unsigned width = random_below(4) ? widths[w] : widths[random_below(4)];
			size_t count = 1 + (size_t)random_below(3000);

			memory[i] = make_words(shapes[random_below(SHAPES)].word, width, count);
			add_tensor(&t, memory[i], width, count, tensor_of_words(width, count));
		}
		assert_int_equal(calibrate_codebook(t.list, t.count, &bytes, NULL), BREVIS_OK);
		if (bytes.size)
			assert_int_equal(codebook_parse(bytes.data, bytes.size, &codebook, NULL),
					 BREVIS_OK);
		for (i = 0; i < n; i++) {
			struct synthesis_options options = {.codebook = codebook};
			struct found found = synthesize_with(
				memory[i], t.list[i].width, t.list[i].count, &t.kinds[i], &options);

			found_release(&found);
			free(memory[i]);
		}
		codebook_free(codebook);
		buffer_release(&bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_at_most_four),
		TEST(test_types_share),
		TEST(test_sizes_are_stratified),
		TEST(test_large_tensors_are_shortened),
		TEST(test_weights_are_merged),
		TEST(test_prior_guides),
		TEST(test_codebook_of_small_tensors),
		TEST(test_no_codebook),
		TEST(test_codebook_of_constants),
		TEST(test_codebooks_of_all_sorts),
	};

	seed_init("test_calibrate");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
