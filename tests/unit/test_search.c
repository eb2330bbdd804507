/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the search finds: tensors made for one operator each get a program with that operator, which
 * is smaller than any program without it could be; and the search itself, whatever its options.
 */
#include "tests/unit/synthesis_cases.h"

#include "core/synthesis/rules.h"
#include "core/synthesis/search.h"

/* ---- the paper's running example (Equation 7) --------------------------------------------------
 */

static void test_running_example(void **state)
{
	static const uint8_t words[24] = {0, 0, 0x80, 0x3f, 0, 0, 0x80, 0xbf, 0, 0, 0x80, 0x3f,
					  0, 0, 0x80, 0xbf, 0, 0, 0x80, 0x3f, 0, 0, 0x80, 0xbf};
	struct tensor_kind kind = TENSOR("F32", 6);
	struct found found = synthesize_at(words, 32, 6, &kind, BREVIS_PRESET_BEST);
	struct buffer text = BUFFER_INIT;

	(void)state;
	program_print(&found.program, &text);
	buffer_u8(&text, 0);
	assert_string_equal((const char *)text.data, "merge_{FP32}(repeat_3(lit1(0, 1)), "
						     "const8,6(127), const23,6(0))");
	/* Merge; repeat; a literal of two raw words; two consts. */
	assert_int_equal(found.bytes.size, 1 + 1 + 3 + 2 + 2);
	buffer_release(&text);
	found_release(&found);
}

/* ---- an operator for each structure ------------------------------------------------------------
 */

/*
 * A tensor made for one operator: it is to be in the program, which is to take at most `bound`
 * bytes.
 */
static struct found expect(const void *words, unsigned width, size_t count,
			   const struct tensor_kind *kind, enum brevis_preset preset,
			   enum operation op, size_t bound)
{
	struct found found = synthesize_at(words, width, count, kind, preset);

	if (!find_node(&found.program, op) || found.bytes.size > bound) {
		show(&found);
		fail_msg("no operation %d, or over %zu bytes", (int)op, bound);
	}
	return found;
}

static void test_copies_are_repeated(void **state)
{
	enum { PERIOD = 1000, COPIES = 7 };
	unsigned w;

	(void)state;
	for (w = 0; w < 4; w++) {
		unsigned width = widths[w];
		size_t size = PERIOD * (width / 8), i;
		uint8_t *words = must_alloc(size * COPIES);
		struct tensor_kind kind = TENSOR(width == 8 ? "U8" : "F32", COPIES, PERIOD);
		struct found found;

		random_fill(words, size);
		for (i = 1; i < COPIES; i++)
			memcpy(words + i * size, words, size);
		found = expect(words, width, PERIOD * COPIES, &kind, BREVIS_PRESET_FAST, OP_REPEAT,
			       size + 16);
		assert_int_equal(find_node(&found.program, OP_REPEAT)->times, COPIES);
		found_release(&found);
		free(words);
	}
}

/* An arithmetic progression is three numbers. */
static void test_progression_is_scanned(void **state)
{
	enum { COUNT = 5000 };
	static const char *const dtypes[] = {"I8", "I16", "I32", "I64"};
	unsigned w;

	(void)state;
	for (w = 1; w < 4; w++) {
		uint8_t *words = must_alloc(COUNT * 8);
		struct tensor_kind kind = TENSOR(dtypes[w], COUNT);
		struct found found;
		size_t i;

		for (i = 0; i < COUNT; i++)
			put_word(words, widths[w], i, 12345 + i * 37);
		found = expect(words, widths[w], COUNT, &kind, BREVIS_PRESET_DEFAULT, OP_SCAN, 16);
		assert_int_equal(find_node(&found.program, OP_SCAN)->form, SCAN_ADD);
		assert_int_equal(find_node(&found.program, OP_SCAN)->value, 12345);
		found_release(&found);
		free(words);
	}
}

/* From word to word one bit changes: 5 bits say which, and of the words themselves none is common.
 */
static void test_xor_chain_is_scanned(void **state)
{
	enum { COUNT = 8000 };
	static uint8_t words[COUNT * 4];
	struct tensor_kind kind = TENSOR("I32", COUNT);
	uint32_t word = (uint32_t)random_next();
	struct found found;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT; i++) {
		word ^= UINT32_C(1) << random_below(32);
		store_le32(words + 4 * i, word);
	}
	found = expect(words, 32, COUNT, &kind, BREVIS_PRESET_BEST, OP_SCAN, COUNT * 7 / 8);
	assert_int_equal(find_node(&found.program, OP_SCAN)->form, SCAN_XOR);
	found_release(&found);
}

