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

struct pool;

struct worker {
	struct pool *pool;
	unsigned number;
	pthread_t thread;
};

/*
 * A ring of tickets, addressed by counters that only grow (modulo capacity):
 *
 *     taken <= started <= submitted <= taken + capacity
 *
 * [taken, started) are running or done, [started, submitted) wait for a worker.
 */
struct pool {
	void (*run)(void *job, unsigned worker);
	struct worker *workers;
	unsigned worker_count;
	struct ticket *ring;
	size_t capacity;
	size_t taken;
	size_t started;
	size_t submitted;
	bool stopping;
	pthread_mutex_t lock;
	pthread_cond_t work; /* submitted grew, or stopping */
	pthread_cond_t done; /* the oldest ticket is done */
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

/* Runs the next job that waits. With the lock, which is open meanwhile. */
static void run_next(struct pool *pool, unsigned worker)
{
	size_t number = pool->started++;
	struct ticket *ticket = ticket_at(pool, number);

	pthread_mutex_unlock(&pool->lock);
	pool->run(ticket->job, worker);
	pthread_mutex_lock(&pool->lock);
	ticket->done = true;
	if (number == pool->taken)
		pthread_cond_signal(&pool->done);
}

static void *work(void *arg)
{
	struct worker *worker = arg;
	struct pool *pool = worker->pool;

	pthread_mutex_lock(&pool->lock);
	for (;;) {
		while (!pool->stopping && pool->started == pool->submitted)
			pthread_cond_wait(&pool->work, &pool->lock);
		if (pool->stopping)
			break;
		run_next(pool, worker->number);
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

/* Workers take no signals: the program's handlers run on the thread that owns the pool. */
static void start_workers(struct pool *pool, unsigned count)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (pool->worker_count < count) {
		struct worker *worker = &pool->workers[pool->worker_count];

		*worker = (struct worker){.pool = pool, .number = pool->worker_count};
		if (pthread_create(&worker->thread, NULL, work, worker))
			break;
		pthread_setname_np(worker->thread, "brevis-work");
		pool->worker_count++;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

struct pool *pool_new(unsigned threads, size_t capacity, void (*run)(void *job, unsigned worker))
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
	pool->workers = calloc(threads + 1, sizeof(*pool->workers));
	if (!pool->ring || !pool->workers) {
		pool_free(pool);
		return NULL;
	}
	if (threads > 1)
		start_workers(pool, threads - 1);
	return pool;
}

size_t pool_pending(const struct pool *pool)
{
	return pool->submitted - pool->taken;
}

void pool_submit(struct pool *pool, void *job)
{
	struct ticket *ticket = ticket_at(pool, pool->submitted);

	if (!pool->worker_count) {
		pool->run(job, 0);
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

bool pool_ready(struct pool *pool)
{
	bool ready;

	if (!pool_pending(pool))
		return false;
	pthread_mutex_lock(&pool->lock);
	ready = ticket_at(pool, pool->taken)->done;
	pthread_mutex_unlock(&pool->lock);
	return ready;
}

void *pool_take(struct pool *pool)
{
	struct ticket *ticket = ticket_at(pool, pool->taken);

	if (!pool_pending(pool))
		return NULL;
	pthread_mutex_lock(&pool->lock);
	while (!ticket->done) {
		if (pool->started < pool->submitted)
			run_next(pool, pool->worker_count);
		else
			pthread_cond_wait(&pool->done, &pool->lock);
	}
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
	for (i = 0; i < pool->worker_count; i++)
		pthread_join(pool->workers[i].thread, NULL);
	pthread_cond_destroy(&pool->work);
	pthread_cond_destroy(&pool->done);
	pthread_mutex_destroy(&pool->lock);
	free(pool->workers);
	free(pool->ring);
	free(pool);
}
