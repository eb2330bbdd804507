/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of records of bytes: what is chosen, what is given up, what each preset makes of it. */
#include "tests/unit/support.h"

#include "core/archive/bytes_encode.h"
#include "core/base/digest.h"
#include "tests/unit/decoding.h"

#define MIB ((size_t)1 << 20)

/* Encodes, checks that the record restores the bytes, and gives the body's size. */
static size_t encoded_size(const uint8_t *raw, size_t size, enum brevis_preset preset,
			   unsigned *coding)
{
	struct bytes_options options = bytes_options_of(preset);
	struct record_head head = {RECORD_BYTES, (uint32_t)size, checksum64(raw, size)};
	struct buffer record = BUFFER_INIT;
	uint8_t *restored = must_alloc(size);
	struct brevis_error err;
	size_t before, body;

	buffer_u8(&record, head.kind);
	buffer_varint(&record, head.raw_size);
	buffer_le64(&record, head.checksum);
	before = record.size;
	assert_int_equal(bytes_encode(raw, size, &options, &record, &err), BREVIS_OK);
	*coding = record.data[before];
	body = record.size - before;
	assert_true(body <= size + 1);
	if (record_decode(record.data, record.size, &head, NULL, (struct span){0}, restored, &err))
		fail_msg("%s", err.message);
	assert_true(!memcmp(restored, raw, size));
	buffer_release(&record);
	free(restored);
	return body;
}

/* Each preset is no larger than the one before; gives what the last one chose. */
static unsigned check_presets(const uint8_t *raw, size_t size, size_t most)
{
	unsigned coding;
	size_t fast = encoded_size(raw, size, BREVIS_PRESET_FAST, &coding);
	size_t normal = encoded_size(raw, size, BREVIS_PRESET_DEFAULT, &coding);
	size_t best = encoded_size(raw, size, BREVIS_PRESET_BEST, &coding);

	assert_true(normal <= fast);
	assert_true(best <= normal);
	if (normal > most)
		fail_msg("%zu bytes became %zu, more than %zu", size, normal, most);
	return coding;
}

static void test_small(void **state)
{
	static const char header[] =
		"{\"__metadata__\":{\"format\":\"pt\"},"
		"\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
		"\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,16]},"
		"\"c\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[16,24]}}";
	uint8_t raw[300];
	size_t size;
	unsigned coding;

	(void)state;
	random_fill(raw, sizeof(raw));
	for (size = 1; size <= sizeof(raw); size++)
		assert_int_equal(check_presets(raw, size, size + 1), BYTES_STORED);
	assert_int_not_equal(
		check_presets((const uint8_t *)header, sizeof(header) - 1, sizeof(header) * 2 / 3),
		BYTES_STORED);
	assert_true(encoded_size((const uint8_t *)header, sizeof(header) - 1, BREVIS_PRESET_DEFAULT,
				 &coding) < sizeof(header));
	assert_int_equal(coding, BYTES_ZSTD);
}

/* Noise is stored, in far less time than a search for what it does not have. */
static void test_noise_is_stored(void **state)
{
	uint8_t *raw = must_alloc(16 * MIB);
	unsigned coding;
	clock_t began;

	(void)state;
	random_fill(raw, 16 * MIB);
	began = clock();
	assert_int_equal(encoded_size(raw, 16 * MIB, BREVIS_PRESET_BEST, &coding), 16 * MIB + 1);
	assert_int_equal(coding, BYTES_STORED);
	assert_true(clock() - began < 3 * CLOCKS_PER_SEC);
	free(raw);
}

/* Noise but for one thing, which must be found: the piece is not given up. */
static void test_what_noise_hides(void **state)
{
	enum { SIZE = 3 << 20 };
	uint8_t *raw = must_alloc(SIZE);
	size_t i;

	(void)state;
	/* A part that comes again, from far away. */
	random_fill(raw, SIZE);
	memcpy(raw + SIZE - 100000, raw + 12345, 90000);
	check_presets(raw, SIZE, SIZE - 80000);
	/* A window of text. */
	random_fill(raw, SIZE);
	memset(raw + SIZE / 3, ' ', 70000);
	check_presets(raw, SIZE, SIZE - 60000);
	/* Bytes that are a little more frequent than others. */
	random_fill(raw, SIZE);
	for (i = 0; i < SIZE; i++)
		raw[i] = raw[i] < 16 && raw[i] % 2 ? 0 : raw[i];
	check_presets(raw, SIZE, SIZE - SIZE / 200);
	/* Every byte as frequent as another, but in order. */
	for (i = 0; i < SIZE; i++)
		raw[i] = (uint8_t)i;
	check_presets(raw, SIZE, SIZE / 100);
	free(raw);
}

/* The second half of a piece repeats the first: a match that reaches back 8 MiB is found. */
static void test_far_repetition(void **state)
{
	const size_t half = 15 * MIB / 2;
	uint8_t *raw = must_alloc(2 * half);
	unsigned coding;

	(void)state;
	random_fill(raw, half);
	memcpy(raw + half, raw, half);
	assert_true(encoded_size(raw, 2 * half, BREVIS_PRESET_DEFAULT, &coding) <
		    half + half / 100);
	free(raw);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_small),
		TEST(test_noise_is_stored),
		TEST(test_what_noise_hides),
		TEST(test_far_repetition),
	};

	seed_init("test_bytes");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
