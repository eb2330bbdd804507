/* SPDX-License-Identifier: Apache-2.0 */
/* The basics: buffers and spans, bit streams, checked sizes, error messages. */
#include "core/base/bits.h"
#include "core/base/bytes.h"
#include "core/base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

static uint64_t seed;

static uint64_t random_word(void)
{
	uint64_t z = seed += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* ---- buffer --------------------------------------------------------------------------------- */

static void test_buffer_grows(void **state)
{
	struct buffer b = BUFFER_INIT;
	uint8_t piece[100];
	size_t total = 0;
	size_t i;

	(void)state;
	for (i = 0; i < 1000; i++) {
		size_t len = (size_t)(random_word() % (sizeof(piece) + 1));

		memset(piece, (int)(i & 0xff), sizeof(piece));
		buffer_append(&b, piece, len);
		total += len;
		assert_int_equal(b.size, total);
		assert_true(b.capacity >= b.size);
		if (len) {
			assert_int_equal(b.data[total - len], i & 0xff);
			assert_int_equal(b.data[total - 1], i & 0xff);
		}
	}
	assert_false(buffer_failed(&b));
	buffer_clear(&b);
	assert_int_equal(b.size, 0);
	assert_true(b.capacity >= total);
	buffer_release(&b);
	assert_null(b.data);
	assert_int_equal(b.capacity, 0);
}

static void test_buffer_reserve(void **state)
{
	struct buffer b = BUFFER_INIT;
	uint8_t *at = buffer_reserve(&b, 1000);

	(void)state;
	assert_non_null(at);
	assert_int_equal(b.size, 0);
	memset(at, 1, 1000);
	assert_ptr_equal(buffer_extend(&b, 1000), at);
	assert_int_equal(b.size, 1000);
	/* Nothing at all is still somewhere. */
	assert_non_null(buffer_reserve(&b, 0));
	buffer_append(&b, NULL, 0);
	assert_int_equal(b.size, 1000);
	buffer_release(&b);
	assert_non_null(buffer_extend(&b, 0));
	buffer_release(&b);
}

static void test_buffer_failure_sticks(void **state)
{
	struct buffer b = BUFFER_INIT;

	(void)state;
	buffer_append(&b, "abc", 3);
	assert_null(buffer_reserve(&b, SIZE_MAX));
	assert_true(buffer_failed(&b));
	assert_null(buffer_reserve(&b, 1));
	buffer_append(&b, "d", 1);
	buffer_varint(&b, 7);
	assert_int_equal(b.size, 3);
	assert_memory_equal(b.data, "abc", 3);
	buffer_clear(&b);
	assert_false(buffer_failed(&b));
	buffer_u8(&b, 'e');
	assert_memory_equal(b.data, "e", 1);
	buffer_release(&b);
}

static void test_little_endian(void **state)
{
	static const uint8_t bytes[8] = {1, 2, 3, 4, 5, 6, 7, 0xf8};
	uint8_t out[8];
	struct buffer b = BUFFER_INIT;
	struct span s = span_of(bytes, 8);

	(void)state;
	assert_int_equal(load_le16(bytes), 0x0201);
	assert_int_equal(load_le32(bytes + 4), UINT32_C(0xf8070605));
	assert_true(load_le64(bytes) == UINT64_C(0xf807060504030201));
	store_le16(out, 0x0201);
	assert_memory_equal(out, bytes, 2);
	store_le32(out, UINT32_C(0x04030201));
	assert_memory_equal(out, bytes, 4);
	store_le64(out, UINT64_C(0xf807060504030201));
	assert_memory_equal(out, bytes, 8);
	buffer_le64(&b, UINT64_C(0xf807060504030201));
	assert_int_equal(b.size, 8);
	assert_memory_equal(b.data, bytes, 8);
	buffer_release(&b);
	assert_true(span_le64(&s) == UINT64_C(0xf807060504030201));
	s = span_of(bytes, 3);
	assert_int_equal(span_le16(&s), 0x0201);
	assert_int_equal(span_le16(&s), 0);
	assert_true(span_failed(&s));
}

/* ---- varints and spans ---------------------------------------------------------------------- */

static void check_varint(uint64_t v)
{
	struct buffer b = BUFFER_INIT;
	struct span s;
	size_t len;

	buffer_varint(&b, v);
	assert_int_equal(b.size, varint_size(v));
	s = span_of(b.data, b.size);
	assert_true(span_varint(&s) == v);
	assert_false(span_failed(&s));
	assert_int_equal(span_left(&s), 0);
	for (len = 0; len < b.size; len++) {
		s = span_of(b.data, len);
		assert_true(span_varint(&s) == 0);
		assert_true(span_failed(&s));
	}
	buffer_release(&b);
}

static void test_varint(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < 64; i++) {
		check_varint(UINT64_C(1) << i);
		check_varint((UINT64_C(1) << i) - 1);
		check_varint(random_word() >> i);
	}
	check_varint(UINT64_MAX);
	assert_int_equal(varint_size(0), 1);
	assert_int_equal(varint_size(127), 1);
	assert_int_equal(varint_size(128), 2);
	assert_int_equal(varint_size(UINT64_MAX), 10);
}

