/* SPDX-License-Identifier: Apache-2.0 */
/** Headers as merging sees them: their metadata, and what is composed (merge_header.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/bytes.h"
#include "filter/merge/merge_header.h"

/* Reads a header, step bytes at a time. Returns NULL if it is refused. */
static struct merge_header *header_of(const char *text, size_t step)
{
	struct merge_header *header = merge_header_new();
	uint8_t prefix[MERGE_HEADER_PREFIX];
	struct buffer all = BUFFER_INIT;
	int rc = 0;

	assert_non_null(header);
	store_le64(prefix, strlen(text));
	buffer_append(&all, prefix, sizeof(prefix));
	buffer_append(&all, text, strlen(text));
	for (size_t at = 0; at < all.size && rc == 0; at += step)
		rc = merge_header_write(header, all.data + at,
					all.size - at < step ? all.size - at : step);
	if (rc == 0)
		rc = merge_header_finish(header);
	buffer_release(&all);
	if (rc == 0)
		return header;
	merge_header_free(header);
	return NULL;
}

/* "key=value;" for each entry. */
static void expect_metadata(const char *text, const char *expected, bool plain)
{
	for (size_t step = 1; step <= 64; step *= 4) {
		struct merge_header *header = header_of(text, step);
		const struct merge_list *list;
		char found[200] = "";
		char *at = found;

		assert_non_null(header);
		list = merge_header_metadata(header);
		for (size_t i = 0; i < list->count; i++) {
			const char *name = list->items[i].name;

			at += sprintf(at, "%s=%.*s;", name, (int)list->items[i].size,
				      name + strlen(name) + 1);
		}
		assert_string_equal(found, expected);
		assert_int_equal(merge_header_is_plain(header), plain);
		merge_header_free(header);
	}
}

#define TENSOR "\"t\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}"

static void test_metadata(void **state)
{
	(void)state;
	expect_metadata("{}", "", true);
	expect_metadata("{" TENSOR "}", "", true);
	expect_metadata("{" TENSOR ",\"__metadata__\":{}}", "", true);
	expect_metadata("{" TENSOR ",\"__metadata__\":null}   ", "", true);
	expect_metadata("{\"__metadata__\":{\"a\":\"1\",\"b\\u00e9\":\"\\\"x\\\\\"}," TENSOR "}",
			"a=1;b\xc3\xa9=\"x\\;", true);
	/* A tensor may have a name as a field has. */
	expect_metadata("{\"shape\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", "",
			true);
}

static void test_what_is_not_plain(void **state)
{
	(void)state;
	expect_metadata("{\"__metadata__\":{\"a\":\"1\",\"b\":\"\",\"a\":\"2\"}}", "a=1;b=;a=2;",
			false);
	expect_metadata("{\"t\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1],\"x\":1}}",
			"", false);
	expect_metadata("{\"t\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1],"
			"\"x\":{\"shape\":\"y\"}}}",
			"", false);
	expect_metadata("{\"__metadata__\":{\"a\\u0000b\":\"1\"}}", "a=b;", false);
}

static void test_what_is_no_header(void **state)
{
	(void)state;
	assert_null(header_of("{", 3));
	assert_null(header_of("{\"a\":", 3));
	assert_null(header_of("{]", 3));
}

static void test_compose(void **state)
{
	static const char expected[] =
		"{\"__metadata__\":{\"k\":\"v\\\"\"},\"b\\n\":{\"dtype\":\"F64\",\"shape\":[2,3],"
		"\"data_offsets\":[0,48]},\"a\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":["
		"48,49]},"
		"\"n\":{\"dtype\":\"F32\",\"shape\":[0,18446744073709551615],\"data_offsets\":[49,"
		"49]}}";
	uint64_t shape[] = {2, 3};
	uint64_t none[] = {0, UINT64_MAX};
	struct merge_item items[] = {
		{.name = "b\n", .dtype = "F64", .shape = shape, .rank = 2, .size = 48},
		{.name = "a", .dtype = "U8", .size = 1},
		{.name = "n", .dtype = "F32", .shape = none, .rank = 2},
	};
	struct merge_item entry = {.name = "k\0v\"", .size = 2};
	struct merge_list lists[MERGE_VERSIONS] = {[MERGE_OURS] = {items, 3}};
	struct merge_list metadata_lists[MERGE_VERSIONS] = {[MERGE_THEIRS] = {&entry, 1}};
	struct merge_pick picks[] = {{MERGE_OURS, 0}, {MERGE_OURS, 1}, {MERGE_OURS, 2}};
	struct merge_pick pick = {MERGE_THEIRS, 0};
	struct merge_plan tensors = {.picks = picks, .count = 3};
	struct merge_plan metadata = {.picks = &pick, .count = 1};
	struct buffer out = BUFFER_INIT;
	size_t len = strlen(expected);

	(void)state;
	assert_int_equal(merge_header_compose(&tensors, lists, &metadata, metadata_lists, &out), 0);
	assert_int_equal(out.size % 8, 0);
	assert_int_equal(load_le64(out.data), out.size - MERGE_HEADER_PREFIX);
	assert_in_range(out.size - MERGE_HEADER_PREFIX, len, len + 7);
	assert_memory_equal(out.data + MERGE_HEADER_PREFIX, expected, len);
	for (size_t i = MERGE_HEADER_PREFIX + len; i < out.size; i++)
		assert_int_equal(out.data[i], ' ');
	buffer_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_metadata),
		cmocka_unit_test(test_what_is_not_plain),
		cmocka_unit_test(test_what_is_no_header),
		cmocka_unit_test(test_compose),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
