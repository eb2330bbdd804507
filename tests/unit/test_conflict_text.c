/* SPDX-License-Identifier: Apache-2.0 */
/* Pointers with the conflict markers of a merge: what is taken for one, and what is content. */
#include "filter/conflict_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#define VERSION "version https://git-lfs.github.com/spec/v1\n"
#define OID     "4a136158df826d258968a31cd3cbb22aaaa2cf34ed70f2eeab1a7039f0cda4f2"
#define SIDE(n) "oid sha256:" OID "\nsize " n "\n"

static void expect(bool expected, const char *what, const char *text)
{
	if (is_conflict_text(text, strlen(text)) != expected)
		fail_msg("%s: %s", what, expected ? "not recognised" : "taken for a conflict");
}

static void test_conflicts(void **state)
{
	(void)state;
	expect(true, "two sides",
	       VERSION "<<<<<<< HEAD\n" SIDE("12") "=======\n" SIDE("13") ">>>>>>> side\n");
	expect(true, "all of it",
	       "<<<<<<< a\n" VERSION SIDE("12") "=======\n" VERSION SIDE("13") ">>>>>>> b\n");
	expect(true, "with the base, as diff3 shows it",
	       VERSION "<<<<<<< a\n" SIDE("12") "||||||| b\n" SIDE("11") "=======\n" SIDE(
		       "13") ">>>>>>> c\n");
	expect(true, "one side was removed",
	       "<<<<<<< a\n" VERSION SIDE("12") "=======\n>>>>>>> b\n");
	expect(true, "larger markers",
	       VERSION "<<<<<<<<<<\n" SIDE("12") "==========\n>>>>>>>>>>\n");
	expect(true, "CRLF",
	       "version https://git-lfs.github.com/spec/v1\r\n<<<<<<< a\r\noid sha256:" OID
	       "\r\n=======\r\n>>>>>>> b\r\n");
	expect(true, "no line feed at the end",
	       VERSION "<<<<<<< a\n" SIDE("1") "=======\n>>>>>>> b");
}

static void test_others(void **state)
{
	(void)state;
	expect(false, "nothing", "");
	expect(false, "a pointer", VERSION SIDE("12"));
	expect(false, "no version", "<<<<<<< a\n" SIDE("12") "=======\n>>>>>>> b\n");
	expect(false, "no object", VERSION "<<<<<<< a\nsize 12\n=======\nsize 13\n>>>>>>> b\n");
	expect(false, "markers in another order", VERSION "=======\n" SIDE("12") "<<<<<<< a\n");
	expect(false, "one marker is missing", VERSION "<<<<<<< a\n" SIDE("12") "=======\n");
	expect(false, "not at the start of a line",
	       VERSION " <<<<<<< a\n" SIDE("12") " =======\n >>>>>>> b\n");
	expect(false, "markers that are too short",
	       VERSION "<<<<<< a\n" SIDE("12") "======\n>>>>>> b\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_conflicts),
		cmocka_unit_test(test_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
