/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Byte streams that other libraries have compressed: Zstandard frames and LZMA2 streams, as
 * literals and records of bytes hold them (docs/FORMAT.md, "Record").
 */
#ifndef CORE_ENTROPY_LIBRARY_DECODE_H
#define CORE_ENTROPY_LIBRARY_DECODE_H

#include "core/base/buffer.h"
#include "core/brevis.h"

enum library { LIBRARY_ZSTD, LIBRARY_LZMA2 };

/** The window of a Zstandard frame and the dictionary of an LZMA2 stream, at most. */
#define LIBRARY_WINDOW_MAX (UINT32_C(16) << 20)

/**
 * Restores the raw_size bytes that the stream must yield, no more and no less, to raw. The stream
 * must fill its span. It may refer to what is in `before`, as if raw directly followed that; an
 * empty span: to nothing. Memory besides raw: for LZMA2 a dictionary as large as both, at most
 * LIBRARY_WINDOW_MAX, and a little for either.
 */
int library_decode(enum library library, struct span stream, struct span before, void *raw,
		   size_t raw_size, struct brevis_error *err);

#endif
