/* SPDX-License-Identifier: Apache-2.0 */
/* JSON as a tree; and those who read by it, where memory is short. The linker wraps what allocates.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/brevis.h"
#include "filter/agent/protocol.h"
#include "filter/remote/description.h"
#include "filter/remote/json_tree.h"
#include "tests/unit/failing_memory.h"

#define AB16 "abababababababab"
#define OID  AB16 AB16 AB16 AB16

/* From memory that ends where the text does. */
static int parse(struct json_tree *tree, const char *text)
{
	size_t len = strlen(text);
	char *copy = malloc(len + !len);
	int status;

	assert_non_null(copy);
	memcpy(copy, text, len);
	status = json_tree_parse(tree, copy, len);
	free(copy);
	return status;
}

static void assert_text(const struct json_value *value, const char *name, const char *text)
{
	assert_non_null(value);
	assert_string_equal(value->name ? value->name : "(none)", name);
	assert_string_equal(value->text ? value->text : "(none)", text);
}

static void test_values(void **state)
{
	const struct json_value *value, *inner;
	struct json_tree tree;

	(void)state;
	assert_int_equal(parse(&tree, " {\"a\": \"x\", \"\": [1, [], {\"k\": -2.5e1}, true], "
				      "\"a\": \"y\", \"\\u00e9\\n\": false, \"n\": null} "),
			 BREVIS_OK);
	assert_true(json_tree_is(tree.root, JSON_OBJECT));
	assert_text(tree.root, "(none)", "(none)");
	value = json_tree_first(tree.root);
	assert_text(value, "a", "x");
	value = json_tree_next(value);
	assert_text(value, "", "(none)");
	assert_true(json_tree_is(value, JSON_LIST));
	inner = json_tree_first(value);
	assert_text(inner, "(none)", "1");
	inner = json_tree_next(inner);
	assert_true(json_tree_is(inner, JSON_LIST));
	assert_null(json_tree_first(inner));
	inner = json_tree_next(inner);
	assert_text(json_tree_first(inner), "k", "-2.5e1");
	assert_null(json_tree_next(json_tree_first(inner)));
	inner = json_tree_next(inner);
	assert_true(json_tree_is(inner, JSON_TRUE));
	assert_null(json_tree_next(inner));
	value = json_tree_next(value);
	assert_text(value, "a", "y");
	value = json_tree_next(value);
	assert_text(value, "\xc3\xa9\n", "(none)");
	assert_true(json_tree_is(value, JSON_FALSE));
	value = json_tree_next(value);
	assert_true(json_tree_is(value, JSON_NULL));
	assert_null(json_tree_next(value));
	json_tree_release(&tree);
}

static void test_members(void **state)
{
	struct json_tree tree;

	(void)state;
	assert_int_equal(parse(&tree, "{\"in\":{\"b\":\"no\"},\"a\":\"x\",\"a\":\"y\",\"n\":null,"
				      "\"l\":[\"a\"],\"b\":1}"),
			 BREVIS_OK);
	assert_string_equal(json_tree_string(json_tree_member(tree.root, "a")), "x");
	assert_null(json_tree_member(tree.root, "n"));
	assert_null(json_tree_member(tree.root, "none"));
	assert_null(json_tree_string(json_tree_member(tree.root, "b")));
	assert_null(json_tree_member(json_tree_member(tree.root, "l"), "a"));
	assert_null(json_tree_member(json_tree_member(tree.root, "b"), "a"));
	assert_null(json_tree_member(NULL, "a"));
	assert_string_equal(
		json_tree_string(json_tree_member(json_tree_member(tree.root, "in"), "b")), "no");
	json_tree_release(&tree);
	/* What stands behind a NUL is not seen, nor does it come into what follows. */
	assert_int_equal(parse(&tree, "{\"a\\u0000b\":\"x\\u0000y\",\"b\":\"z\"}"), BREVIS_OK);
	assert_string_equal(json_tree_string(json_tree_member(tree.root, "a")), "x");
	assert_string_equal(json_tree_string(json_tree_member(tree.root, "b")), "z");
	json_tree_release(&tree);
}

