/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The production prior: what it has counted makes rules cheap where they were counted, and nothing
 * makes one impossible; the bound that A* relies on is one; its bytes come back, and damaged ones
 * do not.
 */
#include "tests/unit/support.h"
#include "tests/unit/share.h"

#include "core/base/digest.h"
#include "core/compress/model.h"
#include "core/entropy/log2.h"
#include "core/synthesis/prior.h"

#define BIT (UINT64_C(1) << LOG2_FRACTION)

static struct prior_context context_of(uint64_t fine, uint64_t middle, uint64_t coarse,
				       unsigned admissible)
{
	return (struct prior_context){
		{fine, middle | UINT64_C(1) << 62, coarse | UINT64_C(2) << 62}, admissible};
}

static void count(struct prior *prior, const struct prior_context *context, enum rule rule,
		  unsigned times)
{
	while (times--)
		assert_int_equal(prior_count(prior, context, rule, NULL), BREVIS_OK);
}

/* ---- costs -------------------------------------------------------------------------------------
 */

/* Without counts all rules are equally probable. */
static void test_uniform(void **state)
{
	struct prior *empty = prior_new();
	struct prior_context c = context_of(1, 2, 3, RULES);
	unsigned rule;

	(void)state;
	assert_non_null(empty);
	for (rule = 0; rule < RULES; rule++) {
		assert_int_equal(prior_cost(NULL, &c, rule), log2_fixed(RULES));
		assert_int_equal(prior_cost(empty, &c, rule), log2_fixed(RULES));
	}
	c.admissible = 2;
	assert_int_equal(prior_cost(empty, &c, RULE_LEAF), BIT);
	/* Where there is no choice, nothing has to be said. */
	c.admissible = 1;
	assert_int_equal(prior_cost(empty, &c, RULE_LEAF), 0);
	assert_int_equal(prior_floor(empty, 1), 0);
	assert_int_equal(prior_floor(NULL, 1), 0);
	prior_free(empty);
	prior_free(NULL);
}

/* Equation 9 with smoothing by a half: (N(r) + 1/2) / (N + |R| / 2). */
static void test_counts(void **state)
{
	struct prior *prior = prior_new();
	struct prior_context c = context_of(10, 20, 30, RULES);

	(void)state;
	count(prior, &c, RULE_MERGE, 9);
	count(prior, &c, RULE_LEAF, 3);
	count(prior, &c, RULE_ROUTE, 1);
	assert_int_equal(prior_cost(prior, &c, RULE_MERGE),
			 log2_fixed(2 * 13 + RULES) - log2_fixed(2 * 9 + 1));
	assert_int_equal(prior_cost(prior, &c, RULE_LEAF),
			 log2_fixed(2 * 13 + RULES) - log2_fixed(2 * 3 + 1));
	assert_int_equal(prior_cost(prior, &c, RULE_FLIP), log2_fixed(2 * 13 + RULES));
	assert_true(prior_cost(prior, &c, RULE_MERGE) < prior_cost(prior, &c, RULE_LEAF));
	assert_true(prior_cost(prior, &c, RULE_LEAF) < prior_cost(prior, &c, RULE_ROUTE));
	assert_true(prior_cost(prior, &c, RULE_ROUTE) < prior_cost(prior, &c, RULE_FLIP));
	prior_free(prior);
}

