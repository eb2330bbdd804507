/* SPDX-License-Identifier: Apache-2.0 */
/** Every digest of the project: SHA-256 (OpenSSL; declared in brevis.h) and XXH3-64 (xxHash). */
#ifndef CORE_BASE_DIGEST_H
#define CORE_BASE_DIGEST_H

#include "core/brevis.h"

/** XXH3-64 with seed 0 of len bytes. */
uint64_t checksum64(const void *data, size_t len);

/** Mixes the checksum of further bytes into an earlier one: XXH3-64 with that as its seed. */
uint64_t checksum64_chain(uint64_t checksum, const void *data, size_t len);

/** 128 bits that tell contents apart within one process. */
struct content_key {
	uint64_t low;
	uint64_t high;
};

/** A fresh secret for content_key_of: who does not know it cannot make two contents alike. */
uint64_t content_secret(void);

struct content_key content_key_of(const void *data, size_t len, uint64_t secret);

static inline bool content_key_equal(struct content_key a, struct content_key b)
{
	return a.low == b.low && a.high == b.high;
}

#endif
