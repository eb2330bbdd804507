/* SPDX-License-Identifier: Apache-2.0 */
/** The beginning of a checkpoint, held back until it is decided what guides its encoder. */
#ifndef CORE_COMPRESS_WINDOW_H
#define CORE_COMPRESS_WINDOW_H

#include "core/archive/record.h"
#include "core/base/digest.h"
#include "core/compress/pieces.h"
#include "core/synthesis/calibrate.h"

/**
 * Bytes of pieces, and of what is kept about each, after which nothing more is held back: enough
 * for a sample of all tensors. The buffers take at most twice as much.
 */
#define WINDOW_BYTES ((size_t)32 << 20)

struct held_piece {
	const uint8_t *raw; /* memory, or a part of the input */
	uint8_t *memory;
	size_t capacity;
	struct record_head head;
	struct piece_kind kind;
	struct content_key key;
	uint64_t hashed; /* ticket: when the hasher of the original has read raw */
	bool summed;     /* head has the checksum */
};

struct window {
	struct held_piece *pieces;
	size_t count;
	size_t capacity;
	size_t bytes; /* as WINDOW_BYTES counts them */
};

/** Takes over piece->memory, unless it fails. Returns -1 when memory is short. */
int window_add(struct window *window, const struct held_piece *piece);
void window_release(struct window *window);

/**
 * Lists the tensors among the pieces, each content once. Free *out with free(); it points into the
 * window.
 */
int window_tensors(const struct window *window, struct sample_tensor **out, size_t *count,
		   struct brevis_error *err);

#endif
