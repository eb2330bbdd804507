/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>
#include <xxhash.h>

struct brevis_sha256 {
	EVP_MD_CTX *evp;
};

struct brevis_sha256 *brevis_sha256_new(void)
{
	struct brevis_sha256 *sha = malloc(sizeof(*sha));

	if (!sha)
		return NULL;
	sha->evp = EVP_MD_CTX_new();
	if (!sha->evp || EVP_DigestInit_ex(sha->evp, EVP_sha256(), NULL) != 1) {
		brevis_sha256_free(sha);
		return NULL;
	}
	return sha;
}

/* OpenSSL's SHA-256 cannot fail once it was initialised; if it does, no digest can be trusted. */
static void must(int ok)
{
	if (ok != 1)
		abort();
}

void brevis_sha256_update(struct brevis_sha256 *sha, const void *data, size_t len)
{
	must(EVP_DigestUpdate(sha->evp, data, len));
}

void brevis_sha256_final(struct brevis_sha256 *sha, uint8_t digest[BREVIS_SHA256_SIZE])
{
	must(EVP_DigestFinal_ex(sha->evp, digest, NULL));
}

void brevis_sha256_free(struct brevis_sha256 *sha)
{
	if (!sha)
		return;
	EVP_MD_CTX_free(sha->evp);
	free(sha);
}

const char *brevis_sha256_library(void)
{
	return OpenSSL_version(OPENSSL_FULL_VERSION_STRING);
}

uint64_t checksum64(const void *data, size_t len)
{
	return XXH3_64bits(data, len);
}

uint64_t checksum64_chain(uint64_t checksum, const void *data, size_t len)
{
	return XXH3_64bits_withSeed(data, len, checksum);
}

uint64_t content_secret(void)
{
	uint64_t secret;

	/* Cannot fail for so few bytes once the system is up; before that any value does. */
	if (getrandom(&secret, sizeof(secret), GRND_NONBLOCK) != (ssize_t)sizeof(secret))
		secret = (uint64_t)(uintptr_t)&secret ^ (uint64_t)time(NULL);
	return secret;
}

struct content_key content_key_of(const void *data, size_t len, uint64_t secret)
{
	XXH128_hash_t hash = XXH3_128bits_withSeed(data, len, secret);

	return (struct content_key){hash.low64, hash.high64};
}
