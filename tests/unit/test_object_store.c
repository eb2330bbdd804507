/* SPDX-License-Identifier: Apache-2.0 */
/* Objects: where they lie, how they get there, and that nothing is left where they cannot. */
#include "filter/objects/object_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

#include "filter/objects/judgement.h"
#include "filter/stream.h"

/* In place of the library's: they count, and do the same. */
static int syncs, syncs_of_directories, write_outs, hints;

int fsync(int fd)
{
	struct stat st;

	syncs++;
	syncs_of_directories += fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
	return (int)syscall(SYS_fsync, fd);
}

int sync_file_range(int fd, off_t offset, off_t len, unsigned flags)
{
	*(flags == SYNC_FILE_RANGE_WRITE ? &hints : &write_outs) += 1;
	return (int)syscall(SYS_sync_file_range, fd, offset, len, flags);
}

#define OID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

struct fixture {
	char dir[64];
	char lfs[80];
	struct object_store *store;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	snprintf(f->dir, sizeof(f->dir), "/tmp/brevis-unit-XXXXXX");
	if (!mkdtemp(f->dir))
		return -1;
	snprintf(f->lfs, sizeof(f->lfs), "%s/.git/lfs", f->dir);
	f->store = object_store_new(f->lfs);
	*state = f;
	return f->store ? 0 : -1;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	char command[128];

	object_store_free(f->store);
	snprintf(command, sizeof(command), "rm -rf '%s'", f->dir);
	free(f);
	return system(command);
}

/* Number of files in lfs/tmp. */
static int leftovers(const struct fixture *f)
{
	char path[128];
	struct dirent *entry;
	int count = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/tmp", f->lfs);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		count += entry->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return count;
}

static struct pointer place(struct fixture *f, const char *oid, const void *data, size_t len)
{
	struct pointer pointer = {.size = len};
	struct new_object *object = new_object_create(f->store, "a test");

	strcpy(pointer.oid, oid);
	assert_non_null(object);
	assert_int_equal(new_object_write(object, data, len), 0);
	assert_int_equal(new_object_place(object, &pointer), 0);
	new_object_free(object);
	return pointer;
}

static void test_path(void **state)
{
	struct fixture *f = *state;
	char expected[256];
	char *path = object_store_path(f->store, OID);

	snprintf(expected, sizeof(expected), "%s/objects/01/23/" OID, f->lfs);
	assert_string_equal(path, expected);
	assert_int_equal(access(f->lfs, F_OK), -1); /* nothing was created */
	free(path);
}

static void test_place(void **state)
{
	struct fixture *f = *state;
	struct pointer pointer = {.oid = OID, .size = 5};
	struct object_file file;
	struct stat st;
	char bytes[5];
	char *path;

	assert_false(object_store_has(f->store, &pointer));
	umask(027);
	pointer = place(f, OID, "hello", 5);
	umask(022);
	assert_true(object_store_has(f->store, &pointer));
	assert_int_equal(leftovers(f), 0);
	path = object_store_path(f->store, OID);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	free(path);
	assert_int_equal(object_file_open(&file, f->store, OID), 0);
	assert_int_equal(file.source.size, 5);
	assert_int_equal(file.source.read_at(file.source.ctx, bytes, 3, 1), 0);
	assert_memory_equal(bytes, "ell", 3);
	assert_int_not_equal(file.source.read_at(file.source.ctx, bytes, 5, 1), 0);
	assert_false(file.is_archive);
	object_file_close(&file);
	assert_int_not_equal(file.failure, 0);
	pointer.size = 6;
	assert_false(object_store_has(f->store, &pointer));
	pointer.size = 0;
	assert_true(object_store_has(f->store, &pointer));
}

