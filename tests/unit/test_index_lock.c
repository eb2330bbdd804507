/* SPDX-License-Identifier: Apache-2.0 */
/* The index's lock: who gets it, and what is left of it by signals and kills. */
#include "filter/git/index_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "filter/cli/interrupt.h"
#include "tests/unit/own_directory.h"

static int tear_down(void **state)
{
	unlink("index");
	return own_directory_leave(state);
}

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void assert_holds(const char *path, const char *text)
{
	char found[64] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(read(fd, found, sizeof(found) - 1), strlen(text));
	assert_string_equal(found, text);
	close(fd);
}

static void assert_taken(void)
{
	struct index_lock lock;

	assert_int_equal(index_lock_take(&lock, "index", 2), -1);
	assert_int_equal(errno, EEXIST);
	assert_string_equal(lock.path, "index.lock");
	index_lock_release(&lock);
	assert_int_equal(access("index.lock", F_OK), 0);
}

static void test_replaces(void **state)
{
	struct index_lock lock;

	(void)state;
	put("index", "before");
	assert_int_equal(index_lock_take(&lock, "index", 1), 0);
	assert_taken();
	put(lock.copy, "after");
	assert_int_equal(index_lock_replace(&lock), 0);
	assert_taken();
	index_lock_release(&lock);
	assert_int_equal(access("index.lock", F_OK), -1);
	assert_holds("index", "after");
	assert_int_equal(index_lock_take(&lock, "index", 1), 0);
	put(lock.copy, "never");
	index_lock_release(&lock);
	index_lock_release(&lock);
	assert_int_equal(access("index.brevis", F_OK), -1);
	assert_holds("index", "after");
}

static void test_locks_of_git_stay(void **state)
{
	static const char other_boot[] = "git-brevis 00000000-0000-0000-0000-000000000000\n";
	const char *const theirs[] = {"", "DIRC", "git-brevi", "git-brevis \n", other_boot};

	(void)state;
	for (size_t i = 0; i < sizeof(theirs) / sizeof(theirs[0]); i++) {
		put("index.lock", theirs[i]);
		assert_taken();
		assert_holds("index.lock", theirs[i]);
	}
	unlink("index.lock");
}

static void test_needs_a_place(void **state)
{
	struct index_lock lock;

	(void)state;
	assert_int_equal(index_lock_take(&lock, "nowhere/index", 1), -1);
	assert_int_equal(errno, ENOENT);
	index_lock_release(&lock);
}

/* A process that has the lock, and of its work what libgit2 makes, gets a signal. */
static void end_holder(int number)
{
	struct index_lock lock;
	int ready[2];
	int status;
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		interrupt_install();
		if (index_lock_take(&lock, "index", 1) != 0)
			_exit(1);
		put(lock.copy, "half");
		put(lock.copy_lock, "of it");
		(void)!write(ready[1], "", 1);
		for (;;)
			pause();
	}
	/* Else a child that fails would be waited for for ever. */
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_taken();
	kill(pid, number);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == number);
	close(ready[0]);
}

static void test_signal_leaves_nothing(void **state)
{
	(void)state;
	end_holder(SIGTERM);
	assert_int_equal(access("index.lock", F_OK), -1);
	assert_int_equal(access("index.brevis", F_OK), -1);
	assert_int_equal(access("index.brevis.lock", F_OK), -1);
}

static void test_lock_of_the_killed_is_taken_over(void **state)
{
	struct index_lock lock;

	(void)state;
	end_holder(SIGKILL);
	assert_int_equal(access("index.lock", F_OK), 0);
	assert_int_equal(index_lock_take(&lock, "index", 1), 0);
	assert_int_equal(access("index.brevis", F_OK), -1);
	assert_int_equal(access("index.brevis.lock", F_OK), -1);
	assert_taken();
	index_lock_release(&lock);
	assert_int_equal(access("index.lock", F_OK), -1);
}

static void test_sweeps_only_what_a_kill_left(void **state)
{
	struct index_lock lock;

	(void)state;
	end_holder(SIGKILL);
	index_lock_sweep("index");
	assert_int_equal(access("index.lock", F_OK), -1);
	assert_int_equal(access("index.brevis", F_OK), -1);
	assert_int_equal(access("index.brevis.lock", F_OK), -1);
	index_lock_sweep("index");
	assert_int_equal(index_lock_take(&lock, "index", 1), 0);
	index_lock_sweep("index");
	assert_taken();
	index_lock_release(&lock);
	put("index.lock", "");
	index_lock_sweep("index");
	assert_taken();
	unlink("index.lock");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_replaces),
		cmocka_unit_test(test_locks_of_git_stay),
		cmocka_unit_test(test_needs_a_place),
		cmocka_unit_test(test_signal_leaves_nothing),
		cmocka_unit_test(test_lock_of_the_killed_is_taken_over),
		cmocka_unit_test(test_sweeps_only_what_a_kill_left),
	};

	return cmocka_run_group_tests(tests, own_directory_enter, tear_down);
}
