/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of the search: for streams of all widths and places in a program, each proposal takes
 * the stream apart into children of which its node makes the stream again (paper Equation 8), in a
 * program that the decoder takes.
 */
#include "tests/unit/expand_cases.h"

#include "core/synthesis/rules.h"

/* How often each rule was expanded: all that are ever proposed must have been. */
static unsigned expanded[RULES];

static struct shape random_shape(size_t count)
{
	struct shape shape = {0};
	size_t divisor;

	while (count > 1 && random_below(4)) {
		divisor = 1 + (size_t)random_below(count);
		while (count % divisor)
			divisor--;
		shape_add(&shape, divisor);
		count /= divisor;
	}
	shape_add(&shape, count);
	return shape;
}

static void check_proposal(struct stream *stream, const struct proposal *proposal, unsigned room)
{
	struct stream *children[PROGRAM_MAX_NODES];
	struct buffer head = BUFFER_INIT, program = BUFFER_INIT;
	struct brevis_error err = {0};
	unsigned arity = 0, i;
	bool applies = false;

	if (rules_expand(stream, proposal, &head, children, &arity, &applies, &err))
		fail_msg("rule %d: %s", (int)proposal->rule, err.message);
	if (!applies)
		return;
	if (arity + 1 > room)
		fail_msg("rule %d has %u children, and room for %u nodes", (int)proposal->rule,
			 arity, room);
	expanded[proposal->rule]++;
	put_root(&program, stream->words.width);
	buffer_append(&program, head.data, head.size);
	for (i = 0; i < arity; i++) {
		assert_true(children[i]->words.width >= 1 && children[i]->words.count >= 1);
		put_literal(&program, &children[i]->words);
	}
	check_program(&program, &stream->words);
	for (i = 0; i < arity; i++)
		stream_free(children[i]);
	buffer_release(&head);
	buffer_release(&program);
}

static void check_rules_of(const struct words *target, const struct shape *shape)
{
	static const enum stream_meaning meanings[] = {MEANS_FLOAT, MEANS_MAGNITUDE, MEANS_INTEGER,
						       MEANS_NOISE};
	struct place place = {.parent = (enum rule)random_below(RULES + 1),
			      .position = (unsigned)random_below(4),
			      .depth = 1 + (unsigned)random_below(PROGRAM_MAX_DEPTH)};
	unsigned room = 1 + (unsigned)random_below(random_below(2) ? 5 : PROGRAM_MAX_NODES);
	struct stream *stream = stream_new(target, NULL, shape, meanings[random_below(4)]);
	struct proposals *proposals = must_alloc(sizeof(*proposals));
	struct brevis_error err = {0};
	unsigned effort, i;

	assert_non_null(stream);
	if (random_below(2))
		place = (struct place){.parent = RULES, .depth = 1};
	for (effort = EFFORT_FAST; effort <= EFFORT_BEST; effort++) {
		if (rules_propose(stream, &place, effort, room, proposals, &err))
			fail_msg("%s", err.message);
		assert_true(proposals->count <= PROPOSALS_MAX);
		for (i = 0; i < proposals->count; i++) {
			assert_true(proposals->list[i].rule != RULE_LEAF);
			check_proposal(stream, &proposals->list[i], room);
		}
		/* A node of its own, and children below it. */
		if (room < 2 || place.depth == PROGRAM_MAX_DEPTH)
			assert_int_equal(proposals->count, 0);
	}
	free(proposals);
	stream_free(stream);
}

static void check_rules(const struct words *target)
{
	struct shape shape = random_shape(target->count);

	check_rules_of(target, &shape);
}

/* Rows, then columns, that differ in scale, in words that are integers of few bits. */
static void check_scales(unsigned width)
{
	enum { ROWS = 60, COLUMNS = 70 };
	void *words = must_alloc(ROWS * COLUMNS * bytes_of(width));
	struct words target = {words, width, ROWS * COLUMNS};
	struct shape shape = {2, {ROWS, COLUMNS}};
	size_t i;

	for (i = 0; i < target.count; i++)
		put(words, width, i, random_word(width) >> (i / COLUMNS % 2 ? width / 2 : 0));
	check_rules_of(&target, &shape);
	for (i = 0; i < target.count; i++)
		put(words, width, i, random_word(width) >> (i % COLUMNS % 2 ? width / 2 : 0));
	check_rules_of(&target, &shape);
	free(words);
}