/* Says what judging all of an object comes to. */
static const char *judged(const struct fixture *f, const char *oid, uint64_t size)
{
	static char text[JUDGEMENT_TEXT];
	struct progress progress = {.is_shown = false};
	struct pointer pointer = {.size = size};
	struct judgement judgement;

	memcpy(pointer.oid, oid, sizeof(pointer.oid));
	object_judge_stored(f->store, &pointer, 1, &progress, &judgement);
	if (judgement.verdict == VERDICT_GOOD)
		return judgement.is_archive ? "an archive" : "an original";
	return judgement_text(&judgement, &pointer, text);
}

static void test_judgement(void **state)
{
	static const char hello[] =
		"2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
	struct fixture *f = *state;
	struct pointer pointer = {.oid = OID, .size = 6};
	struct judgement look;
	char *path = object_store_path(f->store, OID);

	assert_string_equal(judged(f, OID, 5), "object 0123456789ab (5 bytes) is not here");
	place(f, OID, "hello", 5);
	assert_string_equal(judged(f, OID, 5),
			    "object 0123456789ab is damaged: its SHA-256 is not its name");
	assert_string_equal(judged(f, OID, 6),
			    "object 0123456789ab is damaged: wrong size, 5 bytes instead of 6");
	/* Without a look at its bytes only the size tells. */
	object_look(f->store, &pointer, &look);
	assert_int_equal(look.verdict, VERDICT_DAMAGED);
	pointer.size = 5;
	object_look(f->store, &pointer, &look);
	assert_int_equal(look.verdict, VERDICT_GOOD);
	place(f, hello, "hello", 5);
	assert_string_equal(judged(f, hello, 5), "an original");
	assert_string_equal(judged(f, hello, 6),
			    "object 2cf24dba5fb0 is not what its pointer says: wrong size, 5 bytes "
			    "instead of 6");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0777), 0);
	assert_string_equal(judged(f, OID, 5),
			    "object 0123456789ab cannot be read: Is a directory");
	free(path);
}

/* Says what a failure comes to, after a read that failed for a reason. */
static enum verdict verdict_of(struct fixture *f, enum brevis_status status, int reason)
{
	const struct brevis_error err = {status, "why"};
	struct pointer pointer = {.oid = OID, .size = 5};
	struct object_file file;
	struct judgement judgement;

	assert_int_equal(object_file_open(&file, f->store, OID), 0);
	file.failure = reason;
	object_judge_failure(&file, &pointer, &err, &judgement);
	object_file_close(&file);
	assert_true(judgement.why[0] && judgement.remedy);
	return judgement.verdict;
}

/* Only what says something of the object's bytes makes it a damaged one. */
static void test_judged_failure(void **state)
{
	struct fixture *f = *state;

	place(f, OID, "hello", 5);
	assert_int_equal(verdict_of(f, BREVIS_E_IO, EIO), VERDICT_UNREADABLE);
	assert_int_equal(verdict_of(f, BREVIS_E_IO, EISDIR), VERDICT_UNREADABLE);
	assert_int_equal(verdict_of(f, BREVIS_E_IO, 0), VERDICT_UNREADABLE);
	assert_int_equal(verdict_of(f, BREVIS_E_NOMEM, 0), VERDICT_UNREADABLE);
	assert_int_equal(verdict_of(f, BREVIS_E_IO, ENODATA), VERDICT_DAMAGED);
	assert_int_equal(verdict_of(f, BREVIS_E_CHECKSUM, 0), VERDICT_DAMAGED);
}

/* git-lfs hard-links objects: a file is never changed in place, another takes its name. So one that
 * was damaged is healed. */
static void test_immutable(void **state)
{
	struct fixture *f = *state;
	char *path = object_store_path(f->store, OID);
	struct object_file first, now;
	char bytes[5];

	place(f, OID, "hellO", 5);
	assert_int_equal(object_file_open(&first, f->store, OID), 0);
	place(f, OID, "hello", 5);
	assert_int_equal(object_file_open(&now, f->store, OID), 0);
	assert_int_equal(first.source.read_at(first.source.ctx, bytes, 5, 0), 0);
	assert_memory_equal(bytes, "hellO", 5);
	assert_int_equal(now.source.read_at(now.source.ctx, bytes, 5, 0), 0);
	assert_memory_equal(bytes, "hello", 5);
	assert_int_equal(leftovers(f), 0);
	object_file_close(&first);
	object_file_close(&now);
	free(path);
}