/*
 * -100 to 100, 7.7 bits each. A merge alone has the sign in several fields, 1 bit each. Whether the
 * map is to zigzag codes or makes all words positive is the same to us.
 */
static void test_small_integers_are_mapped(void **state)
{
	enum { COUNT = 20000 };
	static const char *const dtypes[] = {"I8", "I16", "I32", "I64"};
	unsigned w, mapped = 0;

	(void)state;
	for (w = 1; w < 4; w++) {
		uint8_t *words = must_alloc(COUNT * 8);
		struct tensor_kind kind = TENSOR(dtypes[w], COUNT / 100, 100);
		struct found found;
		size_t i;

		for (i = 0; i < COUNT; i++)
			put_word(words, widths[w], i, random_below(201) - 100);
		found = synthesize_at(words, widths[w], COUNT, &kind, BREVIS_PRESET_DEFAULT);
		assert_true(found.bytes.size <= COUNT * 78 / 80 + 64);
		/* By chance a merge is smaller, of some. */
		mapped += find_node(&found.program, OP_MAP) != NULL;
		found_release(&found);
		free(words);
	}
	assert_true(mapped > 0);
}

/* Laplacian numbers of any size: their zigzag codes are a falling curve, an offset leaves a peak.
 */
static void test_unzigzag(void **state)
{
	enum { COUNT = 20000 };
	static uint8_t words[COUNT * 4];
	struct tensor_kind kind = TENSOR("I32", COUNT);
	struct found found;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT; i++) {
		uint32_t v = (uint32_t)random_below(UINT64_C(1) << random_below(24));

		store_le32(words + 4 * i, random_below(2) ? v : 0 - v);
	}
	found = expect(words, 32, COUNT, &kind, BREVIS_PRESET_DEFAULT, OP_MAP, COUNT * 17 / 8);
	assert_int_equal(find_node(&found.program, OP_MAP)->form, MAP_UNZIGZAG);
	found_release(&found);
}

/*
 * 70 % zeros among BF16 weights: 0.88 bits say which, 0.3 * 10.8 bits are the others: 4.1. Fields
 * know of the zeros each for itself: 5.0.
 */
static void test_zeros_are_masked(void **state)
{
	enum { COUNT = 60000 };
	static uint8_t words[COUNT * 2];
	struct tensor_kind kind = TENSOR("BF16", 300, 200);
	struct found found;
	size_t i;

	(void)state;
	random_bf16(words, COUNT, 0.02f);
	for (i = 0; i < COUNT; i++)
		if (random_below(10) < 7)
			store_le16(words + 2 * i, 0);
	found = expect(words, 16, COUNT, &kind, BREVIS_PRESET_DEFAULT, OP_ESCAPE, COUNT * 43 / 80);
	assert_int_equal(find_node(&found.program, OP_ESCAPE)->value, 0);
	assert_int_equal(find_node(&found.program, OP_ESCAPE)->arity, 2);
	found_release(&found);
}

/* All bits set is the most common word: a mask of it would need a code beyond the last word. */
static void test_common_last_word(void **state)
{
	enum { COUNT = 4000 };
	static uint8_t words[COUNT * 8];
	unsigned w, preset;
	size_t i;

	(void)state;
	for (w = 0; w < 4; w++) {
		struct tensor_kind kind = tensor_of_words(widths[w], COUNT);

		for (i = 0; i < COUNT; i++)
			put_word(words, widths[w], i,
				 random_below(10) < 7 ? UINT64_MAX : random_next());
		for (preset = 0; preset < 3; preset++) {
			kind.is_float = random_below(2);
			assert_true(size_at(words, widths[w], COUNT, &kind,
					    (enum brevis_preset)preset) <
				    COUNT * (widths[w] / 8) * 3 / 4);
		}
	}
}

/*
 * Eight 4-bit weights in each integer, in blocks of two scales: 2 bits and 4 bits for each weight,
 * 3 on average. As fields of the integers: tables for each, and 3.4 bits where scales are mixed.
 */
