/* SPDX-License-Identifier: Apache-2.0 */
/* Stores that are directories: what is seen under a name and when, and what each fault is called.
 */
#include "filter/remote/driver.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <signal.h>

#include "core/base/buffer.h"
#include "tests/unit/sandbox.h"

#define OID  "abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789"
#define KEY  "objects/ab/cd/" OID
#define PATH "store/" KEY

static const struct driver *const driver = &driver_directory;
static void *store;
static struct fault fault;

static void open_store(const char *path)
{
	struct location location;

	assert_int_equal(location_parse(path, sandbox_path, &location, &fault), 0);
	assert_int_equal(driver->open(&location, NULL, &store, &fault), 0);
	location_release(&location);
}

static int enter(void **state)
{
	if (sandbox_enter(state) != 0)
		return -1;
	fault = (struct fault){0};
	open_store("store");
	assert_int_equal(driver->create(store, &fault), 0);
	return 0;
}

static int leave(void **state)
{
	driver->close(store);
	return sandbox_leave(state);
}

static void assert_fault(int rc, enum fault_kind kind)
{
	assert_int_equal(rc, -1);
	if (fault.kind != kind)
		print_error("fault %d: %s\n", fault.kind, fault.cause);
	assert_int_equal(fault.kind, kind);
	assert_true(fault.cause[0] && !strchr(fault.cause, '\n'));
}

/* ---- uploads --------------------------------------------------------------------------------- */

static uint8_t byte_at(size_t i)
{
	return (uint8_t)(i * 2654435761U >> 11);
}

static int make_content(size_t size)
{
	uint8_t *bytes = malloc(size + 1);
	int fd = memfd_create("content", MFD_CLOEXEC);

	assert_true(fd >= 0 && bytes);
	for (size_t i = 0; i < size; i++)
		bytes[i] = byte_at(i);
	assert_int_equal(write(fd, bytes, size), size);
	free(bytes);
	return fd;
}

static bool is_content(const char *path, size_t size)
{
	int fd = open(path, O_RDONLY);
	uint8_t *bytes = malloc(size + 1);
	bool same = fd >= 0 && read(fd, bytes, size + 1) == (ssize_t)size;

	for (size_t i = 0; same && i < size; i++)
		same = bytes[i] == byte_at(i);
	free(bytes);
	if (fd >= 0)
		close(fd);
	return same;
}

static void count(void *ctx, uint64_t bytes)
{
	*(uint64_t *)ctx += bytes;
}

static int put(struct feed *feed, uint64_t *sent)
{
	struct journal *journal = journal_open("state", "store", KEY);
	struct driver_upload upload = {.key = KEY,
				       .feed = feed,
				       .journal = journal,
				       .part_size = 8 << 20,
				       .parallel = 4,
				       .sent = count,
				       .ctx = sent};
	int rc;

	*sent = 0;
	rc = driver->put(store, &upload, &fault);
	if (rc == 0)
		journal_end(journal);
	else
		journal_close(journal);
	return rc;
}

/* Uploads the content of a file that is all there. */
static int put_file_of(int fd, size_t size)
{
	struct feed *feed = feed_new(fd, size);
	uint64_t sent;
	int rc;

	feed_grow(feed, size);
	feed_finish(feed);
	rc = put(feed, &sent);
	if (rc == 0)
		assert_int_equal(sent, size);
	feed_free(feed);
	return rc;
}

static int put_size(size_t size)
{
	int fd = make_content(size);
	int rc = put_file_of(fd, size);

	close(fd);
	return rc;
}

static bool no_temporaries(void)
{
	return system("test -z \"$(ls -A store/tmp)\"") == 0;
}

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

/* ---- reading --------------------------------------------------------------------------------- */

static int take(void *ctx, const void *data, size_t len)
{
	buffer_append(ctx, data, len);
	return 0;
}

static int refuse(void *ctx, const void *data, size_t len)
{
	(void)ctx, (void)data, (void)len;
	return -1;
}

static int read_range(uint64_t offset, uint64_t len, struct buffer *out)
{
	buffer_clear(out);
	return driver->read(store, KEY, offset, len, take, out, &fault);
}

