/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Cuts a stream into the pieces that get a record each: the safetensors header, then each tensor
 * (in parts, if it is large), then whatever else there is. Content that is no safetensors file is
 * cut into pieces of opaque bytes. Nothing is held back: a piece ends where its last byte arrives.
 */
#ifndef CORE_COMPRESS_PIECES_H
#define CORE_COMPRESS_PIECES_H

#include "core/archive/wire.h"
#include "core/safetensors/safetensors.h"
#include "core/synthesis/synthesize.h"

/** What a piece is. */
struct piece_kind {
	uint8_t record;            /* its kind of record */
	struct tensor_kind tensor; /* unless that is RECORD_BYTES */
};

enum piece_phase {
	PIECES_HEADER,  /* within what may become a safetensors header */
	PIECES_TENSORS, /* within the data that the header describes */
	PIECES_REST     /* past it, or in content without a header */
};

struct piece_cutter {
	struct safetensors_parser *parser;
	enum piece_phase phase;
	uint64_t size;      /* of the stream so far */
	size_t piece_size;  /* of the piece that is growing */
	size_t tensor;      /* the one that is growing */
	uint64_t data_at;   /* bytes of tensor data before the growing piece */
	size_t part;        /* bytes of a piece of the growing tensor, but for its last one */
	struct shape slice; /* what a slice of it is, if it has several pieces */
	bool described;     /* a valid header was read */
};

int piece_cutter_init(struct piece_cutter *cutter, struct brevis_error *err);
void piece_cutter_release(struct piece_cutter *cutter);

/** The largest size that the growing piece can reach: how much memory to set aside for it. */
size_t piece_cutter_expect(const struct piece_cutter *cutter);

/**
 * Takes the next bytes of the stream. *used says how many of them belong to the growing piece
 * (perhaps none), *ends whether it is complete with them, and *kind what it is then.
 */
int piece_cutter_feed(struct piece_cutter *cutter, const void *data, size_t len, size_t *used,
		      bool *ends, struct piece_kind *kind, struct brevis_error *err);

/**
 * At the end of the stream: what it was, and a sentence that says why it is no plain safetensors
 * file (empty if it is). A piece that is still growing ends here, as opaque bytes.
 */
enum brevis_layout piece_cutter_finish(const struct piece_cutter *cutter, char *note,
				       size_t note_size);

#endif
