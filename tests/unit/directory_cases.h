/* SPDX-License-Identifier: Apache-2.0 */
/** What the tests of stores that are directories share: one that is empty, and uploads to it. */
#ifndef TESTS_UNIT_DIRECTORY_CASES_H
#define TESTS_UNIT_DIRECTORY_CASES_H

#include <fcntl.h>
#include <sys/mman.h>

#include "filter/remote/driver.h"
#include "tests/unit/sandbox.h"

#define OID  "abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789"
#define KEY  "objects/ab/cd/" OID
#define PATH "store/" KEY

static const struct driver *const driver = &driver_directory;
static void *store;
static struct fault fault;

static struct store_settings settings;

static inline void open_store(const char *path)
{
	struct location location;

	assert_int_equal(location_parse(path, sandbox_path, &location, &fault), 0);
	assert_int_equal(driver->open(&location, &settings, &store, &fault), 0);
	location_release(&location);
}

static inline int enter(void **state)
{
	if (sandbox_enter(state) != 0)
		return -1;
	fault = (struct fault){0};
	settings = (struct store_settings){.sync = SYNC_BEGIN};
	open_store("store");
	assert_int_equal(driver->create(store, &fault), 0);
	return 0;
}

static inline int leave(void **state)
{
	driver->close(store);
	return sandbox_leave(state);
}

static inline void assert_fault(int rc, enum fault_kind kind)
{
	assert_int_equal(rc, -1);
	if (fault.kind != kind)
		print_error("fault %d: %s\n", fault.kind, fault.cause);
	assert_int_equal(fault.kind, kind);
	assert_true(fault.cause[0] && !strchr(fault.cause, '\n'));
}

/* ---- uploads --------------------------------------------------------------------------------- */

static inline uint8_t byte_at(size_t i)
{
	return (uint8_t)(i * 2654435761U >> 11);
}

static inline int make_content(size_t size)
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

static inline bool is_content(const char *path, size_t size)
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

static inline void count(void *ctx, uint64_t bytes)
{
	*(uint64_t *)ctx += bytes;
}

static inline int put(struct feed *feed, uint64_t *sent)
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
static inline int put_file_of(int fd, size_t size)
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

static inline int put_size(size_t size)
{
	int fd = make_content(size);
	int rc = put_file_of(fd, size);

	close(fd);
	return rc;
}

static inline bool no_temporaries(void)
{
	return system("test -z \"$(ls -A store/tmp)\"") == 0;
}

#define DIRECTORY_TEST(function) cmocka_unit_test_setup_teardown(function, enter, leave)

#endif
