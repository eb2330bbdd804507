/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/random.h>
#include <xxhash.h>
/* Where the library has variants for each kind of processor, this takes the best. */
#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
#include <xxh_x86dispatch.h>
#endif

/* Where memory was short when it was first used, OpenSSL stays half begun, and would crash. */
static bool is_begun(void)
{
	return OPENSSL_init_crypto(0, NULL) == 1 && OSSL_LIB_CTX_get0_global_default() != NULL;
}

struct brevis_sha256 {
	EVP_MD_CTX *evp;
};

struct brevis_sha256 *brevis_sha256_new(void)
{
	struct brevis_sha256 *sha = is_begun() ? malloc(sizeof(*sha)) : NULL;

	if (!sha)
		return NULL;
	sha->evp = EVP_MD_CTX_new();
	if (!sha->evp || EVP_DigestInit_ex(sha->evp, EVP_sha256(), NULL) != 1) {
		brevis_sha256_free(sha);
		return NULL;
	}
	return sha;
}

/* OpenSSL's digests cannot fail once they were initialised; if one does, none can be trusted. */
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

void md5_digest(const void *data, size_t len, uint8_t digest[MD5_SIZE])
{
	must(EVP_Digest(data, len, digest, NULL, EVP_md5(), NULL));
}

void hmac_sha1(const void *key, size_t key_len, const void *data, size_t len,
	       uint8_t digest[SHA1_SIZE])
{
	must(HMAC(EVP_sha1(), key, (int)key_len, data, len, digest, NULL) != NULL);
}

uint64_t checksum64(const void *data, size_t len)
{
	return XXH3_64bits(data, len);
}

/* The library's own type is only named: what is behind the pointer is its state. */
static XXH3_state_t *state_of(const struct checksum64_stream *stream)
{
	return (XXH3_state_t *)(uintptr_t)stream;
}

struct checksum64_stream *checksum64_stream_new(void)
{
	return (struct checksum64_stream *)XXH3_createState();
}

/* Neither this nor updating can fail with a state that is there. */
void checksum64_stream_begin(struct checksum64_stream *stream)
{
	XXH3_64bits_reset(state_of(stream));
}

void checksum64_stream_update(struct checksum64_stream *stream, const void *data, size_t len)
{
	XXH3_64bits_update(state_of(stream), data, len);
}

uint64_t checksum64_stream_end(const struct checksum64_stream *stream)
{
	return XXH3_64bits_digest(state_of(stream));
}

void checksum64_stream_free(struct checksum64_stream *stream)
{
	XXH3_freeState(state_of(stream));
}

uint64_t checksum64_chain(uint64_t checksum, const void *data, size_t len)
{
	return XXH3_64bits_withSeed(data, len, checksum);
}

/* ---- keys of contents ----------------------------------------------------------------------- */

/* OpenSSL counts in int. */
#define UPDATE_MAX ((size_t)1 << 30)

struct content_keyer {
	EVP_CIPHER_CTX *evp;
	bool begun;
};

struct content_keyer *content_keyer_new(void)
{
	struct content_keyer *keyer = is_begun() ? calloc(1, sizeof(*keyer)) : NULL;
	uint8_t secret[16];

	if (!keyer)
		return NULL;
	keyer->evp = EVP_CIPHER_CTX_new();
	if (getentropy(secret, sizeof(secret)) != 0 || !keyer->evp ||
	    EVP_EncryptInit_ex(keyer->evp, EVP_aes_128_gcm(), NULL, secret, NULL) != 1) {
		content_keyer_free(keyer);
		return NULL;
	}
	return keyer;
}

void content_keyer_free(struct content_keyer *keyer)
{
	if (!keyer)
		return;
	EVP_CIPHER_CTX_free(keyer->evp);
	free(keyer);
}

/* Each content starts from the same nonce: equal contents must have equal tags. That would be wrong
 * for tags that anybody sees. */
static void begin(struct content_keyer *keyer)
{
	static const uint8_t nonce[12];

	must(EVP_EncryptInit_ex(keyer->evp, NULL, NULL, NULL, nonce));
	keyer->begun = true;
}

void content_keyer_update(struct content_keyer *keyer, const void *data, size_t len)
{
	const uint8_t *at = data;
	int taken;

	if (!keyer->begun)
		begin(keyer);
	while (len) {
		size_t n = len < UPDATE_MAX ? len : UPDATE_MAX;

		must(EVP_EncryptUpdate(keyer->evp, NULL, &taken, at, (int)n));
		at += n;
		len -= n;
	}
}

struct content_key content_keyer_end(struct content_keyer *keyer)
{
	struct content_key key;
	uint8_t nothing[16];
	int written;

	if (!keyer->begun)
		begin(keyer);
	keyer->begun = false;
	must(EVP_EncryptFinal_ex(keyer->evp, nothing, &written));
	must(EVP_CIPHER_CTX_ctrl(keyer->evp, EVP_CTRL_AEAD_GET_TAG, sizeof(key), &key));
	return key;
}
