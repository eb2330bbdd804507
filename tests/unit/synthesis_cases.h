/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What the tests of core/synthesis share: streams of many shapes, and synthesis with everything
 * checked that holds for every program: it restores the words, is the same each time, and is never
 * larger than the words by more than 16 bytes.
 */
#ifndef TESTS_UNIT_SYNTHESIS_CASES_H
#define TESTS_UNIT_SYNTHESIS_CASES_H

#include "tests/unit/support.h"

#include "core/base/bits.h"
#include "core/program/program.h"
#include "core/safetensors/dtype.h"
#include "core/synthesis/synthesize.h"
#include "tests/unit/decoding.h"

static const unsigned widths[] = {8, 16, 32, 64};

static inline void put_word(uint8_t *to, unsigned width, size_t i, uint64_t v)
{
	unsigned j;

	for (j = 0; j < width / 8; j++)
		to[i * (width / 8) + j] = (uint8_t)(v >> (8 * j));
}

static inline uint64_t random_word(unsigned width)
{
	return random_next() >> (64 - width);
}

/* ---- shapes of streams ----------------------------------------------------------------------- */

typedef uint64_t shape_fn(unsigned width, size_t i, size_t count, uint64_t fixed);

static uint64_t shape_constant(unsigned width, size_t i, size_t count, uint64_t fixed)
{
	(void)width, (void)i, (void)count;
	return fixed;
}

static uint64_t shape_zero(unsigned width, size_t i, size_t count, uint64_t fixed)
{
	(void)width, (void)i, (void)count, (void)fixed;
	return 0;
}

static uint64_t shape_noise(unsigned width, size_t i, size_t count, uint64_t fixed)
{
	(void)i, (void)count, (void)fixed;
	return random_word(width);
}

static uint64_t shape_two_values(unsigned width, size_t i, size_t count, uint64_t fixed)
{
	(void)i, (void)count;
	return random_below(3) ? fixed : ~fixed & low_bits(width);
}

static uint64_t shape_run_at_start(unsigned width, size_t i, size_t count, uint64_t fixed)
{
	return i < count / 3 ? fixed : random_word(width);
}

static uint64_t shape_run_at_end(unsigned width, size_t i, size_t count, uint64_t fixed)
{
	return i >= count - count / 3 ? fixed : random_word(width);
}

/* The whole stream, but for one word. */
static uint64_t shape_runs_around_one(unsigned width, size_t i, size_t count, uint64_t fixed)
{
	(void)width;
	return i == count / 2 ? fixed ^ 1 : fixed;
}

/* Two runs and nothing between. */
static uint64_t shape_two_runs(unsigned width, size_t i, size_t count, uint64_t fixed)
{
	(void)width;
	return i < count / 2 ? fixed : fixed ^ 1;
}

/* Words that use only their upper half: floats that were widened. */
static uint64_t shape_zero_low_bits(unsigned width, size_t i, size_t count, uint64_t fixed)
{
	(void)i, (void)count, (void)fixed;
	return random_word(width) & ~low_bits(width / 2);
}

/* Small signed numbers. */
static uint64_t shape_small(unsigned width, size_t i, size_t count, uint64_t fixed)
{
	(void)i, (void)count, (void)fixed;
	return (random_below(9) - 4) & low_bits(width);
}

/* A narrow range that no field of bits has: only packing above a base finds it. */
static uint64_t shape_narrow_range(unsigned width, size_t i, size_t count, uint64_t fixed)
{
	uint64_t base = UINT64_C(0x5555555555555555) & low_bits(width);

	(void)i, (void)count, (void)fixed;
	return base - 100 % (base + 1) + random_below(width == 8 ? 100 : 256);
}

static uint64_t shape_counting(unsigned width, size_t i, size_t count, uint64_t fixed)
{
	(void)count, (void)fixed;
	return i & low_bits(width);
}

static uint64_t shape_sparse(unsigned width, size_t i, size_t count, uint64_t fixed)
{
	(void)i, (void)count, (void)fixed;
	return random_below(20) ? 0 : random_word(width);
}

/* A float of this width that is about normally distributed: E4M3, F16, F32, F64. */
static uint64_t shape_float(unsigned width, size_t i, size_t count, uint64_t fixed)
{
	float f = random_normal() * 0.02f;
	uint32_t bits;
	uint64_t sign, exponent;

	(void)i, (void)count, (void)fixed;
	memcpy(&bits, &f, sizeof(bits));
	sign = bits >> 31;
	exponent = bits >> 23 & 0xff;
	if (width == 32)
		return bits;
	if (width == 64)
		return sign << 63 | (exponent - 127 + 1023) << 52 |
		       (uint64_t)(bits & 0x7fffff) << 29 | random_below(1 << 29);
	if (width == 16)
		return sign << 15 |
		       (exponent > 112 ? (exponent - 112) << 10 | (bits >> 13 & 0x3ff) : 0);
	return sign << 7 | (exponent > 120 ? (exponent - 120) << 3 | (bits >> 20 & 7) : 0);
}

