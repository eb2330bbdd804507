/* SPDX-License-Identifier: Apache-2.0 */
#include "core/synthesis/scale_levels.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/bits.h"
#include "core/base/error.h"
#include "core/entropy/words.h"
#include "core/kernels/kernels.h"

/* Means are put into bins, which are then grouped into levels: more of them if there are more
 * levels than 4. */
#define BINS_FEW 256
#define BINS_MAX 1024

/* Rounds of Lloyd's algorithm, which settles fast in one dimension. */
#define ROUNDS 6

/* Rows that are added up at a time: 32 bits hold sums of so many scales. */
#define SUM_MAX LEVELS_LENGTH_MAX

/* Words of a short row, at most, of short rows that are looked at as one, and such rows at a time.
 */
#define SHORT_ROW    32
#define JOINED_WORDS 512
#define JOINED_ROWS  256

/* Adds the scales of `rows` times `length` words to sums of rows and of places in them. */
static void sum_looked_up(const struct words *in, const uint16_t *scales, size_t first, size_t rows,
			  size_t length, uint32_t *row_sums, uint32_t *place_sums)
{
	size_t r, i;

	for (r = 0; r < rows; r++, first += length) {
		uint32_t sum = 0;

		for (i = 0; i < length; i++) {
			size_t symbol = word_get(in->data, word_bytes(in->width), first + i);

			sum += scales[symbol];
			place_sums[i] += scales[symbol];
		}
		row_sums[r] += sum;
	}
}

/* The sum of the bytes of a short row, but for the bits that are not in the mask. */
static uint32_t sum_bytes(const uint8_t *bytes, size_t length, unsigned mask)
{
	const uint64_t ones = UINT64_C(0x0101010101010101), odd = UINT64_C(0x00ff00ff00ff00ff);
	uint32_t sum = 0;
	uint64_t eight;
	size_t i;

	for (i = 0; i + 8 <= length; i += 8) {
		memcpy(&eight, bytes + i, 8);
		eight &= mask * ones;
		eight = (eight & odd) + (eight >> 8 & odd);
		sum += (uint32_t)(eight * UINT64_C(0x0001000100010001) >> 48);
	}
	for (; i < length; i++)
		sum += bytes[i] & mask;
	return sum;
}

/*
 * The same for short rows of bytes, which a kernel would be slow with: it is given some of them as
 * one for the sums of places.
 */
static void sum_short_rows(const uint8_t *bytes, unsigned mask, size_t rows, size_t length,
			   uint32_t *row_sums, uint32_t *place_sums)
{
	size_t together = JOINED_WORDS / length, r, n, i;
	uint32_t sums[JOINED_WORDS] = {0}, ignored[JOINED_ROWS] = {0};

	for (r = 0; r < rows; r++)
		row_sums[r] += sum_bytes(bytes + r * length, length, mask);
	for (r = 0; rows - r >= together; r += n * together) {
		n = (rows - r) / together;
		n = n < JOINED_ROWS ? n : JOINED_ROWS;
		kernels()->sum8(bytes + r * length, n, together * length, 0, mask, ignored, sums);
	}
	if (r < rows)
		kernels()->sum8(bytes + r * length, 1, (rows - r) * length, 0, mask, ignored, sums);
	for (r = 0; r < together; r++)
		for (i = 0; i < length; i++)
			place_sums[i] += sums[r * length + i];
}

static void sum_rows(const struct words *in, const struct alphabet *alphabet, size_t first,
		     size_t rows, size_t length, uint32_t *row_sums, uint32_t *place_sums)
{
	const struct kernels *k = kernels();

	if (!alphabet->mask)
		sum_looked_up(in, alphabet->scales, first, rows, length, row_sums, place_sums);
	else if (in->width <= 8 && length <= SHORT_ROW)
		sum_short_rows((const uint8_t *)in->data + first, alphabet->mask, rows, length,
			       row_sums, place_sums);
	else if (in->width <= 8)
		k->sum8((const uint8_t *)in->data + first, rows, length, 0, alphabet->mask,
			row_sums, place_sums);
	else
		k->sum16((const uint16_t *)in->data + first, rows, length, 0, alphabet->mask,
			 row_sums, place_sums);
}

static void sum_grid(const struct words *in, const struct grid *grid,
		     const struct alphabet *alphabet, uint64_t *rows, uint64_t *columns,
		     uint32_t *row_sums, uint32_t *place_sums)
{
	size_t length = grid->columns * grid->inner, r, n, c, i;

	for (r = 0; r < grid->rows; r += n) {
		n = grid->rows - r < SUM_MAX ? grid->rows - r : SUM_MAX;
		memset(row_sums, 0, sizeof(*row_sums) * n);
		memset(place_sums, 0, sizeof(*place_sums) * length);
		sum_rows(in, alphabet, r * length, n, length, row_sums, place_sums);
		for (i = 0; i < n; i++)
			rows[r + i] = row_sums[i];
		for (c = 0; c < grid->columns; c++)
			for (i = 0; i < grid->inner; i++)
				columns[c] += place_sums[c * grid->inner + i];
	}
}

int levels_sum(const struct words *in, const struct grid *grid, const struct alphabet *alphabet,
	       uint64_t *rows, uint64_t *columns, struct brevis_error *err)
{
	size_t length = grid->columns * grid->inner;
	size_t n = grid->rows < SUM_MAX ? grid->rows : SUM_MAX;
	uint32_t *sums = malloc(sizeof(*sums) * (length + n));

	if (!sums)
		return error_nomem(err);
	sum_grid(in, grid, alphabet, rows, columns, sums, sums + n);
	free(sums);
	return BREVIS_OK;
}