/* A context that was not seen, or once only, is that of the next coarser level. */
static void test_back_off(void **state)
{
	struct prior *prior = prior_new();
	struct prior_context seen = context_of(1, 2, 3, 10);
	struct prior_context finer = context_of(100, 2, 3, 10);
	struct prior_context middle = context_of(100, 200, 3, 10);
	struct prior_context other = context_of(100, 200, 300, 10);

	(void)state;
	count(prior, &seen, RULE_SCAN_ADD, 4);
	assert_int_equal(prior_cost(prior, &seen, RULE_SCAN_ADD), log2_fixed(18) - log2_fixed(9));
	assert_int_equal(prior_cost(prior, &finer, RULE_SCAN_ADD),
			 prior_cost(prior, &seen, RULE_SCAN_ADD));
	assert_int_equal(prior_cost(prior, &middle, RULE_SCAN_ADD),
			 prior_cost(prior, &seen, RULE_SCAN_ADD));
	assert_int_equal(prior_cost(prior, &other, RULE_SCAN_ADD), log2_fixed(10));
	/* Once is no evidence; twice is. */
	count(prior, &finer, RULE_LEAF, 1);
	assert_int_equal(prior_cost(prior, &finer, RULE_LEAF), log2_fixed(20) - log2_fixed(3));
	count(prior, &finer, RULE_LEAF, 1);
	assert_int_equal(prior_cost(prior, &finer, RULE_LEAF), log2_fixed(14) - log2_fixed(5));
	prior_free(prior);
}

/* ---- random priors -----------------------------------------------------------------------------
 */

static struct prior_context random_context(void)
{
	return context_of(random_below(12), random_below(5), random_below(3),
			  2 + (unsigned)random_below(RULES - 1));
}

static struct prior *random_prior(void)
{
	struct prior *prior = prior_new();
	unsigned n = (unsigned)random_below(random_below(2) ? 300 : 8);

	assert_non_null(prior);
	while (n--) {
		struct prior_context c = random_context();

		count(prior, &c, random_below(2) ? RULE_LEAF : (enum rule)random_below(RULES),
		      1 + (unsigned)random_below(random_below(4) ? 3 : 200));
	}
	return prior;
}

/* The floor is at most what any leaf costs: A* finds the most probable programs first. */
static void test_floor_is_admissible(void **state)
{
	unsigned round, i;

	(void)state;
	for (round = 0; round < rounds(500); round++) {
		struct prior *prior = random_prior();

		for (i = 0; i < 200; i++) {
			struct prior_context c = random_context();

			assert_true(prior_floor(prior, c.admissible) <=
				    prior_cost(prior, &c, RULE_LEAF));
		}
		prior_free(prior);
	}
}

/* Every rule stays possible. */
static void test_no_cost_is_infinite(void **state)
{
	struct prior *prior = prior_new();
	struct prior_context c = context_of(1, 2, 3, RULES);
	unsigned rule;

	(void)state;
	count(prior, &c, RULE_LEAF, 70000); /* more than a counter holds */
	assert_true(prior_cost(prior, &c, RULE_LEAF) < BIT);
	for (rule = 1; rule < RULES; rule++)
		assert_in_range(prior_cost(prior, &c, rule), BIT, 18 * BIT);
	assert_true(prior_floor(prior, RULES) <= prior_cost(prior, &c, RULE_LEAF));
	prior_free(prior);
}

/* ---- contexts ----------------------------------------------------------------------------------
 */

static struct prior_context context_at(const struct words *words, enum rule parent, unsigned depth,
				       unsigned position, unsigned dtype)
{
	struct place place = {parent, position, depth, dtype};

	return prior_context_of(words, &place);
}

/* All that a context records (paper section 3.3) tells contexts apart, at the levels that know it.
 */
