/* SPDX-License-Identifier: Apache-2.0 */
/** What is staged, what may have changed in the work tree, and what a word means as a revision. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "filter/report.h"
#include "filter/repository_private.h"

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

bool repository_is_revision(const struct repository *repository, const char *text)
{
	struct stat st;

	return lstat(text, &st) != 0 && names_object(repository, text, "tree");
}

bool repository_has_head(const struct repository *repository)
{
	return names_object(repository, "HEAD", "commit");
}

int repository_staged(const struct repository *repository, struct buffer *paths)
{
	const char *head = repository_has_head(repository) ? "HEAD" : EMPTY_TREE;
	const char *args[] = {"diff-index", "--cached", "--name-status", "--no-renames", "-z",
			      head,         NULL};
	struct buffer text = BUFFER_INIT;
	int rc = repository_git(repository, NULL, (struct git_run){.args = args, .output = &text});

	if (rc > 0)
		rc = report_error("git cannot compare the index with HEAD");
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
	int rc = repository_git(repository, NULL, (struct git_run){.args = args, .output = paths});

	return rc > 0 ? report_error("git cannot compare the work tree with the index") : rc;
}