static void test_read(void **state)
{
	const size_t size = (3 << 20) + 17;
	struct buffer out = BUFFER_INIT;

	(void)state;
	assert_fault(read_range(0, 1, &out), FAULT_ABSENT);
	assert_int_equal(put_size(size), 0);
	assert_int_equal(read_range(0, size, &out), 0);
	assert_int_equal(out.size, size);
	for (size_t i = 0; i < size; i++)
		assert_int_equal(out.data[i], byte_at(i));
	assert_int_equal(read_range(12345, 678, &out), 0);
	assert_int_equal(out.size, 678);
	assert_int_equal(out.data[677], byte_at(12345 + 677));
	assert_int_equal(read_range(size, 0, &out), 0);
	assert_int_equal(out.size, 0);
	assert_fault(read_range(size, 1, &out), FAULT_DAMAGED);
	assert_fault(read_range(1, size, &out), FAULT_DAMAGED);
	assert_fault(read_range(UINT64_MAX, UINT64_MAX, &out), FAULT_DAMAGED);
	assert_int_equal(out.size, 0);
	assert_fault(driver->read(store, KEY, 0, size, refuse, NULL, &fault), FAULT_CANCELLED);
	buffer_release(&out);
}

/* Nothing but a regular file is an object. */
static void test_no_files(void **state)
{
	static const char *const commands[] = {"echo secret >secret && ln -s \"$PWD/secret\" " PATH,
					       "mkfifo " PATH, "mkdir " PATH};
	struct buffer out = BUFFER_INIT;
	uint64_t size;

	(void)state;
	sh("mkdir -p store/objects/ab/cd");
	for (size_t i = 0; i < 3; i++) {
		sh(commands[i]);
		assert_fault(driver->size(store, KEY, &size, &fault), FAULT_DAMAGED);
		assert_fault(read_range(0, 1, &out), FAULT_DAMAGED);
		assert_int_equal(out.size, 0);
		sh("rm -r " PATH);
	}
	buffer_release(&out);
}

/* ---- places ---------------------------------------------------------------------------------- */

static void test_missing(void **state)
{
	struct store_entry entry = {.oid = OID, .key = KEY};
	struct buffer out = BUFFER_INIT;
	uint64_t size;

	(void)state;
	sh("rm -r store");
	assert_fault(driver->size(store, KEY, &size, &fault), FAULT_NO_STORE);
	assert_fault(read_range(0, 0, &out), FAULT_NO_STORE);
	assert_fault(put_size(10), FAULT_NO_STORE);
	assert_fault(driver->put_bytes(store, "x", "x", 1, &fault), FAULT_NO_STORE);
	assert_fault(driver->list(store, false, NULL, NULL, &fault), FAULT_NO_STORE);
	assert_fault(driver->list(store, true, NULL, NULL, &fault), FAULT_NO_STORE);
	assert_fault(driver->remove(store, &entry, &fault), FAULT_NO_STORE);
	assert_int_equal(access("store", F_OK), -1);
	put_text("store", "a file");
	assert_fault(driver->size(store, KEY, &size, &fault), FAULT_NO_STORE);
	assert_fault(put_size(10), FAULT_NO_STORE);
	assert_file("store", "a file");
}

/* Whoever tidied up took a directory that is needed. */
static void test_tidied(void **state)
{
	(void)state;
	sh("rmdir store/tmp store/objects");
	assert_int_equal(put_size(10), 0);
	assert_true(is_content(PATH, 10));
}

static void test_create(void **state)
{
	(void)state;
	driver->close(store);
	open_store("deep/er/store");
	assert_int_equal(driver->create(store, &fault), 0);
	assert_int_equal(driver->create(store, &fault), 0);
	sh("test -d deep/er/store/objects && test -d deep/er/store/tmp");
	driver->close(store);
	put_text("file", "");
	open_store("file/store");
	assert_fault(driver->create(store, &fault), FAULT_LOCAL);
}