static void test_contexts(void **state)
{
	static uint16_t words[5000], other[5000];
	struct words w = {words, 16, 5000}, o = {other, 16, 5000}, narrow = {words, 8, 5000},
		     shorter = {words, 16, 1000};
	struct prior_context a, b;
	size_t i;

	(void)state;
	random_fill(words, sizeof(words));
	for (i = 0; i < 5000; i++)
		other[i] = (uint16_t)(i / 3 * (i % 2));
	a = context_at(&w, RULES, 1, 0, 5);
	b = context_at(&w, RULES, 1, 0, 5);
	assert_memory_equal(a.keys, b.keys, sizeof(a.keys));
	assert_int_equal(a.admissible, b.admissible);
	assert_true(a.keys[0] != a.keys[1] && a.keys[1] != a.keys[2] && a.keys[0] != a.keys[2]);
	/* Features of the words: the finest level only. */
	b = context_at(&o, RULES, 1, 0, 5);
	assert_true(a.keys[0] != b.keys[0]);
	assert_int_equal(a.keys[1], b.keys[1]);
	/* Depth, type, size: not the coarsest level. */
	b = context_at(&w, RULES, 2, 0, 5);
	assert_true(a.keys[0] != b.keys[0] && a.keys[1] != b.keys[1] && a.keys[2] == b.keys[2]);
	b = context_at(&w, RULES, 1, 0, 6);
	assert_true(a.keys[0] != b.keys[0] && a.keys[1] != b.keys[1] && a.keys[2] == b.keys[2]);
	b = context_at(&shorter, RULES, 1, 0, 5);
	assert_true(a.keys[0] != b.keys[0] && a.keys[1] != b.keys[1] && a.keys[2] == b.keys[2]);
	/* Width, parent, position: all levels. */
	b = context_at(&narrow, RULES, 1, 0, 5);
	assert_true(a.keys[0] != b.keys[0] && a.keys[1] != b.keys[1] && a.keys[2] != b.keys[2]);
	b = context_at(&w, RULE_CONCAT, 1, 0, 5);
	assert_true(a.keys[0] != b.keys[0] && a.keys[1] != b.keys[1] && a.keys[2] != b.keys[2]);
	b = context_at(&w, RULES, 1, 1, 5);
	assert_true(a.keys[0] != b.keys[0] && a.keys[1] != b.keys[1] && a.keys[2] != b.keys[2]);
}

/* ---- bytes -------------------------------------------------------------------------------------
 */

static int parse(const void *data, size_t size, struct prior **out)
{
	struct span in = span_of(data, size);
	struct prior *prior = NULL;
	int status = prior_parse(&in, &prior, NULL);

	/* What follows is the caller's. */
	if (!status && span_left(&in)) {
		prior_free(prior);
		return BREVIS_E_USAGE;
	}
	*out = prior;
	return status;
}

static void test_bytes(void **state)
{
	unsigned round, i;

	(void)state;
	for (round = 0; round < rounds(100); round++) {
		struct prior *prior = random_prior(), *again = NULL;
		struct buffer bytes = BUFFER_INIT, second = BUFFER_INIT;

		prior_write(prior, &bytes);
		assert_int_equal(parse(bytes.data, bytes.size, &again), BREVIS_OK);
		prior_write(again, &second);
		assert_int_equal(bytes.size, second.size);
		assert_memory_equal(bytes.data, second.data, bytes.size);
		for (i = 0; i < 100; i++) {
			struct prior_context c = random_context();
			enum rule rule = (enum rule)random_below(RULES);

			assert_int_equal(prior_cost(prior, &c, rule), prior_cost(again, &c, rule));
			assert_true(prior_floor(again, c.admissible) <=
				    prior_cost(again, &c, RULE_LEAF));
		}
		prior_free(prior);
		prior_free(again);
		buffer_release(&bytes);
		buffer_release(&second);
	}
}

/* The bytes depend on the counts, not on their order. */
static void test_bytes_know_no_order(void **state)
{
	struct prior *a = prior_new(), *b = prior_new();
	struct prior_context contexts[20];
	struct buffer first = BUFFER_INIT, second = BUFFER_INIT;
	unsigned i;

	(void)state;
	for (i = 0; i < 20; i++)
		contexts[i] = random_context();
	for (i = 0; i < 20; i++) {
		count(a, &contexts[i], (enum rule)(i % RULES), i + 1);
		count(b, &contexts[19 - i], (enum rule)((19 - i) % RULES), 20 - i);
	}
	prior_write(a, &first);
	prior_write(b, &second);
	assert_int_equal(first.size, second.size);
	assert_memory_equal(first.data, second.data, first.size);
	prior_free(a);
	prior_free(b);
	buffer_release(&first);
	buffer_release(&second);
}

