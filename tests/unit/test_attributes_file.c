/* SPDX-License-Identifier: Apache-2.0 */
/* What track and untrack do to a .gitattributes file, and the guard's patterns. */
#include "tests/unit/sandbox.h"

#include "filter/git/attributes_file.h"
#include "filter/git/guard.h"

#define FILE_NAME ".gitattributes"

/* Tracks or untracks one pattern and saves. */
static enum attributes_change apply(const char *pattern, bool track)
{
	struct attributes_file *file = attributes_file_load(FILE_NAME);
	enum attributes_change change;

	assert_non_null(file);
	change = track ? attributes_file_track(file, pattern)
		       : attributes_file_untrack(file, pattern);
	assert_int_equal(attributes_file_save(file), 0);
	attributes_file_free(file);
	return change;
}

static void test_track_new_file(void **state)
{
	(void)state;
	assert_int_equal(apply("*.st", true), ATTRIBUTES_CHANGED);
	assert_file(FILE_NAME, "*.st filter=brevis diff=brevis merge=brevis -text\n");
	assert_int_equal(apply("*.st", true), ATTRIBUTES_SAME);
	assert_file(FILE_NAME, "*.st filter=brevis diff=brevis merge=brevis -text\n");
}

static void test_keeps_what_is_not_ours(void **state)
{
	(void)state;
	put_text(FILE_NAME,
		 "# note\n\n  *.txt  text eol=lf\n[attr]x filter=brevis\n*.st -diff lockable "
		 "filter=lfs\nlast");
	assert_int_equal(apply("*.st", true), ATTRIBUTES_CHANGED);
	assert_file(FILE_NAME, "# note\n\n  *.txt  text eol=lf\n[attr]x filter=brevis\n*.st "
			       "lockable filter=brevis diff=brevis merge=brevis -text\nlast\n");
	assert_int_equal(apply("*.st", false), ATTRIBUTES_CHANGED);
	assert_file(FILE_NAME, "# note\n\n  *.txt  text eol=lf\n[attr]x filter=brevis\n*.st "
			       "lockable\nlast\n");
}

