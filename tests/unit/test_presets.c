/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each preset promises: `best` is never larger than `default`, `default` never larger than
 * `fast`; no program is larger than its words by more than 16 bytes, no archive larger than its
 * original by more than a thousandth and 4 KiB.
 */
#include "tests/unit/synthesis_cases.h"

static const enum brevis_preset presets[] = {BREVIS_PRESET_FAST, BREVIS_PRESET_DEFAULT,
					     BREVIS_PRESET_BEST};

/* ---- programs ----------------------------------------------------------------------------------
 */

static void check_order(const void *words, unsigned width, size_t count,
			const struct tensor_kind *kind)
{
	size_t fast = size_at(words, width, count, kind, BREVIS_PRESET_FAST);
	size_t normal = size_at(words, width, count, kind, BREVIS_PRESET_DEFAULT);
	size_t best = size_at(words, width, count, kind, BREVIS_PRESET_BEST);

	if (normal > fast || best > normal)
		fail_msg("%u[%zu]: %zu, %zu, %zu", width, count, fast, normal, best);
}

/* Rows and columns that divide the count, at random. */
static void shape_at_random(struct tensor_kind *kind, size_t count)
{
	size_t columns = 1 + (size_t)random_below(count);

	while (count % columns)
		columns--;
	kind->shape = (struct shape){0};
	shape_add(&kind->shape, count / columns);
	shape_add(&kind->shape, columns);
}

static void test_order(void **state)
{
	static const size_t counts[] = {1, 2, 6, 64, 255, 256, 900, 2048, 6000};
	size_t shape, i;
	unsigned w;

	(void)state;
	for (w = 0; w < 4; w++) {
		for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
			for (shape = 0; shape < SHAPES; shape++) {
				struct tensor_kind kind = tensor_of_words(widths[w], counts[i]);
				uint8_t *words =
					make_words(shapes[shape].word, widths[w], counts[i]);

				kind.is_float = random_below(2);
				shape_at_random(&kind, counts[i]);
				check_order(words, widths[w], counts[i], &kind);
				free(words);
			}
		}
	}
}

/* Weights with scales by row and column, zeros, runs and flipped signs, as far as chance has it. */
static void test_order_of_mixtures(void **state)
{
	static const unsigned sizes[][2] = {{16, 300}, {100, 100}, {700, 60}, {33, 1000}};
	unsigned round;

	(void)state;
	for (round = 0; round < 24; round++) {
		size_t rows = sizes[round % 4][0], columns = sizes[round % 4][1], r, c;
		unsigned features = (unsigned)random_next(), width = 16 + 16 * (round / 4 % 2);
		uint8_t *words = must_alloc(rows * columns * 4);
		struct tensor_kind kind = TENSOR(width == 16 ? "BF16" : "F32", rows, columns);

		for (r = 0; r < rows; r++) {
			for (c = 0; c < columns; c++) {
				float scale = (features & 1 && r % 3 == 1 ? 0.01f : 1) *
					      (features & 2 && c % 5 == 2 ? 0.1f : 1);
				uint32_t v;

				random_f32(&v, 1, scale);
				v = load_le32((uint8_t *)&v);
				if (features & 4 && random_below(3) == 0)
					v = 0;
				if (features & 8 && c % 2)
					v |= UINT32_C(1) << 31;
				if (features & 16 && r < rows / 4)
					v = 0x3f800000;
				put_word(words, width, r * columns + c, width == 16 ? v >> 16 : v);
			}
		}
		check_order(words, width, rows * columns, &kind);
		free(words);
	}
}

/* Random words have no smaller program, and take 16 bytes more at most. */
static void test_noise(void **state)
{
	unsigned w, p;
	size_t count, i;

	(void)state;
	for (w = 0; w < 4; w++) {
		for (i = 1; i <= 72; i++) {
			uint8_t *words;
			struct tensor_kind kind;

			count = i <= 70 ? i : i == 71 ? 1000 : 65537;
			words = make_words(shape_noise, widths[w], count);
			kind = tensor_of_words(widths[w], count);
			kind.is_float = random_below(2);
			shape_at_random(&kind, count);
			for (p = 0; p < 3; p++) {
				size_t size = size_at(words, widths[w], count, &kind, presets[p]);

				assert_true(size <= count * (widths[w] / 8) + 16);
				/* No coding wins anything against noise. */
				if (count >= 1000)
					assert_true(size >= count * (widths[w] / 8));
			}
			free(words);
		}
	}
}

/* ---- archives ----------------------------------------------------------------------------------
 */

static size_t archive_size(const struct buffer *file, enum brevis_preset preset)
{
	struct brevis_encode_options options = {.threads = 2, .preset = preset};
	struct encoding e = encode(file->data, file->size, &options);
	size_t size = e.archive.bytes.size;

	assert_restores(&e.archive.bytes, file->data, file->size, 2);
	if (size > file->size + file->size / 1000 + 4096)
		fail_msg("%zu bytes of %zu", size, file->size);
	encoding_release(&e);
	return size;
}

