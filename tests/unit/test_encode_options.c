/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of encoders that spare work which a caller does anyhow, or does not want: the archive is
 * the same, byte by byte, or at least restores the same.
 */
#include "tests/unit/support.h"

#include "tests/unit/sha256_of.h"

enum { LARGE = 60000, SMALL = 500, SMALL_TENSORS = 20 };

/* Weights in tensors of two sizes, one of them there twice, and bytes that are no words. */
static void put_checkpoint(struct buffer *out)
{
	static uint8_t large[2 * LARGE], small[SMALL_TENSORS][4 * SMALL];
	static char names[SMALL_TENSORS][16];
	struct tensor_spec tensors[SMALL_TENSORS + 3];
	size_t i;

	random_bf16(large, LARGE, 0.02f);
	tensors[0] = (struct tensor_spec){"large", "BF16", LARGE, sizeof(large), large};
	for (i = 0; i < SMALL_TENSORS; i++) {
		random_f32(small[i], SMALL, 0.5f);
		snprintf(names[i], sizeof(names[i]), "small.%zu", i);
		tensors[i + 1] =
			(struct tensor_spec){names[i], "F32", SMALL, sizeof(small[i]), small[i]};
	}
	tensors[i + 1] = (struct tensor_spec){"again", "BF16", LARGE, sizeof(large), large};
	tensors[i + 2] = (struct tensor_spec){"bytes", "F4", 2 * LARGE, LARGE, large};
	put_safetensors(out, tensors, SMALL_TENSORS + 3);
}

static void assert_same_archive(const struct encoding *a, const struct encoding *b)
{
	assert_int_equal(a->status, BREVIS_OK);
	assert_int_equal(a->archive.bytes.size, b->archive.bytes.size);
	assert_memory_equal(a->archive.bytes.data, b->archive.bytes.data, a->archive.bytes.size);
	assert_memory_equal(a->summary.archive_sha256, b->summary.archive_sha256,
			    BREVIS_SHA256_SIZE);
	assert_memory_equal(a->summary.original_sha256, b->summary.original_sha256,
			    BREVIS_SHA256_SIZE);
}

/* Pieces that lie in what is given as a whole, or in parts, or begin at odd addresses. */
static void test_input_stays(void **state)
{
	static const size_t chunks[] = {CHUNK_WHOLE, CHUNK_RANDOM, 100001};
	struct buffer file = BUFFER_INIT;
	uint8_t *odd;
	unsigned i;

	(void)state;
	put_checkpoint(&file);
	odd = must_alloc(file.size + 1);
	memcpy(odd + 1, file.data, file.size);
	for (i = 0; i < 6; i++) {
		struct brevis_encode_options options = {.threads = 1 + i % 2 * 2};
		struct encoding plain = encode(file.data, file.size, &options), stays;

		options.input_stays = true;
		stays = encode_with(i < 3 ? file.data : odd + 1, file.size, chunks[i % 3], &options,
				    0);
		assert_same_archive(&stays, &plain);
		encoding_release(&plain);
		encoding_release(&stays);
	}
	free(odd);
	buffer_release(&file);
}

/* Beside an archive that it follows up to a tensor in the middle. */
static void test_input_stays_beside_known(void **state)
{
	struct brevis_encode_options options = {.threads = 1};
	struct encoding first, plain, stays;
	struct buffer file = BUFFER_INIT;
	struct brevis_archive *known;

	(void)state;
	put_checkpoint(&file);
	first = encode(file.data, file.size, &options);
	known = open_good(&first.archive.bytes);
	options.known = (const struct brevis_archive *const *)&known;
	options.known_count = 1;
	file.data[file.size / 2] ^= 1;
	plain = encode(file.data, file.size, &options);
	options.input_stays = true;
	stays = encode(file.data, file.size, &options);
	assert_true(stays.summary.records_reused > 0);
	assert_same_archive(&stays, &plain);
	assert_restores(&stays.archive.bytes, file.data, file.size, 1);
	brevis_archive_free(known);
	encoding_release(&first);
	encoding_release(&plain);
	encoding_release(&stays);
	buffer_release(&file);
}

/* The digest that the caller computes is believed. */
static void test_given_digest(void **state)
{
	uint8_t digest[BREVIS_SHA256_SIZE];
	struct brevis_encode_options options = {.original_sha256 = digest};
	struct buffer file = BUFFER_INIT;
	struct encoding plain, given;
	struct brevis_error err = {0};
	struct sink out = {0};

	(void)state;
	put_checkpoint(&file);
	sha256_of(file.data, file.size, digest);
	plain = encode(file.data, file.size, NULL);
	given = encode(file.data, file.size, &options);
	assert_same_archive(&given, &plain);
	encoding_release(&given);
	/* A wrong one shows when the archive is decoded. */
	digest[0] ^= 1;
	given = encode(file.data, file.size, &options);
	assert_memory_equal(given.summary.original_sha256, digest, sizeof(digest));
	assert_int_equal(open_and_decode(&given.archive.bytes, 1, &out, &err), BREVIS_E_CHECKSUM);
	assert_non_null(strstr(err.message, "SHA-256"));
	buffer_release(&out.bytes);
	encoding_release(&given);
	encoding_release(&plain);
	buffer_release(&file);
}

/* For measuring: neither digests nor proofs, but the content. */
static void test_codec_only(void **state)
{
	static const uint8_t zeros[BREVIS_SHA256_SIZE];
	struct brevis_encode_options options = {.codec_only = true, .input_stays = true};
	struct brevis_decode_options decode = {.codec_only = true};
	struct buffer file = BUFFER_INIT;
	struct encoding e;
	struct brevis_archive *archive;

	(void)state;
	put_checkpoint(&file);
	e = encode(file.data, file.size, &options);
	assert_memory_equal(e.summary.original_sha256, zeros, sizeof(zeros));
	assert_memory_equal(e.summary.archive_sha256, zeros, sizeof(zeros));
	archive = open_good(&e.archive.bytes);
	/* Nothing that repeats was found. */
	assert_int_equal(brevis_archive_info(archive)->records,
			 brevis_archive_info(archive)->pieces);
	assert_int_equal(brevis_archive_decode(archive, NULL, NULL, NULL, NULL), BREVIS_E_CHECKSUM);
	decode.memory = must_alloc(file.size);
	assert_int_equal(brevis_archive_decode(archive, &decode, NULL, NULL, NULL), BREVIS_OK);
	assert_memory_equal(decode.memory, file.data, file.size);
	free(decode.memory);
	brevis_archive_free(archive);
	encoding_release(&e);
	buffer_release(&file);
}

/* What the library says of itself. */
static void test_library(void **state)
{
	static const char *const variants[] = {"scalar", "avx2", "avx512", "neon"};
	bool known = false;
	size_t i;

	(void)state;
	assert_string_equal(brevis_version(), BREVIS_VERSION);
	for (i = 0; i < sizeof(variants) / sizeof(variants[0]); i++)
		known |= !strcmp(brevis_kernels(), variants[i]);
	assert_true(known);
	assert_int_equal(strspn(brevis_sha256_library(), "0123456789.") > 0, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_input_stays),  TEST(test_input_stays_beside_known),
		TEST(test_given_digest), TEST(test_codec_only),
		TEST(test_library),
	};

	seed_init("test_encode_options");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
