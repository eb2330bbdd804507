/* SPDX-License-Identifier: Apache-2.0 */
/** Every digest of the project: SHA-256 (OpenSSL; declared in brevis.h) and XXH3-64 (xxHash). */
#ifndef CORE_BASE_DIGEST_H
#define CORE_BASE_DIGEST_H

#include "core/brevis.h"

/** XXH3-64 with seed 0 of len bytes. */
uint64_t checksum64(const void *data, size_t len);

/** Mixes the checksum of further bytes into an earlier one: XXH3-64 with that as its seed. */
uint64_t checksum64_chain(uint64_t checksum, const void *data, size_t len);

#endif
