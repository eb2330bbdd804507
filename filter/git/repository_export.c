/* SPDX-License-Identifier: Apache-2.0 */
/** A revision's files in another directory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/cli/report.h"
#include "filter/git/repository_private.h"

int repository_list_paths(const struct repository *repository, const char *revision,
			  const char *const *pathspecs, size_t count, struct buffer *paths)
{
	static const char *const first[] = {"ls-files", "-z", "--full-name", "--error-unmatch",
					    "--"};
	const size_t first_count = sizeof(first) / sizeof(first[0]);
	const char **args = calloc(first_count + count + 1, sizeof(*args));
	struct scratch_file scratch = SCRATCH_FILE_NONE;
	struct buffer errors = BUFFER_INIT;
	char *variable = NULL;
	int rc;

	if (!args)
		return report_error("out of memory");
	memcpy(args, first, sizeof(first));
	if (count)
		memcpy(args + first_count, pathspecs, count * sizeof(*args));
	rc = scratch_index_make(repository, revision, &scratch);
	if (rc == 0 && asprintf(&variable, "GIT_INDEX_FILE=%s", scratch.path) < 0)
		rc = report_error("out of memory");
	if (rc == 0 && count == 0) {
		args[3] = "--";
		args[4] = NULL;
		rc = repository_git_reported(repository, scratch.path,
					     (struct git_run){.args = args, .output = paths},
					     "git cannot list the files");
	} else if (rc == 0) {
		/* Pathspecs count from the user's directory. */
		const char *env[] = {variable, NULL};

		rc = git_run(&(struct git_run){
			.args = args, .env = env, .output = paths, .errors = &errors});
		if (rc > 0)
			rc = report_error("git cannot list these files of %s: %s; name a revision, "
					  "or paths that %s has",
					  revision, git_errors_line(&errors), revision);
	}
	buffer_release(&errors);
	free(variable);
	scratch_file_remove(&scratch);
	free(args);
	return rc;
}

int repository_write_paths(const struct repository *repository, const char *revision,
			   const struct buffer *paths, const struct git_write *how)
{
	/* What we restore ourselves is not among these: the others of our files are raw, and
	 * without a filter git writes them in bounded memory. */
	const char *args[24] = {GIT_LARGE_BLOBS,         "-c", "filter.brevis.process=",      "-c",
				"filter.brevis.smudge=", "-c", "filter.brevis.required=false"};
	struct repository there = *repository;
	struct scratch_file scratch;
	size_t count = 12;
	int rc;

	if (!paths->size)
		return 0;
	if (how->local) {
		args[count++] = "-c";
		args[count++] = "lfs.fetchexclude=*";
	}
	args[count++] = "checkout-index";
	args[count++] = "-z";
	args[count++] = "--stdin";
	if (how->replace)
		args[count++] = "--force";
	there.work_tree = (char *)(uintptr_t)how->dir;
	rc = scratch_index_make(repository, revision, &scratch);
	if (rc == 0)
		rc = repository_git_reported(&there, scratch.path,
					     (struct git_run){.args = args,
							      .input = paths->data,
							      .input_len = paths->size},
					     "git cannot write all files");
	scratch_file_remove(&scratch);
	return rc;
}
