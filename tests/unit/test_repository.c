/* SPDX-License-Identifier: Apache-2.0 */
/* The repository as git-brevis sees it, in the shapes that git allows. */
#include "tests/unit/repository_cases.h"

static char *in_sandbox(const char *path)
{
	static char full[2][256];
	static int turn;

	turn = !turn;
	snprintf(full[turn], sizeof(full[turn]), "%s%s%s", sandbox_path, *path ? "/" : "", path);
	return full[turn];
}

/* ---- places ---------------------------------------------------------------------------------- */

static void test_places(void **state)
{
	struct repository *r;
	char *text;

	(void)state;
	assert_false(repository_is_here());
	assert_int_equal(repository_open(&r), -1);
	sh("git init -q r && mkdir -p r/a/b && ln -s r l");
	assert_int_equal(chdir("l/a/b"), 0);
	r = open_here();
	assert_true(repository_is_here());
	assert_string_equal(repository_work_tree(r), in_sandbox("r"));
	assert_string_equal(repository_git_dir(r), in_sandbox("r/.git"));
	assert_string_equal(repository_common_dir(r), in_sandbox("r/.git"));
	assert_string_equal(repository_lfs_dir(r), in_sandbox("r/.git/lfs"));
	text = repository_prefix(r);
	assert_string_equal(text, "a/b/");
	free(text);
	text = repository_hooks_dir(r);
	assert_string_equal(text, in_sandbox("r/.git/hooks"));
	free(text);
	repository_free(r);
	repository_free(NULL);
}

static void test_environment(void **state)
{
	struct repository *r;

	(void)state;
	sh("git init -q r && mkdir -p tree/sub");
	assert_int_equal(chdir("tree/sub"), 0);
	setenv("GIT_DIR", "../../r/.git", 1);
	setenv("GIT_WORK_TREE", "..", 1);
	r = open_here();
	assert_string_equal(repository_work_tree(r), in_sandbox("tree"));
	assert_string_equal(repository_git_dir(r), in_sandbox("r/.git"));
	repository_free(r);
	unsetenv("GIT_WORK_TREE");
	r = open_here();
	assert_string_equal(repository_work_tree(r), in_sandbox("tree/sub"));
	repository_free(r);
}

static void test_bare_and_inside_git_dir(void **state)
{
	struct repository *r;

	(void)state;
	sh("git init -q --bare bare && git init -q r");
	assert_int_equal(chdir("bare"), 0);
	r = open_here();
	assert_null(repository_work_tree(r));
	assert_string_equal(repository_lfs_dir(r), in_sandbox("bare/lfs"));
	assert_null(repository_prefix(r));
	repository_free(r);
	assert_int_equal(chdir("../r/.git"), 0);
	r = open_here();
	assert_null(repository_work_tree(r));
	repository_free(r);
}

static void test_worktree_and_submodule(void **state)
{
	struct repository *r;

	(void)state;
	sh("git init -q r && cd r && git commit -q --allow-empty -m x && git worktree add -q ../w "
	   "&& "
	   "git init -q ../s && git -C ../s commit -q --allow-empty -m x && "
	   "git -c protocol.file.allow=always submodule --quiet add ../s sub 2>/dev/null");
	assert_int_equal(chdir("w"), 0);
	r = open_here();
	assert_string_equal(repository_work_tree(r), in_sandbox("w"));
	assert_string_equal(repository_git_dir(r), in_sandbox("r/.git/worktrees/w"));
	assert_string_equal(repository_common_dir(r), in_sandbox("r/.git"));
	assert_string_equal(repository_lfs_dir(r), in_sandbox("r/.git/lfs"));
	repository_free(r);
	assert_int_equal(chdir("../r/sub"), 0);
	r = open_here();
	assert_string_equal(repository_work_tree(r), in_sandbox("r/sub"));
	assert_string_equal(repository_lfs_dir(r), in_sandbox("r/.git/modules/sub/lfs"));
	repository_free(r);
}