static void test_no_change_no_write(void **state)
{
	struct stat before;
	struct stat after;

	(void)state;
	put_text(FILE_NAME, "*.st   -text merge=brevis  filter=brevis diff=brevis");
	assert_int_equal(stat(FILE_NAME, &before), 0);
	assert_int_equal(apply("*.st", true), ATTRIBUTES_SAME);
	assert_int_equal(apply("*.other", false), ATTRIBUTES_SAME);
	assert_int_equal(stat(FILE_NAME, &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
	assert_file(FILE_NAME, "*.st   -text merge=brevis  filter=brevis diff=brevis");
}

static void test_line_ends(void **state)
{
	(void)state;
	put_text(FILE_NAME, "*.a text\r\n*.st filter=lfs\r\n*.b text\n");
	apply("*.st", true);
	apply("*.new", true);
	assert_file(FILE_NAME, "*.a text\r\n*.st filter=brevis diff=brevis merge=brevis -text\r\n"
			       "*.b text\n*.new filter=brevis diff=brevis merge=brevis -text\r\n");
	apply("*.new", false);
	assert_file(FILE_NAME, "*.a text\r\n*.st filter=brevis diff=brevis merge=brevis -text\r\n"
			       "*.b text\n");
}

static void test_untrack_all_removes_file(void **state)
{
	(void)state;
	apply("*.st", true);
	assert_int_equal(apply("*.st", false), ATTRIBUTES_CHANGED);
	assert_int_equal(access(FILE_NAME, F_OK), -1);
	assert_int_equal(apply("*.st", false), ATTRIBUTES_SAME);
	assert_int_equal(access(FILE_NAME, F_OK), -1);
}

/* A later line wins in git, so that is the one to change. */
static void test_last_line_counts(void **state)
{
	(void)state;
	put_text(FILE_NAME, "*.st filter=brevis diff=brevis merge=brevis -text\n*.st -filter\n");
	assert_int_equal(apply("*.st", true), ATTRIBUTES_CHANGED);
	assert_file(FILE_NAME, "*.st filter=brevis diff=brevis merge=brevis -text\n"
			       "*.st filter=brevis diff=brevis merge=brevis -text\n");
}

/* Whatever stands on a line for a pattern, after track git takes our words for it. */
static void test_ours_come_last(void **state)
{
	static const char *const lines[] = {
		"*.st binary",
		"*.st -diff",
		"*.st binary lockable",
		"*.st filter=brevis diff=brevis merge=brevis -text binary",
		"*.st filter=brevis diff=brevis merge=brevis -text -diff",
		"*.st filter=brevis merge=brevis -text diff=brevis !filter",
		"[attr]mine -diff -filter\n*.st mine text"};

	(void)state;
	sh("git init -q .");
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		put_text(FILE_NAME, lines[i]);
		assert_int_equal(apply("*.st", true), ATTRIBUTES_CHANGED);
		sh("git check-attr filter diff merge text -- a.st >answer");
		assert_file("answer", "a.st: filter: brevis\na.st: diff: brevis\n"
				      "a.st: merge: brevis\na.st: text: unset\n");
		assert_int_equal(apply("*.st", true), ATTRIBUTES_SAME);
	}
	sh("grep -q binary .gitattributes; test $? = 1");
}

/* git skips a byte order mark, and so does it not become part of the first pattern. */
static void test_byte_order_mark(void **state)
{
	(void)state;
	put_text(FILE_NAME, "\xef\xbb\xbf*.st text\n*.b text\n");
	assert_int_equal(apply("*.st", true), ATTRIBUTES_CHANGED);
	assert_file(FILE_NAME, "\xef\xbb\xbf*.st filter=brevis diff=brevis merge=brevis -text\n"
			       "*.b text\n");
	assert_int_equal(apply("*.st", true), ATTRIBUTES_SAME);
	assert_int_equal(apply("*.st", false), ATTRIBUTES_CHANGED);
	assert_file(FILE_NAME, "\xef\xbb\xbf*.b text\n");
}

static void test_mode_and_links(void **state)
{
	struct stat st;

	(void)state;
	put_text(FILE_NAME, "x text\n");
	assert_int_equal(chmod(FILE_NAME, 0640), 0);
	apply("*.st", true);
	assert_int_equal(stat(FILE_NAME, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	assert_int_equal(rename(FILE_NAME, "target"), 0);
	assert_int_equal(symlink("target", FILE_NAME), 0);
	assert_null(attributes_file_load(FILE_NAME));
}

/* The place of each pattern's line is kept in mind; taking lines out moves the others. */
static void test_lines_move(void **state)
{
	struct attributes_file *file;

	(void)state;
	put_text(FILE_NAME, "*.a filter=brevis\n*.b x\n*.c x\n*.b filter=brevis\n");
	file = attributes_file_load(FILE_NAME);
	assert_non_null(file);
	assert_int_equal(attributes_file_set(file, "*.c", ATTRIBUTES_LFS), ATTRIBUTES_CHANGED);
	assert_int_equal(attributes_file_untrack(file, "*.a"), ATTRIBUTES_CHANGED);
	assert_int_equal(attributes_file_untrack(file, "*.b"), ATTRIBUTES_CHANGED);
	assert_int_equal(attributes_file_set(file, "*.c", ATTRIBUTES_RAW), ATTRIBUTES_CHANGED);
	assert_int_equal(attributes_file_set(file, "*.b", ATTRIBUTES_RAW), ATTRIBUTES_CHANGED);
	assert_int_equal(attributes_file_set(file, "*.a", ATTRIBUTES_RAW), ATTRIBUTES_CHANGED);
	assert_int_equal(attributes_file_set(file, "*.a", ATTRIBUTES_RAW), ATTRIBUTES_SAME);
	assert_int_equal(attributes_file_save(file), 0);
	attributes_file_free(file);
	assert_file(FILE_NAME,
		    "*.b x " ATTRIBUTES_RAW "\n*.c x " ATTRIBUTES_RAW "\n*.a " ATTRIBUTES_RAW "\n");
}

/* A repository may need a line for each of its files: each is found among all of the others. */
static void test_many_lines(void **state)
{
	const size_t count = 5000;
	struct attributes_file *file = attributes_file_parse(FILE_NAME, NULL, 0);
	struct buffer guarded = BUFFER_INIT;
	bool changed = false;

	(void)state;
	for (size_t i = 0; i < count; i++) {
		char pattern[32];

		snprintf(pattern, sizeof(pattern), "/models/%zu.st", i);
		assert_int_equal(attributes_file_track(file, pattern), ATTRIBUTES_CHANGED);
		assert_int_equal(attributes_file_track(file, pattern), ATTRIBUTES_SAME);
		/* Of the guard, which has to fit into an argument, each entry twice. */
		snprintf(pattern, sizeof(pattern), "/m/%zu", i / 2);
		buffer_append(&guarded, pattern, strlen(pattern) + 1);
	}
	attributes_file_free(file);
	assert_int_equal(guard_change("list", &guarded, true, &changed), 0);
	assert_true(changed);
	assert_true(guard_is_there("list"));
	assert_int_equal(guard_change("list", &guarded, false, &changed), 0);
	assert_int_equal(access("list", F_OK), -1);
	buffer_release(&guarded);
}

static void collect(void *ctx, const char *pattern, bool tracked)
{
	char *list = ctx;

	strcat(list, tracked ? "+" : "-");
	strcat(list, pattern);
	strcat(list, ";");
}

static void test_each(void **state)
{
	struct attributes_file *file;
	char list[256] = "";

	(void)state;
	put_text(FILE_NAME,
		 "# c\n*.a filter=brevis\n[attr]m filter=brevis\n\"q x\" filter=brevis\n*.b "
		 "filter=brevish\n*.c -filter=brevis\n*.d\tfilter=brevis\r\n");
	file = attributes_file_load(FILE_NAME);
	assert_non_null(file);
	attributes_file_each(file, collect, list);
	attributes_file_free(file);
	assert_string_equal(list, "+*.a;+\"q x\";-*.b;-*.c;+*.d;");
}

static void assert_pattern(const char *typed, bool literal, const char *expected)
{
	char *pattern = attributes_pattern(typed, literal);

	assert_non_null(pattern);
	assert_string_equal(pattern, expected);
	free(pattern);
}

static void test_patterns(void **state)
{
	(void)state;
	assert_pattern("*.st", false, "*.st");
	assert_pattern("./a/*.st", false, "a/*.st");
	assert_pattern("././/a", false, "a");
	assert_pattern("a b\tc\nd", false, "a[[:space:]]b[[:space:]]c[[:space:]]d");
	assert_pattern("#a", false, "\\#a");
	assert_pattern("!a", false, "\\!a");
	assert_pattern("\"a", false, "\\\"a");
	assert_null(attributes_pattern_fault("*.st"));
	assert_null(attributes_pattern_fault("a../..b/..."));
	assert_null(attributes_pattern_fault("\\#a"));
	assert_non_null(attributes_pattern_fault(""));
	assert_non_null(attributes_pattern_fault(".."));
	assert_non_null(attributes_pattern_fault("../*.st"));
	assert_non_null(attributes_pattern_fault("a/../*.st"));
	assert_non_null(attributes_pattern_fault("[attr]a"));
	assert_pattern("a[1]*?\\", true, "a\\[1\\]\\*\\?\\\\");
	assert_pattern("a[1]*", false, "a[1]*");
	assert_pattern("", false, "");
}

/* Whatever a file is called, git finds it by the pattern made of its name, and no other. */
static void test_literal_names_in_git(void **state)
{
	static const char *const names[] = {"plain", "sp ace", "q\"x",   "\"q",
					    "b\\s",  "br[1]",  "#hash",  "!bang",
					    "st*r",  "quest?", "tab\tx", "[attr]x"};

	(void)state;
	sh("git init -q .");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *pattern = attributes_pattern(names[i], true);
		char *answer;

		assert_non_null(pattern);
		unlink(FILE_NAME);
		apply(pattern, true);
		put_file("ask", names[i], strlen(names[i]) + 1);
		sh("git check-attr -z --stdin filter <ask | tr '\\000' '\\n' | tail -n 1 >answer");
		answer = get_text("answer");
		assert_string_equal(answer, "brevis\n");
		free(answer);
		put_file("ask", "other", 6);
		sh("git check-attr -z --stdin filter <ask | tr '\\000' '\\n' | tail -n 1 >answer");
		assert_file("answer", "unspecified\n");
		free(pattern);
	}
}

static void assert_guard(const char *prefix, const char *pattern, const char *expected)
{
	char *text = guard_pattern(prefix, pattern);

	assert_non_null(text);
	assert_string_equal(text, expected);
	free(text);
}

static void test_guard_patterns(void **state)
{
	(void)state;
	assert_guard("", "*.st", "*.st");
	assert_guard("", "/top.st", "/top.st");
	assert_guard("sub/", "*.st", "sub/**/*.st");
	assert_guard("sub/", "/x.st", "sub/x.st");
	assert_guard("sub/", "a/*.st", "sub/a/*.st");
	assert_guard("s[1]/", "*.st", "s\\[1]/**/*.st");
	assert_guard("", "a,b", "a?b");
}

static void test_guard_list(void **state)
{
	struct repository *repository;
	bool changed = false;

	(void)state;
	sh("git init -q . && git config -f .lfsconfig lfs.url http://example.org/x && "
	   "git config -f .lfsconfig lfs.fetchexclude 'old , *.bin'");
	assert_int_equal(repository_open(&repository), 0);
	assert_int_equal(guard_set(repository, "", "*.st", true, &changed), 0);
	assert_true(changed);
	changed = false;
	assert_int_equal(guard_set(repository, "", "*.bin", true, &changed), 0);
	assert_false(changed);
	sh("test \"$(git config -f .lfsconfig lfs.fetchexclude)\" = 'old , *.bin,*.st'");
	assert_int_equal(guard_set(repository, "", "old", false, &changed), 0);
	assert_true(changed);
	sh("test \"$(git config -f .lfsconfig lfs.fetchexclude)\" = '*.bin,*.st'");
	assert_int_equal(guard_set(repository, "", "*.bin", false, &changed), 0);
	assert_int_equal(guard_set(repository, "", "*.st", false, &changed), 0);
	sh("! git config -f .lfsconfig lfs.fetchexclude");
	sh("git config -f .lfsconfig lfs.fetchexclude ' a ,, b,a'");
	assert_int_equal(guard_set(repository, "", "b", false, &changed), 0);
	sh("test \"$(git config -f .lfsconfig lfs.fetchexclude)\" = 'a,a'");
	assert_int_equal(guard_set(repository, "", "a", false, &changed), 0);
	sh("! git config -f .lfsconfig lfs.fetchexclude");
	sh("test \"$(git config -f .lfsconfig lfs.url)\" = http://example.org/x");
	repository_free(repository);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SANDBOX_TEST(test_track_new_file),
		SANDBOX_TEST(test_keeps_what_is_not_ours),
		SANDBOX_TEST(test_no_change_no_write),
		SANDBOX_TEST(test_line_ends),
		SANDBOX_TEST(test_untrack_all_removes_file),
		SANDBOX_TEST(test_last_line_counts),
		SANDBOX_TEST(test_ours_come_last),
		SANDBOX_TEST(test_byte_order_mark),
		SANDBOX_TEST(test_mode_and_links),
		SANDBOX_TEST(test_lines_move),
		SANDBOX_TEST(test_many_lines),
		SANDBOX_TEST(test_each),
		SANDBOX_TEST(test_patterns),
		SANDBOX_TEST(test_literal_names_in_git),
		SANDBOX_TEST(test_guard_patterns),
		SANDBOX_TEST(test_guard_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