/* What bins weigh: all below a bin, and their sum of weight times bin. */
struct bins {
	unsigned count;
	uint64_t weights[BINS_MAX + 1];
	uint64_t sums[BINS_MAX + 1];
};

static void weigh_bins(const uint16_t *bin_of, size_t count, struct bins *bins)
{
	uint32_t counts[BINS_MAX];
	unsigned bin;
	size_t i;

	memset(counts, 0, sizeof(*counts) * bins->count);
	for (i = 0; i < count; i++)
		counts[bin_of[i]]++;
	bins->weights[0] = bins->sums[0] = 0;
	for (bin = 0; bin < bins->count; bin++) {
		bins->weights[bin + 1] = bins->weights[bin] + counts[bin];
		bins->sums[bin + 1] = bins->sums[bin] + (uint64_t)counts[bin] * bin;
	}
}

/*
 * Groups bins into at most `most` levels with Lloyd's algorithm. ends[level]: the bin behind its
 * last one. Returns how many levels there are.
 */
static unsigned group_bins(const struct bins *bins, unsigned most, unsigned *ends)
{
	uint64_t centres[LEVELS_MAX]; /* 8 fraction bits */
	uint64_t next = 0;
	unsigned n = 0, round, bin, i;

	/* Starts with bins of equal weight. */
	for (bin = 0; bin < bins->count && n < most; bin++) {
		if (bins->weights[bin + 1] == bins->weights[bin] || bins->weights[bin] < next)
			continue;
		centres[n++] = (uint64_t)bin << 8;
		next = bins->weights[bins->count] * n / most;
	}
	for (round = 0; round < ROUNDS; round++) {
		unsigned begin = 0;

		for (i = 0; i < n; i++) {
			unsigned end = bins->count;
			uint64_t count;

			/* A bin in the middle between two centres is the lower one's. */
			if (i + 1 < n)
				end = (unsigned)((centres[i] + centres[i + 1]) >> 9) + 1;
			ends[i] = end;
			count = bins->weights[end] - bins->weights[begin];
			if (count)
				centres[i] = ((bins->sums[end] - bins->sums[begin]) << 8) / count;
			begin = end;
		}
	}
	return n;
}

/* Of each line, by its sum from the lowest to low + range. */
static void find_bins(const uint64_t *sums, size_t count, uint64_t low, uint64_t range,
		      unsigned bins, uint16_t *bin_of)
{
	unsigned shift = bit_length(range) > 32 ? bit_length(range) - 32 : 0;
	uint64_t factor = ((uint64_t)bins << 32) / ((range >> shift) + 1);
	size_t i;

	for (i = 0; i < count; i++)
		bin_of[i] = (uint16_t)(((sums[i] - low) >> shift) * factor >> 32);
}

/* Turns sums, of `per` words each, into levels. bin_of: room for one of each. */
static void put_into_levels(const uint64_t *sums, uint64_t per, unsigned most, uint16_t *bin_of,
			    struct levels *out)
{
	struct bins bins;
	unsigned ends[LEVELS_MAX], n, i, bin = 0;
	uint8_t level_of[BINS_MAX];
	uint64_t low = sums[0], high = sums[0], range;
	size_t k;

	for (k = 0; k < out->size; k++) {
		low = sums[k] < low ? sums[k] : low;
		high = sums[k] > high ? sums[k] : high;
	}
	bins.count = most > 4 ? BINS_MAX : BINS_FEW;
	/* Differences of less than a 64th of a step of the scale are noise. */
	range = high - low > per * BINS_FEW / 64 ? high - low : per * BINS_FEW / 64;
	find_bins(sums, out->size, low, range, bins.count, bin_of);
	weigh_bins(bin_of, out->size, &bins);
	n = group_bins(&bins, most, ends);
	/* Levels that nothing has do not exist. */
	out->count = 0;
	for (i = 0; i < n; i++) {
		uint64_t count = bins.weights[ends[i]] - bins.weights[bin];

		if (count)
			out->counts[out->count++] = count;
		for (; bin < ends[i]; bin++)
			level_of[bin] = (uint8_t)(count ? out->count - 1 : 0);
	}
	for (k = 0; k < out->size; k++)
		out->of[k] = level_of[bin_of[k]];
}

int levels_find(const struct words *in, const struct grid *grid, const struct alphabet *alphabet,
		unsigned most, struct levels *rows, struct levels *columns,
		struct brevis_error *err)
{
	uint64_t *sums = calloc(grid->rows + grid->columns, sizeof(*sums));
	uint64_t *column_sums = sums + grid->rows;
	uint16_t *bin_of = calloc(grid->rows + grid->columns, sizeof(*bin_of));
	int status;

	status = sums && bin_of ? levels_sum(in, grid, alphabet, sums, column_sums, err)
				: error_nomem(err);
	if (status)
		goto out;
	rows->size = grid->rows;
	columns->size = grid->columns;
	put_into_levels(sums, grid->columns * grid->inner, most, bin_of, rows);
	put_into_levels(column_sums, grid->rows * grid->inner, most, bin_of, columns);
out:
	free(bin_of);
	free(sums);
	return status;
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