/* The same answers as `git lfs env` gives. */
static void test_lfs_storage(void **state)
{
	static const char *const cases[][2] = {{"store", "r/.git/store"},
					       {"../x", "r/x"},
					       {"a/./b//c/", "r/.git/a/b/c"},
					       {"", "r/.git/lfs"},
					       {"~/x", "r/.git/~/x"}};
	struct repository *r;

	(void)state;
	sh("git init -q r");
	assert_int_equal(chdir("r"), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char command[128];

		snprintf(command, sizeof(command), "git config lfs.storage '%s'", cases[i][0]);
		sh(command);
		r = open_here();
		assert_string_equal(repository_lfs_dir(r), in_sandbox(cases[i][1]));
		repository_free(r);
	}
	sh("git config lfs.storage /tmp/elsewhere/");
	r = open_here();
	assert_string_equal(repository_lfs_dir(r), "/tmp/elsewhere");
	repository_free(r);
}

static void test_hooks_path(void **state)
{
	struct repository *r;
	char *text;

	(void)state;
	sh("git init -q r && cd r && mkdir sub && git config core.hooksPath ../my/hooks");
	assert_int_equal(chdir("r/sub"), 0);
	r = open_here();
	text = repository_hooks_dir(r);
	assert_string_equal(text, in_sandbox("my/hooks"));
	free(text);
	repository_free(r);
	sh("git config core.hooksPath '~/h'");
	r = open_here();
	text = repository_hooks_dir(r);
	assert_string_equal(text, in_sandbox("h"));
	free(text);
	repository_free(r);
}

static void test_line_feed_in_path(void **state)
{
	struct repository *r;

	(void)state;
	sh("git init -q 'a\nb'");
	assert_int_equal(chdir("a\nb"), 0);
	r = open_here();
	assert_string_equal(repository_work_tree(r), in_sandbox("a\nb"));
	assert_string_equal(repository_git_dir(r), in_sandbox("a\nb/.git"));
	repository_free(r);
}

static void test_object_format(void **state)
{
	struct repository *r = NULL;

	(void)state;
	sh("git init -q --object-format=sha256 r");
	assert_int_equal(chdir("r"), 0);
	assert_int_equal(repository_open(&r), -1);
	assert_null(r);
}

/* ---- configuration --------------------------------------------------------------------------- */

static void test_config(void **state)
{
	struct repository *r;
	char *text;

	(void)state;
	sh("git init -q . && git config brevis.a one && git config --add brevis.a two && git "
	   "config "
	   "--global brevis.g glob && git config filter.Brevis.x sub && printf "
	   "'[brevis]\\n\\tflag\\n\\tempty =\\n\\tlines = \"a\\\\nb\"\\n' >>.git/config");
	sh("git config brevis.n 12k && git config brevis.neg -3 && git config brevis.bad 12x && "
	   "git "
	   "config brevis.on On && git config brevis.off no");
	r = open_here();
	text = repository_config(r, "BREVIS.A");
	assert_string_equal(text, "two");
	free(text);
	text = repository_config(r, "brevis.g");
	assert_string_equal(text, "glob");
	free(text);
	text = repository_config(r, "brevis.lines");
	assert_string_equal(text, "a\nb");
	free(text);
	text = repository_config(r, "filter.Brevis.X");
	assert_string_equal(text, "sub");
	free(text);
	assert_null(repository_config(r, "filter.brevis.x"));
	assert_null(repository_config(r, "brevis.none"));
	assert_true(repository_config_bool(r, "brevis.flag", false));
	assert_false(repository_config_bool(r, "brevis.empty", true));
	assert_true(repository_config_bool(r, "brevis.on", false));
	assert_false(repository_config_bool(r, "brevis.off", true));
	assert_true(repository_config_bool(r, "brevis.none", true));
	assert_true(repository_config_bool(r, "brevis.n", false));
	assert_true(repository_config_bool(r, "brevis.g", true));
	assert_int_equal(repository_config_int(r, "brevis.n", 0), 12288);
	assert_int_equal(repository_config_int(r, "brevis.neg", 0), -3);
	assert_int_equal(repository_config_int(r, "brevis.bad", 7), 7);
	assert_int_equal(repository_config_int(r, "brevis.none", 8), 8);
	repository_free(r);
}

