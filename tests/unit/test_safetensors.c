/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The safetensors header parser: each rule broken once, each accepted variant, fed whole, byte by
 * byte, and in random parts. BREVIS_TEST_SEED replays a run.
 */
#include "core/base/buffer.h"
#include "core/base/bytes.h"
#include "core/safetensors/dtype.h"
#include "core/safetensors/safetensors.h"
#include "core/safetensors/tensor_list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "tests/unit/safetensors_cases.h"

static uint64_t seed;

/* A small generator, so that a seed means the same everywhere. */
static uint64_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

struct outcome {
	enum safetensors_state state;
	uint64_t used;
	struct safetensors_parser *parser;
};

/* Feeds a file in parts of at most max_part bytes; 0 means parts of random sizes. */
static struct outcome feed(const void *data, size_t len, size_t max_part, bool keep_names)
{
	const uint8_t *at = data;
	struct outcome got = {SAFETENSORS_MORE, 0, NULL};
	struct brevis_error err;

	assert_int_equal(safetensors_parser_new(keep_names, &got.parser, &err), BREVIS_OK);
	while (len && got.state == SAFETENSORS_MORE) {
		size_t part = max_part ? max_part : 1 + (size_t)(next_random() % 37), used = 0;
		uint8_t *exact;

		if (part > len)
			part = len;
		/* A block of exactly this size, so that a sanitizer sees a read past its end. */
		exact = malloc(part);
		assert_non_null(exact);
		memcpy(exact, at, part);
		assert_int_equal(
			safetensors_parser_feed(got.parser, exact, part, &used, &got.state, &err),
			BREVIS_OK);
		free(exact);
		assert_true(used <= part);
		if (got.state == SAFETENSORS_MORE)
			assert_int_equal(used, part);
		got.used += used;
		at += part;
		len -= part;
	}
	return got;
}

/* A file: the prefix, the header's text, and some data behind it. */
static struct buffer file_of(const void *text, size_t len, uint64_t prefix)
{
	struct buffer file = BUFFER_INIT;

	buffer_le64(&file, prefix);
	buffer_append(&file, text, len);
	buffer_append(&file, "data", 4);
	assert_false(buffer_failed(&file));
	return file;
}

/* Feeds a header in each way; all must agree. Returns one outcome, with names. */
static struct outcome feed_all(const void *text, size_t len)
{
	struct buffer file = file_of(text, len, len);
	struct outcome whole = feed(file.data, file.size, file.size, true);
	size_t way;

	for (way = 0; way < 8; way++) {
		struct outcome other = feed(file.data, file.size, way < 2 ? 1 : 0, way % 2);

		assert_int_equal(other.state, whole.state);
		assert_string_equal(safetensors_reason(other.parser),
				    safetensors_reason(whole.parser));
		if (whole.state == SAFETENSORS_VALID) {
			assert_int_equal(other.used, whole.used);
			assert_int_equal(safetensors_count(other.parser),
					 safetensors_count(whole.parser));
		}
		safetensors_parser_free(other.parser);
	}
	buffer_release(&file);
	return whole;
}

static void test_each_rule_broken(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		struct text header = broken[i].header;
		struct outcome got = feed_all(header.bytes, header.len);
		const char *reason = safetensors_reason(got.parser);

		if (got.state != SAFETENSORS_INVALID || !strstr(reason, broken[i].reason))
			fail_msg("%s: state %d, \"%s\" lacks \"%s\"", header.bytes, (int)got.state,
				 reason, broken[i].reason);
		safetensors_parser_free(got.parser);
	}
}

static void test_accepted_variants(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(accepted) / sizeof(accepted[0]); i++) {
		struct text header = accepted[i].header;
		struct outcome got = feed_all(header.bytes, header.len);

		if (got.state != SAFETENSORS_VALID)
			fail_msg("%s: state %d, %s", header.bytes, (int)got.state,
				 safetensors_reason(got.parser));
		assert_int_equal(got.used, header.len + SAFETENSORS_PREFIX_SIZE);
		assert_int_equal(safetensors_header_size(got.parser), got.used);
		assert_int_equal(safetensors_data_size(got.parser), accepted[i].size);
		assert_int_equal(safetensors_count(got.parser), accepted[i].count);
		safetensors_parser_free(got.parser);
	}
}