/* BF16, and its like in the upper half of wider words. */
static uint64_t shape_bf16(unsigned width, size_t i, size_t count, uint64_t fixed)
{
	uint8_t raw[2];

	(void)i, (void)count, (void)fixed;
	random_bf16(raw, 1, 0.02f);
	return width == 8 ? raw[1] : (uint64_t)load_le16(raw) << (width - 16);
}

static const struct {
	const char *name;
	shape_fn *word;
} shapes[] = {
	{"constant", shape_constant},
	{"zero", shape_zero},
	{"noise", shape_noise},
	{"two values", shape_two_values},
	{"run at start", shape_run_at_start},
	{"run at end", shape_run_at_end},
	{"runs around one", shape_runs_around_one},
	{"two runs", shape_two_runs},
	{"zero low bits", shape_zero_low_bits},
	{"small", shape_small},
	{"narrow range", shape_narrow_range},
	{"counting", shape_counting},
	{"sparse", shape_sparse},
	{"float", shape_float},
	{"bf16", shape_bf16},
};

#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

static inline uint8_t *make_words(shape_fn *word, unsigned width, size_t count)
{
	uint8_t *words = must_alloc(count * (width / 8));
	uint64_t fixed = random_word(width);
	size_t i;

	for (i = 0; i < count; i++)
		put_word(words, width, i, word(width, i, count, fixed));
	return words;
}

/* ---- synthesis ------------------------------------------------------------------------------- */

/* The bytes of a program, and the program, which points into them. */
struct found {
	struct buffer bytes;
	struct program program;
};

static inline void found_release(struct found *found)
{
	program_release(&found->program);
	buffer_release(&found->bytes);
}

static inline unsigned dtype_number(const char *name)
{
	int number = dtype_find(name, strlen(name));

	assert_true(number >= 0);
	return (unsigned)number;
}

/* A tensor of this type and shape; the extents end with 0. */
static inline struct tensor_kind tensor_of(const char *dtype, const size_t *extents)
{
	struct tensor_kind kind = {.dtype = dtype_number(dtype)};

	kind.is_float = dtype_at(kind.dtype)->is_float;
	for (; *extents; extents++)
		shape_add(&kind.shape, *extents);
	return kind;
}

#define TENSOR(dtype, ...) tensor_of(dtype, (const size_t[]){__VA_ARGS__, 0})

/* Some tensor of so many words that are so wide. */
static inline struct tensor_kind tensor_of_words(unsigned width, size_t count)
{
	return TENSOR(width == 8    ? "F8_E4M3"
		      : width == 16 ? "BF16"
		      : width == 32 ? "F32"
				    : "F64",
		      count);
}

static inline void check_restores(const struct program *program, const void *words, size_t size)
{
	struct brevis_error err = {0};
	uint8_t *out = must_alloc(size);

	if (program_execute(program, out, &err))
		fail_msg("%s", err.message);
	assert_true(!memcmp(out, words, size));
	free(out);
}

/* Synthesises, behind bytes that are already there, and executes. */
static inline struct found synthesize_with(const void *words, unsigned width, size_t count,
					   const struct tensor_kind *kind,
					   const struct synthesis_options *options)
{
	size_t size = count * (width / 8);
	struct buffer bytes = BUFFER_INIT;
	struct brevis_error err = {0};
	struct found found = {BUFFER_INIT, {0}};

	buffer_append(&bytes, "before", 6);
	if (synthesize(words, width, count, kind, options, &bytes, NULL, &err))
		fail_msg("%s", err.message);
	assert_false(buffer_failed(&bytes));
	assert_memory_equal(bytes.data, "before", 6);
	buffer_append(&found.bytes, bytes.data + 6, bytes.size - 6);
	buffer_release(&bytes);
	assert_true(found.bytes.size <= size + 16);
	if (program_parse(span_of(found.bytes.data, found.bytes.size), width, count,
			  options->codebook, &found.program, &err))
		fail_msg("%u[%zu], preset %d: %s", width, count, (int)options->preset, err.message);
	check_restores(&found.program, words, size);
	return found;
}

static inline struct found synthesize_at(const void *words, unsigned width, size_t count,
					 const struct tensor_kind *kind, enum brevis_preset preset)
{
	struct synthesis_options options = {.preset = preset};

	return synthesize_with(words, width, count, kind, &options);
}

/* The size only. */
static inline size_t size_at(const void *words, unsigned width, size_t count,
			     const struct tensor_kind *kind, enum brevis_preset preset)
{
	struct found found = synthesize_at(words, width, count, kind, preset);
	size_t size = found.bytes.size;

	found_release(&found);
	return size;
}

/* The first node of an operation, or NULL. */
static inline const struct node *find_node(const struct program *program, enum operation op)
{
	unsigned i;

	for (i = 0; i < program->size; i++)
		if (program->nodes[i].op == op)
			return &program->nodes[i];
	return NULL;
}

/* Prints it, for when a test fails. */
static inline void show(const struct found *found)
{
	struct buffer text = BUFFER_INIT;

	program_print(&found->program, &text);
	print_message("# %zu bytes: %.*s\n", found->bytes.size, (int)text.size,
		      (const char *)text.data);
	buffer_release(&text);
}

#endif
