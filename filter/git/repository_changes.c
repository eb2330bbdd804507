/* SPDX-License-Identifier: Apache-2.0 */
/** What is staged, what may have changed in the work tree, and what a word means as a revision or
 * path. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "filter/cli/report.h"
#include "filter/git/repository_private.h"

/* The tree of nothing, which every git knows. */
#define EMPTY_TREE "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

/* True if git can make an object of that kind out of text. */
static bool names_object(const struct repository *repository, const char *text, const char *kind)
{
	struct buffer output = BUFFER_INIT;
	struct buffer errors = BUFFER_INIT;
	char *wanted;
	int rc;

	if (text[0] == '-' || asprintf(&wanted, "%s^{%s}", text, kind) < 0)
		return false;
	rc = repository_git(repository, NULL,
			    (struct git_run){.args = (const char *const[]){"rev-parse", "--verify",
									   "--quiet", wanted, NULL},
					     .output = &output,
					     .errors = &errors});
	free(wanted);
	buffer_release(&output);
	buffer_release(&errors);
	return rc == 0;
}

bool repository_is_file(const struct repository *repository, const char *text)
{
	struct stat st;

	/* What lies in a git directory is nothing that anybody tracks. */
	return repository->work_tree && lstat(text, &st) == 0;
}

bool repository_is_revision(const struct repository *repository, const char *text)
{
	return !repository_is_file(repository, text) && names_object(repository, text, "tree");
}

bool repository_is_commit(const struct repository *repository, const char *text)
{
	return names_object(repository, text, "commit");
}

bool repository_has_head(const struct repository *repository)
{
	return repository_is_commit(repository, "HEAD");
}

bool repository_lacks_index(const struct repository *repository)
{
	return repository->work_tree && access(repository->index_path, F_OK) != 0 &&
	       errno == ENOENT && repository_has_head(repository);
}

int repository_make_index(const struct repository *repository)
{
	static const char *const read_tree[] = {"read-tree", "HEAD", NULL};
	static const char *const reapply[] = {"sparse-checkout", "reapply", NULL};
	struct buffer output = BUFFER_INIT;
	int rc;

	if (!repository_lacks_index(repository))
		return 0;
	rc = repository_git_reported(repository, NULL, (struct git_run){.args = read_tree},
				     "git cannot make an index of HEAD");
	if (rc == 0 && repository_config_bool(repository, "core.sparseCheckout", false))
		rc = repository_git_reported(repository, NULL,
					     (struct git_run){.args = reapply, .output = &output},
					     "git cannot mark what a sparse checkout leaves out");
	buffer_release(&output);
	/* Half of it would be taken for the whole by the next one. */
	if (rc != 0)
		unlink(repository->index_path);
	else
		report_note("the checkout of this clone was not completed; `git restore :/` writes "
			    "the files that git-brevis does not keep");
	return rc;
}

/* True if git finds something in the index for each of the pathspecs. */
static bool all_match(const char *const *pathspecs, size_t count)
{
	static const char *const first[] = {"ls-files", "-z", "--error-unmatch", "--"};
	const size_t first_count = sizeof(first) / sizeof(first[0]);
	const char **args = calloc(first_count + count + 1, sizeof(*args));
	struct buffer output = BUFFER_INIT;
	struct buffer errors = BUFFER_INIT;
	int rc = -1;

	if (args) {
		memcpy(args, first, sizeof(first));
		memcpy(args + first_count, pathspecs, count * sizeof(*args));
		rc = git_run(&(struct git_run){.args = args, .output = &output, .errors = &errors});
	}
	buffer_release(&output);
	buffer_release(&errors);
	free(args);
	return rc == 0;
}

const char *repository_unmatched(const char *const *pathspecs, size_t count)
{
	if (count == 0 || all_match(pathspecs, count))
		return NULL;
	for (size_t i = 0; i + 1 < count; i++)
		if (!all_match(&pathspecs[i], 1))
			return pathspecs[i];
	return pathspecs[count - 1];
}

int repository_staged(const struct repository *repository, struct buffer *paths)
{
	const char *head = repository_has_head(repository) ? "HEAD" : EMPTY_TREE;
	const char *args[] = {"diff-index", "--cached", "--name-status", "--no-renames", "-z",
			      head,         NULL};
	struct buffer text = BUFFER_INIT;
	int rc = repository_git_reported(repository, NULL,
					 (struct git_run){.args = args, .output = &text},
					 "git cannot compare the index with HEAD");

	/* "M NUL path NUL" */
	for (size_t at = 0; rc == 0 && at < text.size;) {
		const char *letter = (const char *)text.data + at;
		const char *path;

		at += strlen(letter) + 1;
		if (at >= text.size)
			break;
		path = (const char *)text.data + at;
		at += strlen(path) + 1;
		buffer_u8(paths, (uint8_t)*letter);
		buffer_append(paths, path, strlen(path) + 1);
	}
	if (rc == 0 && buffer_failed(paths))
		rc = report_error("out of memory");
	buffer_release(&text);
	return rc;
}

int repository_touched(const struct repository *repository, struct buffer *paths)
{
	/* With an empty filter git compares what may be changed ("racy") entries by their raw
	 * bytes, and lists them; nothing is compressed. */
	static const char *const args[] = {"-c",
					   "filter.brevis.process=",
					   "-c",
					   "filter.brevis.clean=",
					   "-c",
					   "filter.brevis.required=false",
					   "diff-files",
					   "--name-only",
					   "--no-renames",
					   "-z",
					   NULL};
	return repository_git_reported(repository, NULL,
				       (struct git_run){.args = args, .output = paths},
				       "git cannot compare the work tree with the index");
}

int repository_unstage(const struct repository *repository, const struct buffer *paths)
{
	static const char *const args[] = {
		"--literal-pathspecs", "reset", "--quiet", "--no-refresh", "--pathspec-from-file=-",
		"--pathspec-file-nul", "HEAD",  NULL};

	return repository_git_reported(
		repository, NULL,
		(struct git_run){.args = args, .input = paths->data, .input_len = paths->size},
		"git cannot take back what is staged");
}
