/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A file on its way to a store while it is still being made or checked: one thread lets it grow,
 * others read what is there and wait for more. The end is only granted to content that proved good:
 * a reader that has come to the end may give the object its name, one that is told of a failure
 * must not.
 */
#ifndef FILTER_REMOTE_FEED_H
#define FILTER_REMOTE_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct feed;

/**
 * Bytes are read from fd, which stays the caller's, at their offsets. limit is the size that it
 * will not exceed: a bound for choosing part sizes. Returns NULL when memory is short.
 */
struct feed *feed_new(int fd, uint64_t limit);
void feed_free(struct feed *feed);

/** For who makes it: so many bytes are there now. */
void feed_grow(struct feed *feed, uint64_t size);
/** The file is whole, and good. */
void feed_finish(struct feed *feed);
/** It is not, or is not wanted any more: readers are to stop. Allowed at any time before
 * feed_finish. */
void feed_fail(struct feed *feed);

uint64_t feed_limit(const struct feed *feed);
int feed_fd(const struct feed *feed);

/**
 * Waits until len bytes are there from an offset, or the end, or a failure. Returns how many there
 * are, at most len: fewer only at the end. -1 after a failure.
 */
int64_t feed_wait(struct feed *feed, uint64_t offset, size_t len);

/**
 * Reads what is there at an offset, waiting for the first byte. Returns how many bytes; 0 at the
 * end; -1 after a failure, with errno 0 if it is the feed's, else that of reading.
 */
ssize_t feed_read(struct feed *feed, void *buf, size_t len, uint64_t offset);

/** Waits for the end. Returns 0 and the size, or -1 after a failure. */
int feed_size(struct feed *feed, uint64_t *size);

#endif
