/* SPDX-License-Identifier: Apache-2.0 */
/** Reading a descriptor or a source to its end, and writing to a descriptor. */
#ifndef FILTER_STREAM_H
#define FILTER_STREAM_H

#include <sys/types.h>

#include "core/brevis.h"

/** Makes a pipe hold a megabyte: large files travel faster. Where that is not granted, or fd is no
 * pipe, nothing is lost. */
void stream_enlarge_pipe(int fd);

/**
 * Reads fd to its end and hands all of it to write. What write refuses is read all the same and
 * dropped: who writes into a pipe must be able to finish. Returns 0, -1 when reading failed (with
 * errno), 1 when write did.
 */
int stream_read(int fd, brevis_write_fn write, void *ctx);

/** A brevis_write_fn that appends to a struct buffer, and fails when memory is short. */
int stream_keep(void *buffer, const void *data, size_t len);

/** A brevis_write_fn whose ctx is an int *: the descriptor. errno tells why it failed. */
int stream_write(void *fd, const void *data, size_t len);

/**
 * Reads all len bytes at an offset. Returns 0, or -1 with errno: ENODATA if the file ends before.
 */
int stream_read_at(int fd, void *buf, size_t len, uint64_t offset);

/** Reads a file from its start until room bytes are there or it ends. Returns how many there are,
 * or -1 with errno set. */
ssize_t stream_read_start(int fd, void *buf, size_t room);

/** Bytes that stream_write_checked writes at a time. */
#define STREAM_STEP ((size_t)256 << 10)

/**
 * Appends to a file that has `offset` bytes, and reads each step back, into room for STREAM_STEP
 * bytes, as soon as it is written: both copies are in the cache then. Returns 0, or -1 with errno:
 * EIO if the file holds something else.
 */
int stream_write_checked(int fd, const void *data, size_t len, uint64_t offset, uint8_t *room);

/**
 * Hands the first len bytes of a source to write, in steps. Returns 0, -1 when reading failed (with
 * errno), 1 when write did; then that ends it.
 */
int source_copy(const struct brevis_source *source, uint64_t len, brevis_write_fn write, void *ctx);

/** SHA-256 of all of a source. Returns 0, or -1 with errno when it cannot be read. */
int source_digest(const struct brevis_source *source, uint8_t sha256[BREVIS_SHA256_SIZE]);

#endif
