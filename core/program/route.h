/* SPDX-License-Identifier: Apache-2.0 */
/** Classes of words by row and column, and how route puts the streams of the classes together. */
#ifndef CORE_PROGRAM_ROUTE_H
#define CORE_PROGRAM_ROUTE_H

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

/** Says of which class each of the words first to first + count is. */
void route_classify(const struct grid *grid, const struct route_classes *classes, size_t first,
		    uint8_t *of_word, size_t count);

/** Counts the words of each class. */
void route_tally(const uint8_t *of_word, size_t count, size_t counts[ROUTE_MAX_CLASSES]);

/**
 * Gives each word the next one of its class: those of class k stand in parts, from word at[k] on.
 * at[] moves on.
 */
void route_gather(void *words, const void *parts, unsigned width, const uint8_t *of_word,
		  size_t at[ROUTE_MAX_CLASSES], size_t count);

#endif
