/* SPDX-License-Identifier: Apache-2.0 */
/* The map of known content: what it remembers, and how little it minds damage. */
#include "filter/objects/known.h"

#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

struct fixture {
	char dir[64];
	struct known *known;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	snprintf(f->dir, sizeof(f->dir), "/tmp/brevis-unit-XXXXXX");
	if (!mkdtemp(f->dir))
		return -1;
	f->known = known_new(f->dir);
	*state = f;
	return f->known ? 0 : -1;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	char command[128];

	known_free(f->known);
	snprintf(command, sizeof(command), "rm -rf '%s'", f->dir);
	free(f);
	return system(command);
}

static void digest_of(uint8_t digest[BREVIS_SHA256_SIZE], unsigned n)
{
	memset(digest, (int)n, BREVIS_SHA256_SIZE);
}

static struct pointer pointer_of(unsigned n)
{
	struct pointer pointer = {.size = 1000 + n};
	uint8_t digest[BREVIS_SHA256_SIZE];

	digest_of(digest, n ^ 0x80);
	pointer_set_oid(&pointer, digest);
	return pointer;
}

static void add(struct fixture *f, uint64_t size, unsigned content, unsigned pointer)
{
	struct pointer p = pointer_of(pointer);
	uint8_t digest[BREVIS_SHA256_SIZE];

	digest_of(digest, content);
	known_add(f->known, size, digest, &p);
}

/* Looks content up; returns whether exactly that pointer was found. */
static bool finds(struct fixture *f, uint64_t size, unsigned content, unsigned pointer)
{
	struct pointer expected = pointer_of(pointer);
	uint8_t digest[BREVIS_SHA256_SIZE];
	struct pointer found;

	digest_of(digest, content);
	return known_find(f->known, size, digest, &found) && pointer_equal(&found, &expected);
}

static bool finds_any(struct fixture *f, uint64_t size, unsigned content)
{
	uint8_t digest[BREVIS_SHA256_SIZE];
	struct pointer found;

	digest_of(digest, content);
	return known_find(f->known, size, digest, &found);
}

static char *entry_path(struct fixture *f, uint64_t size, unsigned content)
{
	uint8_t digest[BREVIS_SHA256_SIZE];
	char hex[OID_HEX_SIZE + 1];
	char *path;

	digest_of(digest, content);
	digest_to_hex(digest, hex);
	assert_true(asprintf(&path, "%s/brevis/known/%" PRIu64 "/%s", f->dir, size, hex) > 0);
	return path;
}

/* Gives an entry a time, in seconds. */
static void date(struct fixture *f, uint64_t size, unsigned content, long seconds)
{
	struct timespec times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};
	char *path = entry_path(f, size, content);

	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	free(path);
}

static void test_remembers(void **state)
{
	struct fixture *f = *state;
	char path[96];

	snprintf(path, sizeof(path), "%s/brevis", f->dir);
	assert_false(finds_any(f, 10, 1));
	assert_int_equal(access(path, F_OK), -1); /* looking creates nothing */
	add(f, 10, 1, 7);
	assert_true(finds(f, 10, 1, 7));
	assert_false(finds_any(f, 11, 1)); /* the size belongs to the key */
	assert_false(finds_any(f, 10, 2));
	add(f, 10, 1, 8);
	assert_true(finds(f, 10, 1, 8));
	add(f, 10, 1, 8);
	assert_true(finds(f, 10, 1, 8));
	add(f, UINT64_MAX, 3, 9);
	assert_true(finds(f, UINT64_MAX, 3, 9));
	add(f, 0, 4, 9);
	assert_true(finds(f, 0, 4, 9));
}

/* Whether the map vouches for an object that changed last in this second. */
static bool vouches(struct fixture *f, unsigned content, unsigned pointer, long seconds, long nanos)
{
	struct timespec changed = {.tv_sec = seconds, .tv_nsec = nanos};
	struct pointer p = pointer_of(pointer);
	uint8_t digest[BREVIS_SHA256_SIZE];

	digest_of(digest, content);
	return known_vouches(f->known, 10, digest, &p, &changed);
}

static int64_t boot;

static int64_t boot_of_test(void)
{
	return boot;
}

/* What was proven before the system was started has to be proven again: the disk may never have got
 * it. */
static void test_boot(void **state)
{
	int64_t (*real)(void) = known_boot;
	struct fixture *f = *state;
	time_t now = time(NULL);

	assert_in_range(real(), 1, (uint64_t)now);
	add(f, 10, 1, 7);
	assert_true(vouches(f, 1, 7, 4000, 0));
	known_boot = boot_of_test;
	date(f, 10, 1, 5000);
	boot = 5000;
	assert_true(vouches(f, 1, 7, 4000, 0));
	boot = 5001;
	assert_false(vouches(f, 1, 7, 4000, 0));
	assert_true(finds(f, 10, 1, 7)); /* it is known all the same */
	add(f, 10, 1, 7);
	assert_true(vouches(f, 1, 7, 4000, 0));
	known_boot = real;
}

static uid_t somebody_else(void)
{
	return geteuid() + 1;
}

