/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/git/repository.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "filter/cli/report.h"
#include "filter/git/repository_private.h"
#include "filter/git/shared_mode.h"

/* ---- where everything is ---------------------------------------------------------------------
 * git itself is asked, once, so that GIT_DIR and friends, worktrees, submodules and safe.directory
 * mean what they mean to git. That child takes about two milliseconds. */

enum question {
	IS_BARE,
	IS_INSIDE,
	OBJECT_FORMAT,
	GIT_DIRECTORY,
	COMMON_DIRECTORY,
	INDEX_PATH,
	OBJECTS_PATH,
	UP_TO_TOP,
	QUESTIONS
};

static const char *const questions[QUESTIONS][2] = {
	[IS_BARE] = {"--is-bare-repository"},       [IS_INSIDE] = {"--is-inside-work-tree"},
	[OBJECT_FORMAT] = {"--show-object-format"}, [GIT_DIRECTORY] = {"--absolute-git-dir"},
	[COMMON_DIRECTORY] = {"--git-common-dir"},  [INDEX_PATH] = {"--git-path", "index"},
	[OBJECTS_PATH] = {"--git-path", "objects"}, [UP_TO_TOP] = {"--show-cdup"},
};

/* git's answers: NUL-terminated strings in one buffer. */
struct answers {
	struct buffer text;
	size_t at[QUESTIONS];
};

static const char *answer(const struct answers *answers, enum question q)
{
	return (const char *)answers->text.data + answers->at[q];
}

/* Cuts one line for each question. Returns false if there are more: a path holds a line feed. */
static bool cut_lines(struct answers *answers)
{
	struct buffer *text = &answers->text;
	size_t at = 0;

	for (size_t q = 0; q < QUESTIONS; q++) {
		uint8_t *end =
			at < text->size ? memchr(text->data + at, '\n', text->size - at) : NULL;

		if (!end)
			return false;
		*end = 0;
		answers->at[q] = at;
		at = (size_t)(end - text->data) + 1;
	}
	return at == text->size;
}

/* The slow way, for paths with line feeds: one child for each question. */
static int ask_one_by_one(struct answers *answers)
{
	struct buffer *text = &answers->text;

	buffer_clear(text);
	for (size_t q = 0; q < QUESTIONS; q++) {
		const char *args[] = {"rev-parse", questions[q][0], questions[q][1], NULL};
		int rc;

		answers->at[q] = text->size;
		rc = git_ask(text, args);
		if (rc != 0)
			return -1;
		if (text->size > answers->at[q] && text->data[text->size - 1] == '\n')
			text->size--;
		buffer_u8(text, 0);
	}
	return buffer_failed(text) ? report_error("out of memory") : 0;
}

/* git's own words; those that it has for most people lack what to do. */
static int report_refusal(const char *why)
{
	return report_error("%s%s", why,
			    strncmp(why, "not a git repository", 20) == 0
				    ? "; go to one, or `git init` makes one"
				    : "");
}

static int ask_git(struct answers *answers)
{
	const char *args[2 + 2 * QUESTIONS] = {"rev-parse"};
	struct buffer errors = BUFFER_INIT;
	size_t n = 1;
	int rc;

	for (size_t q = 0; q < QUESTIONS; q++) {
		args[n++] = questions[q][0];
		if (questions[q][1])
			args[n++] = questions[q][1];
	}
	rc = git_run(&(struct git_run){.args = args, .output = &answers->text, .errors = &errors});
	if (rc > 0)
		rc = report_refusal(git_errors_line(&errors));
	else if (rc == 0 && !cut_lines(answers))
		rc = ask_one_by_one(answers);
	buffer_release(&errors);
	return rc;
}

static char *join(const char *dir, const char *path)
{
	char *joined;

	if (path[0] == '/')
		return strdup(path);
	return asprintf(&joined, "%s/%s", dir, path) < 0 ? NULL : joined;
}

/* Makes a path absolute that counts from the current directory. An existing one loses its symbolic
 * links, so that a repository has one name, however it was reached. */
static char *absolute(const char *path)
{
	char *real = realpath(path, NULL);
	char *cwd;

	if (real || errno != ENOENT)
		return real;
	cwd = getcwd(NULL, 0);
	if (!cwd)
		return NULL;
	real = join(cwd, path);
	free(cwd);
	return real;
}

/* Removes "." and ".." and doubled slashes from an absolute path, by its text alone, as git-lfs
 * does with lfs.storage. */
static void simplify(char *path)
{
	char *to = path;
	char *at = path;

	while (*at) {
		size_t len;

		while (*at == '/')
			at++;
		len = strcspn(at, "/");
		if (len == 0)
			break;
		if (len == 2 && at[0] == '.' && at[1] == '.') {
			while (to > path && *--to != '/')
				;
		} else if (!(len == 1 && at[0] == '.')) {
			*to++ = '/';
			memmove(to, at, len);
			to += len;
		}
		at += len;
	}
	if (to == path)
		*to++ = '/';
	*to = 0;
}

