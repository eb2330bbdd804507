/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Cells: the histograms of a grid of words whose rows and columns have been put into a few levels
 * of scale; one histogram for each pair of levels. They price every way to join levels and cells
 * into classes, and every number of low bits left out of the symbols. Those of very many words come
 * from some of them.
 */
#ifndef CORE_SYNTHESIS_CELLS_H
#define CORE_SYNTHESIS_CELLS_H

#include "core/brevis.h"
#include "core/program/program.h"
#include "core/synthesis/alphabet.h"
#include "core/synthesis/expand.h"
#include "core/synthesis/scale_levels.h"

#define CELLS_MAX (LEVELS_MAX * LEVELS_MAX)

/** Classes that a route is given at most. */
#define CLASSES_MAX 24

struct cells {
	unsigned rows, columns; /* levels */
	unsigned symbols;
	uint32_t *counts; /* rows x columns x symbols */
	size_t stride;    /* how often each word counts */
	unsigned first;   /* the first symbol's number in the alphabet */
	/* rows x columns x 256: of all codes, where the alphabet is plain and each word was
	 * counted; or NULL. */
	uint32_t *codes;
};

/** How cells are joined. */
struct joining {
	unsigned classes;
	uint8_t of_cell[CELLS_MAX];
	uint64_t cost;   /* of all words and the classes' tables, in bits */
	uint64_t single; /* the same with one class */
};

/**
 * Counts the words of each cell; of each row only one `stride`th, elsewhere in each, whose words
 * count that often.
 */
int cells_count(const struct words *in, const struct grid *grid, const struct alphabet *alphabet,
		const struct levels *rows, const struct levels *columns, size_t stride,
		struct cells *out, struct brevis_error *err);
void cells_release(struct cells *cells);

/** Adds up the cells of all rows, or of all columns, or of neighbouring pairs of both. In place;
 * codes stay as they are. */
void cells_join_rows(struct cells *cells);
void cells_join_columns(struct cells *cells);
void cells_halve(struct cells *cells);

/**
 * Joins cells of similar scale, two at a time, as long as that costs least, and keeps the cheapest
 * number of classes, 1 to CLASSES_MAX. The lowest `dropped` bits of each symbol do not count.
 */
int cells_classify(const struct cells *cells, const struct alphabet *alphabet, unsigned dropped,
		   struct joining *out, struct brevis_error *err);

#endif