/* What others wrote is a hint, not a proof. */
static void test_others(void **state)
{
	uid_t (*real)(void) = known_user;
	struct fixture *f = *state;
	mode_t umask_was;
	struct pointer of_size[4];
	char *path;
	char *kept;

	add(f, 10, 1, 7);
	assert_true(vouches(f, 1, 7, 4000, 0));
	known_user = somebody_else;
	assert_false(vouches(f, 1, 7, 4000, 0));
	assert_true(finds(f, 10, 1, 7));
	/* When they prove the same, ours is kept beside theirs. */
	add(f, 10, 1, 7);
	assert_true(finds(f, 10, 1, 7));
	path = entry_path(f, 10, 1);
	assert_true(asprintf(&kept, "%s-%u", path, geteuid()) > 0);
	assert_int_equal(unlink(path), 0);
	assert_false(vouches(f, 1, 7, 4000, 0));
	known_user = real;
	assert_true(vouches(f, 1, 7, 4000, 0));
	assert_false(vouches(f, 1, 8, 4000, 0));
	/* It counts no second time among those of its size. */
	add(f, 10, 1, 7);
	assert_int_equal(known_of_size(f->known, 10, of_size, 4), 1);
	/* Nor is what others can have written into. */
	assert_int_equal(unlink(kept), 0);
	assert_int_equal(chmod(path, 0664), 0);
	assert_false(vouches(f, 1, 7, 4000, 0));
	assert_true(finds(f, 10, 1, 7));
	umask_was = umask(0);
	add(f, 10, 1, 7);
	umask(umask_was);
	assert_true(vouches(f, 1, 7, 4000, 0));
	free(kept);
	free(path);
}

static void test_vouches(void **state)
{
	int64_t (*real)(void) = known_boot;
	struct fixture *f = *state;

	boot = 0;
	known_boot = boot_of_test;

	assert_false(vouches(f, 1, 7, 0, 0)); /* no entry */
	add(f, 10, 1, 7);
	date(f, 10, 1, 5000);
	assert_true(vouches(f, 1, 7, 4999, 999999999));
	assert_true(vouches(f, 1, 7, 5000, 0)); /* clocks are coarse */
	assert_false(vouches(f, 1, 7, 5000, 1));
	assert_false(vouches(f, 1, 7, 5001, 0));
	assert_false(vouches(f, 1, 8, 4000, 0)); /* another object */
	add(f, 10, 1, 7);                        /* proven again: it is as new as now */
	assert_true(vouches(f, 1, 7, 5001, 0));
	known_boot = real;
}

static void test_newest_first(void **state)
{
	struct fixture *f = *state;
	struct pointer found[3];
	struct pointer expected;
	unsigned i;

	assert_int_equal(known_of_size(f->known, 10, found, 3), 0);
	for (i = 1; i <= 5; i++) {
		add(f, 10, i, i);
		date(f, 10, i, i == 2 ? 1000 : 100 + (long)i);
	}
	add(f, 11, 6, 6);
	assert_int_equal(known_of_size(f->known, 10, found, 3), 3);
	for (i = 0; i < 3; i++) {
		expected = pointer_of((unsigned[]){2, 5, 4}[i]);
		assert_true(pointer_equal(&found[i], &expected));
	}
	/* What is used again becomes the newest. */
	add(f, 10, 1, 1);
	assert_int_equal(known_of_size(f->known, 10, found, 1), 1);
	expected = pointer_of(1);
	assert_true(pointer_equal(&found[0], &expected));
	assert_int_equal(known_of_size(f->known, 10, found, 0), 0);
	assert_int_equal(known_of_size(f->known, 11, found, 3), 1);
}

static void write_file(const char *path, const void *data, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
	close(fd);
}

/* Each kind of damage is no entry, does not harm others, and gives way to a new one if it can. */
static void test_damage(void **state)
{
	struct fixture *f = *state;
	char big[POINTER_SIZE_LIMIT + 10];
	struct pointer found[8];
	char *path = entry_path(f, 10, 1);

	add(f, 10, 2, 2);
	memset(big, 'x', sizeof(big));
	write_file(path, "", 0);
	assert_false(finds_any(f, 10, 1));
	write_file(path, "garbage\n", 8);
	assert_false(finds_any(f, 10, 1));
	write_file(path, big, sizeof(big));
	assert_false(finds_any(f, 10, 1));
	assert_int_equal(known_of_size(f->known, 10, found, 8), 1);
	add(f, 10, 1, 1);
	assert_true(finds(f, 10, 1, 1));

	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_false(finds_any(f, 10, 1));
	add(f, 10, 1, 1); /* replaces the link, and does not write through it */
	assert_true(finds(f, 10, 1, 1));

	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0666), 0);
	assert_false(finds_any(f, 10, 1));
	assert_int_equal(known_of_size(f->known, 10, found, 8), 1);

	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0777), 0);
	assert_false(finds_any(f, 10, 1));
	add(f, 10, 1, 1); /* cannot be; must not matter */
	assert_false(finds_any(f, 10, 1));
	assert_true(finds(f, 10, 2, 2));
	assert_int_equal(known_of_size(f->known, 10, found, 8), 1);
	free(path);
}

static void test_no_place(void **state)
{
	struct fixture *f = *state;
	struct pointer found[2];
	char path[96];

	snprintf(path, sizeof(path), "%s/brevis", f->dir);
	write_file(path, "a file in its place", 19);
	add(f, 10, 1, 1);
	assert_false(finds_any(f, 10, 1));
	assert_int_equal(known_of_size(f->known, 10, found, 2), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_remembers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_others, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_vouches, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_boot, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_newest_first, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_damage, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_place, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
