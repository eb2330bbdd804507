/* SPDX-License-Identifier: Apache-2.0 */
/* What a signal that ends the program takes with it: children first, then temporary files. */
#include "filter/cli/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "tests/unit/own_directory.h"

/* So many removals fail first, of those that the program asks for. */
static int refusals;

int unlink(const char *path)
{
	if (refusals > 0) {
		refusals--;
		errno = EACCES;
		return -1;
	}
	return unlinkat(AT_FDCWD, path, 0);
}

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

/* Runs what is to be ended as a program of its own, until it is ready. */
static pid_t start_program(void (*program)(void))
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		/* What a script runs in the background ignores it. */
		signal(SIGINT, SIG_DFL);
		interrupt_install();
		program();
		_exit(1);
	}
	wait_for_file("ready");
	return pid;
}

/* Returns how it ended. */
static int status_of(void (*program)(void))
{
	pid_t pid = start_program(program);
	int status = 0;

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

/* A child that does not care, and is still there when the file has been removed. */
static const char deaf[] = "trap '' TERM INT; : >trapped; while :; do sleep 0.02; done";

static void guard_deaf(void)
{
	int file = open("child", O_CREAT | O_WRONLY, 0600);
	pid_t pid;

	close(open("scratch", O_CREAT | O_WRONLY, 0600));
	interrupt_guard_file("scratch");
	pid = start_shell(deaf);
	interrupt_guard_child(pid);
	wait_for_file("trapped");
	unlink("trapped");
	(void)!write(file, &pid, sizeof(pid));
	close(file);
	close(open("ready", O_CREAT | O_WRONLY, 0600));
}

static void guards_deaf(void)
{
	guard_deaf();
	for (;;)
		pause();
}

/* Lets both signals wait, so that they come at once. */
static void guards_deaf_and_holds(void)
{
	sigset_t before;
	sigset_t pending;

	interrupt_hold(&before);
	guard_deaf();
	do {
		usleep(2000);
		sigpending(&pending);
	} while (!sigismember(&pending, SIGTERM) || !sigismember(&pending, SIGINT));
	interrupt_resume(&before);
}

static void *sleeps(void *unused)
{
	while (pause() < 0)
		;
	return unused;
}

static void guards_deaf_with_thread(void)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, sleeps, NULL), 0);
	guards_deaf();
}

/* The second signal comes while the child is awaited, or while the first one waits; it does not
 * have to be the same one. */
static void check_second_signal(void (*program)(void), int second)
{
	int status;
	pid_t pid = start_program(program);
	pid_t child = 0;
	int file = open("child", O_RDONLY);
	bool has_child;
	bool has_file;

	assert_int_equal(read(file, &child, sizeof(child)), sizeof(child));
	close(file);
	assert_true(child > 0);
	kill(pid, SIGTERM);
	usleep(100000);
	assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
	kill(pid, second);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	/* What fails below leaves nothing. */
	has_child = kill(child, SIGKILL) == 0;
	has_file = unlink("scratch") == 0;
	unlink("child");
	unlink("ready");
	assert_true(WIFSIGNALED(status));
	assert_true(WTERMSIG(status) == SIGTERM || WTERMSIG(status) == second);
	assert_false(has_child);
	assert_false(has_file);
}

static void test_second_signal_cuts_short(void **state)
{
	(void)state;
	check_second_signal(guards_deaf, SIGTERM);
	check_second_signal(guards_deaf, SIGINT);
	check_second_signal(guards_deaf_with_thread, SIGTERM);
	check_second_signal(guards_deaf_with_thread, SIGINT);
	check_second_signal(guards_deaf_and_holds, SIGINT);
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

/* A removal that fails is tried once more, and nobody's errno is lost. */
static void test_removal(void **state)
{
	(void)state;
	for (int failures = 0; failures <= 2; failures++) {
		assert_int_equal(close(open("scratch", O_WRONLY | O_CREAT | O_CLOEXEC, 0600)), 0);
		refusals = failures;
		errno = ENOSPC;
		interrupt_remove_file(interrupt_guard_file("scratch"), "scratch");
		assert_int_equal(errno, ENOSPC);
		assert_int_equal(refusals, 0);
		assert_int_equal(access("scratch", F_OK), failures == 2 ? 0 : -1);
	}
	/* Each has been forgotten: all slots are free. */
	for (int i = 0; i < INTERRUPT_SLOTS; i++)
		assert_true(interrupt_guard_file("scratch") >= 0);
	interrupt_remove_file(-1, "scratch");
	assert_int_equal(access("scratch", F_OK), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files_go_after_children),
		cmocka_unit_test(test_a_child_that_is_waited_for_is_ended),
		cmocka_unit_test(test_second_signal_cuts_short),
		cmocka_unit_test(test_exit_codes),
		cmocka_unit_test(test_removal),
	};

	return cmocka_run_group_tests(tests, own_directory_enter, own_directory_leave);
}
