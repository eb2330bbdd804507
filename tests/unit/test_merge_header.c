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

#define PREFIX_SIZE 8

static int read_text(void *ctx, void *buf, size_t len, uint64_t offset)
{
	const struct buffer *file = ctx;

	memcpy(buf, file->data + offset, len);
	return 0;
}

/* The header of a file that is nothing but this text, behind its length. */
static struct brevis_header *header_of(const char *text)
{
	struct brevis_header *header;
	struct buffer file = BUFFER_INIT;
	struct brevis_source source = {.read_at = read_text, .ctx = &file};

	buffer_le64(&file, strlen(text));
	buffer_append(&file, text, strlen(text));
	source.size = file.size;
	assert_int_equal(brevis_header_read(&source, &header, NULL), BREVIS_OK);
	buffer_release(&file);
	return header;
}

/* "key=value;" for each entry. */
static void expect_metadata(const char *text, const char *expected, bool plain)
{
	struct brevis_header *header = header_of(text);
	struct merge_list list;
	char found[200] = "";
	char *at = found;
	bool is_plain;

	assert_int_not_equal(brevis_header_layout(header), BREVIS_LAYOUT_OPAQUE);
	assert_int_equal(merge_header_metadata(header, &list), 0);
	for (size_t i = 0; i < list.count; i++)
		at += sprintf(at, "%s=%.*s;", list.items[i].name, (int)list.items[i].size,
			      list.items[i].value);
	assert_string_equal(found, expected);
	assert_int_equal(merge_header_is_plain(header, &is_plain), 0);
	assert_int_equal(is_plain, plain);
	free(list.items);
	brevis_header_free(header);
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
	expect_metadata("{\"__metadata__\":{\"a\\u0000b\":\"1\"}}", "a=1;", false);
}

static void test_tensors(void **state)
{
	struct brevis_header *header = header_of(
		"{\"b\":{\"dtype\":\"F16\",\"shape\":[2,3],\"data_offsets\":[1,13]}," TENSOR "}");
	struct merge_list list;

	(void)state;
	assert_int_equal(merge_header_tensors(header, &list), 0);
	assert_int_equal(list.count, 2);
	assert_string_equal(list.items[0].name, "t");
	assert_string_equal(list.items[1].name, "b");
	assert_string_equal(list.items[1].dtype, "F16");
	assert_int_equal(list.items[1].rank, 2);
	assert_int_equal(list.items[1].shape[1], 3);
	assert_int_equal(list.items[1].size, 12);
	free(list.items);
	brevis_header_free(header);
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
	struct merge_item entry = {.name = "k", .value = "v\"", .size = 2};
	struct merge_list lists[MERGE_VERSIONS] = {[MERGE_OURS] = {items, 3}};
	struct merge_list metadata_lists[MERGE_VERSIONS] = {[MERGE_THEIRS] = {&entry, 1}};
	struct merge_pick picks[] = {{MERGE_OURS, 0}, {MERGE_OURS, 1}, {MERGE_OURS, 2}};
	struct merge_pick pick = {MERGE_THEIRS, 0};
	struct merge_plan tensors = {.picks = picks, .count = 3};
	struct merge_plan metadata = {.picks = &pick, .count = 1};
	struct buffer out = BUFFER_INIT;
	size_t len = strlen(expected);

	(void)state;
	assert_int_equal(merge_header_compose(&tensors, lists, &metadata, metadata_lists, &out),
			 MERGE_COMPOSED);
	assert_int_equal(out.size % 8, 0);
	assert_int_equal(load_le64(out.data), out.size - PREFIX_SIZE);
	assert_in_range(out.size - PREFIX_SIZE, len, len + 7);
	assert_memory_equal(out.data + PREFIX_SIZE, expected, len);
	for (size_t i = PREFIX_SIZE + len; i < out.size; i++)
		assert_int_equal(out.data[i], ' ');
	buffer_release(&out);
}

/* What nobody would read again as it was meant is not composed. */
static void test_what_is_not_composed(void **state)
{
	uint64_t shape[] = {UINT64_MAX / 2};
	struct merge_item items[] = {
		{.name = "a", .dtype = "U8", .shape = shape, .rank = 1, .size = UINT64_MAX / 2},
		{.name = "b", .dtype = "U8", .shape = shape, .rank = 1, .size = UINT64_MAX / 2},
	};
	struct merge_item same[] = {{.name = "a", .dtype = "U8", .size = 1},
				    {.name = "a", .dtype = "U8", .size = 1}};
	char *huge = malloc((size_t)9 << 20);
	struct merge_item entry = {.name = "k", .value = huge, .size = (uint64_t)9 << 20};
	struct merge_list lists[MERGE_VERSIONS] = {[MERGE_OURS] = {items, 2}};
	struct merge_list metadata_lists[MERGE_VERSIONS] = {[MERGE_OURS] = {&entry, 1}};
	struct merge_pick picks[] = {{MERGE_OURS, 0}, {MERGE_OURS, 1}};
	struct merge_plan two = {.picks = picks, .count = 2};
	struct merge_plan one = {.picks = picks, .count = 1};
	struct merge_plan none = {.count = 0};
	struct buffer out = BUFFER_INIT;

	(void)state;
	assert_int_equal(merge_header_compose(&two, lists, &none, lists, &out), MERGE_TOO_LARGE);
	buffer_clear(&out);
	lists[MERGE_OURS].items = same;
	assert_int_equal(merge_header_compose(&two, lists, &none, lists, &out), MERGE_TOO_LARGE);
	buffer_clear(&out);
	assert_int_equal(merge_header_compose(&one, lists, &none, lists, &out), MERGE_COMPOSED);
	buffer_clear(&out);
	assert_non_null(huge);
	memset(huge, 'v', (size_t)entry.size);
	assert_int_equal(merge_header_compose(&one, lists, &one, metadata_lists, &out),
			 MERGE_TOO_LARGE);
	buffer_release(&out);
	free(huge);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_metadata),
		cmocka_unit_test(test_what_is_not_plain),
		cmocka_unit_test(test_tensors),
		cmocka_unit_test(test_compose),
		cmocka_unit_test(test_what_is_not_composed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