static void test_varint_refused(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
	} cases[] = {
		{"\x80\x00", 2},                                  /* 0 in two bytes */
		{"\xff\x80\x00", 3},                              /* 127 in three */
		{"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02", 10}, /* 2^64 */
		{"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct span s = span_of(cases[i].bytes, cases[i].size);

		assert_true(span_varint(&s) == 0);
		assert_true(span_failed(&s));
	}
}

static void test_span_failure_sticks(void **state)
{
	struct span s = span_of("abcd", 4);

	(void)state;
	assert_int_equal(span_u8(&s), 'a');
	assert_memory_equal(span_take(&s, 2), "bc", 2);
	assert_null(span_take(&s, UINT64_MAX));
	assert_true(span_failed(&s));
	/* What would be there is not given any more. */
	assert_null(span_take(&s, 1));
	assert_int_equal(span_u8(&s), 0);
	assert_true(span_le64(&s) == 0);
	s = span_of("", 0);
	assert_non_null(span_take(&s, 0));
	assert_false(span_failed(&s));
	assert_int_equal(span_u8(&s), 0);
	assert_true(span_failed(&s));
}

/* ---- bits ----------------------------------------------------------------------------------- */

static void test_bit_helpers(void **state)
{
	(void)state;
	assert_int_equal(bit_length(0), 0);
	assert_int_equal(bit_length(1), 1);
	assert_int_equal(bit_length(255), 8);
	assert_int_equal(bit_length(256), 9);
	assert_int_equal(bit_length(UINT64_MAX), 64);
	assert_true(low_bits(0) == 0);
	assert_true(low_bits(1) == 1);
	assert_true(low_bits(63) == UINT64_MAX >> 1);
	assert_true(low_bits(64) == UINT64_MAX);
}

static void test_bit_order(void **state)
{
	static const uint8_t expected[2] = {0xb5, 0x03}; /* 1, 2 and 0x3b from the lowest bit up */
	struct buffer b = BUFFER_INIT;
	struct bit_writer w;

	(void)state;
	bit_writer_init(&w, &b);
	bit_write(&w, 1, 1);
	bit_write(&w, 2, 2);
	bit_write(&w, 0, 0);
	bit_write(&w, 0x76, 7);
	bit_writer_flush(&w);
	bit_writer_flush(&w);
	assert_int_equal(b.size, 2);
	assert_memory_equal(b.data, expected, 2);
	buffer_release(&b);
}

