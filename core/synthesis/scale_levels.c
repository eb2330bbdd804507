/* SPDX-License-Identifier: Apache-2.0 */
#include "core/synthesis/scale_levels.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/entropy/words.h"

/* Means are put into this many bins, which are then grouped into levels. */
#define BINS 256

/* Rounds of Lloyd's algorithm, which settles fast in one dimension. */
#define ROUNDS 6

/* Words after which sums of 32 bits are carried over: each is below 2^12. */
#define CARRY_WORDS ((size_t)LEVELS_INNER_MAX)

/*
 * Sums of the scales of the words of each row and column. Columns of one word get a loop of their
 * own, which the compiler vectorises where a symbol is its own scale.
 */
ALWAYS_INLINE void sum_scales(const void *words, unsigned size, const struct grid *grid,
			      const uint16_t *scales, uint64_t *rows, uint32_t *columns)
{
	size_t i = 0, r, c, k;

	for (r = 0; r < grid->rows; r++) {
		uint64_t row = 0;
		uint32_t sum;
		size_t end;

		for (c = 0; grid->inner == 1 && c < grid->columns; row += sum) {
			end = grid->columns - c < CARRY_WORDS ? grid->columns : c + CARRY_WORDS;
			for (sum = 0; c < end; c++, i++) {
				uint32_t v = (uint32_t)word_get(words, size, i);

				v = scales ? scales[v] : v;
				sum += v;
				columns[c] += v;
			}
		}
		for (c = 0; grid->inner > 1 && c < grid->columns; c++) {
			for (k = 0, sum = 0; k < grid->inner; k++, i++) {
				uint32_t v = (uint32_t)word_get(words, size, i);

				sum += scales ? scales[v] : v;
			}
			row += sum;
			columns[c] += sum;
		}
		rows[r] = row;
	}
}

static void sum_words(const struct words *in, size_t first, const struct grid *grid,
		      const struct alphabet *alphabet, uint64_t *rows, uint32_t *columns)
{
	const uint8_t *bytes = in->data;
	const void *shorts = (const uint16_t *)in->data + first;

	if (in->width <= 8 && alphabet->plain)
		sum_scales(bytes + first, 1, grid, NULL, rows, columns);
	else if (in->width <= 8)
		sum_scales(bytes + first, 1, grid, alphabet->scales, rows, columns);
	else if (alphabet->plain)
		sum_scales(shorts, 2, grid, NULL, rows, columns);
	else
		sum_scales(shorts, 2, grid, alphabet->scales, rows, columns);
}

/* In parts of so few words for each column and row that 32 bits hold their sums. */
int levels_sum(const struct words *in, const struct grid *grid, const struct alphabet *alphabet,
	       uint64_t *rows, uint64_t *columns, struct brevis_error *err)
{
	size_t most = CARRY_WORDS / grid->inner;
	uint32_t *part = calloc(grid->columns, sizeof(*part));
	struct grid some = *grid;
	size_t r, c;

	if (!part)
		return error_nomem(err);
	for (r = 0; r < grid->rows; r += some.rows) {
		some.rows = grid->rows - r < most ? grid->rows - r : most;
		sum_words(in, r * grid->columns * grid->inner, &some, alphabet, rows + r, part);
		for (c = 0; c < grid->columns; c++)
			columns[c] += part[c];
		memset(part, 0, sizeof(*part) * grid->columns);
	}
	free(part);
	return BREVIS_OK;
}

/* Groups bins into at most `most` levels with Lloyd's algorithm; level_of[bin] ascends. */
static void group_bins(const uint64_t *weights, uint64_t total, unsigned most, uint8_t *level_of)
{
	uint64_t centres[LEVELS_MAX]; /* 8 fraction bits */
	uint64_t seen = 0;
	unsigned n = 0, round, bin, i;

	/* Starts with bins of equal weight. */
	for (bin = 0; bin < BINS; bin++) {
		if (!weights[bin])
			continue;
		if (n < most && seen >= total * n / most)
			centres[n++] = (uint64_t)bin << 8;
		seen += weights[bin];
	}
	for (round = 0; round < ROUNDS; round++) {
		uint64_t sums[LEVELS_MAX] = {0};
		uint64_t counts[LEVELS_MAX] = {0};

		for (bin = 0, i = 0; bin < BINS; bin++) {
			uint64_t at = (uint64_t)bin << 8;

			while (i + 1 < n && 2 * at > centres[i] + centres[i + 1])
				i++;
			level_of[bin] = (uint8_t)i;
			sums[i] += at * weights[bin];
			counts[i] += weights[bin];
		}
		for (i = 0; i < n; i++)
			if (counts[i])
				centres[i] = sums[i] / counts[i];
	}
}

/* Turns sums, of `per` words each, into levels. */
static void put_into_levels(const uint64_t *sums, uint64_t per, unsigned most, struct levels *out)
{
	uint64_t weights[BINS] = {0};
	uint8_t level_of[BINS];
	uint8_t number[LEVELS_MAX];
	uint64_t low = sums[0], high = sums[0], range;
	uint64_t counts[LEVELS_MAX] = {0};
	size_t i;
	unsigned l;

	for (i = 0; i < out->size; i++) {
		low = sums[i] < low ? sums[i] : low;
		high = sums[i] > high ? sums[i] : high;
	}
	/* Differences of less than a 64th of a step of the scale are noise. */
	range = high - low > per * BINS / 64 ? high - low : per * BINS / 64;
	range = range ? range : 1;
	for (i = 0; i < out->size; i++)
		weights[(sums[i] - low) * (BINS - 1) / range]++;
	group_bins(weights, out->size, most, level_of);
	for (i = 0; i < out->size; i++) {
		out->of[i] = level_of[(sums[i] - low) * (BINS - 1) / range];
		counts[out->of[i]]++;
	}
	/* Levels that nothing has do not exist. */
	out->count = 0;
	for (l = 0; l < LEVELS_MAX; l++) {
		number[l] = (uint8_t)out->count;
		if (counts[l])
			out->counts[out->count++] = counts[l];
	}
	for (i = 0; i < out->size; i++)
		out->of[i] = number[out->of[i]];
}

int levels_find(const struct words *in, const struct grid *grid, const struct alphabet *alphabet,
		unsigned most, struct levels *rows, struct levels *columns,
		struct brevis_error *err)
{
	uint64_t *sums = calloc(grid->rows + grid->columns, sizeof(*sums));
	uint64_t *column_sums = sums + grid->rows;
	int status;

	if (!sums)
		return error_nomem(err);
	status = levels_sum(in, grid, alphabet, sums, column_sums, err);
	if (status) {
		free(sums);
		return status;
	}
	rows->size = grid->rows;
	columns->size = grid->columns;
	put_into_levels(sums, grid->columns * grid->inner, most, rows);
	put_into_levels(column_sums, grid->rows * grid->inner, most, columns);
	free(sums);
	return BREVIS_OK;
}

void levels_halve(struct levels *levels)
{
	unsigned i;
	size_t k;

	for (i = 0; i < levels->count; i++)
		levels->counts[i / 2] =
			i % 2 ? levels->counts[i / 2] + levels->counts[i] : levels->counts[i];
	levels->count = (levels->count + 1) / 2;
	for (k = 0; k < levels->size; k++)
		levels->of[k] /= 2;
}
