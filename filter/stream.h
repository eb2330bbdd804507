/* SPDX-License-Identifier: Apache-2.0 */
/** Reading a descriptor to its end, and writing to one. */
#ifndef FILTER_STREAM_H
#define FILTER_STREAM_H

#include "core/brevis.h"

/**
 * Reads fd to its end and hands all of it to write. What write refuses is read all the same and
 * dropped: who writes into a pipe must be able to finish. Returns 0, -1 when reading failed (with
 * errno), 1 when write did.
 */
int stream_read(int fd, brevis_write_fn write, void *ctx);

/** A brevis_write_fn whose ctx is an int *: the descriptor. errno tells why it failed. */
int stream_write(void *fd, const void *data, size_t len);

#endif
