/* SPDX-License-Identifier: Apache-2.0 */
/* Text of strangers: what a terminal would obey is shown, not sent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "core/base/escape.h"

static void test_characters(void **state)
{
	static const char *const cases[][2] = {
		{"", ""},
		{"plain", "plain"},
		{"\xc3\xa9 \xe6\xb8\xac \xf0\x9f\x98\x80",
		 "\xc3\xa9 \xe6\xb8\xac \xf0\x9f\x98\x80"},
		{"a\nb\x1b[2J\x7f", "a\\x0ab\\x1b[2J\\x7f"},
		{"\xc2\x9b"
		 "1m",
		 "\\xc2\\x9b"
		 "1m"}, /* CSI as one character */
		{"\xe2\x80\xae"
		 "gpj",
		 "\\xe2\\x80\\xae"
		 "gpj"},                             /* right-to-left override */
		{"\xe2\x81\xa6", "\\xe2\\x81\\xa6"}, /* isolate */
		{"\xd8\x9c", "\\xd8\\x9c"},          /* Arabic letter mark */
		{"\xff\xc3", "\\xff\\xc3"},          /* no UTF-8, cut short */
		{"\xc0\xaf", "\\xc0\\xaf"},          /* overlong */
		{"\xed\xa0\x80", "\\xed\\xa0\\x80"}, /* a surrogate */
	};
	char out[100];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(escape_text(out, sizeof(out), cases[i][0]), strlen(cases[i][1]));
		assert_string_equal(out, cases[i][1]);
	}
}

/* Too long: cut between characters, and between escaped ones. */
static void test_cuts(void **state)
{
	char out[8];
	size_t size;

	(void)state;
	for (size = 1; size <= sizeof(out); size++) {
		memset(out, '#', sizeof(out));
		assert_int_equal(escape_text(out, size, "a\xc3\xa9\n"), size < 2   ? 0
									: size < 4 ? 1
									: size < 8 ? 3
										   : 7);
		assert_int_equal(strlen(out), size < 2 ? 0 : size < 4 ? 1 : size < 8 ? 3 : 7);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_characters),
		cmocka_unit_test(test_cuts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
