/* SPDX-License-Identifier: Apache-2.0 */
/* Uploads to stores that are directories: what is seen under a name, and when. */
#include "filter/remote/driver.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/unit/directory_cases.h"

static void test_put(void **state)
{
	static const size_t sizes[] = {0, 1, 4096, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 40 << 20};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint64_t size = 1;

		assert_fault(driver->size(store, KEY, &size, &fault), FAULT_ABSENT);
		assert_int_equal(put_size(sizes[i]), 0);
		assert_true(is_content(PATH, sizes[i]));
		assert_int_equal(driver->size(store, KEY, &size, &fault), 0);
		assert_int_equal(size, sizes[i]);
		assert_true(no_temporaries());
		assert_int_equal(unlink(PATH), 0);
	}
}

static void test_sync(void **state)
{
	static const enum sync_policy policies[] = {SYNC_BEGIN, SYNC_WRITE_OUT, SYNC_DURABLE};

	(void)state;
	for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
		driver->close(store);
		settings.sync = policies[i];
		open_store("store");
		assert_int_equal(put_size(20 << 20), 0);
		assert_true(is_content(PATH, 20 << 20));
		assert_int_equal(unlink(PATH), 0);
	}
}

/* ---- made in the store ----------------------------------------------------------------------- */

/* Fills a scratch file, of which the first `size` bytes are the object. */
static int make_scratch(size_t size, size_t more)
{
	int fd = driver->scratch(store);
	uint8_t *bytes = malloc(size + more);

	assert_true(fd >= 0);
	for (size_t i = 0; i < size + more; i++)
		bytes[i] = byte_at(i);
	assert_int_equal(pwrite(fd, bytes, size + more, 0), size + more);
	free(bytes);
	return fd;
}

static void test_scratch(void **state)
{
	const size_t size = 18 << 20;
	int fd = make_scratch(size, 0);
	struct stat made, named;

	(void)state;
	assert_true(no_temporaries());
	assert_int_equal(put_file_of(fd, size), 0);
	assert_int_equal(fstat(fd, &made), 0);
	assert_int_equal(stat(PATH, &named), 0);
	assert_int_equal(made.st_ino, named.st_ino);
	assert_true(is_content(PATH, size));
	close(fd);
	/* One that is there stays. */
	fd = make_scratch(10, 0);
	assert_int_equal(put_file_of(fd, 10), 0);
	assert_true(is_content(PATH, size));
	close(fd);
	assert_true(no_temporaries());
}

/* What is not all the object, or was named before, is copied. */
static void test_scratch_copied(void **state)
{
	int fd = make_scratch(5000, 100);
	struct stat made, named;

	(void)state;
	assert_int_equal(put_file_of(fd, 5000), 0);
	assert_true(is_content(PATH, 5000));
	close(fd);
	assert_int_equal(unlink(PATH), 0);
	put_text("other", "");
	fd = open("other", O_RDWR);
	assert_int_equal(write(fd, (uint8_t[]){byte_at(0), byte_at(1)}, 2), 2);
	assert_int_equal(put_file_of(fd, 2), 0);
	assert_true(is_content(PATH, 2));
	assert_int_equal(fstat(fd, &made), 0);
	assert_int_equal(stat(PATH, &named), 0);
	assert_int_not_equal(made.st_ino, named.st_ino);
	close(fd);
}

static void test_scratch_failed(void **state)
{
	int fd = make_scratch(5000, 0);
	struct feed *feed = feed_new(fd, 5000);
	uint64_t sent;

	(void)state;
	feed_grow(feed, 5000);
	feed_fail(feed);
	assert_fault(put(feed, &sent), FAULT_CANCELLED);
	assert_int_equal(access(PATH, F_OK), -1);
	feed_free(feed);
	close(fd);
	sh("rm -r store");
	assert_int_equal(driver->scratch(store), -1);
}

static void test_there_already(void **state)
{
	(void)state;
	sh("mkdir -p store/objects/ab/cd");
	put_text(PATH, "was there");
	assert_int_equal(put_size(5000), 0);
	assert_file(PATH, "was there");
	assert_true(no_temporaries());
	assert_int_equal(driver->put_bytes(store, "brevis-store.json", "one", 3, &fault), 0);
	assert_int_equal(driver->put_bytes(store, "brevis-store.json", "two", 3, &fault), 0);
	assert_file("store/brevis-store.json", "one");
	assert_true(no_temporaries());
}

/* A feed that grows in another thread. */
struct growth {
	struct feed *feed;
	int fd;
	size_t size;
	bool good;
	bool seen_early;
};

static void *grow(void *ctx)
{
	struct growth *growth = ctx;
	uint8_t block[10007];

	for (size_t at = 0; at < growth->size; at += sizeof(block)) {
		for (size_t i = 0; i < sizeof(block); i++)
			block[i] = byte_at(at + i);
		if (pwrite(growth->fd, block, sizeof(block), (off_t)at) < 0)
			break;
		feed_grow(growth->feed, at + sizeof(block));
		growth->seen_early |= access(PATH, F_OK) == 0;
	}
	usleep(20000);
	growth->seen_early |= access(PATH, F_OK) == 0;
	if (growth->good)
		feed_finish(growth->feed);
	else
		feed_fail(growth->feed);
	return NULL;
}

