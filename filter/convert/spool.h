/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Bytes that have to wait until all of them are there: in memory while they are few, then in a
 * temporary file without a name, which vanishes with the program.
 */
#ifndef FILTER_SPOOL_H
#define FILTER_SPOOL_H

#include <stdint.h>

#include "core/brevis.h"
#include "filter/objects/object_store.h"

/** Bytes that are kept in memory. */
#define SPOOL_MEMORY (1024 * 1024)

struct spool;

/**
 * The file lies in the tmp of store, or, where that cannot be written or store is NULL, where
 * TMPDIR says. store must live as long. Returns NULL when memory is short.
 */
struct spool *spool_new(const struct object_store *store);
void spool_free(struct spool *spool);

/** Adds bytes. A brevis_write_fn; the first failure sticks, spool_failure describes it. */
int spool_write(void *spool, const void *data, size_t len);

uint64_t spool_size(const struct spool *spool);

/** The cause of the first failure, or NULL. Lives as long as the spool. */
const char *spool_failure(const struct spool *spool);

/** The bytes, for reading at any offset from several threads; after the last spool_write. */
struct brevis_source spool_source(const struct spool *spool);

/** Writes all of it. Returns 0, or nonzero when write failed or the bytes could not be read. */
int spool_copy(const struct spool *spool, brevis_write_fn write, void *ctx);

#endif
