/* SPDX-License-Identifier: Apache-2.0 */
/** Reading one record: from its bytes to the bytes it restores. */
#ifndef CORE_ARCHIVE_RECORD_H
#define CORE_ARCHIVE_RECORD_H

#include "core/archive/wire.h"
#include "core/base/buffer.h"
#include "core/base/digest.h"
#include "core/entropy/codebook.h"
#include "core/program/execute.h"

struct record_head {
	uint8_t kind;      /* RECORD_BYTES or RECORD_CHAINED, or the width of its words in bits */
	uint32_t raw_size; /* bytes it restores, at most RECORD_RAW_MAX */
	uint64_t checksum; /* checksum64 of them */
};

/** True if the record holds no program. */
static inline bool record_is_bytes(const struct record_head *head)
{
	return head->kind == RECORD_BYTES || head->kind == RECORD_CHAINED;
}

/**
 * True if two records restore the same content, as far as their heads tell: the same bytes, as
 * words of the same width or as mere bytes.
 */
static inline bool record_head_equal(const struct record_head *a, const struct record_head *b)
{
	return a->checksum == b->checksum && a->raw_size == b->raw_size &&
	       (a->kind == b->kind || (record_is_bytes(a) && record_is_bytes(b)));
}

/** Takes a record's head off the span. */
int record_head_parse(struct span *in, struct record_head *out, struct brevis_error *err);

/** Memory that one record after another is decoded with. Zero-initialise. */
struct record_decoder {
	struct program *program;
	struct executor executor;
	struct checksum64_stream *checksum;
	struct buffer bytes; /* of records without a program, to be compared */
};

/**
 * Restores the head->raw_size bytes of a whole record to raw, which has room for them and is
 * aligned for its words, and proves them by the checksum. codebook is that of the archive which
 * the record is to be part of, or NULL. A chained record is decoded behind `before`, and refused if
 * that is empty; others make no use of it. The record must still restore what the head says
 * that was read before: the file it comes from may have changed. On failure raw's content is
 * undefined.
 */
int record_decoder_run(struct record_decoder *decoder, struct span record,
		       const struct record_head *head, const struct codebook *codebook,
		       struct span before, void *raw, struct brevis_error *err);

/**
 * Restores a record as record_decoder_run does, to nowhere, and compares all of it with raw, while
 * it is in the nearest cache. BREVIS_E_CHECKSUM if they differ, or if the checksum is not theirs.
 */
int record_decoder_compare(struct record_decoder *decoder, struct span record,
			   const struct record_head *head, const struct codebook *codebook,
			   struct span before, const void *raw, struct brevis_error *err);
void record_decoder_release(struct record_decoder *decoder);

/** The end of a piece of bytes that a chained record behind it may refer to. */
struct span record_reach(const void *raw, size_t raw_size);

/** Appends the program of a record in the paper's notation, or "bytes". */
int record_print(const void *record, size_t size, const struct codebook *codebook,
		 struct buffer *out, struct brevis_error *err);

#endif
