/* SPDX-License-Identifier: Apache-2.0 */
/* The expansion of flip, which knows columns. */
#include "core/synthesis/expand.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/entropy/literal.h"
#include "core/entropy/log2.h"
#include "core/entropy/words.h"
#include "core/program/dispatch.h"
#include "core/program/grid.h"

/* Words of a column that its majority is taken from: about so many tell. */
#define MAJORITY_WORDS 1024

/* Columns of so many words side by side, or of few rows, are looked at one after the other. */
#define RUN_WORDS 64
#define ROWS_MIN  8

int expand_flip(const struct words *in, const struct grid *grid, const uint8_t *flags,
		struct words *out, struct brevis_error *err)
{
	void *words = words_copy(in, out, err);

	if (!words)
		return BREVIS_E_NOMEM;
	grid_flip(grid, flags, 0, words, in->width, in->count);
	return BREVIS_OK;
}

/* Loops that compilers vectorise. */
#define DEFINE_HIGHEST(T)                                                                          \
	static uint32_t count_highest_##T(const T *words, size_t count, unsigned shift)            \
	{                                                                                          \
		uint32_t sum = 0;                                                                  \
		size_t i;                                                                          \
                                                                                                   \
		for (i = 0; i < count; i++)                                                        \
			sum += (uint32_t)(words[i] >> shift);                                      \
		return sum;                                                                        \
	}                                                                                          \
                                                                                                   \
	static void add_highest_##T(const T *restrict words, size_t count, unsigned shift,         \
				    uint16_t *restrict places)                                     \
	{                                                                                          \
		size_t i;                                                                          \
                                                                                                   \
		for (i = 0; i < count; i++)                                                        \
			places[i] = (uint16_t)(places[i] + (words[i] >> shift));                   \
	}

FOR_EACH_WORD(DEFINE_HIGHEST)

/* How many of count words have their highest bit set. */
static uint32_t count_highest(const struct words *in, size_t first, size_t count)
{
	uint32_t sum = 0;

#define CALL(T) sum = count_highest_##T((const T *)in->data + first, count, in->width - 1)
	DISPATCH_WORD(in->width, CALL)
#undef CALL
	return sum;
}

/* Adds the highest bits of count words to the sums of their places. */
static void add_highest(const struct words *in, size_t first, size_t count, uint16_t *places)
{
#define CALL(T) add_highest_##T((const T *)in->data + first, count, in->width - 1, places)
	DISPATCH_WORD(in->width, CALL)
#undef CALL
}

/*
 * Counts highest bits where a column is one long run, or a few: in short ones, evenly spread over
 * the column, of which every parts-th is looked at. Returns the words of each column looked at.
 */
static size_t count_runs(const struct words *in, const struct grid *grid, size_t words,
			 const struct flip_part *p, uint32_t *counts)
{
	size_t all = grid->rows * grid->inner;
	size_t length = grid->inner < RUN_WORDS ? (grid->inner + 1) / 2 : RUN_WORDS / 2;
	size_t runs = words / length + 1, seen = 0, run, column;

	if (runs > all / length)
		runs = all / length;
	for (run = p->number; run < runs; run += p->parts, seen += length) {
		size_t at = (all - length) / (runs > 1 ? runs - 1 : 1) * run;
		size_t row = at / grid->inner, behind = at % grid->inner;

		if (behind > grid->inner - length)
			behind = grid->inner - length;
		for (column = 0; column < grid->columns; column++)
			counts[column] += count_highest(
				in, (row * grid->columns + column) * grid->inner + behind, length);
	}
	return seen;
}

/* The same where runs are short and many: place by place. Of each place less than 2^16. */
static size_t count_places(const struct words *in, const struct grid *grid, size_t words,
			   const struct flip_part *p, uint32_t *counts, uint16_t *places)
{
	size_t length = grid->columns * grid->inner, wanted = words / grid->inner + 1;
	size_t step = grid->rows > wanted ? grid->rows / wanted : 1;
	size_t rows = 0, row, column, i;

	for (row = p->number * step; row < grid->rows; row += p->parts * step, rows++)
		add_highest(in, row * length, length, places);
	for (column = 0; column < grid->columns; column++)
		for (i = 0; i < grid->inner; i++)
			counts[column] += places[column * grid->inner + i];
	return rows * grid->inner;
}

int flip_count(const struct words *in, const struct grid *grid, size_t words,
	       const struct flip_part *part, uint32_t *counts, size_t *seen,
	       struct brevis_error *err)
{
	bool all = part->parts == 1 && grid->rows * grid->inner <= words;
	bool runs = !all && (grid->inner >= RUN_WORDS || grid->rows < ROWS_MIN);
	uint16_t *places;

	memset(counts, 0, sizeof(*counts) * grid->columns);
	if (runs) {
		*seen = count_runs(in, grid, words, part, counts);
		return BREVIS_OK;
	}
	places = calloc(grid->columns * grid->inner, sizeof(*places));
	if (!places)
		return error_nomem(err);
	*seen = count_places(in, grid, words, part, counts, places);
	free(places);
	return BREVIS_OK;
}

/* Bits that the signs of all words seem to take less, `few` of `seen` being set after flips. */
static uint64_t flips_save(const struct words *in, size_t columns, uint64_t few, uint64_t seen)
{
	uint64_t bits = log2_weighted((uint32_t)seen) - log2_weighted((uint32_t)few) -
			log2_weighted((uint32_t)(seen - few));
	/* Majorities of some words are half a bit better than those of others, by chance. */
	uint64_t chance = seen < in->count ? columns / 2 : 0;

	bits = (bits >> LOG2_FRACTION) + 1 + chance;
	return bits < seen ? (seen - bits) * in->count / seen : 0;
}

int flip_majority(const struct words *in, const struct grid *grid, uint8_t **flags, size_t *flipped,
		  uint64_t *saved, struct brevis_error *err)
{
	uint32_t *counts = malloc(sizeof(*counts) * grid->columns);
	uint8_t *result = malloc(grid->columns);
	const struct flip_part whole = {0, 1};
	size_t seen, i;
	uint64_t few = 0;
	int status = counts && result ? BREVIS_OK : error_nomem(err);

	if (!status)
		status = flip_count(in, grid, MAJORITY_WORDS, &whole, counts, &seen, err);
	if (status)
		goto out;
	*flipped = 0;
	for (i = 0; i < grid->columns; i++) {
		result[i] = counts[i] > seen / 2;
		*flipped += result[i];
		few += result[i] ? seen - counts[i] : counts[i];
	}
	*saved = flips_save(in, grid->columns, few, seen * grid->columns);
	*flags = result;
	result = NULL;
out:
	free(counts);
	free(result);
	return status;
}
