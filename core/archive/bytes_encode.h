/* SPDX-License-Identifier: Apache-2.0 */
/** The body of a record of bytes. */
#ifndef CORE_ARCHIVE_BYTES_ENCODE_H
#define CORE_ARCHIVE_BYTES_ENCODE_H

#include "core/base/buffer.h"
#include "core/brevis.h"

/** How hard to try on bytes. */
struct bytes_options {
	int zstd_level;     /* tried if it is higher than the fast one that is tried in any case */
	bool lzma;          /* try LZMA2, too */
	struct span before; /* what a chained record may refer to; empty: it is not to be chained */
};

/** The options for each preset. */
struct bytes_options bytes_options_of(enum brevis_preset preset);

/**
 * Appends coding and payload of the smallest body that restores raw_size >= 1 bytes, at most 1 more
 * than these. With something before them it is that of a chained record, unless the coding is
 * BYTES_STORED. Large pieces in which nothing repeats and no byte is rarer than another are stored
 * after a short look. Memory: up to about 100 MiB, and twice raw_size.
 */
int bytes_encode(const void *raw, size_t raw_size, const struct bytes_options *options,
		 struct buffer *out, struct brevis_error *err);

#endif
