/* SPDX-License-Identifier: Apache-2.0 */
/** Writing one record: from the bytes of a piece to the smallest record that restores them. */
#ifndef CORE_ARCHIVE_RECORD_ENCODE_H
#define CORE_ARCHIVE_RECORD_ENCODE_H

#include "core/archive/bytes_encode.h"
#include "core/archive/record.h"
#include "core/synthesis/synthesize.h"

/** How hard to try, and with what. */
struct record_options {
	struct synthesis_options programs;
	struct bytes_options bytes;
};

/**
 * Appends the record of raw to *out: a program for kinds 8 to 64, bytes for RECORD_BYTES. raw is
 * aligned as malloc aligns; head->raw_size bytes, 1 to RECORD_RAW_MAX. kind is of tensors only.
 * The record is a chained one if options->bytes.before has something and the bytes are not stored.
 */
int record_encode(const struct record_head *head, const void *raw, const struct tensor_kind *kind,
		  const struct record_options *options, struct buffer *out,
		  struct brevis_error *err);

#endif