static void test_bit_round_trip(void **state)
{
	enum { COUNT = 5000 };
	static uint64_t values[COUNT];
	static unsigned widths[COUNT];
	struct buffer b = BUFFER_INIT;
	struct bit_writer w;
	struct bit_reader r;
	size_t bits = 0;
	size_t i;

	(void)state;
	bit_writer_init(&w, &b);
	for (i = 0; i < COUNT; i++) {
		widths[i] = (unsigned)(random_word() % 57);
		values[i] = random_word() & low_bits(widths[i]);
		bit_write(&w, values[i], widths[i]);
		bits += widths[i];
	}
	bit_writer_flush(&w);
	assert_int_equal(b.size, (bits + 7) / 8);
	bit_reader_init(&r, span_of(b.data, b.size));
	for (i = 0; i < COUNT; i++) {
		assert_true(bits < 8 || !bit_reader_at_end(&r));
		assert_true(bit_read(&r, widths[i]) == values[i]);
		bits -= widths[i];
	}
	assert_true(bit_reader_at_end(&r));
	buffer_release(&b);
}

static void test_bit_reader_end(void **state)
{
	struct bit_reader r;

	(void)state;
	bit_reader_init(&r, span_of("\x05", 1));
	assert_int_equal(bit_read(&r, 2), 1);
	assert_false(bit_reader_at_end(&r)); /* a bit is set in what is left */
	assert_int_equal(bit_read(&r, 1), 1);
	assert_true(bit_reader_at_end(&r));
	assert_int_equal(bit_read(&r, 20), 0);
	assert_true(r.in.failed);
	assert_false(bit_reader_at_end(&r));
	bit_reader_init(&r, span_of("\x01\x00", 2));
	assert_int_equal(bit_read(&r, 1), 1);
	assert_false(bit_reader_at_end(&r)); /* a whole byte is left */
}

/* ---- sizes and errors ----------------------------------------------------------------------- */

static void test_checked_sizes(void **state)
{
	uint64_t r = 0;

	(void)state;
	assert_true(checked_add(UINT64_MAX - 1, 1, &r));
	assert_true(r == UINT64_MAX);
	assert_false(checked_add(UINT64_MAX, 1, &r));
	assert_true(checked_mul(UINT64_C(1) << 32, UINT32_MAX, &r));
	assert_true(r == UINT64_C(0xffffffff00000000));
	assert_false(checked_mul(UINT64_C(1) << 32, UINT64_C(1) << 32, &r));
	assert_true(checked_mul(UINT64_MAX, 0, &r));
	assert_true(r == 0);
}

static void test_error_message(void **state)
{
	struct brevis_error err;
	char name[400];

	(void)state;
	assert_int_equal(error_set(&err, BREVIS_E_FORMAT, "tensor %s of %d", "a\nb\x1b[0m\x7f", 3),
			 BREVIS_E_FORMAT);
	assert_int_equal(err.status, BREVIS_E_FORMAT);
	assert_string_equal(err.message, "tensor a\\x0ab\\x1b[0m\\x7f of 3");
	assert_int_equal(error_set(NULL, BREVIS_E_IO, "nobody listens"), BREVIS_E_IO);
	assert_int_equal(error_nomem(&err), BREVIS_E_NOMEM);
	assert_string_equal(err.message, "out of memory");

	/* Too long: cut, never in the middle of an escape. */
	memset(name, '\n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	error_set(&err, BREVIS_E_IO, "%s", name);
	assert_int_equal(strlen(err.message) % 4, 0);
	assert_true(strlen(err.message) > sizeof(err.message) - 8);
	memset(name, 'n', sizeof(name) - 1);
	error_set(&err, BREVIS_E_IO, "%s", name);
	assert_int_equal(strlen(err.message), sizeof(err.message) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_buffer_grows),
		cmocka_unit_test(test_buffer_reserve),
		cmocka_unit_test(test_buffer_failure_sticks),
		cmocka_unit_test(test_little_endian),
		cmocka_unit_test(test_varint),
		cmocka_unit_test(test_varint_refused),
		cmocka_unit_test(test_span_failure_sticks),
		cmocka_unit_test(test_bit_helpers),
		cmocka_unit_test(test_bit_order),
		cmocka_unit_test(test_bit_round_trip),
		cmocka_unit_test(test_bit_reader_end),
		cmocka_unit_test(test_checked_sizes),
		cmocka_unit_test(test_error_message),
	};
	const char *given = getenv("BREVIS_TEST_SEED");

	seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
	printf("seed: %llu (BREVIS_TEST_SEED replays it)\n", (unsigned long long)seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
