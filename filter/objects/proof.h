/* SPDX-License-Identifier: Apache-2.0 */
/** What an archive or a plain object is worth: only decoding or hashing all of it tells. */
#ifndef FILTER_PROOF_H
#define FILTER_PROOF_H

#include <stdbool.h>

#include "filter/objects/object_store.h"

/**
 * True if an archive restores exactly the content of this size and hash; all of it is decoded for
 * that, by threads workers (0: one for each processor). Else *err says why not.
 */
bool archive_restores(const struct brevis_archive *archive, unsigned threads, uint64_t size,
		      const uint8_t sha256[BREVIS_SHA256_SIZE], struct brevis_error *err);

/** The same for an archive that is still to be opened. */
bool source_restores(const struct brevis_source *source, unsigned threads, uint64_t size,
		     const uint8_t sha256[BREVIS_SHA256_SIZE], struct brevis_error *err);

/** True if the bytes of a source are those that a pointer names. *err says why not. */
bool source_is_object(const struct brevis_source *source, const struct pointer *pointer,
		      struct brevis_error *err);

#endif