static void test_dtypes(void **state)
{
	static const struct {
		const char *name;
		unsigned bits;
		unsigned word_bits;
	} dtypes[] = {
		{"BOOL", 8, 8},        {"F4", 4, 8},     {"F6_E2M3", 6, 8}, {"F6_E3M2", 6, 8},
		{"U8", 8, 8},          {"I8", 8, 8},     {"F8_E5M2", 8, 8}, {"F8_E4M3", 8, 8},
		{"F8_E8M0", 8, 8},     {"I16", 16, 16},  {"U16", 16, 16},   {"F16", 16, 16},
		{"F8_E4M3FNUZ", 8, 8}, {"BF16", 16, 16}, {"I32", 32, 32},   {"U32", 32, 32},
		{"F8_E5M2FNUZ", 8, 8}, {"F32", 32, 32},  {"C64", 64, 32},   {"F64", 64, 64},
		{"I64", 64, 64},       {"U64", 64, 64},
	};
	char text[160];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(dtypes) / sizeof(dtypes[0]); i++) {
		struct safetensors_tensor tensor;
		struct outcome got;
		int len = snprintf(text, sizeof(text),
				   "{\"x\":{\"dtype\":\"%s\",\"shape\":[8,3],"
				   "\"data_offsets\":[0,%u]}}",
				   dtypes[i].name, 3 * dtypes[i].bits);

		got = feed_all(text, (size_t)len);
		assert_int_equal(got.state, SAFETENSORS_VALID);
		tensor = safetensors_tensor_at(got.parser, 0);
		assert_string_equal(tensor.dtype, dtypes[i].name);
		assert_int_equal(tensor.extent.word_bits, dtypes[i].word_bits);
		assert_int_equal(tensor.rank, 2);
		assert_int_equal(tensor.shape[0], 8);
		assert_int_equal(tensor.shape[1], 3);
		safetensors_parser_free(got.parser);
	}
}

static void test_order_of_data(void **state)
{
	static const struct text header =
		TEXT("{\"late\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[2,6]},"
		     "\"e2\":{\"dtype\":\"I64\",\"shape\":[0,7],\"data_offsets\":[2,2]},"
		     "\"e1\":{\"dtype\":\"BF16\",\"shape\":[0],\"data_offsets\":[2,2]},"
		     "\"\\u00e9a\\tb\":{\"dtype\":\"BF16\",\"shape\":[1],\"data_offsets\":[0,2]}}");
	static const struct safetensors_tensor expected[] = {
		{"\xc3\xa9"
		 "a\tb",
		 "BF16",
		 NULL,
		 1,
		 {0, 2, 16, 0}},
		{"e2", "I64", NULL, 2, {2, 2, 64, 0}},
		{"e1", "BF16", NULL, 1, {2, 2, 16, 0}},
		{"late", "F32", NULL, 0, {2, 6, 32, 0}},
	};
	struct outcome got = feed_all(header.bytes, header.len);
	size_t i;

	(void)state;
	assert_int_equal(got.state, SAFETENSORS_VALID);
	assert_int_equal(safetensors_count(got.parser), 4);
	for (i = 0; i < 4; i++) {
		struct safetensors_tensor tensor = safetensors_tensor_at(got.parser, i);
		struct safetensors_extent extent = safetensors_extent_at(got.parser, i);

		assert_string_equal(tensor.name, expected[i].name);
		assert_string_equal(tensor.dtype, expected[i].dtype);
		assert_int_equal(tensor.rank, expected[i].rank);
		assert_int_equal(extent.begin, expected[i].extent.begin);
		assert_int_equal(extent.end, expected[i].extent.end);
		assert_int_equal(extent.word_bits, expected[i].extent.word_bits);
		assert_int_equal(extent.dtype,
				 dtype_find(expected[i].dtype, strlen(expected[i].dtype)));
		assert_int_equal(tensor.extent.begin, extent.begin);
	}
	assert_int_equal(safetensors_tensor_at(got.parser, 1).shape[1], 7);
	safetensors_parser_free(got.parser);
}

static void test_prefix(void **state)
{
	static const struct {
		uint64_t prefix;
		enum safetensors_state expected;
	} cases[] = {
		{0, SAFETENSORS_INVALID},
		{1, SAFETENSORS_INVALID},
		{2, SAFETENSORS_VALID},
		{3, SAFETENSORS_INVALID}, /* takes a byte of data into the text */
		{100000001, SAFETENSORS_INVALID},
		{UINT64_C(1) << 63, SAFETENSORS_INVALID},
		{UINT64_MAX, SAFETENSORS_INVALID},
	};
	static const char text[] = "{\"x\":" TENSOR "}";
	struct buffer file;
	struct outcome got;
	size_t i, way;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		file = file_of("{}", 2, cases[i].prefix);
		for (way = 0; way < 2; way++) {
			got = feed(file.data, file.size, way ? 1 : file.size, false);
			assert_int_equal(got.state, cases[i].expected);
			safetensors_parser_free(got.parser);
		}
		buffer_release(&file);
	}
	/* The file ends before its header does: no state but "more" until the caller says so. */
	file = file_of(text, sizeof(text) - 1, 100000000);
	for (i = 0; i < file.size - 4; i++) {
		got = feed(file.data, i, 7, false);
		assert_int_equal(got.state, SAFETENSORS_MORE);
		assert_int_equal(got.used, i);
		safetensors_parser_free(got.parser);
	}
	buffer_release(&file);
}

