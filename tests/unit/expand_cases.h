/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Streams of words for the tests of the expansions: many shapes, any width, plain access to them
 * word by word, and programs that must yield them.
 */
#ifndef TESTS_UNIT_EXPAND_CASES_H
#define TESTS_UNIT_EXPAND_CASES_H

#include "tests/unit/support.h"

#include "core/base/bits.h"
#include "core/program/program.h"
#include "core/synthesis/expand.h"
#include "tests/unit/decoding.h"

/** Bytes of a word in memory, as core/entropy/literal.h says. */
static inline unsigned bytes_of(unsigned width)
{
	return width <= 8 ? 1 : width <= 16 ? 2 : width <= 32 ? 4 : 8;
}

static inline uint64_t get(const void *words, unsigned width, size_t i)
{
	const uint8_t *at = (const uint8_t *)words + i * bytes_of(width);
	uint8_t v8;
	uint16_t v16;
	uint32_t v32;
	uint64_t v64;

	switch (bytes_of(width)) {
	case 1:
		memcpy(&v8, at, 1);
		return v8;
	case 2:
		memcpy(&v16, at, 2);
		return v16;
	case 4:
		memcpy(&v32, at, 4);
		return v32;
	default:
		memcpy(&v64, at, 8);
		return v64;
	}
}

static inline void put(void *words, unsigned width, size_t i, uint64_t v)
{
	uint8_t *at = (uint8_t *)words + i * bytes_of(width);
	uint8_t v8 = (uint8_t)v;
	uint16_t v16 = (uint16_t)v;
	uint32_t v32 = (uint32_t)v;

	switch (bytes_of(width)) {
	case 1:
		memcpy(at, &v8, 1);
		break;
	case 2:
		memcpy(at, &v16, 2);
		break;
	case 4:
		memcpy(at, &v32, 4);
		break;
	default:
		memcpy(at, &v, 8);
	}
}

static inline uint64_t at(const struct words *w, size_t i)
{
	assert_true(i < w->count);
	return get(w->data, w->width, i);
}

static inline uint64_t random_word(unsigned width)
{
	return random_next() >> (64 - width);
}

enum stream_shape {
	SHAPE_NOISE,
	SHAPE_CONSTANT,
	SHAPE_ZERO,
	SHAPE_SPARSE,
	SHAPE_PERIODIC,
	SHAPE_FLOAT,
	SHAPE_SORTED,
	SHAPE_SMALL, /* around zero */
	SHAPE_RUNS,
	SHAPE_EXTREMES,
	SHAPES
};

static inline int compare_words(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* One word of a shape; before is the word before it. */
static inline uint64_t shape_word(enum stream_shape shape, unsigned width, uint64_t fixed,
				  uint64_t before)
{
	uint8_t raw[4];

	switch (shape) {
	case SHAPE_CONSTANT:
		return fixed;
	case SHAPE_ZERO:
		return 0;
	case SHAPE_SPARSE:
		return random_below(20) ? 0 : random_word(width);
	case SHAPE_FLOAT: /* its upper bits, or all of them above lower ones that are noise */
		random_f32(raw, 1, 0.02f);
		return width <= 32
			       ? load_le32(raw) >> (32 - width)
			       : (uint64_t)load_le32(raw) << (width - 32) | random_word(width - 32);
	case SHAPE_SMALL:
		return (random_below(9) - 4) & low_bits(width);
	case SHAPE_RUNS:
		return random_below(100) ? before : random_word(width);
	case SHAPE_EXTREMES:
		return (random_below(2) ? low_bits(width) - random_below(2) : random_below(2)) &
		       low_bits(width);
	default:
		return random_word(width);
	}
}

/** A stream of a shape, in memory of exactly its size. */
static inline struct words make_stream(enum stream_shape shape, unsigned width, size_t count)
{
	uint64_t *values = must_alloc(count * sizeof(*values));
	uint64_t fixed = random_word(width);
	uint64_t period = count;
	void *words = must_alloc(count * bytes_of(width));
	size_t i;

	if (shape == SHAPE_PERIODIC)
		do
			period = 1 + random_below(count);
		while (count % period);
	for (i = 0; i < count; i++)
		values[i] = i >= period ? values[i - period]
					: shape_word(shape, width, fixed, i ? values[i - 1] : 0);
	if (shape == SHAPE_SORTED)
		qsort(values, count, sizeof(*values), compare_words);
	for (i = 0; i < count; i++)
		put(words, width, i, values[i]);
	free(values);
	return (struct words){words, width, count};
}

/** Mostly short streams, sometimes ones of a few thousand words. */
static inline size_t random_count(void)
{
	return 1 + (size_t)random_below(random_below(4) ? 100 : 3000);
}

/** A grid of rows * columns * inner = count. */
static inline struct grid random_grid(size_t count)
{
	struct grid grid;

	do
		grid.columns = 1 + (size_t)random_below(count);
	while (count % grid.columns);
	count /= grid.columns;
	do
		grid.inner = 1 + (size_t)random_below(random_below(2) ? count : 4);
	while (count % grid.inner);
	grid.rows = count / grid.inner;
	return grid;
}

/* Streams for each operator: each shape so often, with widths from 1 to 64. */
#define ROUNDS 60

typedef void check_fn(const struct words *target);

/* Hands over streams of at least min_count words of at least min_width bits. */
static inline void for_streams(check_fn *check, unsigned min_width, size_t min_count)
{
	unsigned shape, round, width;

	for (round = 0; round < ROUNDS; round++) {
		for (shape = 0; shape < SHAPES; shape++) {
			size_t count = random_count();
			struct words target;

			width = min_width + (unsigned)random_below(65 - min_width);
			if (random_below(3) == 0)
				width = 8u << random_below(4);
			if (count < min_count)
				count = min_count;
			target = make_stream(shape, width, count);
			check(&target);
			words_free(&target);
		}
	}
}

/* ---- programs -------------------------------------------------------------------------------- */

/* A lit node of coding 1 with all bits of each word, by hand. */
static inline void put_literal(struct buffer *out, const struct words *w)
{
	struct bit_writer bits;
	size_t i;
	unsigned at_bit;

	buffer_u8(out, 0x11);
	buffer_varint(out, 0);
	buffer_u8(out, (uint8_t)w->width);
	bit_writer_init(&bits, out);
	for (i = 0; i < w->count; i++)
		for (at_bit = 0; at_bit < w->width; at_bit++)
			bit_write(&bits, at(w, i) >> at_bit & 1, 1);
	bit_writer_flush(&bits);
}

/* Roots have 8, 16, 32 or 64 bits: narrower nodes get zeros above them. */
static inline void put_root(struct buffer *out, unsigned width)
{
	unsigned widths[2] = {64 - width, width};

	if (width == 64)
		return;
	program_put_merge(out, widths, 2);
	program_put_const(out, 64 - width, 0);
}

/* The program below put_root yields the target. */
static inline void check_program(const struct buffer *program, const struct words *target)
{
	struct brevis_error err = {0};
	struct program parsed;
	uint64_t *words = must_alloc(target->count * sizeof(*words));
	size_t i;

	assert_false(buffer_failed(program));
	if (program_parse(span_of(program->data, program->size), 64, target->count, NULL, &parsed,
			  &err) ||
	    program_execute(&parsed, words, &err))
		fail_msg("%u[%zu]: %s", target->width, target->count, err.message);
	for (i = 0; i < target->count; i++)
		assert_int_equal(load_le64((uint8_t *)&words[i]), at(target, i));
	program_release(&parsed);
	free(words);
}

#endif
