/* SPDX-License-Identifier: Apache-2.0 */
/* The expansions of the operators that know rows and columns: route and flip. */
#include "core/synthesis/expand.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/entropy/literal.h"
#include "core/program/dispatch.h"
#include "core/program/grid.h"
#include "core/program/route.h"

#define DEFINE_LOOPS(T)                                                                            \
	/* Deals a row out: of_class has the class of a column class, at[k] where class k goes. */ \
	static void deal_##T(const T *in, const struct grid *grid, const uint8_t *of_column,       \
			     const uint8_t *of_class, void **at)                                   \
	{                                                                                          \
		size_t inner = grid->inner, column, i;                                             \
                                                                                                   \
		for (column = 0; column < grid->columns; column++) {                               \
			uint8_t k = of_class[of_column[column]];                                   \
			T *to = at[k];                                                             \
                                                                                                   \
			for (i = 0; i < inner; i++)                                                \
				*to++ = *in++;                                                     \
			at[k] = to;                                                                \
		}                                                                                  \
	}                                                                                          \
                                                                                                   \
	/* The same for columns of one word, which `order` has by class, starts[k] the first of k. \
	 */                                                                                        \
	static void deal_sorted_##T(const T *in, const uint32_t *order, const size_t *starts,      \
				    unsigned classes, void **at)                                   \
	{                                                                                          \
		unsigned k;                                                                        \
		size_t i;                                                                          \
                                                                                                   \
		for (k = 0; k < classes; k++) {                                                    \
			T *to = at[k];                                                             \
                                                                                                   \
			for (i = starts[k]; i < starts[k + 1]; i++)                                \
				*to++ = in[order[i]];                                              \
			at[k] = to;                                                                \
		}                                                                                  \
	}                                                                                          \
                                                                                                   \
	/* Adds a row's highest bits to the counts of its columns. */                              \
	static void count_highest_##T(const T *in, const struct grid *grid, unsigned shift,        \
				      uint32_t *counts)                                            \
	{                                                                                          \
		size_t inner = grid->inner, column, i;                                             \
                                                                                                   \
		if (inner == 1) {                                                                  \
			for (column = 0; column < grid->columns; column++)                         \
				counts[column] += (uint32_t)(in[column] >> shift);                 \
			return;                                                                    \
		}                                                                                  \
		for (column = 0; column < grid->columns; column++)                                 \
			for (i = 0; i < inner; i++)                                                \
				counts[column] += (uint32_t)(*in++ >> shift);                      \
	}

FOR_EACH_WORD(DEFINE_LOOPS)

/* The class of each column class, in the rows of one row class. */
static void look_up(const struct route_classes *classes, size_t row_class, uint8_t *of_class)
{
	unsigned n = classes->column_classes, c;

	for (c = 0; c < n; c++)
		of_class[c] = classes->map ? classes->map[row_class * n + c]
					   : (uint8_t)(row_class + c); /* one of them is 0 */
}

static size_t row_bytes(const struct words *in, const struct grid *grid)
{
	return grid->columns * grid->inner * word_bytes(in->width);
}

/* The columns sorted by their class, for the rows of one row class. */
static void sort_columns(const struct grid *grid, const struct route_classes *classes,
			 const uint8_t *of_class, uint32_t *order, size_t *starts)
{
	size_t next[ROUTE_MAX_CLASSES];
	size_t column;
	unsigned k;

	memset(starts, 0, sizeof(*starts) * (classes->classes + 1));
	for (column = 0; column < grid->columns; column++)
		starts[of_class[classes->of_column[column]] + 1]++;
	for (k = 0; k < classes->classes; k++) {
		starts[k + 1] += starts[k];
		next[k] = starts[k];
	}
	for (column = 0; column < grid->columns; column++)
		order[next[of_class[classes->of_column[column]]]++] = (uint32_t)column;
}

/* Deals out a grid of many rows, whose columns are one word each. */
static int deal_sorted(const struct words *in, const struct grid *grid,
		       const struct route_classes *classes,
		       uint8_t of_class[ROUTE_MAX_CLASSES][ROUTE_MAX_CLASSES], void **at,
		       struct brevis_error *err)
{
	uint32_t *orders = malloc(sizeof(*orders) * classes->row_classes * grid->columns);
	size_t starts[ROUTE_MAX_CLASSES][ROUTE_MAX_CLASSES + 1];
	size_t bytes = row_bytes(in, grid), row, r;
	const void *from = in->data;