static void test_damage(void **state)
{
	/* One context, with rules 0 and 2 counted once and three times. */
	static const uint8_t good[] = {2, 5, 2, 0, 1, 2, 3, 1, 1, 7, 4};
	static const struct {
		const char *what;
		size_t at;
		uint8_t byte;
	} cases[] = {
		{"more contexts than there is room for", 0, 0x7f},
		{"rules out of order", 5, 0},
		{"a rule that there is not", 5, RULES},
		{"a rule that was counted 0 times", 4, 0},
		{"the same context again", 7, 0},
		{"more rules than bytes", 2, 200},
	};
	struct prior *prior = NULL;
	size_t size, i;

	(void)state;
	assert_int_equal(parse(good, sizeof(good), &prior), BREVIS_OK);
	prior_free(prior);
	for (size = 0; size < sizeof(good); size++)
		assert_int_equal(parse(good, size, &prior), BREVIS_E_FORMAT);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t bytes[sizeof(good)];

		memcpy(bytes, good, sizeof(good));
		bytes[cases[i].at] = cases[i].byte;
		if (parse(bytes, sizeof(bytes), &prior) != BREVIS_E_FORMAT)
			fail_msg("%s is not refused", cases[i].what);
	}
}

/* Numbers that do not fit: counts beyond 16 bits, keys that wrap around. */
static void test_large_numbers(void **state)
{
	struct buffer bytes = BUFFER_INIT;
	struct prior *prior = NULL;
	uint64_t number;

	(void)state;
	for (number = UINT16_MAX; number <= UINT16_MAX + 1; number++) {
		buffer_clear(&bytes);
		buffer_append(&bytes, "\1\5\1\0", 4);
		buffer_varint(&bytes, number);
		assert_int_equal(parse(bytes.data, bytes.size, &prior),
				 number > UINT16_MAX ? BREVIS_E_FORMAT : BREVIS_OK);
		if (number == UINT16_MAX)
			prior_free(prior);
	}
	buffer_clear(&bytes);
	buffer_u8(&bytes, 2);
	for (number = 0; number < 2; number++) {
		buffer_varint(&bytes, UINT64_MAX);
		buffer_append(&bytes, "\1\0\1", 3);
	}
	assert_int_equal(parse(bytes.data, bytes.size, &prior), BREVIS_E_FORMAT);
	buffer_release(&bytes);
}

/* Whatever the bytes are, they are refused, or a prior that can be asked. */
static void test_random_damage(void **state)
{
	unsigned round, good = 0;

	(void)state;
	for (round = 0; round < rounds(3000); round++) {
		struct prior *prior = random_prior(), *again = NULL;
		struct prior_context c = random_context();
		struct buffer bytes = BUFFER_INIT;

		prior_write(prior, &bytes);
		bytes.data[random_below(bytes.size)] ^= (uint8_t)(1 + random_below(255));
		if (parse(bytes.data, bytes.size, &again) == BREVIS_OK) {
			good++;
			assert_true(prior_floor(again, c.admissible) <=
				    prior_cost(again, &c, RULE_LEAF));
			prior_free(again);
		}
		prior_free(prior);
		buffer_release(&bytes);
	}
	assert_true(good < round);
}

/* ---- models: a prior and a codebook in one file
 * -------------------------------------------------- */

/* The model of a few tensors; words are BF16 weights. */
static void make_model(struct model *model)
{
	enum { TENSORS = 80, WORDS = 500 };
	static uint16_t words[TENSORS][WORDS];
	static struct tensor_kind kind;
	struct sample_tensor tensors[TENSORS];
	size_t i;

	kind = (struct tensor_kind){.dtype = 1, .is_float = true, .shape = shape_of_row(WORDS)};
	random_bf16(words, (size_t)TENSORS * WORDS, 0.02f);
	for (i = 0; i < TENSORS; i++)
		tensors[i] = (struct sample_tensor){words[i], 16, WORDS, &kind};
	assert_int_equal(model_calibrate(tensors, TENSORS, tensors, TENSORS, model, NULL),
			 BREVIS_OK);
}