/* As a user who may write nothing there. */
static void test_read_only(void **state)
{
	int status = 0;
	pid_t child;

	(void)state;
	assert_int_equal(put_size(10), 0);
	sh("chmod -R a-w store && chmod 755 . && chmod 000 " PATH);
	child = fork();
	if (child == 0) {
		struct buffer out = BUFFER_INIT;
		struct store_entry entry = {.oid = OID, .key = KEY};

		if (getuid() == 0 && setuid(65534) != 0)
			_exit(1);
		if (read_range(0, 1, &out) == 0 || fault.kind != FAULT_DENIED)
			_exit(2);
		if (put_size(10) == 0 || fault.kind != FAULT_READ_ONLY)
			_exit(3);
		if (driver->remove(store, &entry, &fault) == 0 || fault.kind != FAULT_READ_ONLY)
			_exit(4);
		if (driver->put_bytes(store, "x", "x", 1, &fault) == 0 ||
		    fault.kind != FAULT_READ_ONLY)
			_exit(5);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void test_no_space(void **state)
{
	struct rlimit limit = {2 << 20, RLIM_INFINITY};
	struct rlimit before;
	int fd = make_content(3 << 20);
	int rc;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	signal(SIGXFSZ, SIG_IGN);
	limit.rlim_max = before.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	rc = put_file_of(fd, 3 << 20);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	close(fd);
	assert_fault(rc, FAULT_NO_SPACE);
	assert_non_null(strstr(fault.cause, "3145728"));
	assert_non_null(strstr(fault.cause, PATH));
	assert_true(fault.remedy[0]);
	assert_int_equal(access(PATH, F_OK), -1);
	assert_true(no_temporaries());
}

/* ---- listing --------------------------------------------------------------------------------- */

struct seen {
	char text[1024];
	size_t stop_at;
	size_t count;
};

static int see(void *ctx, const struct store_entry *entry)
{
	struct seen *seen = ctx;
	size_t len = strlen(seen->text);

	snprintf(seen->text + len, sizeof(seen->text) - len, "%s %s %llu\n",
		 entry->oid ? "object" : "temporary", entry->key, (unsigned long long)entry->size);
	assert_true(entry->modified > 1600000000);
	if (entry->oid)
		assert_string_equal(strrchr(entry->key, '/') + 1, entry->oid);
	return ++seen->count == seen->stop_at;
}

static void test_list(void **state)
{
	struct store_entry entry = {.key = "tmp/" OID ".0123456789abcdef"};
	struct seen seen = {.stop_at = 0};

	(void)state;
	assert_int_equal(driver->list(store, false, see, &seen, &fault), 0);
	assert_int_equal(driver->list(store, true, see, &seen, &fault), 0);
	assert_int_equal(seen.count, 0);

	assert_int_equal(put_size(10), 0);
	put_text("store/tmp/" OID ".0123456789abcdef", "part");
	/* None of these is an object. */
	sh("cd store/objects; touch x ab/x ab/cd/x ab/cd/.nfs1; mkdir -p ab/y/z zz/zz 00/00 pack;"
	   "touch pack/" OID " 00/00/" OID " 00/00/ABCDEF; mkdir 00/00/0000$(echo " OID
	   " | cut -c5-); ln -s . ab/00; echo >../objects/ab/11");
	assert_int_equal(driver->list(store, false, see, &seen, &fault), 0);
	assert_string_equal(seen.text, "object " KEY " 10\n");
	seen = (struct seen){.stop_at = 0};
	assert_int_equal(driver->list(store, true, see, &seen, &fault), 0);
	assert_string_equal(seen.text, "temporary tmp/" OID ".0123456789abcdef 4\n");
	seen = (struct seen){.stop_at = 1};
	assert_fault(driver->list(store, false, see, &seen, &fault), FAULT_CANCELLED);

	assert_int_equal(driver->remove(store, &entry, &fault), 0);
	assert_int_equal(driver->remove(store, &entry, &fault), 0);
	assert_true(no_temporaries());
	entry = (struct store_entry){.oid = OID, .key = KEY};
	assert_int_equal(driver->remove(store, &entry, &fault), 0);
	assert_int_equal(access(PATH, F_OK), -1);
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
	if (WEXITSTATUS(status) == 77)
		skip();
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

#define DIRECTORY_TEST(function) cmocka_unit_test_setup_teardown(function, enter, leave)

int main(void)
{
	const struct CMUnitTest tests[] = {
		DIRECTORY_TEST(test_put),
		DIRECTORY_TEST(test_there_already),
		DIRECTORY_TEST(test_growing),
		DIRECTORY_TEST(test_unreadable_content),
		DIRECTORY_TEST(test_read),
		DIRECTORY_TEST(test_no_files),
		DIRECTORY_TEST(test_missing),
		DIRECTORY_TEST(test_tidied),
		DIRECTORY_TEST(test_create),
		DIRECTORY_TEST(test_read_only),
		DIRECTORY_TEST(test_no_space),
		DIRECTORY_TEST(test_list),
		DIRECTORY_TEST(test_without_unnamed),
		DIRECTORY_TEST(test_without_links),
		DIRECTORY_TEST(test_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