/* Signs that columns agree in, runs, and a word that is common, in one stream. */
static void check_mixture(unsigned width)
{
	enum { ROWS = 100, COLUMNS = 30 };
	void *words = must_alloc(ROWS * COLUMNS * bytes_of(width));
	struct words target = {words, width, ROWS * COLUMNS};
	uint64_t top = UINT64_C(1) << (width - 1);
	size_t i;

	for (i = 0; i < target.count; i++) {
		uint64_t word = (random_word(width) & (top - 1)) | (i % COLUMNS % 2 ? top : 0);

		put(words, width, i, random_below(2) ? low_bits(width) : word);
		if (i / 128 % 4 == 1)
			put(words, width, i, random_below(2) ? 5 & low_bits(width) : 0);
		if (i / 128 % 8 == 3)
			put(words, width, i, low_bits(width));
	}
	check_rules(&target);
	free(words);
}

/* A narrow range that no field has, above words that are never 0. */
static void check_offset(unsigned width)
{
	enum { COUNT = 3000 };
	void *words = must_alloc(COUNT * bytes_of(width));
	struct words target = {words, width, COUNT};
	uint64_t base = low_bits(width - 2) - 20;
	size_t i;

	for (i = 0; i < COUNT; i++)
		put(words, width, i, base + random_below(40));
	check_rules(&target);
	free(words);
}

/*
 * XOR with a constant only gives other names to the symbols of each field, and so is never worth a
 * proposal; the other functions are by chance.
 */
static bool is_seldom(unsigned rule)
{
	return rule == RULE_ESCAPE ||
	       (rule >= RULE_MAP && rule != RULE_MAP + MAP_ADD && rule != RULE_MAP + MAP_UNZIGZAG);
}

static void test_rules(void **state)
{
	unsigned round, width, rule;

	(void)state;
	for (round = 0; round < 2; round++)
		for_streams(check_rules, 1, 1);
	for (round = 0; round < 2; round++) {
		for (width = 1; width <= 64; width++) {
			check_scales(width);
			check_mixture(width);
		}
	}
	for (round = 0; round < 200; round++)
		check_offset(8u << round % 4);
	for (round = 0; round < 20; round++) {
		check_scales(4 + round % 12);
		check_mixture(8u << round % 4);
	}
	for (rule = RULE_MATCH; rule < RULES; rule++)
		if (!expanded[rule] && !is_seldom(rule))
			fail_msg("rule %u was never expanded", rule);
}

/* The words of every float's cut: widths that have one, and others, at every place. */
static void test_merges_of_all_widths(void **state)
{
	static const enum rule parents[] = {RULES,     RULE_CONCAT, RULE_REPEAT,
					    RULE_FLIP, RULE_MASK,   RULE_MAP};
	unsigned width, i, effort, k, j;

	(void)state;
	for (width = 1; width <= 64; width++) {
		struct words target = make_stream(SHAPE_FLOAT, width, 300);
		struct stream *stream = stream_new(&target, NULL, NULL, MEANS_FLOAT);
		struct proposals *proposals = must_alloc(sizeof(*proposals));

		assert_non_null(stream);
		for (i = 0; i < sizeof(parents) / sizeof(parents[0]); i++) {
			struct place place = {.parent = parents[i], .depth = 2};

			for (effort = EFFORT_FAST; effort <= EFFORT_BEST; effort++) {
				assert_int_equal(
					rules_propose(stream, &place, effort, 64, proposals, NULL),
					BREVIS_OK);
				for (k = 0; k < proposals->count; k++) {
					const struct proposal *p = &proposals->list[k];
					unsigned sum = 0;

					if (p->rule < RULE_MERGE || p->rule > RULE_MERGE_BYTES)
						continue;
					for (j = 0; j < p->cut.count; j++) {
						if (!p->cut.widths[j])
							fail_msg("rule %d: no bits in field %u",
								 (int)p->rule, j);
						sum += p->cut.widths[j];
					}
					assert_int_equal(sum, width);
				}
			}
		}
		free(proposals);
		stream_free(stream);
		words_free(&target);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_rules),
		TEST(test_merges_of_all_widths),
	};

	seed_init("test_rules");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
