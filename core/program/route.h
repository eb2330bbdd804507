/* SPDX-License-Identifier: Apache-2.0 */
/** Classes of words by row and column, which choose the tables of a route. */
#ifndef CORE_PROGRAM_ROUTE_H
#define CORE_PROGRAM_ROUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/program/grid.h"

#define ROUTE_MAX_CLASSES 32 /* of rows, of columns, of words */

/**
 * The class of a word of row r and column c is map[of_row[r] * column_classes + of_column[c]]. With
 * one class of columns it is of_row[r], with one class of rows of_column[c]; the map, and the array
 * that says nothing, are then NULL.
 */
struct route_classes {
	unsigned row_classes, column_classes, classes;
	const uint8_t *of_row, *of_column, *map;
};

/** Counts the words of each class in the whole grid. */
void route_count(const struct grid *grid, const struct route_classes *classes,
		 size_t counts[ROUTE_MAX_CLASSES]);

/**
 * Says of which class words are: the classes of a row's words, worked out once for each class of
 * rows that occurs, unless that takes more than GRID_LINES_MAX bytes. Zero-initialise, release with
 * route_lines_release.
 */
struct route_lines {
	uint8_t *of_row_class[ROUTE_MAX_CLASSES]; /* NULL: there is none */
};

/** Makes the lines that pay. False: out of memory. */
bool route_lines_make(struct route_lines *lines, const struct grid *grid,
		      const struct route_classes *classes);

/** The classes of the words first to first + count, by the lines that were made. */
void route_classify(const struct route_lines *lines, const struct grid *grid,
		    const struct route_classes *classes, size_t first, uint8_t *of_word,
		    size_t count);
void route_lines_release(struct route_lines *lines);

#endif