/* Places an object under a policy, the counters starting anew. */
static void place_under(struct fixture *f, enum sync_policy policy, const char *oid)
{
	syncs = syncs_of_directories = write_outs = hints = 0;
	object_store_sync(f->store, policy);
	place(f, oid, "hello", 5);
}

static void test_sync(void **state)
{
	struct fixture *f = *state;
	char other[] = OID;

	place_under(f, SYNC_BEGIN, OID);
	assert_int_equal(syncs, 0);
	assert_int_equal(write_outs, 0);
	assert_int_equal(hints, 1);
	place_under(f, SYNC_WRITE_OUT, OID);
	assert_int_equal(syncs, 0);
	assert_int_equal(write_outs, 1);
	place_under(f, SYNC_DURABLE, OID);
	assert_int_equal(syncs, 2);
	assert_int_equal(syncs_of_directories, 1);
	other[0] = 'f'; /* in two new directories, whose names have to last, too */
	place_under(f, SYNC_DURABLE, other);
	assert_int_equal(syncs, 4);
	assert_int_equal(syncs_of_directories, 3);
}

static void test_abandoned(void **state)
{
	struct fixture *f = *state;
	struct new_object *object = new_object_create(f->store, "a test");

	assert_non_null(object);
	assert_int_equal(leftovers(f), 1);
	assert_int_equal(new_object_write(object, "x", 1), 0);
	new_object_free(object);
	assert_int_equal(leftovers(f), 0);
	new_object_free(NULL);
}

static void test_scratch(void **state)
{
	struct fixture *f = *state;
	int fd = object_store_scratch(f->store);
	char text[3] = "";

	assert_true(fd >= 0);
	assert_int_equal(leftovers(f), 0); /* it has no name */
	assert_int_equal(write(fd, "abc", 3), 3);
	assert_int_equal(pread(fd, text, 3, 0), 3);
	assert_memory_equal(text, "abc", 3);
	close(fd);
}

/* Large writes and small ones keep their order, and can be read back before the object is placed.
 */
static void test_read_back(void **state)
{
	struct fixture *f = *state;
	struct new_object *object = new_object_create(f->store, "a test");
	const size_t total = 3000000;
	uint8_t *data = malloc(total);
	uint8_t *back = malloc(total);
	struct object_file file;
	size_t at = 0;
	size_t n;

	assert_true(object && data && back);
	for (n = 0; n < total; n++)
		data[n] = (uint8_t)(n * 2654435761u >> 11);
	for (n = 1; at < total; n = n * 3 + 1) {
		size_t len = n > total - at ? total - at : n;

		assert_int_equal(new_object_write(object, data + at, len), 0);
		at += len;
	}
	assert_int_equal(new_object_flush(object), 0);
	assert_int_equal(object_file_from_fd(&file, new_object_fd(object)), 0);
	assert_int_equal(file.source.size, total);
	assert_int_equal(file.source.read_at(file.source.ctx, back, total, 0), 0);
	assert_memory_equal(back, data, total);
	new_object_free(object);
	free(data);
	free(back);
}

