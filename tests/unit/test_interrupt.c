/* SPDX-License-Identifier: Apache-2.0 */
/* What a signal that ends the program takes with it: children first, then temporary files. */
#include "filter/cli/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "tests/unit/own_directory.h"

/* A child of the program that is to be ended: a shell. */
static pid_t start_shell(const char *script)
{
	pid_t pid = fork();

	if (pid == 0) {
		/* The handler is the program's own. */
		signal(SIGTERM, SIG_DFL);
		execl("/bin/sh", "sh", "-c", script, (char *)NULL);
		_exit(127);
	}
	return pid;
}

static void wait_for_file(const char *path)
{
	while (access(path, F_OK) != 0)
		usleep(2000);
}

/* Runs what is to be ended as a program of its own, and returns how it ended. */
static int status_of(void (*program)(void))
{
	pid_t pid = fork();
	int status = 0;

	assert_true(pid >= 0);
	if (pid == 0) {
		interrupt_install();
		program();
		_exit(1);
	}
	wait_for_file("ready");
	kill(pid, SIGTERM);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	unlink("ready");
	return status;
}

/* A child that takes its time, and gives a file its name before it ends. */
static const char slow[] = "trap 'sleep 0.1; : >scratch; : >ended; exit' TERM\n"
			   ": >trapped; while :; do sleep 0.02; done";

/* Starts it, and guards both. From then on the signal may come. Returns the handle. */
static int guard_both(pid_t *pid)
{
	int guard;

	interrupt_guard_file("scratch");
	*pid = start_shell(slow);
	guard = interrupt_guard_child(*pid);
	wait_for_file("trapped");
	unlink("trapped");
	close(open("ready", O_CREAT | O_WRONLY, 0600));
	return guard;
}

static void guards_both(void)
{
	pid_t pid;

	guard_both(&pid);
	for (;;)
		pause();
}

static void test_files_go_after_children(void **state)
{
	int status = status_of(guards_both);

	(void)state;
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	assert_int_equal(unlink("ended"), 0);
	assert_int_equal(access("scratch", F_OK), -1);
}

static void waits_for_child(void)
{
	pid_t pid;
	int guard = guard_both(&pid);

	interrupt_wait_child(guard, pid);
}

static void test_a_child_that_is_waited_for_is_ended(void **state)
{
	int status = status_of(waits_for_child);

	(void)state;
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	assert_int_equal(unlink("ended"), 0);
	assert_int_equal(access("scratch", F_OK), -1);
}

static void test_exit_codes(void **state)
{
	pid_t pid = start_shell("exit 3");

	(void)state;
	assert_int_equal(interrupt_wait_child(interrupt_guard_child(pid), pid), 3);
	pid = start_shell("kill -KILL $$");
	assert_int_equal(interrupt_wait_child(interrupt_guard_child(pid), pid), 128 + SIGKILL);
	assert_int_equal(interrupt_wait_child(-1, pid), -1);
	assert_int_equal(errno, ECHILD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files_go_after_children),
		cmocka_unit_test(test_a_child_that_is_waited_for_is_ended),
		cmocka_unit_test(test_exit_codes),
	};

	return cmocka_run_group_tests(tests, own_directory_enter, own_directory_leave);
}
