/* SPDX-License-Identifier: Apache-2.0 */
/**
 * SHA-256 of a stream, on a thread of its own, so that it runs beside whatever else is done with
 * the bytes. They are not copied, unless they are few: who adds them keeps them as they are until
 * they were read.
 */
#ifndef CORE_BASE_HASHER_H
#define CORE_BASE_HASHER_H

#include <stdbool.h>

#include "core/brevis.h"

struct hasher;

/**
 * threaded: with a thread; without one (or if none can be started) hasher_add hashes itself.
 * Returns NULL when memory is short.
 */
struct hasher *hasher_new(bool threaded);

/** Ends it; what was not read yet is not read any more. */
void hasher_free(struct hasher *hasher);

/** Adds the next len bytes of the stream. Returns the ticket to wait for before they change. */
uint64_t hasher_add(struct hasher *hasher, const void *data, size_t len);

/**
 * Waits until the bytes of a ticket, and those before them, were read. For ticket 0, and without a
 * hasher (NULL), there is nothing to wait for.
 */
void hasher_wait(struct hasher *hasher, uint64_t ticket);

/** Waits for all of it, and gives the digest. Nothing can be added after that. */
void hasher_final(struct hasher *hasher, uint8_t digest[BREVIS_SHA256_SIZE]);

#endif
