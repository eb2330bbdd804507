/* SPDX-License-Identifier: Apache-2.0 */
/* The worker pool: order of results, capacity, every number of threads, the end in mid-work; and
 * the rings of its jobs. */
#include "tests/unit/support.h"

#include <limits.h>
#include <stdatomic.h>
#include <unistd.h>

#include "core/base/pool.h"
#include "core/base/rings.h"

struct job {
	uint64_t input;
	uint64_t output;
	unsigned delay; /* microseconds */
	atomic_uint runs;
	atomic_uint *running;
	atomic_uint *most;
	unsigned worker; /* that ran it */
};

/* Whether a worker is at work; no two threads share a number. */
static atomic_bool busy[64];

static uint64_t work_of(uint64_t v)
{
	return v * v + 1;
}

static void run(void *arg, unsigned worker)
{
	struct job *job = arg;
	unsigned now = job->running ? atomic_fetch_add(job->running, 1) + 1 : 0;
	unsigned most = job->most ? atomic_load(job->most) : now;

	job->worker = worker;
	assert_in_range(worker, 0, 63);
	assert_false(atomic_exchange(&busy[worker], true));
	while (now > most && !atomic_compare_exchange_weak(job->most, &most, now))
		;
	if (job->delay)
		usleep(job->delay);
	job->output = work_of(job->input);
	atomic_fetch_add(&job->runs, 1);
	if (job->running)
		atomic_fetch_sub(job->running, 1);
	atomic_store(&busy[worker], false);
}

static void check_taken(struct pool *pool, uint64_t number)
{
	struct job *job = pool_take(pool);

	assert_non_null(job);
	assert_int_equal(job->input, number);
	assert_int_equal(job->output, work_of(number));
	assert_int_equal(atomic_load(&job->runs), 1);
}

/* Jobs go around a ring; results come back in order, each run once, however long each takes. */
static void run_jobs(unsigned threads, size_t capacity, uint64_t count)
{
	struct job *jobs = calloc(capacity, sizeof(*jobs));
	struct pool *pool = pool_new(threads, capacity, run);
	uint64_t submitted, taken = 0;

	assert_non_null(jobs);
	assert_non_null(pool);
	assert_int_equal(pool_pending(pool), 0);
	assert_null(pool_take(pool));
	for (submitted = 0; submitted < count; submitted++) {
		struct job *job = &jobs[submitted % capacity];

		if (pool_pending(pool) == capacity)
			check_taken(pool, taken++);
		job->input = submitted;
		job->output = 0;
		job->delay = random_below(16) ? 0 : (unsigned)random_below(300);
		atomic_store(&job->runs, 0);
		pool_submit(pool, job);
		assert_int_equal(pool_pending(pool), submitted + 1 - taken);
		/* Now and then everything is taken back, or a part. */
		while (pool_pending(pool) && !random_below(8))
			check_taken(pool, taken++);
	}
	while (pool_pending(pool))
		check_taken(pool, taken++);
	assert_int_equal(taken, count);
	assert_null(pool_take(pool));
	pool_free(pool);
	free(jobs);
}

static void test_order(void **state)
{
	static const unsigned threads[] = {0, 1, 2, 3, 8, 33};
	static const size_t capacities[] = {1, 2, 3, 10, 64};
	size_t i, j;

	(void)state;
	for (i = 0; i < sizeof(threads) / sizeof(threads[0]); i++)
		for (j = 0; j < sizeof(capacities) / sizeof(capacities[0]); j++)
			run_jobs(threads[i], capacities[j], 700);
}

/* With several threads, the owner's among them, several jobs are under way at once; with one,
 * never. */
static void test_parallelism(void **state)
{
	unsigned threads;

	(void)state;
	for (threads = 1; threads <= 4; threads++) {
		struct job jobs[12] = {0};
		atomic_uint running = 0, most = 0;
		struct pool *pool = pool_new(threads, 12, run);
		size_t i;

		assert_non_null(pool);
		for (i = 0; i < 12; i++) {
			jobs[i].delay = 20000;
			jobs[i].running = &running;
			jobs[i].most = &most;
			pool_submit(pool, &jobs[i]);
		}
		while (pool_take(pool))
			;
		assert_int_equal(atomic_load(&running), 0);
		assert_in_range(atomic_load(&most), threads > 1 ? 2 : 1, threads);
		for (i = 0; i < 12; i++)
			assert_true(jobs[i].worker < threads);
		pool_free(pool);
	}
}

