/* SPDX-License-Identifier: Apache-2.0 */
/** Rows and columns of a stream of words, and the flips of columns. */
#ifndef CORE_PROGRAM_GRID_H
#define CORE_PROGRAM_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * Bytes that a node keeps in memory, at most, to have at hand what holds for the words of its rows.
 * Where it takes more, what is wanted is worked out each time.
 */
#define GRID_LINES_MAX 1048576

/** Word i has the row i / (columns * inner) and the column i / inner % columns. */
struct grid {
	size_t rows, columns, inner;
};

/** Where in a grid a word is. */
struct grid_place {
	size_t row, column, within; /* within: of the `inner` words that share row and column */
};

static inline struct grid_place grid_place(const struct grid *grid, size_t word)
{
	size_t cell = word / grid->inner;

	return (struct grid_place){cell / grid->columns, cell % grid->columns, word % grid->inner};
}

/** Inverts the highest bit of the words first to first + count where their column has a flag. */
void grid_flip(const struct grid *grid, const uint8_t *flags, size_t first, void *words,
	       unsigned width, size_t count);

/** Whether flips by grid_row_flags are faster than by grid_flip, and its memory is bounded. */
bool grid_has_row_flags(const struct grid *grid);

/** The flag of each word of a row, or of several short ones, in new memory. NULL: out of memory. */
uint8_t *grid_row_flags(const struct grid *grid, const uint8_t *flags);

/** The same as grid_flip by what grid_row_flags has returned, for rows of length words. */
void grid_flip_row(size_t length, const uint8_t *flags, size_t first, void *words, unsigned width,
		   size_t count);

#endif
