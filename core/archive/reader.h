/* SPDX-License-Identifier: Apache-2.0 */
/** An opened archive, as the rooms that decode it see it. */
#ifndef CORE_ARCHIVE_READER_H
#define CORE_ARCHIVE_READER_H

#include "core/archive/record.h"
#include "core/entropy/codebook.h"
#include "core/safetensors/safetensors.h"

/** Where a record stands and what its head says. */
struct record_entry {
	uint64_t offset;
	uint32_t size; /* stored, head included */
	struct record_head head;
};

struct piece_entry {
	uint64_t offset; /* in the original */
	uint32_t record;
	bool repeats; /* an earlier piece's record */
};

struct brevis_archive {
	struct brevis_source source;
	struct brevis_archive_info info;
	struct codebook *codebook; /* NULL: it has none */
	struct record_entry *records;
	struct piece_entry *pieces;
	struct brevis_header *header; /* once the tensors were loaded */
};

/** Reads a whole record into buf, which has room for its size. */
int archive_read_record(const struct brevis_archive *archive, uint64_t record, void *buf,
			struct brevis_error *err);

/** True if piece i, which may be past the last one, needs the bytes of the piece before it. */
bool archive_is_chained(const struct brevis_archive *archive, uint64_t i);

/** A piece on its way from its record to its bytes. */
struct piece_buffer {
	struct buffer stored;
	struct span record; /* stored, or where the archive is in memory */
	/* Where the piece is to be restored, aligned for its words; NULL: in the buffer's memory.
	 */
	uint8_t *place;
	uint8_t *raw; /* one of both, once it is restored */
	size_t raw_size;
	uint8_t *memory;
	size_t capacity;
};

/** Reads the record of piece i, or finds it in memory: pb->record. */
int archive_fetch_piece(const struct brevis_archive *archive, uint64_t i, struct piece_buffer *pb,
			struct brevis_error *err);

/**
 * Decodes piece i, which was fetched, into pb->raw. `before` is what the piece before it has
 * restored; NULL will do for one that is not chained.
 */
int archive_restore_piece(const struct brevis_archive *archive, uint64_t i, struct piece_buffer *pb,
			  const struct piece_buffer *before, struct record_decoder *decoder,
			  struct brevis_error *err);

void piece_buffer_swap(struct piece_buffer *a, struct piece_buffer *b);
void piece_buffer_release(struct piece_buffer *pb);

#endif
