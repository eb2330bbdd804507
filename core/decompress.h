/* SPDX-License-Identifier: Apache-2.0 */
/** Restoring pieces of an archive by all workers, in source order: for whoever wants their bytes.
 */
#ifndef CORE_DECOMPRESS_H
#define CORE_DECOMPRESS_H

#include "core/archive/reader.h"
#include "core/base/hasher.h"

/** Who takes the pieces. */
struct piece_taker {
	/**
	 * Takes piece number i, which lives until this returns. Called in order, on the thread that
	 * decodes. A status other than BREVIS_OK ends the decoding with it.
	 */
	int (*take)(void *ctx, uint64_t i, const struct piece_buffer *piece,
		    struct brevis_error *err);
	void *ctx;
	struct hasher *hasher; /* gets the bytes of each piece before take does; NULL: nobody */
	/* NULL, or room for the original: pieces are restored to their places there, but those
	 * whose words would not be aligned. */
	uint8_t *memory;
};

/**
 * Restores the pieces from number first on and before number end, each proven by its checksum, with
 * threads workers (as pool_threads gives it). The first one must not be chained.
 */
int decompress_pieces(const struct brevis_archive *archive, uint64_t first, uint64_t end,
		      unsigned threads, const struct piece_taker *taker, struct brevis_error *err);

#endif
