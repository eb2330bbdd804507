/* SPDX-License-Identifier: Apache-2.0 */
/* Which command lines of git only show, and which want content. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "filter/git/caller.h"

/* A command line whose words are parted by '|'. */
static size_t split(const char *text, char *words)
{
	size_t len = strlen(text) + 1;

	for (size_t i = 0; i < len; i++)
		words[i] = text[i] == '|' ? '\0' : text[i];
	return len;
}

static enum caller caller(const char *text, bool in_difftool)
{
	char words[512];

	return caller_of(words, split(text, words), in_difftool);
}

static void test_shows(void **state)
{
	static const char *const lines[] = {
		"git|diff",
		"/usr/lib/git-core/git|log|-p",
		"/usr/bin/git|-C|add|show",
		"git|-c|core.pager=checkout|--no-pager|-p|log|file",
		"git|--git-dir=x|--work-tree|checkout|diff-files|-p",
		"git|--config-env|a=b|--literal-pathspecs|diff-index|HEAD",
		"git-diff|x",
		"/usr/libexec/git-core/git-log",
		"git|stash|show|-p",
		"git|stash|list|-p",
		"git|cat-file|--textconv|HEAD:f",
		"git|cat-file|--batch|--textconv",
		"git|grep|--textconv|x",
		"git|whatchanged",
		"git|reflog|-p",
		"git|diff-tree|-p|HEAD",
		"git|format-patch|--ext-diff|-1",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		if (caller(lines[i], false) != CALLER_SHOWS ||
		    caller(lines[i], true) != CALLER_COMPARES)
			fail_msg("%s", lines[i]);
	}
}

static void test_wants_content(void **state)
{
	static const char *const lines[] = {
		"",
		"git",
		"git|",
		"git|checkout|diff",
		"git|-C|diff",
		"git|-C|log|checkout|.",
		"git|-c|a.b=log|reset|--hard",
		"git|--exec-path",
		"git|stash",
		"git|stash|pop",
		"git|stash|push|show",
		"git|cat-file|--filters|HEAD:f",
		"git|archive|HEAD",
		"git|apply",
		"git|restore|log",
		"git|diffx",
		"git-checkout|diff",
		"gitk|log",
		"/bin/log",
		"jgit|diff",
		"sh|-c|git diff",
		"git|worktree|add|show",
		"git|merge|log",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		if (caller(lines[i], false) != CALLER_ANY || caller(lines[i], true) != CALLER_ANY)
			fail_msg("%s", lines[i]);
	}
	assert_int_equal(caller("git|difftool|-d", false), CALLER_COMPARES);
	assert_false(caller_wants_pointers(CALLER_ANY));
	assert_false(caller_wants_pointers(CALLER_COMPARES));
}

static void test_blames(void **state)
{
	(void)state;
	assert_int_equal(caller("git|-c|core.pager=checkout|--no-pager|-p|blame|file", false),
			 CALLER_BLAMES);
	assert_int_equal(caller("git|annotate|f", true), CALLER_BLAMES);
	assert_true(caller_wants_pointers(CALLER_BLAMES));
	assert_true(caller_wants_pointers(CALLER_SHOWS));
}

/* A word that was cut off is none. */
static void test_cut_off(void **state)
{
	(void)state;
	assert_int_equal(caller_of("git\0diff", 9, false), CALLER_SHOWS);
	assert_int_equal(caller_of("git\0diff", 8, false), CALLER_ANY);
	assert_int_equal(caller_of("git", 3, false), CALLER_ANY);
	assert_int_equal(caller_of("", 0, false), CALLER_ANY);
}

static bool seeks(const char *text)
{
	char words[512];

	return caller_words_seek_pointers(words, split(text, words));
}

static void test_seeks_pointers(void **state)
{
	(void)state;
	assert_true(seeks("git|log|--branches|-G|oid sha256:|-p"));
	assert_true(seeks("git|log|-Goid sha256:|-p"));
	assert_false(seeks("git|log|-G|oid|-p"));
	assert_false(seeks("git|log|oid sha256:|-G"));
	assert_false(seeks("git|log|-p"));
	assert_false(seeks(""));
}

/* Whoever runs this test is no git. */
static void test_our_own(void **state)
{
	(void)state;
	assert_int_equal(caller_look(), CALLER_ANY);
	assert_false(caller_seeks_pointers());
}

static enum caller_favor favor(const char *text)
{
	char words[512];

	return caller_words_favor(words, split(text, words));
}

static void test_favors(void **state)
{
	(void)state;
	assert_int_equal(favor("git|merge|side"), FAVOR_NONE);
	assert_int_equal(favor("git|merge|-X|theirs|side"), FAVOR_THEIRS);
	assert_int_equal(favor("/usr/bin/git|-C|merge|merge|-Xours|side"), FAVOR_OURS);
	assert_int_equal(favor("git|rebase|--strategy-option=theirs|main"), FAVOR_THEIRS);
	assert_int_equal(favor("git|cherry-pick|--strategy-option|ours|x"), FAVOR_OURS);
	assert_int_equal(favor("git|merge|-X|renormalize|-X|ours|-X|theirs|x"), FAVOR_THEIRS);
	/* A branch of that name, another option's value, other commands, and nothing. */
	assert_int_equal(favor("git|merge|theirs"), FAVOR_NONE);
	assert_int_equal(favor("git|merge|-m|theirs|side"), FAVOR_NONE);
	assert_int_equal(favor("git|merge|--|-X|theirs"), FAVOR_NONE);
	assert_int_equal(favor("git|checkout|-X|theirs"), FAVOR_NONE);
	assert_int_equal(favor("ours|merge|-X|theirs"), FAVOR_NONE);
	assert_int_equal(favor("git|merge|-X"), FAVOR_NONE);
	assert_int_equal(favor(""), FAVOR_NONE);
	assert_int_equal(caller_words_favor("git", 3), FAVOR_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shows),          cmocka_unit_test(test_wants_content),
		cmocka_unit_test(test_blames),         cmocka_unit_test(test_cut_off),
		cmocka_unit_test(test_seeks_pointers), cmocka_unit_test(test_our_own),
		cmocka_unit_test(test_favors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
