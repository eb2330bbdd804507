/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes with side information: their parameters are literals, each in its smallest coding. */
#include "core/program/program.h"

#include <stdlib.h>

#include "core/base/bits.h"
#include "core/base/error.h"
#include "core/entropy/literal_encode.h"
#include "core/entropy/routed_encode.h"

static void put_grid(struct buffer *out, enum operation op, const struct grid *grid)
{
	buffer_u8(out, (uint8_t)op);
	buffer_varint(out, grid->columns);
	buffer_varint(out, grid->inner);
}

/* A literal of count words less than limit. */
static int put_side(struct buffer *out, const uint8_t *words, size_t count, unsigned limit,
		    struct brevis_error *err)
{
	return literal_encode(out, words, bit_length(limit - 1), count, NULL, err);
}

int program_put_classes(struct buffer *out, const struct grid *grid,
			const struct route_classes *classes, struct brevis_error *err)
{
	unsigned r = classes->row_classes, c = classes->column_classes;
	int status = BREVIS_OK;

	put_grid(out, OP_ROUTE, grid);
	buffer_u8(out, (uint8_t)r);
	buffer_u8(out, (uint8_t)c);
	buffer_u8(out, (uint8_t)classes->classes);
	if (r > 1)
		status = put_side(out, classes->of_row, grid->rows, r, err);
	if (!status && c > 1)
		status = put_side(out, classes->of_column, grid->columns, c, err);
	if (!status && r > 1 && c > 1)
		status = put_side(out, classes->map, (size_t)r * c, classes->classes, err);
	return status;
}

struct classifier {
	const struct grid *grid;
	const struct route_classes *classes;
	struct route_lines lines;
};

static void classify(void *ctx, size_t first, uint8_t *of_word, size_t count)
{
	const struct classifier *c = ctx;

	route_classify(&c->lines, c->grid, c->classes, first, of_word, count);
}

int program_put_route(struct buffer *out, const struct grid *grid,
		      const struct route_classes *classes, const void *words, unsigned width,
		      uint32_t *counts, struct brevis_error *err)
{
	uint32_t *own = counts ? NULL : malloc((sizeof(*own) << width) * classes->classes);
	struct classifier classifier = {grid, classes, {{NULL}}};
	struct rans_input in = {
		(void *)words,    width,    grid->rows * grid->columns * grid->inner,
		classes->classes, classify, &classifier};
	int status = program_put_classes(out, grid, classes, err);

	if (!status && ((!counts && !own) || !route_lines_make(&classifier.lines, grid, classes)))
		status = error_nomem(err);
	if (!status && own)
		routed_count(&in, own);
	if (!status)
		status = routed_encode(out, &in, own ? own : counts, err);
	route_lines_release(&classifier.lines);
	free(own);
	return status;
}

int program_put_flip(struct buffer *out, const struct grid *grid, const uint8_t *flags,
		     struct brevis_error *err)
{
	put_grid(out, OP_FLIP, grid);
	return put_side(out, flags, grid->columns, 2, err);
}
