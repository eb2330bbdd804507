/* SPDX-License-Identifier: Apache-2.0 */
/* Stores that are directories: what is read and listed, and what each fault is called. */
#include "filter/remote/driver.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "core/base/buffer.h"
#include "tests/unit/directory_cases.h"

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

/* Links lead nowhere: what is behind them is not the store's, and stays. */
static void test_list_links(void **state)
{
	struct store_entry entry = {.oid = OID, .key = KEY};
	struct seen seen = {.stop_at = 0};

	(void)state;
	sh("mkdir -p other/ab/cd && echo theirs >other/ab/cd/" OID " && touch store/tmp/letter");
	sh("ln -s ../../other/ab store/objects/ab");
	assert_int_equal(driver->list(store, false, see, &seen, &fault), 0);
	assert_int_equal(driver->list(store, true, see, &seen, &fault), 0);
	assert_int_equal(seen.count, 0);
	assert_int_equal(driver->remove(store, &entry, &fault), 0);
	sh("rm -r store/objects store/tmp && ln -s ../other store/objects && ln -s .. store/tmp");
	assert_fault(driver->list(store, false, see, &seen, &fault), FAULT_DAMAGED);
	assert_fault(driver->list(store, true, see, &seen, &fault), FAULT_DAMAGED);
	assert_int_equal(driver->remove(store, &entry, &fault), 0);
	assert_int_equal(seen.count, 0);
	assert_file("other/ab/cd/" OID, "theirs\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DIRECTORY_TEST(test_read),       DIRECTORY_TEST(test_no_files),
		DIRECTORY_TEST(test_missing),    DIRECTORY_TEST(test_tidied),
		DIRECTORY_TEST(test_create),     DIRECTORY_TEST(test_read_only),
		DIRECTORY_TEST(test_no_space),   DIRECTORY_TEST(test_list),
		DIRECTORY_TEST(test_list_links),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
