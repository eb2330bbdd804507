/* SPDX-License-Identifier: Apache-2.0 */
/* The budget of threads: what one process has, another has not, however that one ends. */
#include "tests/unit/support.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "filter/convert/thread_share.h"

static char place[] = "/tmp/brevis-unit-XXXXXX";
static char budget[sizeof(place) + 64];

static int begin(void **state)
{
	(void)state;
	unlink(budget);
	return setenv("XDG_RUNTIME_DIR", place, 1);
}

static unsigned taken(struct thread_share *share, unsigned wanted)
{
	thread_share_take(share, wanted);
	return share->threads;
}

static void test_sharing(void **state)
{
	struct thread_share a = {0}, b = {0}, c = {0};

	(void)state;
	assert_int_equal(taken(&a, 4), 4);
	assert_int_equal(taken(&b, 4), 1);
	assert_int_equal(taken(&c, 6), 3); /* its own, and two that nobody else wanted */
	thread_share_return(&c);
	thread_share_return(&a);
	assert_int_equal(a.threads, 0);
	assert_int_equal(taken(&a, 3), 3);
	assert_int_equal(taken(&c, 4), 2);
	thread_share_return(&a);
	thread_share_return(&b);
	thread_share_return(&c);
	thread_share_return(&c); /* nothing any more */
	assert_int_equal(taken(&a, 4), 4);
	thread_share_return(&a);
	assert_int_equal(taken(&a, 1), 1);
	thread_share_return(&a);
	assert_true(taken(&a, 0) >= 1);
	thread_share_return(&a);
}

/* Who is killed leaves everything to the others. */
static void test_killed(void **state)
{
	struct thread_share share = {0};
	int ready[2], status;
	pid_t child;
	char byte;

	(void)state;
	assert_int_equal(pipe(ready), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		thread_share_take(&share, 5);
		byte = (char)share.threads;
		if (write(ready[1], &byte, 1) == 1)
			pause();
		_exit(1);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(byte, 5);
	assert_int_equal(taken(&share, 5), 1);
	thread_share_return(&share);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(taken(&share, 5), 5);
	thread_share_return(&share);
	close(ready[0]);
	close(ready[1]);
}

/* Where no budget can be kept, everybody takes what is wanted, and nothing of others is touched. */
static void test_no_budget(void **state)
{
	struct thread_share a = {0}, b = {0};
	char other[sizeof(budget) + 8];
	struct stat st;

	(void)state;
	snprintf(other, sizeof(other), "%s.other", budget);
	assert_int_equal(symlink(other, budget), 0);
	assert_int_equal(taken(&a, 3), 3);
	assert_int_equal(taken(&b, 3), 3);
	assert_int_not_equal(lstat(other, &st), 0);
	thread_share_return(&a);
	thread_share_return(&b);
	unlink(budget);
	assert_int_equal(mkfifo(budget, 0600), 0);
	assert_int_equal(taken(&a, 3), 3);
	thread_share_return(&a);
	unlink(budget);
	assert_int_equal(setenv("XDG_RUNTIME_DIR", "/nonexistent", 1), 0);
	assert_int_equal(taken(&a, 3), 3);
	assert_int_equal(taken(&b, 3), 3);
	thread_share_return(&a);
	thread_share_return(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_sharing, begin),
		cmocka_unit_test_setup(test_killed, begin),
		cmocka_unit_test_setup(test_no_budget, begin),
	};
	int failed;

	seed_init("test_thread_share");
	if (!mkdtemp(place))
		return 1;
	snprintf(budget, sizeof(budget), "%s/git-brevis-threads-%lu", place,
		 (unsigned long)geteuid());
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(budget);
	rmdir(place);
	return failed;
}