/* What `git -c` and GIT_CONFIG_COUNT say comes last, and counts. */
static void test_config_of_the_command_line(void **state)
{
	struct repository *r;

	(void)state;
	sh("git init -q . && git config brevis.reuse true");
	setenv("GIT_CONFIG_COUNT", "1", 1);
	setenv("GIT_CONFIG_KEY_0", "brevis.reuse", 1);
	setenv("GIT_CONFIG_VALUE_0", "false", 1);
	r = open_here();
	assert_false(repository_config_bool(r, "brevis.reuse", true));
	repository_free(r);
	unsetenv("GIT_CONFIG_COUNT");
	setenv("GIT_CONFIG_PARAMETERS", "'brevis.reuse'='no'", 1);
	r = open_here();
	assert_false(repository_config_bool(r, "brevis.reuse", true));
	repository_free(r);
	unsetenv("GIT_CONFIG_PARAMETERS");
}

/* ---- pointers and tracked files -------------------------------------------------------------- */

static void test_path_pointers(void **state)
{
	struct pointer pointers[2];
	struct repository *r;

	(void)state;
	make_files();
	r = open_here();
	assert_int_equal(repository_path_pointers(r, "a.st", pointers), 1);
	assert_string_equal(pointers[0].oid, OID_A);
	assert_int_equal(repository_path_pointers(r, "sub/c.st", pointers), 0);
	assert_int_equal(repository_path_pointers(r, "none", pointers), 0);
	/* The index changes under an open repository, as it does under a filter process. */
	put_text("a.st", TEXT(OID_B, "20"));
	sh("git add a.st");
	assert_int_equal(repository_path_pointers(r, "a.st", pointers), 2);
	assert_string_equal(pointers[0].oid, OID_B);
	assert_string_equal(pointers[1].oid, OID_A);
	sh("git rm -q --cached a.st");
	assert_int_equal(repository_path_pointers(r, "a.st", pointers), 1);
	assert_string_equal(pointers[0].oid, OID_A);
	repository_free(r);
	sh("git reset -q --hard && git update-index --split-index");
	r = open_here();
	assert_int_equal(repository_path_pointers(r, "a.st", pointers), 1);
	assert_string_equal(pointers[0].oid, OID_A);
	repository_free(r);
}

static void test_extensions(void **state)
{
	struct pointer pointers[2];
	struct repository *r;

	(void)state;
	make_files();
	sh("git config core.repositoryformatversion 1 && git config extensions.partialClone origin "
	   "&& "
	   "git config extensions.worktreeConfig true && git config extensions.preciousObjects "
	   "true");
	r = open_here();
	assert_int_equal(repository_path_pointers(r, "a.st", pointers), 1);
	repository_free(r);
}

static int list(void *ctx, const struct tracked_file *file)
{
	char *text = ctx;
	char line[256];

	snprintf(line, sizeof(line), "%s%s%s%s;", file->path, file->is_pointer ? "*" : "",
		 file->executable ? "x" : "", file->skip_worktree ? "s" : "");
	strcat(text, line);
	return 0;
}

static void assert_listing(const char *revision, const char *pathspec, const char *expected)
{
	struct repository *r = open_here();
	char text[1024] = "";

	assert_int_equal(
		repository_each_tracked(r, revision, &pathspec, pathspec ? 1 : 0, list, text), 0);
	assert_string_equal(text, expected);
	repository_free(r);
}

static void test_each_tracked(void **state)
{
	char text[64] = "";
	struct repository *r;

	(void)state;
	make_files();
	assert_listing(NULL, NULL, "a.st*x;sub/c.st;");
	assert_listing("HEAD", NULL, "a.st*x;sub/c.st;");
	assert_listing(NULL, "sub", "sub/c.st;");
	assert_listing(NULL, "nothing", "");
	assert_listing("HEAD", ":(icase)A.ST", "a.st*x;");
	assert_int_equal(chdir("sub"), 0);
	assert_listing(NULL, NULL, "a.st*x;sub/c.st;");
	assert_listing(NULL, "c.st", "sub/c.st;");
	assert_listing("HEAD", "../a.st", "a.st*x;");
	r = open_here();
	assert_int_equal(repository_each_tracked(r, "nonsense", NULL, 0, list, text), -1);
	assert_int_equal(repository_each_tracked(r, "--all", NULL, 0, list, text), -1);
	assert_string_equal(text, "");
	repository_free(r);
}

