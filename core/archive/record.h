/* SPDX-License-Identifier: Apache-2.0 */
/** Reading one record: from its bytes to the bytes it restores. */
#ifndef CORE_ARCHIVE_RECORD_H
#define CORE_ARCHIVE_RECORD_H

#include "core/archive/wire.h"
#include "core/base/buffer.h"

struct record_head {
	uint8_t kind;      /* RECORD_BYTES, or the width of its program's words in bits */
	uint32_t raw_size; /* bytes it restores, at most RECORD_RAW_MAX */
	uint64_t checksum; /* checksum64 of them */
};

/** True if two records restore the same bytes, as far as their heads tell. */
static inline bool record_head_equal(const struct record_head *a, const struct record_head *b)
{
	return a->checksum == b->checksum && a->raw_size == b->raw_size && a->kind == b->kind;
}

/** Takes a record's head off the span. */
int record_head_parse(struct span *in, struct record_head *out, struct brevis_error *err);

/**
 * Restores the head->raw_size bytes of a whole record to raw, which has room for them and is
 * aligned as malloc aligns, and proves them by the checksum. The record must still have the head
 * that was read before: the file it comes from may have changed. On failure raw's content is
 * undefined.
 */
int record_decode(const void *record, size_t size, const struct record_head *head, void *raw,
		  struct brevis_error *err);

/** Appends the program of a record in the paper's notation, or "bytes". */
int record_print(const void *record, size_t size, struct buffer *out, struct brevis_error *err);

#endif
