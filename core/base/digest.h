/* SPDX-License-Identifier: Apache-2.0 */
/** Every digest of the project: SHA-256 (declared in brevis.h), MD5, HMAC-SHA-1 and GMAC by
 * OpenSSL, XXH3-64 by xxHash. */
#ifndef CORE_BASE_DIGEST_H
#define CORE_BASE_DIGEST_H

#include "core/brevis.h"

/** XXH3-64 with seed 0 of len bytes. */
uint64_t checksum64(const void *data, size_t len);

#define MD5_SIZE 16

/** MD5 of len bytes: what object stores call their parts by. It proves nothing against strangers.
 * Aborts as SHA-256 does if OpenSSL fails. */
void md5_digest(const void *data, size_t len, uint8_t digest[MD5_SIZE]);

#define SHA1_SIZE 20

/** HMAC-SHA-1 of len bytes: how hosts' names are hidden in known_hosts. Aborts likewise. */
void hmac_sha1(const void *key, size_t key_len, const void *data, size_t len,
	       uint8_t digest[SHA1_SIZE]);

/** The same of bytes that come one after another. */
struct checksum64_stream;

/** NULL: out of memory. To be begun before each use. */
struct checksum64_stream *checksum64_stream_new(void);
void checksum64_stream_begin(struct checksum64_stream *stream);
void checksum64_stream_update(struct checksum64_stream *stream, const void *data, size_t len);
uint64_t checksum64_stream_end(const struct checksum64_stream *stream);
void checksum64_stream_free(struct checksum64_stream *stream);

/** True if a checksum is the one that was promised. */
bool checksum64_agrees(uint64_t checksum, uint64_t promised);

/** Mixes the checksum of further bytes into an earlier one: XXH3-64 with that as its seed. */
uint64_t checksum64_chain(uint64_t checksum, const void *data, size_t len);

/**
 * 128 bits that tell contents apart within one process: GMAC under a random key that nobody learns.
 * Two contents of 16 MiB that were made to collide do so with a probability of 2^-108, which
 * checksums cannot offer.
 */
struct content_key {
	uint64_t low;
	uint64_t high;
};

/** Makes keys with a secret of its own; only keys of one keyer can be compared. */
struct content_keyer;

/** Returns NULL when memory is short. */
struct content_keyer *content_keyer_new(void);
void content_keyer_free(struct content_keyer *keyer);

/** Adds the next len bytes of a content. */
void content_keyer_update(struct content_keyer *keyer, const void *data, size_t len);

/** The key of what was added since the last call; the next content begins. */
struct content_key content_keyer_end(struct content_keyer *keyer);

static inline bool content_key_equal(struct content_key a, struct content_key b)
{
	return a.low == b.low && a.high == b.high;
}

#endif
