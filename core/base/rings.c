/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/rings.h"

#include <stdint.h>
#include <stdlib.h>

/* The largest pieces of each ring, but for the first, which takes all. */
static const size_t sizes[RINGS] = {SIZE_MAX, (size_t)2 << 20, (size_t)64 << 10};

/* How many times the jobs of the first ring each has. */
static const size_t shares[RINGS] = {1, 4, 16};

int rings_init(struct rings *rings, unsigned threads, size_t job_size)
{
	/* A piece for each thread, one that is being filled, and one that is being read. */
	size_t each = threads > 1 ? threads + 2 : 1;
	size_t i;

	*rings = (struct rings){.job_size = job_size};
	for (i = 0; i < RINGS; i++) {
		rings->next[i] = rings->begins[i] = rings->count;
		rings->count += threads > 1 ? each * shares[i] : each;
	}
	rings->begins[RINGS] = rings->count;
	rings->jobs = calloc(rings->count, job_size);
	if (!rings->jobs)
		rings->count = 0;
	return rings->jobs ? 0 : -1;
}

void rings_release(struct rings *rings)
{
	free(rings->jobs);
	*rings = (struct rings){0};
}

void *rings_at(const struct rings *rings, size_t i)
{
	return rings->jobs + i * rings->job_size;
}

void *rings_next(struct rings *rings, size_t piece_size)
{
	size_t ring = RINGS - 1, i;

	while (piece_size > sizes[ring])
		ring--;
	i = rings->next[ring]++;
	if (rings->next[ring] == rings->begins[ring + 1])
		rings->next[ring] = rings->begins[ring];
	return rings_at(rings, i);
}