static void test_whole_numbers(void **state)
{
	static const struct {
		const char *text;
		bool is_whole;
		uint64_t number;
	} cases[] = {
		{"0", true, 0},
		{"7", true, 7},
		{"9223372036854775807", true, INT64_MAX},
		{"9223372036854775808", false, 0},
		{"99999999999999999999", false, 0},
		{"-1", false, 0},
		{"-0", true, 0},
		{"-9223372036854775809", false, 0},
		{"1.0", false, 0},
		{"1.5", false, 0},
		{"1e3", false, 0},
		{"\"1\"", false, 0},
		{"null", false, 0},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct json_tree tree;
		uint64_t number = 0;

		assert_int_equal(parse(&tree, cases[i].text), BREVIS_OK);
		if (json_tree_whole_number(tree.root, &number) != cases[i].is_whole ||
		    number != cases[i].number)
			fail_msg("%s", cases[i].text);
		json_tree_release(&tree);
	}
	assert_false(json_tree_whole_number(NULL, NULL));
}

static void test_refused(void **state)
{
	static const char *const bad[] = {
		"",           " ",       "{",    "[1",       "\"a",    "{\"a\":1}}",  "{} {}",
		"{\"a\":1,}", "{'a':1}", "[01]", "\"\xff\"", "\"\n\"", "/* \" */ {}", "{} // \"",
	};
	struct json_tree tree;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (parse(&tree, bad[i]) != BREVIS_E_FORMAT)
			fail_msg("taken: %s", bad[i]);
		assert_null(tree.root);
		json_tree_release(&tree);
	}
	assert_int_equal(json_tree_parse(&tree, "{}\0", 3), BREVIS_E_FORMAT);
	json_tree_release(&tree);
	assert_int_equal(json_tree_parse(&tree, NULL, 0), BREVIS_E_FORMAT);
	json_tree_release(&tree);
}

static void test_depth(void **state)
{
	char text[2 * (JSON_DEPTH_MAX + 1) + 1] = "";
	struct json_tree tree;
	size_t depth;

	(void)state;
	for (depth = JSON_DEPTH_MAX; depth <= JSON_DEPTH_MAX + 1; depth++) {
		memset(text, '[', depth);
		memset(text + depth, ']', depth);
		assert_int_equal(parse(&tree, text),
				 depth > JSON_DEPTH_MAX ? BREVIS_E_FORMAT : BREVIS_OK);
		json_tree_release(&tree);
	}
}

/* Texts of all lengths, so that the room for them is filled to its end. */
static void test_room(void **state)
{
	char text[600];
	struct json_tree tree;
	size_t len;

	(void)state;
	for (len = 0; len < 500; len++) {
		snprintf(text, sizeof(text), "\"%0*d\"", (int)len + 1, 0);
		assert_int_equal(parse(&tree, text), BREVIS_OK);
		assert_int_equal(strlen(json_tree_string(tree.root)), len + 1);
		json_tree_release(&tree);
		snprintf(text, sizeof(text), "[\"\",\"\",{\"\":1},2,1%0*d]", (int)len + 1, 0);
		assert_int_equal(parse(&tree, text), BREVIS_OK);
		json_tree_release(&tree);
		snprintf(text, sizeof(text), "1%0*d", (int)len + 1, 0);
		assert_int_equal(parse(&tree, text), BREVIS_OK);
		assert_string_equal(tree.root->text, text);
		json_tree_release(&tree);
	}
}

