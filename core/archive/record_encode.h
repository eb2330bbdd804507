/* SPDX-License-Identifier: Apache-2.0 */
/** Writing one record: from the bytes of a piece to the smallest record that restores them. */
#ifndef CORE_ARCHIVE_RECORD_ENCODE_H
#define CORE_ARCHIVE_RECORD_ENCODE_H

#include "core/archive/record.h"

/**
 * Appends the record of raw to *out: a program for kinds 8 to 64, bytes for RECORD_BYTES. raw is
 * aligned as malloc aligns; head->raw_size bytes, 1 to RECORD_RAW_MAX.
 */
int record_encode(const struct record_head *head, const void *raw, struct buffer *out,
		  struct brevis_error *err);

#endif
