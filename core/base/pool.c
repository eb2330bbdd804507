/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

struct ticket {
	void *job;
	bool done;
};

/*
 * A ring of tickets, addressed by counters that only grow (modulo capacity):
 *
 *     taken <= started <= submitted <= taken + capacity
 *
 * [taken, started) are running or done, [started, submitted) wait for a worker.
 */
struct pool {
	void (*run)(void *job);
	pthread_t *threads;
	unsigned thread_count;
	struct ticket *ring;
	size_t capacity;
	size_t taken;
	size_t started;
	size_t submitted;
	bool stopping;
	pthread_mutex_t lock;
	pthread_cond_t work; /* submitted grew, or stopping */
	pthread_cond_t done; /* a ticket is done */
};

static unsigned processors(void)
{
	cpu_set_t set;
	long n;

	/* Fails where there are more processors than the set has room for. */
	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		n = CPU_COUNT(&set);
	else
		n = sysconf(_SC_NPROCESSORS_ONLN);
	return n > 0 ? (unsigned)n : 1;
}

unsigned pool_threads(unsigned wanted)
{
	unsigned threads = wanted ? wanted : processors();

	return threads < POOL_THREADS_MAX ? threads : POOL_THREADS_MAX;
}

static struct ticket *ticket_at(struct pool *pool, size_t number)
{
	return &pool->ring[number % pool->capacity];
}

static void *work(void *arg)
{
	struct pool *pool = arg;
	struct ticket *ticket;

	pthread_mutex_lock(&pool->lock);
	for (;;) {
		while (!pool->stopping && pool->started == pool->submitted)
			pthread_cond_wait(&pool->work, &pool->lock);
		if (pool->stopping)
			break;
		ticket = ticket_at(pool, pool->started++);
		pthread_mutex_unlock(&pool->lock);
		pool->run(ticket->job);
		pthread_mutex_lock(&pool->lock);
		ticket->done = true;
		pthread_cond_signal(&pool->done);
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

/* Workers take no signals: the program's handlers run on the thread that owns the pool. */
static void start_threads(struct pool *pool, unsigned threads)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (pool->thread_count < threads &&
	       !pthread_create(&pool->threads[pool->thread_count], NULL, work, pool))
		pool->thread_count++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

struct pool *pool_new(unsigned threads, size_t capacity, void (*run)(void *job))
{
	struct pool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return NULL;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->work, NULL);
	pthread_cond_init(&pool->done, NULL);
	pool->run = run;
	pool->capacity = capacity;
	pool->ring = calloc(capacity, sizeof(*pool->ring));
	pool->threads = calloc(threads + 1, sizeof(*pool->threads));
	if (!pool->ring || !pool->threads) {
		pool_free(pool);
		return NULL;
	}
	if (threads > 1)
		start_threads(pool, threads);
	return pool;
}

size_t pool_pending(const struct pool *pool)
{
	return pool->submitted - pool->taken;
}

void pool_submit(struct pool *pool, void *job)
{
	struct ticket *ticket = ticket_at(pool, pool->submitted);

	if (!pool->thread_count) {
		pool->run(job);
		*ticket = (struct ticket){job, true};
		pool->started = ++pool->submitted;
		return;
	}
	pthread_mutex_lock(&pool->lock);
	*ticket = (struct ticket){job, false};
	pool->submitted++;
	pthread_cond_signal(&pool->work);
	pthread_mutex_unlock(&pool->lock);
}

void *pool_take(struct pool *pool)
{
	struct ticket *ticket = ticket_at(pool, pool->taken);

	if (!pool_pending(pool))
		return NULL;
	pthread_mutex_lock(&pool->lock);
	while (!ticket->done)
		pthread_cond_wait(&pool->done, &pool->lock);
	pool->taken++;
	pthread_mutex_unlock(&pool->lock);
	return ticket->job;
}

void pool_free(struct pool *pool)
{
	unsigned i;

	if (!pool)
		return;
	pthread_mutex_lock(&pool->lock);
	pool->stopping = true;
	pthread_cond_broadcast(&pool->work);
	pthread_mutex_unlock(&pool->lock);
	for (i = 0; i < pool->thread_count; i++)
		pthread_join(pool->threads[i], NULL);
	pthread_cond_destroy(&pool->work);
	pthread_cond_destroy(&pool->done);
	pthread_mutex_destroy(&pool->lock);
	free(pool->threads);
	free(pool->ring);
	free(pool);
}
