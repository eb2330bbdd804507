/* SPDX-License-Identifier: Apache-2.0 */
/** Which texts are pointers with conflict markers, and which are not (conflict_text.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "filter/objects/conflict_text.h"

#define VERSION "version https://git-lfs.github.com/spec/v1\n"
#define OID_1   "oid sha256:1111111111111111111111111111111111111111111111111111111111111111\n"
#define OID_2   "oid sha256:2222222222222222222222222222222222222222222222222222222222222222\n"
#define POINTER VERSION OID_1 "size 1\n"

static bool is(const char *text)
{
	return is_conflict_text(text, strlen(text));
}

static void test_what_git_writes(void **state)
{
	(void)state;
	assert_true(is(VERSION "<<<<<<< HEAD\n" OID_1 "size 1\n=======\n" OID_2
			       "size 2\n>>>>>>> side\n"));
	/* merge.conflictStyle=diff3 */
	assert_true(is(VERSION "<<<<<<< HEAD\n" OID_1 "size 1\n||||||| 1234\n" OID_2
			       "size 3\n=======\n" OID_2 "size 2\n>>>>>>> side\n"));
	/* The sizes are the same. */
	assert_true(
		is(VERSION "<<<<<<< ours\n" OID_1 "=======\n" OID_2 ">>>>>>> theirs\nsize 1\n"));
	/* One side is something else, and all of it differs. */
	assert_true(is("<<<<<<< HEAD\n" POINTER "=======\nanything\n>>>>>>> side\n"));
	assert_true(is("<<<<<<< HEAD\n=======\n" POINTER ">>>>>>> side\n"));
	/* conflict-marker-size=10, labels with spaces, line ends of Windows, no last line end. */
	assert_true(is(VERSION "<<<<<<<<<< a b\r\n" OID_1 "==========\r\n" OID_2 ">>>>>>>>>> c"));
}

static void test_what_is_content(void **state)
{
	(void)state;
	assert_false(is(""));
	assert_false(is("\n"));
	assert_false(is(POINTER));
	assert_false(is(POINTER POINTER));
	assert_false(is("<<<<<<< HEAD\none\n=======\ntwo\n>>>>>>> side\n"));
	/* Not all of the markers, in another order, or too short. */
	assert_false(is(VERSION "<<<<<<< HEAD\n" OID_1 "=======\n" OID_2));
	assert_false(is(VERSION ">>>>>>> side\n" OID_1 "=======\n" OID_2 "<<<<<<< HEAD\n"));
	assert_false(is(VERSION "<<<<<< HEAD\n" OID_1 "======\n" OID_2 ">>>>>> side\n"));
	assert_false(is(VERSION "<<<<<<<HEAD\n" OID_1 "=======\n" OID_2 ">>>>>>> side\n"));
	assert_false(is(VERSION " <<<<<<< HEAD\n" OID_1 " =======\n" OID_2 " >>>>>>> side\n"));
}

/* It reads what it was given, and nothing behind it. */
static void test_every_length(void **state)
{
	static const char text[] =
		VERSION "<<<<<<< HEAD\n" OID_1 "=======\n" OID_2 ">>>>>>> side\n";
	size_t shortest = strlen(text) - strlen(" side\n");

	(void)state;
	for (size_t len = 0; len < sizeof(text); len++) {
		char *copy = malloc(len ? len : 1);

		assert_non_null(copy);
		memcpy(copy, text, len);
		assert_int_equal(is_conflict_text(copy, len), len >= shortest);
		free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_git_writes),
		cmocka_unit_test(test_what_is_content),
		cmocka_unit_test(test_every_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