	if (!orders)
		return error_nomem(err);
	for (r = 0; r < classes->row_classes; r++)
		sort_columns(grid, classes, of_class[r], orders + r * grid->columns, starts[r]);
	for (row = 0; row < grid->rows; row++) {
		r = classes->of_row ? classes->of_row[row] : 0;
#define CALL(T) deal_sorted_##T(from, orders + r * grid->columns, starts[r], classes->classes, at)
		DISPATCH_WORD(in->width, CALL)
#undef CALL
		from = (const uint8_t *)from + bytes;
	}
	free(orders);
	return BREVIS_OK;
}

static int deal_rows(const struct words *in, const struct grid *grid,
		     const struct route_classes *classes, void **at, struct brevis_error *err)
{
	uint8_t of_class[ROUTE_MAX_CLASSES][ROUTE_MAX_CLASSES];
	size_t bytes = row_bytes(in, grid), row, r;
	const void *from = in->data;

	for (r = 0; r < classes->row_classes; r++)
		look_up(classes, r, of_class[r]);
	/* Sorting the columns pays when every row class has several rows. */
	if (classes->of_column && grid->inner == 1 && grid->columns <= UINT32_MAX &&
	    grid->rows >= 4 * (size_t)classes->row_classes)
		return deal_sorted(in, grid, classes, of_class, at, err);
	for (row = 0; row < grid->rows; row++) {
		const uint8_t *k = of_class[classes->of_row ? classes->of_row[row] : 0];

		if (classes->of_column) {
#define CALL(T) deal_##T(from, grid, classes->of_column, k, at)
			DISPATCH_WORD(in->width, CALL)
#undef CALL
		} else {
			memcpy(at[*k], from, bytes);
			at[*k] = (uint8_t *)at[*k] + bytes;
		}
		from = (const uint8_t *)from + bytes;
	}
	return BREVIS_OK;
}

int expand_route(const struct words *in, const struct grid *grid,
		 const struct route_classes *classes, struct words *out, bool *applies,
		 struct brevis_error *err)
{
	size_t counts[ROUTE_MAX_CLASSES];
	void *at[ROUTE_MAX_CLASSES];
	struct words all;
	uint8_t *to;
	unsigned k;

	route_count(grid, classes, counts);
	*applies = true;
	for (k = 0; k < classes->classes; k++)
		*applies &= counts[k] > 0;
	if (!*applies)
		return BREVIS_OK;
	to = words_alloc(in->width, in->count, &all, err);
	if (!to)
		return BREVIS_E_NOMEM;
	for (k = 0; k < classes->classes; k++) {
		out[k] = (struct words){to, in->width, counts[k]};
		at[k] = to;
		to += counts[k] * word_bytes(in->width);
	}
	if (deal_rows(in, grid, classes, at, err)) {
		words_free(&all);
		return BREVIS_E_NOMEM;
	}
	return BREVIS_OK;
}

int expand_flip(const struct words *in, const struct grid *grid, const uint8_t *flags,
		struct words *out, struct brevis_error *err)
{
	void *words = words_copy(in, out, err);

	if (!words)
		return BREVIS_E_NOMEM;
	grid_flip(grid, flags, 0, words, in->width, in->count);
	return BREVIS_OK;
}

int flip_majority(const struct words *in, const struct grid *grid, uint8_t **flags, size_t *flipped,
		  struct brevis_error *err)
{
	size_t half = grid->rows * grid->inner / 2, row, i;
	uint32_t *counts = calloc(grid->columns, sizeof(*counts));
	uint8_t *result = malloc(grid->columns);
	const uint8_t *bytes = in->data;
	int status = counts && result ? BREVIS_OK : error_nomem(err);

	if (status)
		goto out;
	for (row = 0; row < grid->rows; row++) {
		const void *from = bytes + row * row_bytes(in, grid);

#define CALL(T) count_highest_##T(from, grid, in->width - 1, counts)
		DISPATCH_WORD(in->width, CALL)
#undef CALL
	}
	*flipped = 0;
	for (i = 0; i < grid->columns; i++) {
		result[i] = counts[i] > half;
		*flipped += result[i];
	}
	*flags = result;
	result = NULL;
out:
	free(counts);
	free(result);
	return status;
}
