/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at work files and replacing them: never through a link, whole or not at all. */
#include "tests/unit/sandbox.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

#include "filter/work/work_file.h"

#define OID     "1111111111111111111111111111111111111111111111111111111111111111"
#define POINTER "version https://git-lfs.github.com/spec/v1\noid sha256:" OID "\nsize 12345\n"

static enum work_kind kind_of(const char *path, struct work_look *look)
{
	work_file_look(sandbox_path, path, look);
	return look->kind;
}

static void test_look(void **state)
{
	struct work_look look;

	(void)state;
	put_text("pointer", POINTER);
	put_text("empty", "");
	put_file("archive",
		 "\x89"
		 "BREVIS\n\x01",
		 9);
	put_text("content", "something else\n");
	sh("mkdir d && ln -s content link && ln -s d dl && echo x >d/f && mkfifo fifo && "
	   "(cat pointer; head -c 2000 /dev/zero) >long");
	assert_int_equal(kind_of("nothing", &look), WORK_ABSENT);
	assert_int_equal(kind_of("nothing/below", &look), WORK_ABSENT);
	assert_int_equal(kind_of("pointer", &look), WORK_POINTER);
	assert_string_equal(look.pointer.oid, OID);
	assert_int_equal(look.pointer.size, 12345);
	assert_int_equal(kind_of("empty", &look), WORK_EMPTY);
	assert_int_equal(kind_of("archive", &look), WORK_ARCHIVE);
	assert_int_equal(kind_of("content", &look), WORK_CONTENT);
	assert_int_equal(look.stat.st_size, 15);
	assert_int_equal(kind_of("long", &look), WORK_CONTENT);
	assert_int_equal(kind_of("d/f", &look), WORK_CONTENT);
	assert_int_equal(kind_of("d", &look), WORK_OTHER);
	assert_int_equal(kind_of("fifo", &look), WORK_OTHER);
	assert_int_equal(kind_of("link", &look), WORK_OTHER);
	assert_int_equal(look.reason, ELOOP);
	assert_int_equal(kind_of("dl/f", &look), WORK_OTHER);
	assert_int_equal(look.reason, ENOTDIR);
	assert_int_equal(kind_of("content/x", &look), WORK_OTHER);
}

/* Names that an honest index cannot hold. */
static void test_hostile_names(void **state)
{
	static const char *const names[] = {
		"../x", "a/../../x", ".git/config", "a/.GIT/x", "/etc/x", "a//b", "a/", "", "."};
	struct work_look look;

	(void)state;
	sh("mkdir a .git && echo x >.git/config && mkdir a/.GIT && echo x >a/.GIT/x && echo x >x");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct work_look absent = {.kind = WORK_ABSENT};

		assert_int_equal(kind_of(names[i], &look), WORK_OTHER);
		assert_null(work_file_create(sandbox_path, names[i], &absent, false));
	}
}

/* Number of entries of a directory: temporary files show. */
static int count_entries(const char *path)
{
	DIR *dir = opendir(path);
	int count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count - 2;
}

static int replace(const char *path, const char *text, bool executable, struct stat *st)
{
	struct work_look look;
	struct work_file *file;
	int rc;

	work_file_look(sandbox_path, path, &look);
	file = work_file_create(sandbox_path, path, &look, executable);
	if (!file)
		return -1;
	assert_int_equal(work_file_reserve(file, strlen(text)), 0);
	assert_int_equal(work_file_write(file, text, strlen(text)), 0);
	rc = work_file_commit(file, st);
	work_file_free(file);
	return rc;
}

