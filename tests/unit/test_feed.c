/* SPDX-License-Identifier: Apache-2.0 */
/* A file that grows while it is read: what readers see, when they wait, and what a failure says. */
#include "filter/remote/feed.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#define TOTAL ((size_t)3 << 20)

static uint8_t byte_at(size_t i)
{
	return (uint8_t)(i * 2654435761U >> 13);
}

static int make_file(size_t size)
{
	uint8_t *bytes = malloc(size + 1);
	int fd = memfd_create("feed", MFD_CLOEXEC);

	assert_non_null(bytes);
	assert_true(fd >= 0);
	for (size_t i = 0; i < size; i++)
		bytes[i] = byte_at(i);
	assert_int_equal(write(fd, bytes, size), size);
	free(bytes);
	return fd;
}

static void test_alone(void **state)
{
	int fd = make_file(100);
	struct feed *feed = feed_new(fd, 1000);
	uint8_t buf[200];
	uint64_t size = 0;

	(void)state;
	assert_int_equal(feed_limit(feed), 1000);
	feed_grow(feed, 60);
	feed_grow(feed, 50); /* does not shrink */
	assert_int_equal(feed_wait(feed, 0, 60), 60);
	assert_int_equal(feed_wait(feed, 40, 10), 10);
	assert_int_equal(feed_wait(feed, 70, 0), 0);
	assert_int_equal(feed_read(feed, buf, sizeof(buf), 50), 10);
	assert_int_equal(buf[9], byte_at(59));
	assert_int_equal(feed_read(feed, buf, 0, 500), 0);
	feed_grow(feed, 100);
	feed_finish(feed);
	feed_fail(feed); /* too late */
	assert_int_equal(feed_wait(feed, 90, 100), 10);
	assert_int_equal(feed_wait(feed, 100, 1), 0);
	assert_int_equal(feed_wait(feed, UINT64_MAX, SIZE_MAX), 0);
	assert_int_equal(feed_read(feed, buf, sizeof(buf), 0), 100);
	assert_int_equal(feed_read(feed, buf, sizeof(buf), 100), 0);
	assert_int_equal(feed_read(feed, buf, sizeof(buf), UINT64_MAX), 0);
	assert_int_equal(feed_size(feed, &size), 0);
	assert_int_equal(size, 100);
	feed_free(feed);
	feed_free(NULL);
	close(fd);
}

static void test_empty(void **state)
{
	int fd = make_file(0);
	struct feed *feed = feed_new(fd, 0);
	uint64_t size = 1;
	uint8_t byte;

	(void)state;
	feed_finish(feed);
	assert_int_equal(feed_wait(feed, 0, 1), 0);
	assert_int_equal(feed_read(feed, &byte, 1, 0), 0);
	assert_int_equal(feed_size(feed, &size), 0);
	assert_int_equal(size, 0);
	feed_free(feed);
	close(fd);
}

/* Even what is there is not handed out any more. */
static void test_failed(void **state)
{
	int fd = make_file(100);
	struct feed *feed = feed_new(fd, 100);
	uint64_t size;
	uint8_t byte;

	(void)state;
	feed_grow(feed, 100);
	feed_fail(feed);
	feed_finish(feed); /* nor is the end granted */
	assert_int_equal(feed_wait(feed, 0, 1), -1);
	errno = EIO;
	assert_int_equal(feed_read(feed, &byte, 1, 0), -1);
	assert_int_equal(errno, 0);
	assert_int_equal(feed_size(feed, &size), -1);
	feed_free(feed);
	close(fd);
}

static void test_reading_fails(void **state)
{
	int fd = make_file(10);
	struct feed *feed = feed_new(fd, 100);
	struct feed *closed = feed_new(-1, 100);
	uint8_t byte;

	(void)state;
	feed_grow(feed, 100);
	feed_grow(closed, 100);
	assert_int_equal(feed_read(feed, &byte, 1, 50), -1);
	assert_int_equal(errno, ENODATA);
	assert_int_equal(feed_read(closed, &byte, 1, 50), -1);
	assert_int_equal(errno, EBADF);
	feed_free(feed);
	feed_free(closed);
	close(fd);
}

/* ---- with threads ---------------------------------------------------------------------------- */

struct reader {
	pthread_t thread;
	struct feed *feed;
	size_t step;
	uint64_t read; /* bytes that came, all of them right */
	bool ended;
	bool failed;
	bool wrong;
};

static void *read_all(void *ctx)
{
	struct reader *reader = ctx;
	uint8_t *buf = malloc(reader->step);

	for (;;) {
		ssize_t got = feed_read(reader->feed, buf, reader->step, reader->read);

		if (got <= 0) {
			reader->ended = got == 0;
			reader->failed = got < 0 && errno == 0;
			break;
		}
		for (ssize_t i = 0; i < got; i++)
			if (buf[i] != byte_at((size_t)reader->read + (size_t)i))
				reader->wrong = true;
		reader->read += (uint64_t)got;
	}
	free(buf);
	return NULL;
}

static void *wait_all(void *ctx)
{
	struct reader *reader = ctx;

	for (;;) {
		int64_t got = feed_wait(reader->feed, reader->read, reader->step);

		reader->failed = got < 0;
		if (got < 0)
			break;
		reader->read += (uint64_t)got;
		reader->ended = (size_t)got < reader->step;
		if (reader->ended)
			break;
	}
	return NULL;
}

static void *wait_for_size(void *ctx)
{
	struct reader *reader = ctx;

	reader->failed = feed_size(reader->feed, &reader->read) != 0;
	reader->ended = !reader->failed;
	return NULL;
}

static void run_readers(bool good)
{
	static void *(*const jobs[])(void *) = {read_all, read_all, wait_all, wait_all,
						wait_for_size};
	static const size_t steps[] = {4093, 1 << 20, 100000, 1 << 20, 0};
	enum { COUNT = sizeof(jobs) / sizeof(jobs[0]) };
	struct reader readers[COUNT] = {0};
	int fd = make_file(0);
	struct feed *feed = feed_new(fd, TOTAL);
	uint8_t *block = malloc(70001);
	size_t size = 0;

	for (size_t i = 0; i < COUNT; i++) {
		readers[i].feed = feed;
		readers[i].step = steps[i];
		assert_int_equal(pthread_create(&readers[i].thread, NULL, jobs[i], &readers[i]), 0);
	}
	while (size < TOTAL) {
		size_t n = TOTAL - size < 70001 ? TOTAL - size : 70001;

		for (size_t i = 0; i < n; i++)
			block[i] = byte_at(size + i);
		assert_int_equal(pwrite(fd, block, n, (off_t)size), n);
		size += n;
		feed_grow(feed, size);
	}
	if (good)
		feed_finish(feed);
	else
		feed_fail(feed);
	for (size_t i = 0; i < COUNT; i++) {
		pthread_join(readers[i].thread, NULL);
		assert_false(readers[i].wrong);
		assert_int_equal(readers[i].ended, good);
		assert_int_equal(readers[i].failed, !good);
		if (good)
			assert_int_equal(readers[i].read, TOTAL);
	}
	free(block);
	feed_free(feed);
	close(fd);
}

static void test_readers(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++)
		run_readers(true);
}

static void test_readers_of_failure(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++)
		run_readers(false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alone),   cmocka_unit_test(test_empty),
		cmocka_unit_test(test_failed),  cmocka_unit_test(test_reading_fails),
		cmocka_unit_test(test_readers), cmocka_unit_test(test_readers_of_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
