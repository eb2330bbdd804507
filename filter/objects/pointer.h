/* SPDX-License-Identifier: Apache-2.0 */
/** Git LFS pointers: the three canonical lines (version, oid, size) that git stores for an object.
 */
#ifndef FILTER_POINTER_H
#define FILTER_POINTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/brevis.h"

/** git-lfs looks at blobs below this size only. */
#define POINTER_SIZE_LIMIT 1024

/** Bytes that pointer_format needs at most, final NUL included. */
#define POINTER_TEXT_SIZE 160

#define OID_HEX_SIZE 64

struct pointer {
	char oid[OID_HEX_SIZE + 1]; /* SHA-256 of the object in lower-case hex */
	uint64_t size;              /* of the object */
};

/**
 * True if data is a pointer as git-lfs would read it (also with extension lines, the older version
 * URL, CRLF or missing final newline: whatever git-lfs's own parser takes). *out may be NULL.
 */
bool pointer_parse(const void *data, size_t len, struct pointer *out);

/** Writes the canonical text, NUL-terminated; returns its length. */
size_t pointer_format(const struct pointer *pointer, char text[POINTER_TEXT_SIZE]);

bool pointer_equal(const struct pointer *a, const struct pointer *b);

void pointer_set_oid(struct pointer *pointer, const uint8_t sha256[BREVIS_SHA256_SIZE]);

/** Writes 64 hex digits and a NUL. */
void digest_to_hex(const uint8_t sha256[BREVIS_SHA256_SIZE], char hex[OID_HEX_SIZE + 1]);

#endif
