/* SPDX-License-Identifier: Apache-2.0 */
#include "core/program/route.h"

#include <stdbool.h>
#include <string.h>

#include "core/program/dispatch.h"

/* Words that are looked at together: classes often come in runs. */
#define GROUP 8

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

/* Classes of words of the row at.row, from the place at on. */
static void classify_row(const struct grid *grid, const struct route_classes *classes,
			 struct grid_place at, uint8_t *of_word, size_t count)
{
	const uint8_t *line =
		classes->map ? classes->map + classes->of_row[at.row] * classes->column_classes
			     : NULL;
	size_t i, n;

	if (!classes->of_column) {
		memset(of_word, classes->of_row[at.row], count);
	} else if (grid->inner == 1 && !line) {
		memcpy(of_word, classes->of_column + at.column, count);
	} else if (grid->inner == 1) {
		for (i = 0; i < count; i++)
			of_word[i] = line[classes->of_column[at.column + i]];
	} else {
		for (i = 0; i < count; i += n, at.column++, at.within = 0) {
			uint8_t class = classes->of_column[at.column];

			n = grid->inner - at.within < count - i ? grid->inner - at.within
								: count - i;
			memset(of_word + i, line ? line[class] : class, n);
		}
	}
}

void route_classify(const struct grid *grid, const struct route_classes *classes, size_t first,
		    uint8_t *of_word, size_t count)
{
	struct grid_place at = grid_place(grid, first);
	size_t left = grid->columns * grid->inner - (at.column * grid->inner + at.within);
	size_t i, n;

	for (i = 0; i < count; i += n) {
		n = left < count - i ? left : count - i;
		classify_row(grid, classes, at, of_word + i, n);
		at = (struct grid_place){at.row + 1, 0, 0};
		left = grid->columns * grid->inner;
	}
}

static inline bool is_uniform(const uint8_t *group)
{
	uint64_t classes;

	memcpy(&classes, group, GROUP);
	return classes == group[0] * UINT64_C(0x0101010101010101);
}

void route_tally(const uint8_t *of_word, size_t count, size_t counts[ROUTE_MAX_CLASSES])
{
	/* Two tables, so that equal classes side by side do not wait for each other. */
	size_t other[ROUTE_MAX_CLASSES] = {0};
	size_t i;
	unsigned j;

	memset(counts, 0, ROUTE_MAX_CLASSES * sizeof(*counts));
	for (i = 0; i + GROUP <= count; i += GROUP) {
		if (is_uniform(of_word + i)) {
			counts[of_word[i]] += GROUP;
			continue;
		}
		for (j = 0; j < GROUP; j += 2) {
			counts[of_word[i + j]]++;
			other[of_word[i + j + 1]]++;
		}
	}
	for (; i < count; i++)
		counts[of_word[i]]++;
	for (i = 0; i < ROUTE_MAX_CLASSES; i++)
		counts[i] += other[i];
}

#define DEFINE_GATHER(T)                                                                           \
	static void gather_##T(T *words, const T *parts, const uint8_t *of_word, size_t *at,       \
			       size_t count)                                                       \
	{                                                                                          \
		size_t i = 0, end;                                                                 \
                                                                                                   \
		while (i < count) {                                                                \
			if (count - i >= GROUP && is_uniform(of_word + i)) {                       \
				memcpy(words + i, parts + at[of_word[i]], GROUP * sizeof(T));      \
				at[of_word[i]] += GROUP;                                           \
				i += GROUP;                                                        \
				continue;                                                          \
			}                                                                          \
			end = count - i < GROUP ? count : i + GROUP;                               \
			for (; i < end; i++)                                                       \
				words[i] = parts[at[of_word[i]]++];                                \
		}                                                                                  \
	}

FOR_EACH_WORD(DEFINE_GATHER)

void route_gather(void *words, const void *parts, unsigned width, const uint8_t *of_word,
		  size_t at[ROUTE_MAX_CLASSES], size_t count)
{
#define CALL(T) gather_##T(words, parts, of_word, at, count)
	DISPATCH_WORD(width, CALL)
#undef CALL
}