/* A device that takes everything and gives zeros: only these are what was written. */
static void test_checked_write(void **state)
{
	const size_t size = 2 * STREAM_STEP + 1;
	uint8_t *data = calloc(1, size);
	uint8_t *room = malloc(STREAM_STEP);
	int zero = open("/dev/zero", O_RDWR | O_CLOEXEC);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	const size_t places[] = {0, STREAM_STEP - 1, STREAM_STEP, size - 1};
	size_t i;

	(void)state;
	assert_true(data && room && zero >= 0 && null >= 0);
	assert_int_equal(stream_write_checked(zero, data, size, 0, room), 0);
	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		data[places[i]] = 1;
		errno = 0;
		assert_int_equal(stream_write_checked(zero, data, size, 0, room), -1);
		assert_int_equal(errno, EIO);
		data[places[i]] = 0;
	}
	errno = 0;
	assert_int_equal(stream_write_checked(null, data, 1, 0, room), -1);
	assert_int_equal(errno, EIO);
	close(zero);
	close(null);
	free(data);
	free(room);
}

static void test_no_store(void **state)
{
	struct fixture *f = *state;
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/.git", f->dir);
	assert_int_equal(mkdir(path, 0777), 0);
	fd = open(f->lfs, O_WRONLY | O_CREAT, 0666); /* a file in its place */
	assert_true(fd >= 0);
	close(fd);
	assert_null(new_object_create(f->store, "a test"));
}

static void test_no_room(void **state)
{
	struct fixture *f = *state;
	struct new_object *object = new_object_create(f->store, "a test");
	struct pointer pointer = {.oid = OID, .size = 2000000};
	struct rlimit limit, before;
	char *data = calloc(1, 1000000);

	assert_true(object && data);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = before;
	limit.rlim_cur = 1500000;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	new_object_write(object, data, 1000000);
	new_object_write(object, data, 1000000);
	assert_int_equal(new_object_place(object, &pointer), -1);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(new_object_failure(object), EFBIG);
	new_object_free(object);
	assert_int_equal(leftovers(f), 0);
	assert_false(object_store_has(f->store, &pointer));
	free(data);
}

static void test_no_object(void **state)
{
	struct fixture *f = *state;
	char *path = object_store_path(f->store, OID);
	struct pointer pointer = {.oid = OID, .size = 4096};
	struct object_file file;

	errno = 0;
	assert_int_equal(object_file_open(&file, f->store, OID), -1);
	assert_int_equal(errno, ENOENT);
	place(f, OID, "hello", 5);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0777), 0); /* a directory of its name is no object */
	assert_int_equal(object_file_open(&file, f->store, OID), -1);
	assert_int_equal(errno, EISDIR);
	assert_false(object_store_has(f->store, &pointer));
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(mkfifo(path, 0666), 0); /* nor does a pipe hold us up */
	assert_int_equal(object_file_open(&file, f->store, OID), -1);
	free(path);
}

/* Whether an object could be put somewhere shows without creating anything. */
static void test_refuses(void **state)
{
	struct fixture *f = *state;
	char objects[256];
	char *where;
	int fd;

	assert_int_equal(object_store_refuses(f->store, OID, &where), 0);
	assert_null(where);
	assert_int_equal(object_store_refuses(f->store, NULL, &where), 0);
	assert_int_equal(access(f->lfs, F_OK), -1);
	place(f, OID, "hello", 5);
	assert_int_equal(object_store_refuses(f->store, OID, &where), 0);
	snprintf(objects, sizeof(objects), "%s/objects/01/23/" OID, f->lfs);
	assert_int_equal(unlink(objects), 0);
	snprintf(objects, sizeof(objects), "%s/objects/01/23", f->lfs);
	assert_int_equal(rmdir(objects), 0);
	fd = open(objects, O_WRONLY | O_CREAT, 0666);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(object_store_refuses(f->store, OID, &where), ENOTDIR);
	assert_string_equal(where, objects);
	free(where);
	assert_int_equal(object_store_refuses(f->store, NULL, &where), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_path, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_place, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_judgement, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_judged_failure, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_immutable, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_sync, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_abandoned, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_scratch, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_read_back, set_up, tear_down),
		cmocka_unit_test(test_checked_write),
		cmocka_unit_test_setup_teardown(test_no_store, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_room, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_refuses, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_object, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
