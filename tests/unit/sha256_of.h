/* SPDX-License-Identifier: Apache-2.0 */
/** The SHA-256 of bytes that are all there, for tests that compare it with another way to it. */
#ifndef TESTS_UNIT_SHA256_OF_H
#define TESTS_UNIT_SHA256_OF_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/base/digest.h"

static inline void sha256_of(const void *data, size_t size, uint8_t digest[BREVIS_SHA256_SIZE])
{
	struct brevis_sha256 *sha = brevis_sha256_new();

	assert_non_null(sha);
	brevis_sha256_update(sha, data, size);
	brevis_sha256_final(sha, digest);
	brevis_sha256_free(sha);
}

#endif
