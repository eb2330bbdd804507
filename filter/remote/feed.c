/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/remote/feed.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

enum feed_end { FEED_OPEN, FEED_FINISHED, FEED_FAILED };

struct feed {
	int fd;
	uint64_t limit;
	pthread_mutex_t mutex;
	pthread_cond_t changed; /* .size or .end */
	uint64_t size;
	enum feed_end end;
};

struct feed *feed_new(int fd, uint64_t limit)
{
	struct feed *feed = calloc(1, sizeof(*feed));

	if (!feed)
		return NULL;
	feed->fd = fd;
	feed->limit = limit;
	pthread_mutex_init(&feed->mutex, NULL);
	pthread_cond_init(&feed->changed, NULL);
	return feed;
}

void feed_free(struct feed *feed)
{
	if (!feed)
		return;
	pthread_cond_destroy(&feed->changed);
	pthread_mutex_destroy(&feed->mutex);
	free(feed);
}

void feed_grow(struct feed *feed, uint64_t size)
{
	pthread_mutex_lock(&feed->mutex);
	if (size > feed->size) {
		feed->size = size;
		pthread_cond_broadcast(&feed->changed);
	}
	pthread_mutex_unlock(&feed->mutex);
}

/* The first end counts: what was granted is not taken back, nor what failed granted. */
static void end(struct feed *feed, enum feed_end how)
{
	pthread_mutex_lock(&feed->mutex);
	if (feed->end == FEED_OPEN) {
		feed->end = how;
		pthread_cond_broadcast(&feed->changed);
	}
	pthread_mutex_unlock(&feed->mutex);
}

void feed_finish(struct feed *feed)
{
	end(feed, FEED_FINISHED);
}

void feed_fail(struct feed *feed)
{
	end(feed, FEED_FAILED);
}

int feed_fd(const struct feed *feed)
{
	return feed->fd;
}

uint64_t feed_limit(const struct feed *feed)
{
	return feed->limit;
}

/* What is there from an offset, at most len. */
static size_t available(const struct feed *feed, uint64_t offset, size_t len)
{
	if (offset >= feed->size)
		return 0;
	return feed->size - offset < len ? (size_t)(feed->size - offset) : len;
}

int64_t feed_wait(struct feed *feed, uint64_t offset, size_t len)
{
	int64_t there = -1;

	pthread_mutex_lock(&feed->mutex);
	while (feed->end == FEED_OPEN && available(feed, offset, len) < len)
		pthread_cond_wait(&feed->changed, &feed->mutex);
	if (feed->end != FEED_FAILED)
		there = (int64_t)available(feed, offset, len);
	pthread_mutex_unlock(&feed->mutex);
	return there;
}

ssize_t feed_read(struct feed *feed, void *buf, size_t len, uint64_t offset)
{
	size_t there = 0;
	bool failed;
	ssize_t got;

	if (len == 0)
		return 0;
	pthread_mutex_lock(&feed->mutex);
	while (feed->end == FEED_OPEN && available(feed, offset, 1) == 0)
		pthread_cond_wait(&feed->changed, &feed->mutex);
	there = available(feed, offset, len);
	failed = feed->end == FEED_FAILED;
	pthread_mutex_unlock(&feed->mutex);
	if (failed) {
		errno = 0;
		return -1;
	}
	if (there == 0)
		return 0;
	do
		got = pread(feed->fd, buf, there, (off_t)offset);
	while (got < 0 && errno == EINTR);
	/* The file is shorter than was said: an end that nobody granted. */
	if (got == 0) {
		errno = ENODATA;
		return -1;
	}
	return got;
}

int feed_size(struct feed *feed, uint64_t *size)
{
	int rc = -1;

	pthread_mutex_lock(&feed->mutex);
	while (feed->end == FEED_OPEN)
		pthread_cond_wait(&feed->changed, &feed->mutex);
	if (feed->end == FEED_FINISHED) {
		*size = feed->size;
		rc = 0;
	}
	pthread_mutex_unlock(&feed->mutex);
	return rc;
}