/* What is ready is the oldest job, and only that. */
static void test_ready(void **state)
{
	unsigned threads;

	(void)state;
	for (threads = 1; threads <= 3; threads++) {
		struct job jobs[2] = {{.input = 0, .delay = 40000}, {.input = 1}};
		struct pool *pool = pool_new(threads, 2, run);

		assert_non_null(pool);
		assert_false(pool_ready(pool));
		pool_submit(pool, &jobs[0]);
		pool_submit(pool, &jobs[1]);
		assert_true(threads == 1 || !pool_ready(pool));
		while (!pool_ready(pool))
			usleep(1000);
		assert_int_equal(atomic_load(&jobs[0].runs), 1);
		check_taken(pool, 0);
		check_taken(pool, 1);
		assert_false(pool_ready(pool));
		pool_free(pool);
	}
}

/* Freed while jobs wait: those running are waited for, none runs twice or afterwards. */
static void test_free_in_mid_work(void **state)
{
	int round;

	(void)state;
	for (round = 0; round < 60; round++) {
		struct job jobs[16] = {0};
		struct pool *pool = pool_new(1 + (unsigned)random_below(5), 16, run);
		size_t count = 1 + (size_t)random_below(16), i;

		assert_non_null(pool);
		for (i = 0; i < count; i++) {
			jobs[i].delay = (unsigned)random_below(400);
			pool_submit(pool, &jobs[i]);
		}
		if (random_below(2))
			assert_ptr_equal(pool_take(pool), &jobs[0]);
		pool_free(pool);
		for (i = 0; i < 16; i++) {
			assert_true(atomic_load(&jobs[i].runs) <= (i < count ? 1u : 0u));
			assert_int_equal(jobs[i].output, atomic_load(&jobs[i].runs) ? 1 : 0);
		}
	}
}

/* Jobs of a ring take turns, and none is of two rings; the smaller the pieces, the more jobs. */
static void test_rings(void **state)
{
	static const size_t sizes[] = {SIZE_MAX, (size_t)2 << 20, (size_t)64 << 10};
	unsigned threads;
	size_t ring, i, counts[3];

	(void)state;
	for (threads = 1; threads <= 9; threads += 4) {
		struct rings rings;
		size_t all = 0;

		assert_int_equal(rings_init(&rings, threads, 24), 0);
		for (ring = 0; ring < 3; ring++) {
			unsigned char *first = rings_next(&rings, sizes[ring]), *next;

			for (counts[ring] = 1; counts[ring] <= rings.count; counts[ring]++) {
				next = rings_next(&rings, sizes[ring]);
				if (next == first)
					break;
				assert_ptr_equal(next, first + 24 * counts[ring]);
				assert_int_equal(next[0] + next[23], 0);
			}
			for (i = 0; i < counts[ring]; i++)
				memset(first + 24 * i, 1, 24);
			assert_ptr_equal(first, rings_at(&rings, all));
			all += counts[ring];
			assert_true(!ring || threads == 1 || counts[ring] > counts[ring - 1]);
			assert_true(counts[ring] > (threads > 1 ? threads : 0));
		}
		assert_int_equal(all, rings.count);
		rings_release(&rings);
	}
}

static void test_edges(void **state)
{
	(void)state;
	pool_free(NULL);
	pool_free(pool_new(4, 4, run));
	assert_true(pool_threads(0) >= 1);
	assert_int_equal(pool_threads(3), 3);
	assert_int_equal(pool_threads(UINT_MAX), POOL_THREADS_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_order), TEST(test_parallelism),
		TEST(test_ready), TEST(test_free_in_mid_work),
		TEST(test_rings), TEST(test_edges),
	};

	seed_init("test_pool");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