/* A revision is read with its own attributes, whatever the work tree says today. */
static void test_attributes_of_a_revision(void **state)
{
	(void)state;
	make_files();
	put_text(".gitattributes", "*.txt filter=brevis\n");
	sh("git add . && git commit -qm two");
	assert_listing(NULL, NULL, "plain.txt*;");
	assert_listing("HEAD", NULL, "plain.txt*;");
	assert_listing("HEAD~1", NULL, "a.st*x;sub/c.st;");
	sh("git clone -q --bare . ../bare-$$ && mv ../bare-$$ bare");
	assert_int_equal(chdir("bare"), 0);
	assert_listing("HEAD~1", NULL, "a.st*x;sub/c.st;");
}

static void test_unusual_indexes(void **state)
{
	(void)state;
	make_files();
	sh("git update-index --skip-worktree sub/c.st");
	assert_listing(NULL, NULL, "a.st*x;sub/c.sts;");
	sh("git update-index --split-index");
	assert_listing(NULL, NULL, "a.st*x;sub/c.sts;");
	/* Conflicted paths have no single blob to speak of. */
	sh("git update-index --no-skip-worktree sub/c.st && git checkout -q -b other && echo 1 "
	   ">sub/c.st && git commit -qam 1 && git checkout -q main && echo 2 >sub/c.st && git "
	   "commit "
	   "-qam 2 && ! git merge other >/dev/null 2>&1");
	assert_listing(NULL, NULL, "a.st*x;");
}

static int list_blob(void *ctx, const struct tracked_file *file)
{
	return list(ctx, file);
}

static void test_new_blobs(void **state)
{
	const char *since[] = {"HEAD", "^HEAD~1", NULL};
	const char *all[] = {"HEAD", "--not", "--remotes=origin", NULL};
	char text[1024] = "";
	struct repository *r;

	(void)state;
	make_files();
	put_text("b.st", TEXT(OID_B, "20"));
	sh("echo other >x && git add . && git commit -qm two");
	r = open_here();
	assert_int_equal(repository_each_new_blob(r, "HEAD", since, list_blob, text), 0);
	assert_string_equal(text, "b.st*;");
	text[0] = 0;
	assert_int_equal(repository_each_new_blob(r, "HEAD", all, list_blob, text), 0);
	assert_non_null(strstr(text, "b.st*;"));
	assert_non_null(strstr(text, "sub/c.st;"));
	repository_free(r);
	sh("git update-ref refs/remotes/origin/main HEAD~1");
	r = open_here();
	text[0] = 0;
	assert_int_equal(repository_each_new_blob(r, "HEAD", all, list_blob, text), 0);
	assert_string_equal(text, "b.st*;");
	repository_free(r);
}

/* Writes what git says, without its line feed, into a blob to ask about. */
static void name_blob(const char *revision, struct remote_blob *out)
{
	char command[256];
	char *text;

	snprintf(command, sizeof(command), "git rev-parse %s >../blob-$$ && mv ../blob-$$ blob",
		 revision);
	sh(command);
	text = get_text("blob");
	memcpy(out->blob, text, BLOB_HEX_SIZE);
	out->blob[BLOB_HEX_SIZE] = 0;
	out->found = false;
	free(text);
	unlink("blob");
}

static void test_find_on_remotes(void **state)
{
	struct remote_blob blobs[5];
	struct repository *r;

	(void)state;
	make_files();
	name_blob("HEAD:a.st", &blobs[0]);
	name_blob("HEAD:sub/c.st", &blobs[1]);
	blobs[3] = blobs[0];
	sh("git rm -q a.st && git commit -qm gone && git tag pushed");
	put_text("b.st", TEXT(OID_B, "20"));
	sh("git add b.st && git commit -qm new");
	name_blob("HEAD:b.st", &blobs[2]);
	memset(blobs[4].blob, '1', BLOB_HEX_SIZE);
	blobs[4].blob[BLOB_HEX_SIZE] = 0;
	r = open_here();
	assert_int_equal(repository_find_on_remotes(r, blobs, 5), 0);
	for (size_t i = 0; i < 5; i++)
		assert_false(blobs[i].found);
	sh("git update-ref refs/remotes/second/main pushed");
	assert_int_equal(repository_find_on_remotes(r, blobs, 5), 0);
	assert_true(blobs[0].found);
	assert_true(blobs[1].found);
	assert_false(blobs[2].found);
	assert_true(blobs[3].found);
	assert_false(blobs[4].found);
	repository_free(r);
}

