/* SPDX-License-Identifier: Apache-2.0 */
/** Files that a merge left in conflict: their entries in the index have stages. */
#include <stdlib.h>
#include <string.h>

#include "filter/git/repository_private.h"
#include "filter/cli/report.h"

/* Takes the paths out of "MODE BLOB STAGE<tab>PATH NUL" ..., each once. Stages of a path follow
 * each other. Returns how many there are. */
static size_t take_paths(const struct buffer *text, struct buffer *paths)
{
	const char *last = NULL;
	size_t count = 0;

	for (size_t at = 0; at < text->size;) {
		const char *entry = (const char *)text->data + at;
		const char *path = strchr(entry, '\t');

		at += strlen(entry) + 1;
		if (!path || (last && strcmp(last, path + 1) == 0))
			continue;
		last = path + 1;
		buffer_append(paths, last, strlen(last) + 1);
		count++;
	}
	return count;
}

/* Pathspecs count from the user's directory, so git has to run there. */
static int list(const struct repository *repository, const char *const *pathspecs, size_t count,
		struct buffer *text)
{
	static const char *const first[] = {"ls-files", "-u", "-z", "--full-name", "--"};
	const size_t first_count = sizeof(first) / sizeof(first[0]);
	const char **args = calloc(first_count + count + 1, sizeof(*args));
	struct buffer errors = BUFFER_INIT;
	struct git_run run = {.args = args, .output = text, .errors = &errors};
	int rc;

	if (!args)
		return report_error("out of memory");
	memcpy(args, first, sizeof(first));
	if (count)
		memcpy(args + first_count, pathspecs, count * sizeof(*args));
	rc = count ? git_run(&run) : repository_git(repository, NULL, run);
	if (rc > 0)
		rc = report_error("git cannot list conflicts: %s", git_errors_line(&errors));
	buffer_release(&errors);
	free(args);
	return rc;
}

/* Appends those of the paths that are filtered. */
static int filter(const struct repository *repository, const struct buffer *all, size_t count,
		  struct buffer *paths)
{
	struct path_attributes *answers = calloc(count + 1, sizeof(*answers));
	const char *path = (const char *)all->data;
	int rc = answers ? repository_ask_attributes(repository, NULL, all, answers, count)
			 : report_error("out of memory");

	for (size_t i = 0; i < count && rc == 0; i++, path += strlen(path) + 1)
		if (answers[i].filtered)
			buffer_append(paths, path, strlen(path) + 1);
	free(answers);
	return rc;
}

int repository_conflicts(const struct repository *repository, const char *const *pathspecs,
			 size_t count, struct buffer *paths)
{
	struct buffer text = BUFFER_INIT;
	struct buffer all = BUFFER_INIT;
	int rc = list(repository, pathspecs, count, &text);

	size_t found = 0;

	if (rc == 0)
		found = take_paths(&text, &all);
	if (rc == 0 && buffer_failed(&all))
		rc = report_error("out of memory");
	if (rc == 0)
		rc = filter(repository, &all, found, paths);
	if (rc == 0 && buffer_failed(paths))
		rc = report_error("out of memory");
	buffer_release(&all);
	buffer_release(&text);
	return rc;
}