static void test_nothing_is_used_after_the_end(void **state)
{
	struct buffer file = file_of("{}", 2, 2);
	struct outcome got = feed(file.data, file.size, file.size, false);
	enum safetensors_state after = SAFETENSORS_MORE;
	size_t used = 99;

	(void)state;
	assert_int_equal(
		safetensors_parser_feed(got.parser, file.data, file.size, &used, &after, NULL),
		BREVIS_OK);
	assert_int_equal(after, SAFETENSORS_VALID);
	assert_int_equal(used, 0);
	safetensors_parser_free(got.parser);
	safetensors_parser_free(NULL);

	got = feed("\1\0\0\0\0\0\0\0{", 9, 9, false);
	assert_int_equal(got.state, SAFETENSORS_INVALID);
	assert_int_equal(safetensors_parser_feed(got.parser, "x", 1, &used, &after, NULL),
			 BREVIS_OK);
	assert_int_equal(after, SAFETENSORS_INVALID);
	assert_int_equal(used, 0);
	safetensors_parser_free(got.parser);
	buffer_release(&file);
}

/* An extra field of depth brackets inside two levels of objects. */
static enum safetensors_state nested(size_t depth, bool closed)
{
	static const char rest[] = ",\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}";
	struct buffer text = BUFFER_INIT, file;
	struct outcome got;
	enum safetensors_state result;

	buffer_append(&text, "{\"x\":{\"n\":", 10);
	memset(buffer_extend(&text, depth), '[', depth);
	if (closed) {
		memset(buffer_extend(&text, depth), ']', depth);
		buffer_append(&text, rest, sizeof(rest) - 1);
	}
	file = file_of(text.data, text.size, text.size);
	got = feed(file.data, file.size, 65536, false);
	result = got.state;
	safetensors_parser_free(got.parser);
	buffer_release(&file);
	buffer_release(&text);
	return result;
}

static void test_nesting_is_bounded(void **state)
{
	(void)state;
	assert_int_equal(nested(125, true), SAFETENSORS_VALID);
	assert_int_equal(nested(126, true), SAFETENSORS_INVALID);
	assert_int_equal(nested(99999990, false), SAFETENSORS_INVALID);
}

/* A header with a filling of len bytes between before and after, in parts of 1,000 bytes. */
static enum safetensors_state filled(const char *before, const char *filling, size_t len,
				     const char *after)
{
	struct buffer text = BUFFER_INIT, file;
	struct outcome got;
	enum safetensors_state result;

	buffer_append(&text, before, strlen(before));
	for (; len; len--)
		buffer_append(&text, filling, strlen(filling));
	buffer_append(&text, after, strlen(after));
	file = file_of(text.data, text.size, text.size);
	got = feed(file.data, file.size, 1000, true);
	result = got.state;
	if (result == SAFETENSORS_VALID)
		assert_int_equal(safetensors_count(got.parser), 1);
	safetensors_parser_free(got.parser);
	buffer_release(&file);
	buffer_release(&text);
	return result;
}

static void test_tokens_are_bounded(void **state)
{
	static const char meta[] = "{\"__metadata__\":{\"k\":\"", name[] = "{\"";
	static const char after_meta[] = "\"},\"x\":" TENSOR "}", after_name[] = "\":" TENSOR "}";
	static const char number[] = "{\"x\":{\"n\":1",
			  after_number[] =
				  "," /* a field follows */
				  "\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}";

	(void)state;
	assert_int_equal(filled(meta, "v", 20000000, after_meta), SAFETENSORS_VALID);
	assert_int_equal(filled(meta, "\\ud83d\\ude00", 1000000, after_meta), SAFETENSORS_VALID);
	assert_int_equal(filled(meta, "\xf0\x9f\x98\x80", 1000000, after_meta), SAFETENSORS_VALID);
	assert_int_equal(filled(meta, "\\\"", 1000001, after_meta), SAFETENSORS_VALID);
	/* What is dropped is checked all the same. */
	assert_int_equal(filled(meta, "v", 100000, "\xff\"},\"x\":" TENSOR "}"),
			 SAFETENSORS_INVALID);
	assert_int_equal(filled(meta, "v", 100000, "\\ud83d\"},\"x\":" TENSOR "}"),
			 SAFETENSORS_INVALID);
	assert_int_equal(filled(meta, "v", 100000, ""), SAFETENSORS_INVALID);
	assert_int_equal(filled(meta, "v", 65536, "\":1},\"x\":" TENSOR "}"), SAFETENSORS_INVALID);

	assert_int_equal(filled(name, "n", 65534, after_name), SAFETENSORS_VALID);
	assert_int_equal(filled(name, "n", 65536, after_name), SAFETENSORS_INVALID);
	assert_int_equal(filled(name, "n", 5000000, after_name), SAFETENSORS_INVALID);

	assert_int_equal(filled(number, "0", 4000, after_number), SAFETENSORS_VALID);
	assert_int_equal(filled(number, "0", 4096, after_number), SAFETENSORS_INVALID);
	assert_int_equal(filled("{", " ", 50000000, "\"x\":" TENSOR "}"), SAFETENSORS_VALID);
}