static void test_replace(void **state)
{
	struct stat before;
	struct stat st;
	struct stat now;
	int fd;

	(void)state;
	umask(022);
	put_text("f", "old");
	assert_int_equal(stat("f", &before), 0);
	fd = open("f", O_RDONLY);
	assert_int_equal(replace("f", "new content", false, &st), 0);
	assert_file("f", "new content");
	assert_int_equal(stat("f", &now), 0);
	assert_int_not_equal(now.st_ino, before.st_ino);
	/* Who has the old file open or mapped keeps it. */
	assert_int_equal(fstat(fd, &before), 0);
	assert_int_equal(before.st_size, 3);
	close(fd);
	/* The stat is that of the file in place: git will compare it field by field. */
	assert_int_equal(st.st_ino, now.st_ino);
	assert_int_equal(st.st_size, now.st_size);
	assert_int_equal(st.st_mtim.tv_nsec, now.st_mtim.tv_nsec);
	assert_int_equal(st.st_ctim.tv_sec, now.st_ctim.tv_sec);
	assert_int_equal(st.st_ctim.tv_nsec, now.st_ctim.tv_nsec);
	assert_true(st.st_mtim.tv_sec < now.st_ctim.tv_sec);
	assert_int_equal(st.st_mode & 0777, 0644);
	assert_int_equal(replace("f", "x", true, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0755);
	umask(077);
	assert_int_equal(replace("f", "x", true, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	umask(022);
	assert_int_equal(count_entries("."), 1);
}

static void test_creates_directories(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(replace("a/b/c", "x", false, &st), 0);
	assert_file("a/b/c", "x");
	assert_int_equal(count_entries("a/b"), 1);
}

static void test_links_are_not_followed(void **state)
{
	struct stat st;

	(void)state;
	sh("mkdir outside && ln -s outside d && echo keep >target && ln -s target l");
	assert_int_equal(replace("d/a", "evil", false, &st), -1);
	assert_int_equal(count_entries("outside"), 0);
	/* WORK_OTHER is never replaced: what was seen has no stat to agree with. */
	assert_int_equal(replace("l", "evil", false, &st), -1);
	assert_file("target", "keep\n");
	assert_int_equal(count_entries("."), 4);
}

/* A directory that becomes a link between looking and writing. */
static void test_swapped_directory(void **state)
{
	struct work_look look;

	(void)state;
	sh("mkdir outside d");
	assert_int_equal(kind_of("d/a", &look), WORK_ABSENT);
	sh("rmdir d && ln -s outside d");
	assert_null(work_file_create(sandbox_path, "d/a", &look, false));
	assert_int_equal(count_entries("outside"), 0);
}

static void test_changed_meanwhile(void **state)
{
	struct work_look look;
	struct work_file *file;
	struct stat st;

	(void)state;
	put_text("f", POINTER);
	work_file_look(sandbox_path, "f", &look);
	file = work_file_create(sandbox_path, "f", &look, false);
	assert_non_null(file);
	assert_int_equal(work_file_write(file, "new", 3), 0);
	sh("echo mine >>f");
	assert_int_equal(work_file_commit(file, &st), -1);
	work_file_free(file);
	assert_file("f", POINTER "mine\n");
	assert_int_equal(kind_of("g", &look), WORK_ABSENT);
	file = work_file_create(sandbox_path, "g", &look, false);
	assert_non_null(file);
	put_text("g", "mine");
	assert_int_equal(work_file_commit(file, &st), -1);
	work_file_free(file);
	assert_file("g", "mine");
	assert_int_equal(count_entries("."), 2);
}

/* In place of the C library's: what another process does right after the last look. */
static bool appears_after_look;

int fstatat(int dir, const char *path, struct stat *st, int flags)
{
	long rc = syscall(SYS_newfstatat, dir, path, st, flags);
	int reason = errno;

	if (appears_after_look)
		put_text("f", "mine");
	errno = reason;
	return (int)rc;
}

/* A file that is saved after the last look, where there was none, is not replaced. */
static void test_appears_at_the_last_moment(void **state)
{
	struct work_look look;
	struct work_file *file;
	struct stat st;

	(void)state;
	assert_int_equal(kind_of("f", &look), WORK_ABSENT);
	file = work_file_create(sandbox_path, "f", &look, false);
	assert_non_null(file);
	assert_int_equal(work_file_write(file, "new", 3), 0);
	appears_after_look = true;
	assert_int_equal(work_file_commit(file, &st), -1);
	appears_after_look = false;
	work_file_free(file);
	assert_file("f", "mine");
	assert_int_equal(count_entries("."), 1);
}

static void test_abandoned(void **state)
{
	struct work_look look;
	struct work_file *file;

	(void)state;
	put_text("f", "old");
	work_file_look(sandbox_path, "f", &look);
	file = work_file_create(sandbox_path, "f", &look, false);
	assert_non_null(file);
	assert_int_equal(work_file_write(file, "half", 4), 0);
	work_file_free(file);
	work_file_free(NULL);
	assert_file("f", "old");
	assert_int_equal(count_entries("."), 1);
}

/* Directories that a file needed go with it, and no others. */
static void test_abandoned_below(void **state)
{
	struct work_look look;
	struct work_file *file;

	(void)state;
	sh("mkdir old");
	work_file_look(sandbox_path, "old/a/b/c/f", &look);
	file = work_file_create(sandbox_path, "old/a/b/c/f", &look, false);
	assert_non_null(file);
	assert_int_equal(access("old/a/b/c", F_OK), 0);
	work_file_free(file);
	assert_int_equal(count_entries("old"), 0);
	file = work_file_create(sandbox_path, "old/a/b/c/f", &look, false);
	assert_non_null(file);
	put_text("old/a/mine", "x");
	work_file_free(file);
	assert_file("old/a/mine", "x");
	assert_int_equal(count_entries("old/a"), 1);
	file = work_file_create(sandbox_path, "old/a/f", &look, false);
	assert_non_null(file);
	work_file_free(file);
	assert_int_equal(count_entries("old/a"), 1);
}

/* A limit on file sizes stands in for a full disk. */
static void test_no_space(void **state)
{
	struct rlimit before;
	struct rlimit limit;
	struct work_look look;
	struct work_file *file;
	char block[4096] = {0};
	struct stat st;
	int rc = 0;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	work_file_look(sandbox_path, "f", &look);
	file = work_file_create(sandbox_path, "f", &look, false);
	assert_non_null(file);
	limit = before;
	limit.rlim_cur = 10000;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(work_file_reserve(file, INT64_MAX), -1);
	for (int i = 0; i < 5 && rc == 0; i++)
		rc = work_file_write(file, block, sizeof(block));
	assert_int_equal(rc, -1);
	assert_int_equal(errno, EFBIG);
	assert_int_equal(work_file_write(file, block, 1), -1);
	assert_int_equal(work_file_commit(file, &st), -1);
	setrlimit(RLIMIT_FSIZE, &before);
	work_file_free(file);
	assert_int_equal(count_entries("."), 0);
}

static void test_digest(void **state)
{
	static const uint8_t abc[4] = {0xba, 0x78, 0x16, 0xbf};
	uint8_t sha256[BREVIS_SHA256_SIZE];
	uint64_t size;

	(void)state;
	put_text("f", "abc");
	assert_int_equal(work_file_digest(sandbox_path, "f", &size, sha256), 0);
	assert_int_equal(size, 3);
	assert_memory_equal(sha256, abc, sizeof(abc));
	assert_int_equal(work_file_digest(sandbox_path, "g", &size, sha256), -1);
	assert_int_equal(errno, ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SANDBOX_TEST(test_look),
		SANDBOX_TEST(test_hostile_names),
		SANDBOX_TEST(test_replace),
		SANDBOX_TEST(test_creates_directories),
		SANDBOX_TEST(test_links_are_not_followed),
		SANDBOX_TEST(test_swapped_directory),
		SANDBOX_TEST(test_changed_meanwhile),
		SANDBOX_TEST(test_appears_at_the_last_moment),
		SANDBOX_TEST(test_abandoned),
		SANDBOX_TEST(test_abandoned_below),
		SANDBOX_TEST(test_no_space),
		SANDBOX_TEST(test_digest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