static void put_growing(bool good)
{
	int fd = make_content(0);
	struct feed *feed = feed_new(fd, 64 << 20);
	struct growth growth = {.feed = feed, .fd = fd, .size = 500 * 10007, .good = good};
	pthread_t thread;
	uint64_t sent;
	int rc;

	assert_int_equal(pthread_create(&thread, NULL, grow, &growth), 0);
	rc = put(feed, &sent);
	pthread_join(thread, NULL);
	assert_false(growth.seen_early);
	assert_true(no_temporaries());
	if (good) {
		assert_int_equal(rc, 0);
		assert_int_equal(sent, growth.size);
		assert_true(is_content(PATH, growth.size));
	} else {
		assert_fault(rc, FAULT_CANCELLED);
		assert_int_equal(access(PATH, F_OK), -1);
	}
	feed_free(feed);
	close(fd);
}

static void test_growing(void **state)
{
	(void)state;
	put_growing(false);
	put_growing(true);
}

/* What is to be sent cannot be read: its file is shorter than was said. */
static void test_unreadable_content(void **state)
{
	int fd = make_content(100);

	(void)state;
	assert_fault(put_file_of(fd, 200), FAULT_LOCAL);
	assert_int_equal(access(PATH, F_OK), -1);
	assert_true(no_temporaries());
	close(fd);
}

/* ---- poorer file systems --------------------------------------------------------------------- */

#define REFUSE(NUMBER, ERROR)                                                                      \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NUMBER, 0, 1),                                         \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (ERROR))

/* From here on this process finds no files without names; and, if it is to, neither links nor
 * renames that replace nothing. */
static void make_poor(bool poorer)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		REFUSE((unsigned)(poorer ? __NR_linkat : -1), EPERM),
#ifdef __NR_link
		REFUSE((unsigned)(poorer ? __NR_link : -1), EPERM),
#endif
		REFUSE((unsigned)(poorer ? __NR_renameat2 : -1), EINVAL),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_openat, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_TMPFILE & ~O_DIRECTORY, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(rules) / sizeof(rules[0]), rules};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		_exit(77);
}

static int try_poor(bool poorer)
{
	pid_t child;

	make_poor(poorer);
	if (open("store/tmp", O_TMPFILE | O_WRONLY, 0600) >= 0 || errno != EOPNOTSUPP)
		return 1;
	if (put_size(5 << 20) != 0 || !is_content(PATH, 5 << 20) || !no_temporaries())
		return 2;
	/* One that is there stays. */
	put_text(PATH, "was there");
	if (put_size(10) != 0 || !no_temporaries())
		return 3;
	assert_file(PATH, "was there");
	unlink(PATH);
	/* A failed one leaves nothing. */
	put_growing(false);
	/* What is left of an earlier attempt is known by its token, and goes. */
	child = fork();
	if (child == 0) {
		struct feed *feed = feed_new(make_content(100), 1000);
		uint64_t sent;

		feed_grow(feed, 100);
		alarm(1);
		signal(SIGALRM, SIG_DFL);
		put(feed, &sent); /* waits for more until it is killed */
		_exit(0);
	}
	waitpid(child, NULL, 0);
	if (no_temporaries())
		return 4;
	if (put_size(5 << 20) != 0 || !is_content(PATH, 5 << 20) || !no_temporaries())
		return 5;
	return driver->put_bytes(store, "x", "y", 1, &fault) == 0 && no_temporaries() ? 0 : 6;
}

static void run_poor(bool poorer)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0)
		_exit(try_poor(poorer));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77) {
		print_message("# system calls cannot be refused here: no seccomp\n");
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_without_unnamed(void **state)
{
	(void)state;
	run_poor(false);
}

static void test_without_links(void **state)
{
	(void)state;
	run_poor(true);
}

/* ---- at once --------------------------------------------------------------------------------- */

static void *put_one(void *ctx)
{
	*(int *)ctx = put_size(3 << 20);
	return NULL;
}

static void test_at_once(void **state)
{
	pthread_t threads[4];
	int results[4];

	(void)state;
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, put_one, &results[i]), 0);
	for (size_t i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(results[i], 0);
	}
	assert_true(is_content(PATH, 3 << 20));
	assert_true(no_temporaries());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DIRECTORY_TEST(test_put),
		DIRECTORY_TEST(test_sync),
		DIRECTORY_TEST(test_scratch),
		DIRECTORY_TEST(test_scratch_copied),
		DIRECTORY_TEST(test_scratch_failed),
		DIRECTORY_TEST(test_there_already),
		DIRECTORY_TEST(test_growing),
		DIRECTORY_TEST(test_unreadable_content),
		DIRECTORY_TEST(test_without_unnamed),
		DIRECTORY_TEST(test_without_links),
		DIRECTORY_TEST(test_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
