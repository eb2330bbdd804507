/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "scripts/synthetic.h"

/* A deviate is interpolated between neighbours of this many quantiles. */
#define QUANTILE_BITS 14
#define QUANTILES     ((size_t)1 << QUANTILE_BITS)

/* Standard deviations at which the distribution ends; a 16 KiB tensor has no word beyond them. */
#define TAIL 4.5

#define ROW_SPREAD    0.25f  /* standard deviation of the logarithm of a row's scale */
#define COLUMN_SPREAD 0.15f  /* and of a column's */
#define STEP          0.004f /* what a step of training changes, relative to a word's scale */

struct synthetic {
	float quantiles[QUANTILES + 1];
};

uint64_t synthetic_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

struct synthetic *synthetic_new(void)
{
	struct synthetic *s = malloc(sizeof(*s));
	double x = -TAIL;

	if (!s)
		return NULL;
	s->quantiles[0] = (float)-TAIL;
	s->quantiles[QUANTILES] = (float)TAIL;
	for (size_t i = 1; i < QUANTILES; i++) {
		const double wanted = (double)i / (double)QUANTILES;

		/* The neighbour is so close that Newton's steps cannot go astray. */
		for (unsigned step = 0; step < 8; step++) {
			double density = exp(-x * x / 2) / sqrt(2 * M_PI);

			x -= (erfc(-x / M_SQRT2) / 2 - wanted) / density;
			x = fmin(fmax(x, -TAIL), TAIL);
		}
		s->quantiles[i] = (float)x;
	}
	return s;
}

void synthetic_free(struct synthetic *synthetic)
{
	free(synthetic);
}

size_t synthetic_size(const struct synthetic_tensor *tensor)
{
	return tensor->rows * tensor->columns * sizeof(uint16_t);
}

/* A Gaussian deviate from 32 random bits. */
static float deviate(const struct synthetic *s, uint32_t bits)
{
	const uint32_t fraction_bits = 32 - QUANTILE_BITS;
	const float *q = s->quantiles + (bits >> fraction_bits);
	uint32_t fraction = bits & ((UINT32_C(1) << fraction_bits) - 1);

	return q[0] + (q[1] - q[0]) * ((float)fraction * (1.0f / (float)(1u << fraction_bits)));
}

static void put_bf16(uint8_t *to, float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	/* To nearest, ties to even. */
	bits += 0x7fff + ((bits >> 16) & 1);
	to[0] = (uint8_t)(bits >> 16);
	to[1] = (uint8_t)(bits >> 24);
}

static void fill_scales(const struct synthetic *s, float *scales, size_t count, float spread,
			float middle, uint64_t *random)
{
	for (size_t i = 0; i < count; i++)
		scales[i] = middle * expf(spread * deviate(s, (uint32_t)synthetic_random(random)));
}

static uint64_t hash_name(const char *name, uint64_t seed)
{
	/* Each step's result is the next one's state: else names would meet in the same stream. */
	for (; *name; name++) {
		seed ^= (uint8_t)*name;
		seed = synthetic_random(&seed);
	}
	return seed;
}

int synthetic_fill(const struct synthetic *synthetic, const struct synthetic_tensor *tensor,
		   uint64_t seed, uint8_t *data)
{
	const bool vector = tensor->rows == 1;
	const float steps = STEP * sqrtf((float)tensor->revision);
	uint64_t random = hash_name(tensor->name, seed);
	uint64_t moved = random ^ UINT64_C(0xa5a5a5a5a5a5a5a5);
	float *scales = malloc((tensor->rows + tensor->columns) * sizeof(*scales));
	float *columns = scales + tensor->rows;

	if (!scales)
		return -1;
	fill_scales(synthetic, scales, tensor->rows, ROW_SPREAD, vector ? 0.1f : 0.02f, &random);
	fill_scales(synthetic, columns, tensor->columns, COLUMN_SPREAD, 1, &random);
	for (size_t row = 0; row < tensor->rows; row++) {
		for (size_t column = 0; column < tensor->columns; column++, data += 2) {
			float scale = scales[row] * columns[column];
			float value = deviate(synthetic, (uint32_t)synthetic_random(&random));

			if (tensor->revision)
				value += steps *
					 deviate(synthetic, (uint32_t)synthetic_random(&moved));
			put_bf16(data, vector ? 1 + value * scale : value * scale);
		}
	}
	free(scales);
	return 0;
}

int synthetic_put_header(FILE *out, const struct synthetic_tensor *tensors, size_t count)
{
	char *text = NULL;
	size_t size = 0;
	size_t offset = 0;
	FILE *header = open_memstream(&text, &size);
	int r;

	if (!header)
		return -1;
	for (size_t i = 0; i < count; i++) {
		const struct synthetic_tensor *t = &tensors[i];
		size_t end = offset + synthetic_size(t);

		fprintf(header, "%c\"%s\":{\"dtype\":\"BF16\",\"shape\":[", i ? ',' : '{', t->name);
		if (t->rows != 1)
			fprintf(header, "%zu,", t->rows);
		fprintf(header, "%zu],\"data_offsets\":[%zu,%zu]}", t->columns, offset, end);
		offset = end;
	}
	fputc('}', header);
	/* Data that starts aligned can be mapped. */
	for (long at = ftell(header); at % 8; at++)
		fputc(' ', header);
	r = fclose(header);
	for (unsigned shift = 0; !r && shift < 64; shift += 8)
		fputc((int)((size >> shift) & 0xff), out);
	if (!r)
		fwrite(text, 1, size, out);
	free(text);
	return r;
}