/* A store's description may say more than we know. */
static void test_description(void **state)
{
	static const struct {
		const char *text;
		const char *cause;
	} cases[] = {
		{"{\"new\":[{}],\"version\":1,\"format\":\"git-brevis store\"}", ""},
		{"{\"format\":\"git-brevis store\",\"version\":7}", "newer git-brevis (version 7)"},
		{"{\"format\":\"git-brevis store\",\"version\":0}", "describes no store"},
		{"{\"format\":\"git-brevis store\",\"version\":\"1\"}", "describes no store"},
		{"{\"format\":\"git-brevis store\"}", "describes no store"},
		{"{\"format\":\"store\",\"version\":1}", "describes no store"},
		{"{\"version\":1}", "describes no store"},
		{"[\"format\"]", "describes no store"},
		{"", "describes no store"},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fault fault = {.kind = FAULT_NONE};
		int rc = description_check(cases[i].text, strlen(cases[i].text), "s", &fault);

		assert_int_equal(rc, *cases[i].cause ? -1 : 0);
		assert_int_equal(fault.kind, *cases[i].cause ? FAULT_UNSUPPORTED : FAULT_NONE);
		assert_non_null(strstr(fault.cause, cases[i].cause));
	}
}

/* ---- where memory is short ------------------------------------------------------------------- */

/* Strings for which yajl's buffer grows, in lists that are deep and full enough. */
static void put_large(char *text, size_t size)
{
	int used = snprintf(text, size,
			    "{\"event\":\"download\",\"oid\":\"" OID "\",\"size\":1,"
			    "\"path\":\"\\u00e9%06000d\",\"action\":{\"href\":\"\\n%03000d\","
			    "\"header\":{",
			    0, 0);

	for (int i = 0; i < 20; i++)
		used += snprintf(text + used, size - (size_t)used, "\"h%d\":\"v\\t%d\",", i, i);
	snprintf(text + used, size - (size_t)used, "\"last\":1}}}\n");
}

static int read_tree(const char *text)
{
	struct json_tree tree;
	int status = json_tree_parse(&tree, text, strlen(text));

	assert_true(!status == !!tree.root);
	json_tree_release(&tree);
	return status;
}

static int read_description(const char *text)
{
	struct fault fault = {.kind = FAULT_NONE};

	if (description_check(text, strlen(text), "store", &fault) == 0)
		return BREVIS_OK;
	assert_string_equal(fault.cause, "out of memory");
	return BREVIS_E_NOMEM;
}

static int read_event(const char *text)
{
	FILE *in = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	struct agent_event event;
	int status = BREVIS_OK;

	assert_non_null(in);
	agent_event_read(in, &event);
	fclose(in);
	if (event.kind == AGENT_DAMAGED) {
		assert_string_equal(event.cause, "out of memory");
		status = BREVIS_E_NOMEM;
	} else {
		assert_int_equal(event.kind, AGENT_DOWNLOAD);
		assert_string_equal(agent_event_header(&event, "last"), "1");
	}
	agent_event_release(&event);
	return status;
}

/* Each allocation fails once, alone and with all behind it. At least so many there are. */
static void run_all(int (*read)(const char *text), const char *text, long least)
{
	long before = atomic_load(&in_use);
	long total, n;

	atomic_store(&allowed, LONG_MAX);
	assert_int_equal(read(text), BREVIS_OK);
	total = LONG_MAX - atomic_load(&allowed);
	assert_true(total >= least);
	for (n = 0; n < 2 * total; n++) {
		int status;

		for_good = n % 2;
		atomic_store(&allowed, n / 2);
		status = read(text);
		atomic_store(&allowed, LONG_MAX);
		if (status != BREVIS_E_NOMEM)
			fail_msg("allocation %ld: %d", n / 2, status);
		if (atomic_load(&in_use) != before)
			fail_msg("allocation %ld: %ld were not freed", n / 2,
				 atomic_load(&in_use) - before);
	}
}

static void test_no_memory(void **state)
{
	static char large[16000];

	(void)state;
	put_large(large, sizeof(large));
	/* yajl's own seven blocks, and growth */
	run_all(read_tree, large, 10);
	run_all(read_event, large, 50);
	run_all(read_description, description_text, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),      cmocka_unit_test(test_members),
		cmocka_unit_test(test_depth),       cmocka_unit_test(test_whole_numbers),
		cmocka_unit_test(test_refused),     cmocka_unit_test(test_room),
		cmocka_unit_test(test_description), cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