static void test_nibbles_are_packed(void **state)
{
	enum { ROWS = 128, COLUMNS = 64 };
	static uint8_t words[ROWS * COLUMNS * 4];
	struct tensor_kind kind = TENSOR("I32", ROWS, COLUMNS);
	struct found found;
	size_t i, k;

	(void)state;
	for (i = 0; i < ROWS * COLUMNS; i++) {
		uint32_t word = 0;

		for (k = 0; k < 8; k++)
			word = word << 4 |
			       (uint32_t)(i / COLUMNS % 2 ? 6 + random_below(4) : random_below(16));
		store_le32(words + 4 * i, word);
	}
	found = expect(words, 32, ROWS * COLUMNS, &kind, BREVIS_PRESET_DEFAULT, OP_PACK,
		       ROWS * COLUMNS * 8 * 31 / 80);
	/* By one, or by two together. */
	assert_true(find_node(&found.program, OP_PACK)->times >= 4);
	assert_non_null(find_node(&found.program, OP_ROUTE));
	found_release(&found);
}

/* ---- scales of rows and columns ----------------------------------------------------------------
 */

enum { ROWS = 400, COLUMNS = 300 };

/* BF16 weights whose scale is one of three for each row, each column, or the product of the two. */
static void fill_scaled(uint8_t *words, bool by_row, bool by_column)
{
	static const float scales[] = {1, 1.0f / 16, 1.0f / 256};
	uint8_t row_of[ROWS], column_of[COLUMNS];
	size_t r, c;

	for (r = 0; r < ROWS; r++)
		row_of[r] = (uint8_t)(by_row ? random_below(3) : 0);
	for (c = 0; c < COLUMNS; c++)
		column_of[c] = (uint8_t)(by_column ? random_below(3) : 0);
	for (r = 0; r < ROWS; r++)
		for (c = 0; c < COLUMNS; c++)
			random_bf16(words + 2 * (r * COLUMNS + c), 1,
				    scales[row_of[r]] * scales[column_of[c]]);
}

/*
 * What one scale takes, and some more for tables and classes, which is little beside the bit of
 * each word that three scales together cost.
 */
static void test_scales_are_routed(void **state)
{
	static uint8_t words[ROWS * COLUMNS * 2];
	struct tensor_kind kind = TENSOR("BF16", ROWS, COLUMNS);
	size_t one_scale;
	unsigned which;

	(void)state;
	fill_scaled(words, false, false);
	one_scale = size_at(words, 16, ROWS * COLUMNS, &kind, BREVIS_PRESET_DEFAULT);
	for (which = 1; which < 4; which++) {
		const struct node *route;
		struct found found;

		fill_scaled(words, which & 1, which & 2);
		assert_true(size_at(words, 16, ROWS * COLUMNS, &kind, BREVIS_PRESET_FAST) >
			    one_scale + ROWS * COLUMNS / 8);
		found = expect(words, 16, ROWS * COLUMNS, &kind, BREVIS_PRESET_DEFAULT, OP_ROUTE,
			       one_scale + 2000);
		route = find_node(&found.program, OP_ROUTE);
		assert_int_equal(route->classes.row_classes > 1, which & 1);
		assert_int_equal(route->classes.column_classes > 1, which >> 1);
		assert_int_equal(route->classes.map != NULL, which == 3);
		found_release(&found);
	}
}

/* Columns that have one sign each, but for a few words: less than half a bit for each sign. */
static void test_signs_of_columns(void **state)
{
	static uint8_t words[ROWS * COLUMNS * 2];
	struct tensor_kind kind = TENSOR("BF16", ROWS, COLUMNS);
	size_t mixed, i;
	struct found found;

	(void)state;
	fill_scaled(words, false, false);
	mixed = size_at(words, 16, ROWS * COLUMNS, &kind, BREVIS_PRESET_DEFAULT);
	for (i = 0; i < ROWS * COLUMNS; i++) {
		bool negative = i % COLUMNS * 7 % 5 < 2;

		if (random_below(20) == 0)
			negative = !negative;
		words[2 * i + 1] = (uint8_t)((words[2 * i + 1] & 0x7f) | negative << 7);
	}
	found = synthesize_at(words, 16, ROWS * COLUMNS, &kind, BREVIS_PRESET_DEFAULT);
	assert_true(find_node(&found.program, OP_FLIP) || find_node(&found.program, OP_ROUTE));
	assert_true(found.bytes.size < mixed - ROWS * COLUMNS / 2 / 8);
	found_release(&found);
}

/* ---- floats that were shorter ones -------------------------------------------------------------
 */

