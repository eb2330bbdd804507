/* SPDX-License-Identifier: Apache-2.0 */
/* git as a child: what it wrote is taken as a whole, or not at all. */
#include "filter/git/git_run.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

/* Which read fails, from 1, or is interrupted if it is negative; 0: none. */
static int failing;

ssize_t read(int fd, void *buf, size_t len)
{
	if (failing > 0 && --failing == 0) {
		errno = EIO;
		return -1;
	}
	if (failing < 0 && ++failing == 0) {
		errno = EINTR;
		return -1;
	}
	return (ssize_t)syscall(SYS_read, fd, buf, len);
}

static const char *const version[] = {"version", NULL};

static int ask(int which, size_t *size)
{
	struct buffer output = BUFFER_INIT;
	int rc;

	failing = which;
	rc = git_ask(&output, version);
	failing = 0;
	*size = output.size;
	buffer_release(&output);
	return rc;
}

static void test_a_failing_read_is_no_end(void **state)
{
	size_t size;

	(void)state;
	assert_int_equal(ask(0, &size), 0);
	assert_true(size > 0);
	assert_int_equal(ask(1, &size), -1);
	/* All is there, but not that this is all. */
	assert_int_equal(ask(2, &size), -1);
}

static void test_an_interrupted_read_is_repeated(void **state)
{
	size_t size;
	size_t whole;

	(void)state;
	assert_int_equal(ask(0, &whole), 0);
	assert_int_equal(ask(-1, &size), 0);
	assert_int_equal(size, whole);
	assert_int_equal(ask(-2, &size), 0);
	assert_int_equal(size, whole);
}

static void test_exit_code(void **state)
{
	static const char *const wrong[] = {"rev-parse", "--verify", "-q", "no-such-name", NULL};
	struct buffer output = BUFFER_INIT;

	(void)state;
	assert_true(git_ask(&output, wrong) > 0);
	buffer_release(&output);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_failing_read_is_no_end),
		cmocka_unit_test(test_an_interrupted_read_is_repeated),
		cmocka_unit_test(test_exit_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
