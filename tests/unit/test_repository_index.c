/* SPDX-License-Identifier: Apache-2.0 */
/* Recording in the index that work files match it, and what git says has changed. */
#include "tests/unit/repository_cases.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Takes the blob of one path. */
static int take_blob(void *ctx, const struct tracked_file *file)
{
	struct written_file *written = ctx;

	if (strcmp(file->path, written->path) == 0)
		memcpy(written->blob, file->blob, sizeof(written->blob));
	return 0;
}

/* What libgit2 asks whether a file is there. */
static const char *hidden; /* the end of the names that cannot be looked at; NULL: none */

__attribute__((visibility("default"))) int access(const char *path, int mode)
{
	size_t len = strlen(path);
	size_t tail = hidden ? strlen(hidden) : 0;

	if (hidden && len >= tail && strcmp(path + len - tail, hidden) == 0) {
		errno = EIO;
		return -1;
	}
	return (int)syscall(SYS_faccessat, AT_FDCWD, path, mode);
}

/* Replaces a.st by content that its filter refuses: whoever asks the filter is found out. */
static int refresh_of_what_was_written(void)
{
	struct written_file written = {.path = "a.st"};
	struct repository *r;
	int rc;

	put_text("filter.sh", "test \"$1\" != a.st && cat\n");
	sh("git config filter.brevis.clean 'sh ./filter.sh %f' && git config "
	   "filter.brevis.required true && rm a.st && printf 'restored' >a.st && chmod +x a.st && "
	   "touch -d '2 seconds ago' a.st");
	r = open_here();
	assert_int_equal(repository_each_tracked(r, NULL, NULL, 0, take_blob, &written), 0);
	assert_int_equal(stat("a.st", &written.stat), 0);
	rc = repository_refresh_index(r, &written, 1);
	repository_free(r);
	return rc;
}

static void write_and_refresh(void)
{
	assert_int_equal(refresh_of_what_was_written(), 0);
}

static void test_refresh_index(void **state)
{
	(void)state;
	make_files();
	write_and_refresh();
	sh("git status --porcelain >status && grep -v -e filter.sh -e status status; test $? = 1");
	sh("git diff-files --quiet a.st && git diff-index --cached --quiet HEAD");
	sh("git fsck --strict 2>fsck-errors && test ! -s fsck-errors");
	sh("test ! -e .git/index.lock && test \"$(ls .git | grep -c '^index')\" = 1");
}

/* A file that was changed right after it was staged, to the same size: only its youth gives it
 * away, and writing the index must not take that away. */
static void test_refresh_keeps_doubt(void **state)
{
	static const char same_second[] =
		"touch -d '2001-01-01 10:00:00' other.txt .git/index && ! "
		"git diff-files --quiet other.txt";

	(void)state;
	make_files();
	sh("git config core.trustctime false && git config core.checkStat minimal && echo before "
	   ">other.txt && touch -d '2001-01-01 10:00:00' other.txt && git add other.txt && git "
	   "commit "
	   "-qm other && echo change >other.txt");
	sh(same_second);
	write_and_refresh();
	sh("! git diff-files --quiet other.txt");
}

static void test_refresh_keeps_flags_and_versions(void **state)
{
	(void)state;
	make_files();
	sh("echo n >new && git add -N new && git update-index --skip-worktree plain.txt && git "
	   "update-index --index-version 4 && git ls-files -t -s >before");
	write_and_refresh();
	sh("git ls-files -t -s >after && cmp before after");
	sh("test \"$(head -c 8 .git/index | tail -c 1 | od -An -tu1 | tr -d ' ')\" = 4");
}

/* An entry that changed since the file was written is not vouched for. */
static void test_refresh_after_change(void **state)
{
	struct written_file written = {.path = "a.st"};
	struct repository *r;

	(void)state;
	make_files();
	r = open_here();
	assert_int_equal(repository_each_tracked(r, NULL, NULL, 0, take_blob, &written), 0);
	put_text("a.st", TEXT(OID_B, "20"));
	sh("git add a.st && git ls-files --debug a.st >before && rm a.st && echo other >a.st && "
	   "touch -d '1 minute' .git/index");
	assert_int_equal(stat("a.st", &written.stat), 0);
	assert_int_equal(repository_refresh_index(r, &written, 1), 0);
	sh("git ls-files --debug a.st >after && cmp before after");
	repository_free(r);
}

/* libgit2 cannot write these; git does, and asks the filter (which agrees here). */
static void test_refresh_split_index(void **state)
{
	struct written_file written = {.path = "a.st"};
	struct repository *r;

	(void)state;
	make_files();
	sh("git update-index --split-index && git config filter.brevis.clean \"git cat-file -p "
	   ":a.st\" && rm a.st && printf 'restored' >a.st && chmod +x a.st");
	r = open_here();
	assert_int_equal(repository_each_tracked(r, NULL, NULL, 0, take_blob, &written), 0);
	assert_int_equal(stat("a.st", &written.stat), 0);
	assert_int_equal(repository_refresh_index(r, &written, 1), 0);
	repository_free(r);
	sh("git diff-files --quiet a.st");
}

static void test_staged_and_touched(void **state)
{
	struct buffer paths = BUFFER_INIT;
	struct repository *r;

	(void)state;
	make_files();
	sh("touch -d '1 hour ago' a.st && git update-index --refresh >/dev/null && "
	   "git config filter.brevis.process false && git config filter.brevis.required true");
	put_text("new.st", TEXT(OID_B, "20"));
	sh("git -c filter.brevis.process= -c filter.brevis.required=false add new.st && touch a.st "
	   "&& "
	   "rm sub/c.st");
	r = open_here();
	assert_int_equal(repository_staged(r, &paths), 0);
	assert_int_equal(paths.size, sizeof("Anew.st"));
	assert_string_equal((char *)paths.data, "Anew.st");
	buffer_clear(&paths);
	assert_int_equal(repository_touched(r, &paths), 0);
	assert_int_equal(paths.size, sizeof("a.st\0sub/c.st"));
	assert_memory_equal(paths.data, "a.st\0sub/c.st", paths.size);
	buffer_release(&paths);
	repository_free(r);
}

/* libgit2 would take it for an empty one, which would then replace the index. */
static void test_refresh_where_the_copy_cannot_be_read(void **state)
{
	(void)state;
	make_files();
	sh("git ls-files -s >before");
	hidden = "index.brevis";
	/* git is asked instead, whose filter refuses the file. */
	assert_int_equal(refresh_of_what_was_written(), -1);
	hidden = NULL;
	sh("git ls-files -s >after && cmp before after");
	sh("test ! -e .git/index.lock && test \"$(ls .git | grep -c '^index')\" = 1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SANDBOX_TEST(test_refresh_index),
		SANDBOX_TEST(test_refresh_keeps_doubt),
		SANDBOX_TEST(test_refresh_keeps_flags_and_versions),
		SANDBOX_TEST(test_refresh_after_change),
		SANDBOX_TEST(test_refresh_split_index),
		SANDBOX_TEST(test_refresh_where_the_copy_cannot_be_read),
		SANDBOX_TEST(test_staged_and_touched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
