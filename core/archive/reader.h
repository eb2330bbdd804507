/* SPDX-License-Identifier: Apache-2.0 */
/** An opened archive, as the rooms that decode it see it. */
#ifndef CORE_ARCHIVE_READER_H
#define CORE_ARCHIVE_READER_H

#include "core/archive/record.h"
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
	struct record_entry *records;
	struct piece_entry *pieces;
	struct safetensors_parser *header; /* once the tensors were loaded */
};

/** Reads a whole record into buf, which has room for its size. */
int archive_read_record(const struct brevis_archive *archive, uint64_t record, void *buf,
			struct brevis_error *err);

/** The decoded bytes of a piece. */
struct piece_buffer {
	struct buffer stored;
	void *raw;
	size_t raw_capacity;
};

/** Decodes piece i into pb->raw and gives its size. */
int archive_decode_piece(const struct brevis_archive *archive, uint64_t i, struct piece_buffer *pb,
			 size_t *raw_size, struct brevis_error *err);
void piece_buffer_release(struct piece_buffer *pb);

#endif
