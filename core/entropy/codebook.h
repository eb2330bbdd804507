/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The codebook: frequency tables of rANS that all literals of an archive share, so that a small
 * tensor does not pay for a table of its own. Wire layout: docs/FORMAT.md, "Head".
 */
#ifndef CORE_ENTROPY_CODEBOOK_H
#define CORE_ENTROPY_CODEBOOK_H

#include "core/base/buffer.h"
#include "core/brevis.h"

/** Limits of the format. */
#define CODEBOOK_TABLES_MAX 64
#define CODEBOOK_BYTES_MAX  65536

/** A parsed codebook. It never changes, so that threads share it. */
struct codebook;

/**
 * Parses and checks a codebook, and makes the decoding table of each of its tables: up to 140 KiB
 * of memory each, 9 MiB in all. Copies the bytes.
 */
int codebook_parse(const void *bytes, size_t size, struct codebook **out, struct brevis_error *err);

/** NULL is allowed. */
void codebook_free(struct codebook *codebook);

/** The bytes that it was parsed from. They live as long as it does. */
struct span codebook_bytes(const struct codebook *codebook);

/** Number of its tables. */
unsigned codebook_count(const struct codebook *codebook);

/* Of table `number`, less than codebook_count: */

/** Width of the words that it is for. */
unsigned codebook_width(const struct codebook *codebook, unsigned number);

/** The share of each of the 1 << width symbols; 0: it has none. */
const uint16_t *codebook_shares(const struct codebook *codebook, unsigned number);

/** The base 2 logarithm of what the shares sum to. */
unsigned codebook_scale_bits(const struct codebook *codebook, unsigned number);

/** What decoding looks up (rans.h). */
const void *codebook_slots(const struct codebook *codebook, unsigned number);

#endif
