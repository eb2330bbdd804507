/* SPDX-License-Identifier: Apache-2.0 */
/* The hasher: the digest of the stream however it is cut, and when its bytes may change. */
#include "tests/unit/support.h"

#include "core/base/digest.h"
#include "core/base/hasher.h"
#include "tests/unit/sha256_of.h"

#define STREAM_SIZE ((size_t)3 << 20)

/* Adds a stream in parts of random sizes, most of them small, and spoils each part as soon as that
 * is allowed. */
static void check_stream(bool threaded, size_t part_max)
{
	uint8_t *stream = malloc(STREAM_SIZE), *spoiled = malloc(STREAM_SIZE);
	struct hasher *h = hasher_new(threaded);
	uint8_t wanted[BREVIS_SHA256_SIZE], found[BREVIS_SHA256_SIZE];
	size_t at = 0;

	assert_non_null(stream);
	assert_non_null(spoiled);
	assert_non_null(h);
	random_fill(stream, STREAM_SIZE);
	sha256_of(stream, STREAM_SIZE, wanted);
	memcpy(spoiled, stream, STREAM_SIZE);
	while (at < STREAM_SIZE) {
		size_t len = (size_t)random_below(part_max + 1);
		uint64_t ticket;

		if (len > STREAM_SIZE - at)
			len = STREAM_SIZE - at;
		ticket = hasher_add(h, spoiled + at, len);
		hasher_wait(h, ticket);
		memset(spoiled + at, 0, len);
		at += len;
	}
	hasher_final(h, found);
	assert_memory_equal(found, wanted, sizeof(found));
	hasher_free(h);
	free(stream);
	free(spoiled);
}

static void test_digest(void **state)
{
	static const size_t parts[] = {100, 5000, 70000, 300000, STREAM_SIZE};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		check_stream(true, parts[i]);
		check_stream(false, parts[i]);
	}
}

/* More parts than the queue has room for, none waited for. */
static void test_many_parts(void **state)
{
	enum { PART = 100000, COUNT = 400 };
	uint8_t *part = malloc(PART);
	struct brevis_sha256 *sha = brevis_sha256_new();
	struct hasher *h = hasher_new(true);
	uint8_t wanted[BREVIS_SHA256_SIZE], found[BREVIS_SHA256_SIZE];
	uint64_t last = 0;
	int i;

	(void)state;
	assert_non_null(part);
	assert_non_null(sha);
	assert_non_null(h);
	random_fill(part, PART);
	for (i = 0; i < COUNT; i++) {
		uint64_t ticket = hasher_add(h, part, PART);

		assert_true(ticket > last);
		last = ticket;
		brevis_sha256_update(sha, part, PART);
	}
	hasher_final(h, found);
	brevis_sha256_final(sha, wanted);
	assert_memory_equal(found, wanted, sizeof(found));
	hasher_free(h);
	brevis_sha256_free(sha);
	free(part);
}

static void test_edges(void **state)
{
	uint8_t wanted[BREVIS_SHA256_SIZE], found[BREVIS_SHA256_SIZE];
	uint8_t *part = malloc(1 << 20);
	struct hasher *h = hasher_new(true);
	int i;

	(void)state;
	hasher_free(NULL);
	hasher_wait(NULL, 7);
	assert_non_null(part);
	assert_non_null(h);
	hasher_final(h, found);
	sha256_of("", 0, wanted);
	assert_memory_equal(found, wanted, sizeof(found));
	hasher_free(h);
	/* Freed in mid-work: the bytes are not read any more after that. */
	memset(part, 1, 1 << 20);
	for (i = 0; i < 20; i++) {
		h = hasher_new(true);
		assert_non_null(h);
		hasher_add(h, part, 1 << 20);
		hasher_add(h, part, 1 << 20);
		hasher_add(h, part, 10);
		hasher_free(h);
	}
	free(part);
}

static struct content_key key_of(struct content_keyer *keyer, const uint8_t *data, size_t len,
				 size_t step)
{
	size_t at, n;

	for (at = 0; at < len; at += n) {
		n = len - at < step ? len - at : step;
		content_keyer_update(keyer, data + at, n);
	}
	return content_keyer_end(keyer);
}

/* A key depends on the content and on the keyer, and on nothing else. */
static void test_content_keys(void **state)
{
	struct content_keyer *a = content_keyer_new(), *b = content_keyer_new();
	uint8_t data[5000];
	struct content_key key, other;
	size_t i;

	(void)state;
	assert_non_null(a);
	assert_non_null(b);
	random_fill(data, sizeof(data));
	key = key_of(a, data, sizeof(data), sizeof(data));
	for (i = 1; i < sizeof(data); i += 613) {
		other = key_of(a, data, sizeof(data), i);
		assert_true(content_key_equal(key, other));
		other = key_of(a, data, sizeof(data) - i, 100);
		assert_false(content_key_equal(key, other));
		data[i] ^= 1;
		other = key_of(a, data, sizeof(data), 700);
		assert_false(content_key_equal(key, other));
		data[i] ^= 1;
	}
	other = key_of(b, data, sizeof(data), 1);
	assert_false(content_key_equal(key, other));
	other = content_keyer_end(a);
	assert_false(content_key_equal(key, other));
	content_keyer_free(a);
	content_keyer_free(b);
	content_keyer_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_digest),
		TEST(test_many_parts),
		TEST(test_edges),
		TEST(test_content_keys),
	};

	seed_init("test_hasher");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
