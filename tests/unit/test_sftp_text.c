/* SPDX-License-Identifier: Apache-2.0 */
/* What sftp servers list, and where an upload goes on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "filter/remote/sftp_text.h"

#define PART ((uint64_t)16 << 20)

static void test_lines(void **state)
{
	static const char text[] = "one\n\nlast";
	static const char *const expected[] = {"one", "", "last"};
	const char *at = text;
	const char *line;
	size_t len;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		assert_true(sftp_next_line(&at, text + strlen(text), &line, &len));
		assert_int_equal(len, strlen(expected[i]));
		assert_memory_equal(line, expected[i], len);
	}
	assert_false(sftp_next_line(&at, text + strlen(text), &line, &len));
}

static void test_entries(void **state)
{
	static const struct {
		const char *line;
		uint64_t size;
		const char *name; /* NULL: no file */
	} cases[] = {
		{"-rw-r--r--    1 root     root         1000 Nov 30 12:31 9ef4", 1000, "9ef4"},
		{"-rw-r--r--    1 1000     1000     5368709120 Jan  5  2024 a.b", 5368709120,
		 "a.b"},
		{"-rw-r--r-- 1 two words domain users 0 Nov 30 12:31 x", 0, "x"},
		{"-rw-r--r-- 1 u g 18446744073709551615 Nov 30 12:31 x", UINT64_MAX, "x"},
		{"-rw-r--r-- 1 u g 18446744073709551616 Nov 30 12:31 x", 0, NULL},
		{"-rw-r--r-- 1 u g 12k Nov 30 12:31 x", 0, NULL},
		{"drwxr-xr-x    2 root     root         4096 Nov 30 12:31 ab", 0, NULL},
		{"lrwxrwxrwx 1 u g 4 Nov 30 12:31 x -> y", 0, NULL},
		{"-rw-r--r-- Nov 30 12:31 x", 0, NULL},
		{"-", 0, NULL},
		{"", 0, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sftp_entry entry;
		bool found = sftp_entry_parse(cases[i].line, strlen(cases[i].line), &entry);

		assert_int_equal(found, cases[i].name != NULL);
		if (!found)
			continue;
		assert_true(entry.size == cases[i].size);
		assert_int_equal(entry.name_len, strlen(cases[i].name));
		assert_memory_equal(entry.name, cases[i].name, entry.name_len);
	}
}

/* Always where the file ends, or from the beginning; never without a block to compare. */
static void test_resume(void **state)
{
	static const struct {
		uint64_t size;
		size_t known;
		uint64_t offset;
		uint64_t compare;
	} cases[] = {
		{0, 0, 0, 0},
		{PART + 5, 0, 0, 0}, /* nothing was acknowledged */
		{PART, 1, PART, 0},
		{PART + 5, 1, PART + 5, 0},
		{2 * PART, 1, 2 * PART, 0},
		{2 * PART + 5, 2, 2 * PART + 5, PART},
		{300 * PART + 1, 300, 300 * PART + 1, 299 * PART},
		{2 * PART - 1, 2, 0, 0}, /* less than was acknowledged */
		{0, 2, 0, 0},
		{3 * PART + (4 << 20), 2, 3 * PART + (4 << 20), PART},
		{3 * PART + (4 << 20) + 1, 2, 0, 0}, /* more than we sent */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sftp_resume plan = sftp_resume_plan(cases[i].size, PART, cases[i].known);

		assert_true(plan.offset == cases[i].offset);
		assert_true(plan.compare == cases[i].compare);
	}
	assert_true(sftp_resume_plan(5, 0, 1).offset == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_entries),
		cmocka_unit_test(test_resume),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
