/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Jobs for a pool, used again and again: a job keeps the buffers that it has grown. Pieces of
 * similar size share a ring, whose jobs are used in turn. The smaller its pieces are, the more jobs
 * a ring has, so that workers do not wait for the thread that fills them, nor all for a large piece
 * whose result is to be taken first; and what all jobs hold stays bounded.
 */
#ifndef CORE_BASE_RINGS_H
#define CORE_BASE_RINGS_H

#include <stddef.h>

#define RINGS 3

struct rings {
	size_t job_size;
	unsigned char *jobs; /* of all rings, one ring behind the other */
	size_t count;
	size_t begins[RINGS + 1];
	size_t next[RINGS]; /* number of the job that is used next */
};

/** Makes zeroed jobs of so many bytes, for a pool of so many threads. Returns -1 when memory is
 * short. Either way rings_release is in order. */
int rings_init(struct rings *rings, unsigned threads, size_t job_size);

/** Frees the jobs; what they hold is the caller's. */
void rings_release(struct rings *rings);

/** Job i of rings->count, in whatever ring. */
void *rings_at(const struct rings *rings, size_t i);

/** The job for a piece of so many bytes: the one of its ring that was used longest ago. */
void *rings_next(struct rings *rings, size_t piece_size);

#endif