static void test_model_bytes(void **state)
{
	struct model model = {0}, again = {0};
	struct brevis_sha256 *sha = brevis_sha256_new();
	uint8_t digest[BREVIS_SHA256_SIZE], *copy;
	struct brevis_error err = {0};
	size_t size;

	(void)state;
	make_model(&model);
	assert_true(model.named);
	assert_non_null(model.prior);
	assert_non_null(model.codebook);
	brevis_sha256_update(sha, model.bytes.data, model.bytes.size);
	brevis_sha256_final(sha, digest);
	brevis_sha256_free(sha);
	assert_memory_equal(digest, model.sha256, sizeof(digest));
	assert_int_equal(model_parse(model.bytes.data, model.bytes.size, &again, NULL), BREVIS_OK);
	assert_memory_equal(again.sha256, model.sha256, sizeof(digest));
	assert_int_equal(codebook_count(again.codebook), codebook_count(model.codebook));
	model_release(&again);
	/* Cut short anywhere, or longer by a byte; no byte beyond the end is looked at. */
	for (size = 0; size < model.bytes.size; size++) {
		copy = must_alloc(size);
		memcpy(copy, model.bytes.data, size);
		assert_int_equal(model_parse(copy, size, &again, &err), BREVIS_E_FORMAT);
		free(copy);
	}
	buffer_u8(&model.bytes, 0);
	assert_int_equal(model_parse(model.bytes.data, model.bytes.size, &again, NULL),
			 BREVIS_E_FORMAT);
	model.bytes.size--;
	/* Magic and version. */
	for (size = 0; size < 9; size++) {
		model.bytes.data[size] ^= 1;
		assert_int_equal(model_parse(model.bytes.data, model.bytes.size, &again, NULL),
				 BREVIS_E_FORMAT);
		model.bytes.data[size] ^= 1;
	}
	model_release(&model);
}

/* A flipped byte is refused, or gives a model that can be used. */
static void test_damaged_models(void **state)
{
	struct model model = {0};
	size_t i;

	(void)state;
	make_model(&model);
	for (i = 0; i < model.bytes.size; i++) {
		struct model again = {0};
		uint8_t flip = (uint8_t)(1 + random_below(255));
		int status;

		model.bytes.data[i] ^= flip;
		status = model_parse(model.bytes.data, model.bytes.size, &again, NULL);
		assert_true(status == BREVIS_OK || status == BREVIS_E_FORMAT);
		if (!status)
			model_release(&again);
		model.bytes.data[i] ^= flip;
	}
	model_release(&model);
}

/* Another codebook may take the place of its own, or none; the name stays. */
static void test_adopted_codebook(void **state)
{
	struct model model = {0}, other = {0};
	uint8_t name[BREVIS_SHA256_SIZE];
	struct span own, bytes;

	(void)state;
	make_model(&model);
	make_model(&other);
	memcpy(name, model.sha256, sizeof(name));
	own = codebook_bytes(other.codebook);
	assert_int_equal(model_adopt_codebook(&model, own, NULL), BREVIS_OK);
	bytes = codebook_bytes(model.codebook);
	assert_int_equal(span_left(&bytes), span_left(&own));
	assert_memory_equal(bytes.at, own.at, span_left(&own));
	assert_memory_equal(name, model.sha256, sizeof(name));
	assert_int_equal(model_adopt_codebook(&model, span_of("\0", 1), NULL), BREVIS_E_FORMAT);
	assert_non_null(model.codebook);
	assert_int_equal(model_adopt_codebook(&model, span_of("", 0), NULL), BREVIS_OK);
	assert_null(model.codebook);
	model_release(&model);
	model_release(&other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_uniform),
		TEST(test_counts),
		TEST(test_back_off),
		TEST(test_floor_is_admissible),
		TEST(test_no_cost_is_infinite),
		TEST(test_contexts),
		TEST(test_bytes),
		TEST(test_bytes_know_no_order),
		TEST(test_damage),
		TEST(test_large_numbers),
		TEST(test_random_damage),
		TEST(test_model_bytes),
		TEST(test_damaged_models),
		TEST(test_adopted_codebook),
	};

	seed_init("test_prior");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
