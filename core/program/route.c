/* SPDX-License-Identifier: Apache-2.0 */
#include "core/program/route.h"

#include <stdlib.h>
#include <string.h>

void route_count(const struct grid *grid, const struct route_classes *classes,
		 size_t counts[ROUTE_MAX_CLASSES])
{
	size_t rows[ROUTE_MAX_CLASSES] = {0}, columns[ROUTE_MAX_CLASSES] = {0};
	unsigned r, c;
	size_t i;

	for (i = 0; i < grid->rows && classes->of_row; i++)
		rows[classes->of_row[i]]++;
	if (!classes->of_row)
		rows[0] = grid->rows;
	for (i = 0; i < grid->columns && classes->of_column; i++)
		columns[classes->of_column[i]]++;
	if (!classes->of_column)
		columns[0] = grid->columns;
	memset(counts, 0, ROUTE_MAX_CLASSES * sizeof(*counts));
	for (r = 0; r < classes->row_classes; r++) {
		for (c = 0; c < classes->column_classes; c++) {
			unsigned k = classes->map ? classes->map[r * classes->column_classes + c]
						  : r + c; /* one of them is 0 */

			counts[k] += rows[r] * columns[c] * grid->inner;
		}
	}
}

/* The classes of the words of one row of this class, from the word at `at` of the row on. */
static void classify_row(const struct grid *grid, const struct route_classes *classes,
			 unsigned row_class, size_t at, uint8_t *of_word, size_t count)
{
	const uint8_t *map =
		classes->map ? classes->map + (size_t)row_class * classes->column_classes : NULL;
	const uint8_t *of_column = classes->of_column + at / grid->inner;
	size_t within = at % grid->inner, i, n;

	for (i = 0; grid->inner == 1 && i < count; i++)
		of_word[i] = map ? map[of_column[i]] : of_column[i];
	for (i = 0; grid->inner > 1 && i < count; i += n, within = 0) {
		n = grid->inner - within < count - i ? grid->inner - within : count - i;
		memset(of_word + i, map ? map[*of_column] : *of_column, n);
		of_column++;
	}
}

/* The classes of rows that occur, one bit for each. Returns how many they are. */
static unsigned find_used(const struct grid *grid, const struct route_classes *classes,
			  uint32_t *used)
{
	unsigned number = 0, class;
	size_t i;

	*used = classes->of_row ? 0 : 1;
	for (i = 0; i < grid->rows && classes->of_row; i++)
		*used |= UINT32_C(1) << classes->of_row[i];
	for (class = 0; class < ROUTE_MAX_CLASSES; class ++)
		number += *used >> class & 1;
	return number;
}

bool route_lines_make(struct route_lines *lines, const struct grid *grid,
		      const struct route_classes *classes)
{
	size_t length = grid->columns * grid->inner;
	uint32_t used = 0;
	unsigned number, i;

	number = find_used(grid, classes, &used);
	/* Columns must make a difference, and some line must serve for two rows. */
	if (!classes->of_column || number >= grid->rows || length > GRID_LINES_MAX / number)
		return true;
	for (i = 0; i < classes->row_classes; i++) {
		uint8_t *line = used >> i & 1 ? malloc(length) : NULL;

		if (line)
			classify_row(grid, classes, i, 0, line, length);
		else if (used >> i & 1)
			return false;
		lines->of_row_class[i] = line;
	}
	return true;
}

void route_classify(const struct route_lines *lines, const struct grid *grid,
		    const struct route_classes *classes, size_t first, uint8_t *of_word,
		    size_t count)
{
	size_t length = grid->columns * grid->inner;
	size_t row = first / length, at = first % length;

	while (count) {
		size_t n = length - at < count ? length - at : count;
		unsigned class = classes->of_row ? classes->of_row[row] : 0;

		if (!classes->of_column)
			memset(of_word, (int)class, n);
		else if (lines->of_row_class[class])
			memcpy(of_word, lines->of_row_class[class] + at, n);
		else
			classify_row(grid, classes, class, at, of_word, n);
		of_word += n;
		count -= n;
		row++;
		at = 0;
	}
}

void route_lines_release(struct route_lines *lines)
{
	unsigned i;

	for (i = 0; i < ROUTE_MAX_CLASSES; i++)
		free(lines->of_row_class[i]);
	*lines = (struct route_lines){0};
}