/* Each tensor is two bytes; the order is not the data's. */
static struct outcome feed_tensors(size_t count)
{
	enum { STEP = 61803 };
	struct buffer text = BUFFER_INIT, file;
	struct outcome got;
	size_t i;

	buffer_u8(&text, '{');
	for (i = 0; i < count; i++) {
		uint64_t at = (uint64_t)i * STEP % count;
		char line[160];
		int len = snprintf(line, sizeof(line),
				   "%s\"layer.%07llu.weight\":{\"dtype\":\"BF16\",\"shape\":[1,1],"
				   "\"data_offsets\":[%llu,%llu]}",
				   i ? "," : "", (unsigned long long)at,
				   (unsigned long long)(2 * at), (unsigned long long)(2 * at + 2));

		buffer_append(&text, line, (size_t)len);
	}
	buffer_u8(&text, '}');
	file = file_of(text.data, text.size, text.size);
	buffer_release(&text);
	got = feed(file.data, file.size, 65536, true);
	buffer_release(&file);
	return got;
}

/* As many tensors as a header may name, and one more. */
static void test_tensors_are_bounded(void **state)
{
	struct outcome got = feed_tensors(TENSORS_MAX);

	(void)state;
	assert_int_equal(got.state, SAFETENSORS_VALID);
	assert_int_equal(safetensors_count(got.parser), TENSORS_MAX);
	assert_int_equal(safetensors_data_size(got.parser), 2 * TENSORS_MAX);
	assert_string_equal(safetensors_tensor_at(got.parser, 31415).name, "layer.0031415.weight");
	safetensors_parser_free(got.parser);
	got = feed_tensors(TENSORS_MAX + 1);
	assert_int_equal(got.state, SAFETENSORS_INVALID);
	assert_string_equal(safetensors_reason(got.parser),
			    "header names more tensors than any model has");
	safetensors_parser_free(got.parser);
}

/* One tensor of nothing with so many dimensions. */
static struct outcome feed_dimensions(size_t count)
{
	struct buffer text = BUFFER_INIT;
	struct outcome got;

	buffer_append(&text, "{\"a\":{\"dtype\":\"U8\",\"shape\":[0", 29);
	for (size_t i = 1; i < count; i++)
		buffer_append(&text, ",1", 2);
	buffer_append(&text, "],\"data_offsets\":[0,0]}}", 24);
	got = feed_all(text.data, text.size);
	buffer_release(&text);
	return got;
}

static void test_dimensions_are_bounded(void **state)
{
	struct outcome got = feed_dimensions(DIMENSIONS_MAX);

	(void)state;
	assert_int_equal(got.state, SAFETENSORS_VALID);
	safetensors_parser_free(got.parser);
	got = feed_dimensions(DIMENSIONS_MAX + 1);
	assert_int_equal(got.state, SAFETENSORS_INVALID);
	assert_string_equal(safetensors_reason(got.parser),
			    "header holds more dimensions than any model has");
	safetensors_parser_free(got.parser);
}

/* Names reach messages and callers as they are; messages stay printable and short. */
static void test_reason_is_printable(void **state)
{
	static const struct text header = TEXT(
		"{\"a\\n\\u001b[31mb\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac"
		"\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\":1}");
	struct outcome got = feed_all(header.bytes, header.len);

	(void)state;
	assert_string_equal(
		safetensors_reason(got.parser),
		"tensor \"a\\x0a\\x1b[31mb\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac"
		"\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac"
		"...\" is not an object");
	safetensors_parser_free(got.parser);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_rule_broken),
		cmocka_unit_test(test_accepted_variants),
		cmocka_unit_test(test_dtypes),
		cmocka_unit_test(test_order_of_data),
		cmocka_unit_test(test_prefix),
		cmocka_unit_test(test_nothing_is_used_after_the_end),
		cmocka_unit_test(test_nesting_is_bounded),
		cmocka_unit_test(test_tokens_are_bounded),
		cmocka_unit_test(test_tensors_are_bounded),
		cmocka_unit_test(test_dimensions_are_bounded),
		cmocka_unit_test(test_reason_is_printable),
	};
	const char *given = getenv("BREVIS_TEST_SEED");

	seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
	printf("seed: %llu (BREVIS_TEST_SEED replays it)\n", (unsigned long long)seed);
	seed = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