static int find_lfs_dir(struct repository *repository)
{
	char *storage = repository_config(repository, "lfs.storage");
	char *shared;

	repository->lfs_dir = join(repository->common_dir, storage && *storage ? storage : "lfs");
	free(storage);
	if (!repository->lfs_dir)
		return report_error("out of memory");
	simplify(repository->lfs_dir);
	shared = repository_config(repository, "core.sharedRepository");
	shared_mode_begin(repository->lfs_dir, shared);
	free(shared);
	return 0;
}

/* The top of the work tree, seen from the current directory. There is none in a bare repository,
 * and git knows none from inside a git directory. */
static int find_work_tree(struct repository *repository, const struct answers *answers)
{
	const char *up = answer(answers, UP_TO_TOP);
	bool inside = strcmp(answer(answers, IS_INSIDE), "true") == 0;

	if (strcmp(answer(answers, IS_BARE), "true") == 0 || (!inside && !*up))
		return 0;
	repository->work_tree = absolute(*up ? up : ".");
	if (!repository->work_tree)
		return report_error("cannot find the top of the work tree: %s", strerror(errno));
	return 0;
}

static int find_places(struct repository *repository)
{
	struct answers answers = {BUFFER_INIT, {0}};
	int rc = ask_git(&answers);

	if (rc < 0)
		goto out;
	rc = -1;
	if (strcmp(answer(&answers, OBJECT_FORMAT), "sha1") != 0) {
		report_error("%s: object names are %s, and git-brevis only knows sha1; make the "
			     "repository with `git init --object-format=sha1`",
			     answer(&answers, GIT_DIRECTORY), answer(&answers, OBJECT_FORMAT));
		goto out;
	}
	repository->git_dir = absolute(answer(&answers, GIT_DIRECTORY));
	repository->common_dir = absolute(answer(&answers, COMMON_DIRECTORY));
	repository->index_path = absolute(answer(&answers, INDEX_PATH));
	repository->objects_dir = absolute(answer(&answers, OBJECTS_PATH));
	if (!repository->git_dir || !repository->common_dir || !repository->index_path ||
	    !repository->objects_dir) {
		report_error("cannot find the git directory: %s", strerror(errno));
		goto out;
	}
	rc = find_work_tree(repository, &answers);
	if (rc == 0)
		rc = find_lfs_dir(repository);
out:
	buffer_release(&answers.text);
	return rc;
}

bool repository_is_here(void)
{
	static const char *const args[] = {"rev-parse", "--git-dir", NULL};
	struct buffer output = BUFFER_INIT;
	struct buffer errors = BUFFER_INIT;
	int rc = git_run(&(struct git_run){.args = args, .output = &output, .errors = &errors});

	buffer_release(&output);
	buffer_release(&errors);
	return rc == 0;
}

int repository_open(struct repository **out)
{
	struct repository *repository = calloc(1, sizeof(*repository));

	if (!repository)
		return report_error("out of memory");
	if (find_places(repository) < 0) {
		repository_free(repository);
		return -1;
	}
	*out = repository;
	return 0;
}

void repository_free(struct repository *repository)
{
	if (!repository)
		return;
	shared_mode_end();
	if (repository->index)
		git_index_free(repository->index);
	if (repository->git) {
		git_repository_free(repository->git);
		git_libgit2_shutdown();
	}
	buffer_release(&repository->config);
	buffer_release(&repository->lfsconfig);
	free(repository->git_dir);
	free(repository->common_dir);
	free(repository->work_tree);
	free(repository->index_path);
	free(repository->objects_dir);
	free(repository->lfs_dir);
	free(repository);
}

const char *repository_library_version(void)
{
	return LIBGIT2_VERSION;
}

const char *repository_work_tree(const struct repository *repository)
{
	return repository->work_tree;
}

const char *repository_git_dir(const struct repository *repository)
{
	return repository->git_dir;
}

const char *repository_common_dir(const struct repository *repository)
{
	return repository->common_dir;
}

const char *repository_lfs_dir(const struct repository *repository)
{
	return repository->lfs_dir;
}

char *repository_prefix(const struct repository *repository)
{
	const char *top = repository->work_tree;
	char *cwd = realpath(".", NULL);
	size_t len = top ? strlen(top) : 0;
	char *prefix = NULL;

	if (cwd && top && strcmp(cwd, top) == 0)
		prefix = strdup("");
	else if (cwd && top && strncmp(cwd, top, len) == 0 && cwd[len] == '/' &&
		 asprintf(&prefix, "%s/", cwd + len + 1) < 0)
		prefix = NULL;
	if (!prefix)
		report_error("the current directory is not within a work tree; go to one");
	free(cwd);
	return prefix;
}

