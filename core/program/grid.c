/* SPDX-License-Identifier: Apache-2.0 */
#include "core/program/grid.h"

#include <stdlib.h>
#include <string.h>

#include "core/program/dispatch.h"

#define DEFINE_FLIPS(T)                                                                            \
	/* Words of one column each. */                                                            \
	static void flip_columns_##T(T *restrict words, const uint8_t *restrict flags, T bit,      \
				     size_t count)                                                 \
	{                                                                                          \
		size_t i;                                                                          \
                                                                                                   \
		for (i = 0; i < count; i++)                                                        \
			words[i] = (T)(words[i] ^ (T)((T)(0 - (T)flags[i]) & bit));                \
	}                                                                                          \
                                                                                                   \
	/* Words of the same column. */                                                            \
	static void flip_run_##T(T *words, T bit, size_t count)                                    \
	{                                                                                          \
		size_t i;                                                                          \
                                                                                                   \
		for (i = 0; i < count; i++)                                                        \
			words[i] = (T)(words[i] ^ bit);                                            \
	}                                                                                          \
                                                                                                   \
	static void flip_row_##T(size_t length, const uint8_t *flags, size_t at, T *words, T bit,  \
				 size_t count)                                                     \
	{                                                                                          \
		size_t i, n;                                                                       \
                                                                                                   \
		for (i = 0; i < count; i += n, at = 0) {                                           \
			n = count - i < length - at ? count - i : length - at;                     \
			flip_columns_##T(words + i, flags + at, bit, n);                           \
		}                                                                                  \
	}                                                                                          \
                                                                                                   \
	static void flip_##T(const struct grid *grid, const uint8_t *flags, size_t first,          \
			     T *words, T bit, size_t count)                                        \
	{                                                                                          \
		struct grid_place at = grid_place(grid, first);                                    \
		size_t i, n;                                                                       \
                                                                                                   \
		for (i = 0; i < count; i += n, at.within = 0) {                                    \
			n = grid->inner - at.within;                                               \
			n = count - i < n ? count - i : n;                                         \
			if (flags[at.column])                                                      \
				flip_run_##T(words + i, bit, n);                                   \
			at.column = at.column + 1 == grid->columns ? 0 : at.column + 1;            \
		}                                                                                  \
	}

FOR_EACH_WORD(DEFINE_FLIPS)

/* From so many words on that share row and column, they are flipped faster together. */
#define LONG_RUN 64

/* Rows of fewer words are flipped several at a time. */
#define SHORT_ROW 256

/* The words of those that are flipped at a time. */
static size_t rows_length(size_t length)
{
	return length < SHORT_ROW ? (SHORT_ROW / length + 1) * length : length;
}

bool grid_has_row_flags(const struct grid *grid)
{
	return grid->inner < LONG_RUN && grid->rows > 1 &&
	       grid->columns <= GRID_LINES_MAX / grid->inner &&
	       (grid->inner > 1 || grid->columns < SHORT_ROW);
}

uint8_t *grid_row_flags(const struct grid *grid, const uint8_t *flags)
{
	size_t length = grid->columns * grid->inner, all = rows_length(length), i;
	uint8_t *of_row = malloc(all);

	for (i = 0; of_row && i < grid->columns; i++)
		memset(of_row + i * grid->inner, flags[i], grid->inner);
	for (i = length; of_row && i < all; i += length)
		memcpy(of_row + i, of_row, length);
	return of_row;
}

/* By the flags of all words of a length, which are repeated. */
static void flip_lines(size_t length, const uint8_t *flags, size_t first, void *words,
		       unsigned width, size_t count)
{
	size_t at = first % length;

#define CALL(T) flip_row_##T(length, flags, at, words, (T)((T)1 << (width - 1)), count)
	DISPATCH_WORD(width, CALL)
#undef CALL
}

void grid_flip_row(size_t length, const uint8_t *flags, size_t first, void *words, unsigned width,
		   size_t count)
{
	flip_lines(rows_length(length), flags, first, words, width, count);
}

void grid_flip(const struct grid *grid, const uint8_t *flags, size_t first, void *words,
	       unsigned width, size_t count)
{
	if (grid->inner == 1) {
		flip_lines(grid->columns, flags, first, words, width, count);
		return;
	}
#define CALL(T) flip_##T(grid, flags, first, words, (T)((T)1 << (width - 1)), count)
	DISPATCH_WORD(width, CALL)
#undef CALL
}
