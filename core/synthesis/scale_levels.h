/* SPDX-License-Identifier: Apache-2.0 */
/** The rows and columns of a grid of words, put into a few levels by the scale of their words. */
#ifndef CORE_SYNTHESIS_SCALE_LEVELS_H
#define CORE_SYNTHESIS_SCALE_LEVELS_H

#include <stddef.h>
#include <stdint.h>

#include "core/brevis.h"
#include "core/program/grid.h"
#include "core/synthesis/alphabet.h"
#include "core/synthesis/expand.h"

#define LEVELS_MAX 16

/** Words of a row, at most. */
#define LEVELS_LENGTH_MAX ((size_t)1 << 20)

/** The rows, or the columns, of a grid in levels: those of small scale have low ones. */
struct levels {
	unsigned count;
	size_t size;      /* rows or columns */
	uint8_t *of;      /* level of each */
	uint64_t *counts; /* of rows or columns in each level, LEVELS_MAX */
};

/** Adds up the scales of the words of each row and of each column. */
int levels_sum(const struct words *in, const struct grid *grid, const struct alphabet *alphabet,
	       uint64_t *rows, uint64_t *columns, struct brevis_error *err);

/**
 * Puts rows and columns into at most `most` levels each by the mean scale of their words. The
 * arrays of *rows and *columns must have room for the grid's rows and columns.
 */
int levels_find(const struct words *in, const struct grid *grid, const struct alphabet *alphabet,
		unsigned most, struct levels *rows, struct levels *columns,
		struct brevis_error *err);

/** Joins neighbouring levels in pairs. */
void levels_halve(struct levels *levels);

#endif