char *repository_hooks_dir(const struct repository *repository)
{
	/* A relative core.hooksPath counts from where hooks run: the top of the work tree. */
	const char *top = repository->work_tree ? repository->work_tree : repository->git_dir;
	const char *args[] = {"rev-parse", "--git-path", "hooks", NULL};
	struct buffer text = BUFFER_INIT;
	char *path = NULL;

	if (repository_git_reported(repository, NULL,
				    (struct git_run){.args = args, .output = &text},
				    "git does not say where its hooks are") < 0)
		goto out;
	buffer_u8(&text, 0);
	if (text.size < 2 || buffer_failed(&text)) {
		report_error("git does not say where its hooks are");
		goto out;
	}
	text.data[text.size - 2] = 0; /* the line feed */
	path = join(top, (const char *)text.data);
	if (path)
		simplify(path);
	else
		report_error("out of memory");
out:
	buffer_release(&text);
	return path;
}

/* ---- git and libgit2 on this repository ------------------------------------------------------ */

/* Variables for a child, NAME=VALUE each, our own copies. */
struct variables {
	char *text[6];
	size_t count;
	bool failed;
};

static void set_variable(struct variables *variables, const char *name, const char *value)
{
	char *text;

	if (asprintf(&text, "%s=%s", name, value) < 0)
		variables->failed = true;
	else
		variables->text[variables->count++] = text;
}

int repository_git(const struct repository *repository, const char *index, struct git_run run)
{
	struct variables variables = {{NULL}, 0, false};
	int rc;

	/* We move to the top: whatever was relative to the user's directory becomes absolute. */
	set_variable(&variables, "GIT_DIR", repository->git_dir);
	if (repository->work_tree)
		set_variable(&variables, "GIT_WORK_TREE", repository->work_tree);
	if (index || getenv("GIT_INDEX_FILE"))
		set_variable(&variables, "GIT_INDEX_FILE", index ? index : repository->index_path);
	if (getenv("GIT_COMMON_DIR"))
		set_variable(&variables, "GIT_COMMON_DIR", repository->common_dir);
	if (getenv("GIT_OBJECT_DIRECTORY"))
		set_variable(&variables, "GIT_OBJECT_DIRECTORY", repository->objects_dir);
	run.env = (const char *const *)variables.text;
	run.directory = repository->work_tree ? repository->work_tree : repository->git_dir;
	rc = variables.failed ? report_error("out of memory") : git_run(&run);
	while (variables.count)
		free(variables.text[--variables.count]);
	return rc;
}

int repository_git_reported(const struct repository *repository, const char *index,
			    struct git_run run, const char *what)
{
	struct buffer errors = BUFFER_INIT;
	int rc;

	run.errors = &errors;
	rc = repository_git(repository, index, run);
	if (rc > 0)
		rc = report_error("%s: %s", what, git_errors_line(&errors));
	buffer_release(&errors);
	return rc;
}

const char *libgit2_reason(void)
{
	const git_error *error = git_error_last();

	return error && error->message ? error->message : "no reason given";
}

/* More places for objects, as a server's hooks are given them. */
static int add_alternates(git_odb *odb)
{
	const char *more = getenv("GIT_ALTERNATE_OBJECT_DIRECTORIES");
	char *list = more ? strdup(more) : NULL;
	char *rest;
	int rc = more && !list ? -1 : 0;

	for (char *dir = list ? strtok_r(list, ":", &rest) : NULL; dir && rc == 0;
	     dir = strtok_r(NULL, ":", &rest))
		rc = git_odb_add_disk_alternate(odb, dir);
	free(list);
	return rc;
}

/* libgit2 is given the objects, and later the index, of a repository that git has opened for us
 * (find_places), but not the repository. That keeps its own opinion on extensions.*, ownership and
 * the kinds of refs out of the way: git decided by its own rules, which know GIT_DIR, SUDO_UID and
 * all of safe.directory. A missing object of a partial clone is handled where objects are read. */
git_repository *repository_libgit2(struct repository *repository)
{
	git_repository *git = NULL;
	git_odb *odb = NULL;

	if (repository->git)
		return repository->git;
	if (git_libgit2_init() < 0) {
		report_error("libgit2 does not start: %s", libgit2_reason());
		return NULL;
	}
	if (git_odb_open(&odb, repository->objects_dir) < 0 || add_alternates(odb) < 0 ||
	    git_repository_wrap_odb(&git, odb) < 0) {
		report_error("%s: cannot open the objects of the repository: %s; `git fsck` may "
			     "say more",
			     repository->objects_dir, libgit2_reason());
		git_odb_free(odb);
		git_libgit2_shutdown();
		return NULL;
	}
	git_odb_free(odb); /* git keeps its own reference */
	repository->git = git;
	return git;
}
