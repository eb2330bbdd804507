/* SPDX-License-Identifier: Apache-2.0 */
/** The encoding side of library_decode.h. */
#ifndef CORE_ENTROPY_LIBRARY_ENCODE_H
#define CORE_ENTROPY_LIBRARY_ENCODE_H

#include "core/entropy/library_decode.h"

/** How hard a library is to try. */
struct library_effort {
	int zstd_level;      /* of LIBRARY_ZSTD: 1 (fast) to 22 */
	bool far;            /* ... which is to find long matches from anywhere in the data */
	bool lzma_fast;      /* of LIBRARY_LZMA2: a look, not the best there is */
	unsigned word_bytes; /* of the data's words, 1 to 8; 0: nobody knows. A hint for LZMA2 */
	struct span before;  /* what the stream may refer to, as if the data directly followed it */
};

/**
 * Appends the stream of size >= 1 bytes if it takes less than `limit` bytes; *fits tells, and if it
 * does not, *out is as before. Memory: up to about 100 MiB for Zstandard from level 19 on and for
 * LZMA2, and room for the stream.
 */
int library_encode(struct buffer *out, enum library library, const struct library_effort *effort,
		   const void *raw, size_t size, size_t limit, bool *fits,
		   struct brevis_error *err);

/**
 * Fills sample with windows from all over the size bytes of raw, at least LIBRARY_SAMPLE of them,
 * one after another.
 */
void library_sample(const void *raw, size_t size, uint8_t *sample);

/** Windows of a sample, and bytes of one: whole words of any number of bytes up to 8. */
#define LIBRARY_SAMPLE_WINDOWS 16
#define LIBRARY_SAMPLE_WINDOW  (39 * 840)

/** Bytes of a sample. */
#define LIBRARY_SAMPLE ((size_t)LIBRARY_SAMPLE_WINDOWS * LIBRARY_SAMPLE_WINDOW)

/**
 * Bytes that an order-0 coding of these size bytes takes at least, without its tables: one for each
 * place within words of so many bytes.
 */
uint64_t library_order0(const uint8_t *raw, size_t size, unsigned word_bytes);

#endif
