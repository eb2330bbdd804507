/* SPDX-License-Identifier: Apache-2.0 */
/* Records that are decoded to be compared: with what they were made of, and with all but that. */
#include "tests/unit/support.h"

#include "core/archive/record_encode.h"
#include "core/base/digest.h"

#define WORDS 50000 /* several blocks of an execution */

static struct record_decoder decoder;

static int compare(const struct buffer *record, const struct record_head *head, const void *raw)
{
	static const struct span nothing;

	return record_decoder_compare(&decoder, span_of(record->data, record->size), head, NULL,
				      nothing, raw, NULL);
}

/* The record must be told apart from what differs from its content in one bit. */
static void check(unsigned kind, uint8_t *raw, size_t size)
{
	struct record_options options = {.bytes = bytes_options_of(BREVIS_PRESET_DEFAULT)};
	struct record_head head = {(uint8_t)kind, (uint32_t)size, checksum64(raw, size)};
	struct tensor_kind tensor = {.is_float = true,
				     .shape = shape_of_row(kind ? size / (kind / 8) : size)};
	const size_t places[] = {0, size / 2, size - 1, (size_t)random_below(size)};
	struct buffer record = BUFFER_INIT;
	struct brevis_error err;
	size_t i;

	assert_int_equal(record_encode(&head, raw, &tensor, &options, &record, &err), BREVIS_OK);
	assert_int_equal(record.data[0], kind);
	assert_int_equal(compare(&record, &head, raw), BREVIS_OK);
	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		raw[places[i]] ^= 1;
		assert_int_equal(compare(&record, &head, raw), BREVIS_E_CHECKSUM);
		raw[places[i]] ^= 1;
	}
	assert_int_equal(compare(&record, &head, raw), BREVIS_OK);
	/* A head that says something else, and a record that is cut. */
	head.checksum++;
	assert_int_equal(compare(&record, &head, raw), BREVIS_E_CHECKSUM);
	head.checksum--;
	record.size--;
	assert_int_not_equal(compare(&record, &head, raw), BREVIS_OK);
	/* All bytes are right, but readers would refuse them. */
	buffer_clear(&record);
	head.checksum++;
	assert_int_equal(record_encode(&head, raw, &tensor, &options, &record, &err), BREVIS_OK);
	assert_int_equal(compare(&record, &head, raw), BREVIS_E_CHECKSUM);
	buffer_release(&record);
}

static void test_words(void **state)
{
	uint8_t *raw = must_alloc(WORDS * 4);

	(void)state;
	random_bf16(raw, WORDS, 0.02F);
	check(16, raw, WORDS * 2);
	check(16, raw, 2 * 100);
	random_f32(raw, WORDS, 0.02F);
	check(32, raw, WORDS * 4);
	memset(raw, 0, WORDS);
	check(8, raw, WORDS);
	free(raw);
}

static void test_bytes(void **state)
{
	uint8_t *raw = must_alloc(WORDS);
	size_t i;

	(void)state;
	random_fill(raw, WORDS);
	check(RECORD_BYTES, raw, WORDS);
	for (i = 0; i < WORDS; i++)
		raw[i] = (uint8_t)(i % 1000 / 7);
	check(RECORD_BYTES, raw, WORDS);
	check(RECORD_BYTES, raw, 1);
	free(raw);
	record_decoder_release(&decoder);
}

/* Chained bytes are refused where nothing stands before them, or what does is none of theirs. */
static void test_chained_alone(void **state)
{
	static const uint8_t stored[] = {BYTES_STORED, 'a', 'b', 'c'};
	struct record_head head = {RECORD_CHAINED, 3, checksum64("abc", 3)};
	struct buffer record = BUFFER_INIT;
	struct brevis_error err = {0};

	(void)state;
	buffer_u8(&record, RECORD_CHAINED);
	buffer_varint(&record, 3);
	buffer_le64(&record, head.checksum);
	buffer_append(&record, stored, sizeof(stored));
	assert_int_equal(record_decoder_compare(&decoder, span_of(record.data, record.size), &head,
						NULL, span_of(NULL, 0), "abc", &err),
			 BREVIS_E_FORMAT);
	assert_non_null(strstr(err.message, "chained bytes have none before them"));
	buffer_release(&record);
	record_decoder_release(&decoder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_words),
		TEST(test_bytes),
		TEST(test_chained_alone),
	};

	seed_init("test_record");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
