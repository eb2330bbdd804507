/* SPDX-License-Identifier: Apache-2.0 */
/** Rows and columns of a stream of words, and the flips of columns. */
#ifndef CORE_PROGRAM_GRID_H
#define CORE_PROGRAM_GRID_H

#include <stddef.h>
#include <stdint.h>

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

#endif
