/* SPDX-License-Identifier: Apache-2.0 */
/* Which hook files are whose, and that nobody's own is ever written over. */
#include "tests/unit/sandbox.h"

#include "filter/git/hook_files.h"
#include "filter/git/hooks_setup.h"

/* Where the sources are: the directory the test was started in. */
static char *source_dir;

static void test_texts_are_those_of_the_scripts(void **state)
{
	(void)state;
	for (size_t i = 0; i < HOOK_COUNT; i++) {
		char path[4096];

		snprintf(path, sizeof(path), "%s/hooks/%s", source_dir, hook_texts[i].name);
		assert_file(path, hook_texts[i].text);
	}
}

static enum hook_state state_of(size_t hook, const char *text)
{
	put_text(hook_texts[hook].name, text);
	return hook_file_state(".", &hook_texts[hook]);
}

static void test_states(void **state)
{
	static const char test_of_3_3[] =
		"command -v git-lfs >/dev/null 2>&1 || { echo >&2 \"\\nThis repository is "
		"configured...\\n\"; exit 2; }\n";
	char text[1024];

	(void)state;
	assert_int_equal(hook_file_state(".", &hook_texts[0]), HOOK_MISSING);
	assert_int_equal(hook_file_state("no/such/dir", &hook_texts[0]), HOOK_MISSING);
	/* Blank, or a link to nothing: somebody put it there. */
	assert_int_equal(state_of(0, ""), HOOK_FOREIGN);
	assert_int_equal(state_of(0, " \n\t\n"), HOOK_FOREIGN);
	sh("rm pre-push && ln -s nowhere pre-push");
	assert_int_equal(hook_file_state(".", &hook_texts[0]), HOOK_FOREIGN);
	sh("rm pre-push");
	assert_int_equal(hook_file_state("/dev/null", &hook_texts[0]), HOOK_OFF);
	assert_int_equal(state_of(0, hook_texts[0].text), HOOK_OURS);
	assert_int_equal(state_of(0, "#!/bin/sh\ngit lfs pre-push \"$@\""), HOOK_STOCK);
	snprintf(text, sizeof(text), "#!/bin/sh\n%sgit lfs pre-push \"$@\"\n", test_of_3_3);
	assert_int_equal(state_of(0, text), HOOK_STOCK);
	/* One line more, or another hook's call, and it is somebody's own. */
	strcat(text, "echo mine\n");
	assert_int_equal(state_of(0, text), HOOK_FOREIGN);
	assert_int_equal(state_of(1, "#!/bin/sh\ngit lfs pre-push \"$@\"\n"), HOOK_FOREIGN);
	assert_int_equal(state_of(0, "#!/bin/sh\necho mine\n"), HOOK_FOREIGN);
	assert_int_equal(state_of(0, "#!/bin/sh\n# git lfs pre-push; git brevis hook pre-push\n"),
			 HOOK_FOREIGN);
	assert_int_equal(state_of(0, "#!/bin/bash\nmine\n  git brevis hook pre-push \"$@\" &&\n"
				     "exec git lfs pre-push \"$@\"\n"),
			 HOOK_MERGED);
	/* post-commit needs git-lfs only. */
	assert_int_equal(state_of(3, "#!/bin/sh\nmine\ngit lfs post-commit \"$@\"\n"), HOOK_MERGED);
	sh("rm -f pre-push && mkdir pre-push");
	assert_int_equal(hook_file_state(".", &hook_texts[0]), HOOK_UNREADABLE);
}

static void test_install(void **state)
{
	static const char mine[] = "#!/bin/sh\necho mine\n";
	struct repository *repository;
	struct stat st;

	(void)state;
	umask(022);
	sh("git init -q . && rm -rf .git/hooks");
	assert_int_equal(repository_open(&repository), 0);
	hooks_ensure(repository);
	for (size_t i = 0; i < HOOK_COUNT; i++)
		assert_int_equal(hook_file_state(".git/hooks", &hook_texts[i]), HOOK_OURS);
	assert_int_equal(stat(".git/hooks/pre-push", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0755);
	put_text(".git/hooks/pre-push", mine);
	sh("printf '#!/bin/sh\\ngit lfs post-commit \"$@\"\\n' >.git/hooks/post-commit");
	sh("printf '#!/bin/sh\\ngit lfs post-merge \"$@\"\\n' >.git/hooks/post-merge");
	assert_int_equal(hooks_install(repository), 1);
	assert_file(".git/hooks/pre-push", mine);
	assert_int_equal(hook_file_state(".git/hooks", &hook_texts[2]), HOOK_OURS);
	assert_int_equal(hook_file_state(".git/hooks", &hook_texts[3]), HOOK_STOCK);
	repository_free(repository);
}

/* Where hooks are off, or cannot be written, nothing is forced and nothing written over. */
static void test_no_place_for_hooks(void **state)
{
	struct repository *repository;

	(void)state;
	sh("git init -q . && ln -s nowhere .git/hooks/pre-push && : >.git/hooks/post-merge");
	assert_int_equal(repository_open(&repository), 0);
	hooks_ensure(repository);
	sh("test \"$(readlink .git/hooks/pre-push)\" = nowhere && test ! -e .git/hooks/nowhere && "
	   "test ! -s .git/hooks/post-merge");
	assert_int_equal(hooks_install(repository), 2);
	repository_free(repository);
	sh("git config core.hooksPath /dev/null");
	assert_int_equal(repository_open(&repository), 0);
	hooks_ensure(repository);
	assert_int_equal(hooks_install(repository), HOOK_COUNT);
	repository_free(repository);
	sh("git config core.hooksPath /nowhere/hooks");
	assert_int_equal(repository_open(&repository), 0);
	hooks_ensure(repository);
	assert_int_equal(hooks_install(repository), -1);
	repository_free(repository);
}

static void test_lines(void **state)
{
	char *lines = hook_lines(&hook_texts[0]);

	(void)state;
	assert_non_null(lines);
	assert_null(strstr(lines, "#"));
	assert_non_null(strstr(lines, "\trefs=$(cat)\n"));
	assert_non_null(strstr(lines, "git brevis hook pre-push \"$@\""));
	assert_non_null(strstr(lines, "git lfs pre-push \"$@\"\n"));
	free(lines);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SANDBOX_TEST(test_texts_are_those_of_the_scripts),
		SANDBOX_TEST(test_states),
		SANDBOX_TEST(test_install),
		SANDBOX_TEST(test_no_place_for_hooks),
		SANDBOX_TEST(test_lines),
	};
	int failed;

	source_dir = getcwd(NULL, 0);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	free(source_dir);
	return failed;
}