/* Of opaque bytes, of many tensors of noise of every type, and of nothing. */
static void test_archives_of_noise(void **state)
{
	enum { TENSORS = 300 };
	static const char *const dtypes[] = {"U8", "F16", "F32", "F64", "I8", "BF16", "I32", "U64"};
	static uint8_t noise[TENSORS * 8 * 100];
	static struct tensor_spec tensors[TENSORS];
	static char names[TENSORS][8];
	struct buffer file = BUFFER_INIT;
	size_t sizes[3];
	size_t i, count;
	unsigned p;

	(void)state;
	random_fill(noise, sizeof(noise));
	for (i = 0; i < TENSORS; i++) {
		const struct dtype *type = dtype_at(dtype_number(dtypes[i % 8]));

		count = (size_t)random_below(101);
		snprintf(names[i], sizeof(names[i]), "t%zu", i);
		tensors[i] = (struct tensor_spec){names[i], dtypes[i % 8], count,
						  count * (type->bits / 8), noise + 800 * i};
	}
	for (p = 0; p < 3; p++) {
		buffer_clear(&file);
		assert_true(archive_size(&file, presets[p]) < 200);
		put_safetensors(&file, tensors, TENSORS);
		/* Records cost a header each, however small what they restore. */
		sizes[p] = archive_size(&file, presets[p]);
		buffer_clear(&file);
		buffer_append(&file, noise, sizeof(noise));
		archive_size(&file, presets[p]);
	}
	/* What guides the search costs nothing where there is nothing to find. */
	if (sizes[1] > sizes[0] || sizes[2] > sizes[1])
		fail_msg("%zu, %zu, %zu", sizes[0], sizes[1], sizes[2]);
	buffer_release(&file);
}

/* One tensor of noise: what guides the search costs nothing where there is nothing to find. */
static void test_order_of_noise(void **state)
{
	enum { SIZE = 100000 };
	static uint8_t noise[SIZE];
	const struct tensor_spec tensor = {"t", "U8", SIZE, SIZE, noise};
	struct buffer file = BUFFER_INIT;
	size_t fast, normal, best;

	(void)state;
	random_fill(noise, SIZE);
	put_safetensors(&file, &tensor, 1);
	fast = archive_size(&file, BREVIS_PRESET_FAST);
	normal = archive_size(&file, BREVIS_PRESET_DEFAULT);
	best = archive_size(&file, BREVIS_PRESET_BEST);
	if (normal > fast || best > normal)
		fail_msg("%zu, %zu, %zu", fast, normal, best);
	buffer_release(&file);
}

/* A checkpoint of all sorts. */
static void put_checkpoint(struct buffer *file)
{
	enum { LARGE = 40000, SMALL = 500 };
	static uint8_t bf16[LARGE * 2], f32[LARGE * 4], text[LARGE], small[20][SMALL * 2];
	static struct tensor_spec tensors[23];
	static char names[20][8];
	size_t i;

	random_bf16(bf16, LARGE, 0.03f);
	random_f32(f32, LARGE, 1);
	for (i = 0; i < LARGE; i++)
		text[i] = i >= 700 && random_below(50) ? text[i - 700] : (uint8_t)random_next();
	tensors[0] = (struct tensor_spec){"bf16", "BF16", LARGE, LARGE * 2, bf16};
	tensors[1] = (struct tensor_spec){"f32", "F32", LARGE, LARGE * 4, f32};
	tensors[2] = (struct tensor_spec){"text", "U8", LARGE, LARGE, text};
	for (i = 0; i < 20; i++) {
		random_bf16(small[i], SMALL, 0.5f);
		snprintf(names[i], sizeof(names[i]), "s%zu", i);
		tensors[3 + i] = (struct tensor_spec){names[i], "BF16", SMALL, SMALL * 2, small[i]};
	}
	put_safetensors(file, tensors, 23);
}

static void test_order_of_archives(void **state)
{
	struct buffer file = BUFFER_INIT;
	size_t fast, normal, best, round;

	(void)state;
	for (round = 0; round < 3; round++) {
		buffer_clear(&file);
		put_checkpoint(&file);
		if (round == 1)
			file.size -= 1000; /* irregular */
		if (round == 2)
			file.data[8] = 'x'; /* opaque */
		fast = archive_size(&file, BREVIS_PRESET_FAST);
		normal = archive_size(&file, BREVIS_PRESET_DEFAULT);
		best = archive_size(&file, BREVIS_PRESET_BEST);
		if (normal > fast || best > normal)
			fail_msg("%zu, %zu, %zu", fast, normal, best);
	}
	buffer_release(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_order),          TEST(test_order_of_mixtures),
		TEST(test_noise),          TEST(test_archives_of_noise),
		TEST(test_order_of_noise), TEST(test_order_of_archives),
	};

	seed_init("test_presets");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
