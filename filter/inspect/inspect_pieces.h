/* SPDX-License-Identifier: Apache-2.0 */
/** Which pieces of an archive belong to which of its tensors. */
#ifndef FILTER_INSPECT_PIECES_H
#define FILTER_INSPECT_PIECES_H

#include "core/brevis.h"

/**
 * Finds the first piece from *next on that begins at or after `begin`, and moves *next behind it.
 * If it begins before `end`, it goes to *out and its number to *number, and *found is set;
 * otherwise *next stays at it. Going through the tensors in order with one *next, from 0, takes
 * each piece once. Returns a brevis_status.
 */
int inspect_next_piece(const struct brevis_archive *archive, uint64_t begin, uint64_t end,
		       uint64_t *next, struct brevis_piece_info *out, uint64_t *number, bool *found,
		       struct brevis_error *err);

/**
 * Calls each for every piece that no tensor begins with or goes on in: header, opaque content. The
 * tensors, this many, must have been loaded. Stops when each returns no BREVIS_OK, and returns
 * that.
 */
int inspect_other_pieces(const struct brevis_archive *archive, uint64_t tensors,
			 int (*each)(void *ctx, uint64_t number,
				     const struct brevis_piece_info *piece,
				     struct brevis_error *err),
			 void *ctx, struct brevis_error *err);

/** Bytes of an archive that are part of no record: head, codebook, index and tail. */
int inspect_frame_size(const struct brevis_archive *archive, uint64_t *size,
		       struct brevis_error *err);

#endif