static void test_hidden_diffs(void **state)
{
	struct repository *r;
	bool filtered;
	bool hidden;

	(void)state;
	make_files();
	put_text(".gitattributes", "*.st filter=brevis diff=brevis\n*.bin filter=brevis -diff\n"
				   "*.drv filter=brevis diff=drv\n*.txt -diff\n");
	sh("git config diff.drv.binary true");
	r = open_here();
	assert_int_equal(repository_path_attributes(r, "a.st", &filtered, &hidden), 0);
	assert_true(filtered && !hidden);
	assert_int_equal(repository_path_attributes(r, "sub/a.bin", &filtered, &hidden), 0);
	assert_true(filtered && hidden);
	assert_int_equal(repository_path_attributes(r, "a.drv", &filtered, &hidden), 0);
	assert_true(filtered && hidden);
	assert_int_equal(repository_path_attributes(r, "a.txt", &filtered, &hidden), 0);
	assert_true(!filtered && !hidden);
	repository_free(r);
}

static void test_unmatched(void **state)
{
	static const char *const good[] = {"a.st", "sub"};
	static const char *const bad[] = {"a.st", "nope", "sub"};
	static const char *const last[] = {"sub", "no*pe"};

	(void)state;
	make_files();
	assert_null(repository_unmatched(good, 0));
	assert_null(repository_unmatched(good, 2));
	assert_string_equal(repository_unmatched(bad, 3), "nope");
	assert_string_equal(repository_unmatched(last, 2), "no*pe");
	assert_int_equal(chdir("sub"), 0);
	assert_string_equal(repository_unmatched(good, 1), "a.st");
}

/* No directory for temporary files is needed, nor left behind. */
static void test_no_tmpdir(void **state)
{
	(void)state;
	make_files();
	setenv("TMPDIR", "/nowhere", 1);
	assert_listing("HEAD", NULL, "a.st*x;sub/c.st;");
	unsetenv("TMPDIR");
	sh("test -d .git/lfs/tmp && test -z \"$(ls -A .git/lfs/tmp)\"");
}

static void test_revisions(void **state)
{
	struct repository *r;

	(void)state;
	sh("git init -q -b main .");
	r = open_here();
	assert_false(repository_has_head(r));
	assert_false(repository_is_revision(r, "main"));
	sh("git commit -q --allow-empty -m x && echo x >v1 && git tag v1 && git tag v2");
	assert_true(repository_has_head(r));
	assert_true(repository_is_revision(r, "main"));
	assert_true(repository_is_revision(r, "v2"));
	assert_false(repository_is_revision(r, "v1")); /* a file of that name */
	assert_false(repository_is_revision(r, "--all"));
	assert_true(repository_is_commit(r, "HEAD"));
	assert_false(repository_is_commit(r, "HEAD^{tree}"));
	assert_false(repository_is_commit(r, "HEADD"));
	assert_true(repository_is_file(r, "v1"));
	assert_false(repository_is_file(r, "v2"));
	repository_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SANDBOX_TEST(test_places),
		SANDBOX_TEST(test_environment),
		SANDBOX_TEST(test_bare_and_inside_git_dir),
		SANDBOX_TEST(test_worktree_and_submodule),
		SANDBOX_TEST(test_lfs_storage),
		SANDBOX_TEST(test_hooks_path),
		SANDBOX_TEST(test_line_feed_in_path),
		SANDBOX_TEST(test_object_format),
		SANDBOX_TEST(test_config),
		SANDBOX_TEST(test_config_of_the_command_line),
		SANDBOX_TEST(test_path_pointers),
		SANDBOX_TEST(test_extensions),
		SANDBOX_TEST(test_each_tracked),
		SANDBOX_TEST(test_attributes_of_a_revision),
		SANDBOX_TEST(test_unusual_indexes),
		SANDBOX_TEST(test_new_blobs),
		SANDBOX_TEST(test_find_on_remotes),
		SANDBOX_TEST(test_hidden_diffs),
		SANDBOX_TEST(test_unmatched),
		SANDBOX_TEST(test_no_tmpdir),
		SANDBOX_TEST(test_revisions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
