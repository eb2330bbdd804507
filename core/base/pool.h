/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Worker threads whose results are taken in the order of submission: what makes the bytes that are
 * written independent of the number of threads.
 *
 * One thread owns the pool: it submits jobs and takes them back. Jobs belong to the caller; between
 * pool_submit and pool_take a job belongs to the worker that runs it.
 */
#ifndef CORE_BASE_POOL_H
#define CORE_BASE_POOL_H

#include <stdbool.h>
#include <stddef.h>

struct pool;

/** More workers than this only wait for each other. */
#define POOL_THREADS_MAX 256

/** The number of workers to start when wanted were asked for: 0 means one for each processor. */
unsigned pool_threads(unsigned wanted);

/**
 * Makes a pool of so many threads, the owner's among them: it runs jobs while it would wait in
 * pool_take. Each calls run(job, worker) for one job after another; worker is its number, from 0.
 * At most capacity jobs can be under way. With one thread (or if none can be started) pool_submit
 * runs the job itself, as worker 0. Returns NULL when memory is short.
 */
struct pool *pool_new(unsigned threads, size_t capacity, void (*run)(void *job, unsigned worker));

/** Jobs submitted and not taken yet. */
size_t pool_pending(const struct pool *pool);

/** Hands a job over. The caller keeps pool_pending() below the capacity. */
void pool_submit(struct pool *pool, void *job);

/** True if there is an oldest job and pool_take would not wait for it. */
bool pool_ready(struct pool *pool);

/** Waits for the oldest job to be finished, running others meanwhile, and gives it back; NULL if
 * there is none. */
void *pool_take(struct pool *pool);

/** Waits for the jobs that are running; those not started yet are never run. */
void pool_free(struct pool *pool);

#endif