static uint32_t f16_as_f32(uint16_t h)
{
	return (uint32_t)(h >> 15) << 31 | ((uint32_t)(h >> 10 & 31) + 112) << 23 |
	       (uint32_t)(h & 1023) << 13;
}

static void check_upcast(unsigned zeros, enum brevis_preset preset)
{
	enum { COUNT = 30000 };
	static uint8_t words[COUNT * 4];
	struct tensor_kind kind = TENSOR("F32", COUNT);
	struct found found;
	unsigned i, low = 0;

	random_f32(words, COUNT, 0.1f);
	for (i = 0; i < COUNT; i++) {
		uint32_t v = load_le32(words + 4 * i);

		store_le32(words + 4 * i,
			   zeros == 16 ? v & 0xffff0000
				       : f16_as_f32((uint16_t)(v >> 31 << 15 |
							       ((v >> 23 & 31) + 15) % 31 << 10 |
							       (v >> 13 & 1023))));
	}
	/* What the zeros are worth: the other bits, of which the exponent's are the rarest. */
	found = expect(words, 32, COUNT, &kind, preset, OP_CONST,
		       COUNT * (32 - zeros) / 8 * 9 / 10);
	for (i = 0; i < found.program.size; i++)
		if (found.program.nodes[i].op == OP_CONST && !found.program.nodes[i].value)
			low = found.program.nodes[i].width;
	assert_in_range(low, zeros, zeros);
	found_release(&found);
}

static void test_upcasts(void **state)
{
	(void)state;
	check_upcast(16, BREVIS_PRESET_FAST);
	check_upcast(16, BREVIS_PRESET_DEFAULT);
	check_upcast(13, BREVIS_PRESET_FAST);
	check_upcast(13, BREVIS_PRESET_BEST);
}

/* ---- byte matching -----------------------------------------------------------------------------
 */

/* Sentences of a few words, whose letters alone tell nothing. */
static void fill_text(uint8_t *text, size_t size)
{
	uint8_t phrases[32][24];
	size_t at = 0, n;

	random_fill(phrases, sizeof(phrases));
	while (at < size) {
		n = 24 < size - at ? 24 : size - at;
		memcpy(text + at, phrases[random_below(32)], n);
		at += n;
	}
}

static unsigned coding_of_text(enum brevis_preset preset, size_t bound)
{
	enum { SIZE = 60000 };
	static uint8_t text[SIZE];
	struct tensor_kind kind = TENSOR("U8", SIZE);
	struct found found;
	unsigned coding;

	fill_text(text, SIZE);
	found = expect(text, 8, SIZE, &kind, preset, OP_LIT, bound);
	assert_int_equal(found.program.size, 1);
	coding = found.program.nodes[0].literal.coding;
	found_release(&found);
	return coding;
}

static void test_text_is_matched(void **state)
{
	unsigned coding;

	(void)state;
	assert_int_equal(coding_of_text(BREVIS_PRESET_DEFAULT, 60000 / 8), LITERAL_ZSTD);
	coding = coding_of_text(BREVIS_PRESET_BEST, 60000 / 8);
	assert_true(coding == LITERAL_ZSTD || coding == LITERAL_LZMA2);
}

/* ---- the search itself -------------------------------------------------------------------------
 */

/* Whatever the order and the budget, the program restores the words, and twice the same is found.
 */
static void test_options(void **state)
{
	static const unsigned budgets[] = {1, 2, 3, 7, 32, 256};
	size_t shape, i;

	(void)state;
	for (shape = 0; shape < SHAPES; shape++) {
		for (i = 0; i < 3 * sizeof(budgets) / sizeof(budgets[0]); i++) {
			struct synthesis_options options = {.preset = (enum brevis_preset)(i % 3),
							    .budget = budgets[i / 3]};
			unsigned width = widths[random_below(4)];
			size_t count = 1 + random_below(1500);
			struct tensor_kind kind = tensor_of_words(width, count);
			uint8_t *words = make_words(shapes[shape].word, width, count);
			struct found a, b;

			kind.is_float = random_below(2);
			options.first_come = random_below(2);
			a = synthesize_with(words, width, count, &kind, &options);
			b = synthesize_with(words, width, count, &kind, &options);
			assert_int_equal(a.bytes.size, b.bytes.size);
			assert_memory_equal(a.bytes.data, b.bytes.data, a.bytes.size);
			found_release(&a);
			found_release(&b);
			free(words);
		}
	}
}

/* A search that is given more expansions finds nothing larger. */
static void test_larger_budgets(void **state)
{
	size_t shape, i;
	unsigned w, larger = 0;

	(void)state;
	for (shape = 0; shape < SHAPES; shape++) {
		for (w = 0; w < 4; w++) {
			size_t count = 1 + random_below(3000), last = SIZE_MAX;
			struct tensor_kind kind = tensor_of_words(widths[w], count);
			uint8_t *words = make_words(shapes[shape].word, widths[w], count);

			for (i = 1; i <= 256; i *= 4) {
				struct synthesis_options options = {.preset = BREVIS_PRESET_BEST,
								    .budget = (unsigned)i};
				struct found found =
					synthesize_with(words, widths[w], count, &kind, &options);

				if (found.bytes.size > last) {
					print_message("# %s %u[%zu], budget %zu: %zu > %zu\n",
						      shapes[shape].name, widths[w], count, i,
						      found.bytes.size, last);
					larger++;
				}
				last = found.bytes.size;
				found_release(&found);
			}
			free(words);
		}
	}
	assert_int_equal(larger, 0);
}

/*
 * Regions between runs, each worth nodes of its own: the limits of nodes and depth hold, whatever
 * the search has room for.
 */
static void test_many_regions(void **state)
{
	enum { REGION = 9000, REGIONS = 6, RUN = 100, COUNT = REGIONS * (REGION + RUN) };
	static uint8_t words[COUNT * 2];
	struct synthesis_options options = {.preset = BREVIS_PRESET_BEST, .budget = 64};
	struct tensor_kind kind = TENSOR("BF16", COUNT);
	struct found found;
	size_t i, r;

	(void)state;
	for (r = 0; r < REGIONS; r++) {
		uint8_t *at = words + 2 * r * (REGION + RUN);

		for (i = 0; i < REGION; i++) {
			random_bf16(at + 2 * i, 1, i / 128 % 3 ? 0.02f : 4.0f);
			if (random_below(3) == 0)
				store_le16(at + 2 * i, (uint16_t)r);
		}
		for (; i < REGION + RUN; i++)
			store_le16(at + 2 * i, (uint16_t)(r + 100));
	}
	found = synthesize_with(words, 16, COUNT, &kind, &options);
	assert_true(found.bytes.size < COUNT * 2 * 7 / 10);
	found_release(&found);
	options.preset = BREVIS_PRESET_DEFAULT;
	options.first_come = true;
	found = synthesize_with(words, 16, COUNT, &kind, &options);
	found_release(&found);
}

/* An empty search still has the literal. */
static void test_no_expansion(void **state)
{
	uint8_t words[100];
	struct words target = {words, 8, sizeof(words)};
	struct search_options options = {.dtype = 0};
	struct stream *root = stream_new(&target, NULL, NULL, MEANS_INTEGER);
	struct buffer out = BUFFER_INIT;
	struct search *search;
	struct program program;

	(void)state;
	assert_non_null(root);
	random_fill(words, sizeof(words));
	search = search_new(root, &options);
	assert_non_null(search);
	assert_int_equal(search_explore(search, EFFORT_BEST, 0, NULL), BREVIS_OK);
	assert_int_equal(search_finish(search, &out, NULL, NULL), BREVIS_OK);
	search_free(search);
	search_free(NULL);
	stream_free(root);
	assert_int_equal(
		program_parse(span_of(out.data, out.size), 8, sizeof(words), NULL, &program, NULL),
		BREVIS_OK);
	assert_int_equal(program.nodes[0].op, OP_LIT);
	check_restores(&program, words, sizeof(words));
	program_release(&program);
	buffer_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_running_example),
		TEST(test_copies_are_repeated),
		TEST(test_progression_is_scanned),
		TEST(test_xor_chain_is_scanned),
		TEST(test_small_integers_are_mapped),
		TEST(test_unzigzag),
		TEST(test_zeros_are_masked),
		TEST(test_common_last_word),
		TEST(test_nibbles_are_packed),
		TEST(test_scales_are_routed),
		TEST(test_signs_of_columns),
		TEST(test_upcasts),
		TEST(test_text_is_matched),
		TEST(test_options),
		TEST(test_larger_budgets),
		TEST(test_many_regions),
		TEST(test_no_expansion),
	};

	seed_init("test_search");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
