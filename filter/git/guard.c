/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/git/guard.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "filter/git/git_run.h"
#include "filter/cli/report.h"

#define KEY "lfs.fetchexclude"

/* Bytes of a list: Linux gives a program no argument of 128 KiB. */
#define LIST_MAX ((size_t)128000)

/* Appends a directory's name so that it matches itself. */
static void append_literal(struct buffer *text, const char *name)
{
	for (; *name; name++) {
		if (strchr("\\*?[", *name))
			buffer_u8(text, '\\');
		buffer_u8(text, (uint8_t)*name);
	}
}

char *guard_pattern(const char *prefix, const char *pattern)
{
	const char *slash = strchr(pattern, '/');
	struct buffer text = BUFFER_INIT;

	/* At the top both mean the same by the same words. Below, a pattern without a slash matches
	 * at any depth, one with a slash at its own. */
	append_literal(&text, prefix);
	if (*prefix && (!slash || !slash[1]))
		buffer_append(&text, "**/", 3);
	if (*prefix && *pattern == '/')
		pattern++;
	buffer_append(&text, pattern, strlen(pattern) + 1);
	if (buffer_failed(&text)) {
		buffer_release(&text);
		return NULL;
	}
	/* A comma would end the pattern in git-lfs's list. */
	for (char *c = (char *)text.data; *c; c++)
		if (*c == ',')
			*c = '?';
	return (char *)text.data;
}

/* The file's path. A link is refused: what it points to may be anywhere. */
static char *guard_file(const struct repository *repository)
{
	struct stat st;
	char *path;

	if (asprintf(&path, "%s/.lfsconfig", repository_work_tree(repository)) < 0) {
		report_error("out of memory");
		return NULL;
	}
	if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
		report_error(
			"%s: is no regular file; `git brevis track --no-guard` leaves it alone",
			path);
		free(path);
		return NULL;
	}
	return path;
}

/* Reads the list; "" if there is none. */
static char *read_list(const char *path)
{
	const char *args[] = {"config", "-f", path, "--get", KEY, NULL};
	struct buffer text = BUFFER_INIT;
	struct buffer errors = BUFFER_INIT;
	int rc = 1;

	if (access(path, F_OK) == 0)
		rc = git_run(&(struct git_run){.args = args, .output = &text, .errors = &errors});
	if (rc == 0 && text.size)
		text.size--; /* the line feed */
	buffer_u8(&text, 0);
	if (rc > 1)
		report_error("%s: git cannot read it: %s; mend that file", path,
			     git_errors_line(&errors));
	else if (rc >= 0 && buffer_failed(&text))
		rc = report_error("out of memory");
	buffer_release(&errors);
	if (rc == 0 || rc == 1)
		return (char *)text.data;
	buffer_release(&text);
	return NULL;
}

static int write_list(const char *path, const char *list)
{
	const char *set[] = {"config", "-f", path, KEY, list, NULL};
	const char *unset[] = {"config", "-f", path, "--unset", KEY, NULL};
	struct buffer errors = BUFFER_INIT;
	struct stat st;
	int rc;

	if (strlen(list) > LIST_MAX)
		return report_error(
			KEY " would have %zu bytes, more than `git config` can be given; "
			    "choose a pattern that needs no line for each file, or leave it "
			    "alone with --no-guard",
			strlen(list));
	rc = git_run(&(struct git_run){.args = *list ? set : unset, .errors = &errors});
	if (rc > 0)
		rc = report_error("%s: cannot set " KEY ": %s; make it and its directory "
				  "writable, or `git brevis track --no-guard` leaves it alone",
				  path, git_errors_line(&errors));
	/* What held nothing but the guard need not stay. */
	if (rc == 0 && !*list && stat(path, &st) == 0 && st.st_size == 0)
		unlink(path);
	buffer_release(&errors);
	return rc;
}

/* Copies the list without pattern, each entry trimmed. *found tells if it was there. */
static char *list_without(const char *list, const char *pattern, bool *found)
{
	struct buffer text = BUFFER_INIT;

	*found = false;
	while (*list) {
		size_t len = strcspn(list, ",");
		size_t from = strspn(list, " \t");
		size_t to = len;

		while (to > from && (list[to - 1] == ' ' || list[to - 1] == '\t'))
			to--;
		if (to > from && strlen(pattern) == to - from &&
		    strncmp(list + from, pattern, to - from) == 0) {
			*found = true;
		} else if (to > from) {
			if (text.size)
				buffer_u8(&text, ',');
			buffer_append(&text, list + from, to - from);
		}
		list += len + (list[len] == ',');
	}
	buffer_u8(&text, 0);
	if (!buffer_failed(&text))
		return (char *)text.data;
	buffer_release(&text);
	report_error("out of memory");
	return NULL;
}

/* Puts a pattern into *list, or takes it out, if that is still to be done. */
static int change_list(char **list, const char *pattern, bool add)
{
	bool found;
	char *other = list_without(*list, pattern, &found);

	if (!other)
		return -1;
	if (found == add) {
		free(other);
		return 0;
	}
	if (add) {
		free(other);
		if (asprintf(&other, "%s%s%s", *list, **list ? "," : "", pattern) < 0)
			return report_error("out of memory");
	}
	free(*list);
	*list = other;
	return 1;
}

int guard_change(const char *path, const struct buffer *patterns, bool add, bool *changed)
{
	char *list;
	bool is_new = false;
	int rc;

	if (!patterns->size)
		return 0;
	list = read_list(path);
	rc = list ? 0 : -1;
	for (size_t at = 0; rc >= 0 && at < patterns->size;) {
		const char *pattern = (const char *)patterns->data + at;

		at += strlen(pattern) + 1;
		rc = change_list(&list, pattern, add);
		is_new = is_new || rc > 0;
	}
	if (rc >= 0)
		rc = is_new ? write_list(path, list) : 0;
	*changed = *changed || (rc == 0 && is_new);
	free(list);
	return rc;
}

bool guard_is_there(const char *path)
{
	char *list = read_list(path);
	bool is_there = list && *list;

	free(list);
	return is_there;
}

int guard_set(const struct repository *repository, const char *prefix, const char *pattern,
	      bool add, bool *changed)
{
	char *path = guard_file(repository);
	char *guarded = guard_pattern(prefix, pattern);
	struct buffer patterns = BUFFER_INIT;
	int rc = path ? 0 : -1;

	if (guarded)
		buffer_append(&patterns, guarded, strlen(guarded) + 1);
	if (rc == 0 && (!guarded || buffer_failed(&patterns)))
		rc = report_error("out of memory");
	if (rc == 0)
		rc = guard_change(path, &patterns, add, changed);
	buffer_release(&patterns);
	free(guarded);
	free(path);
	return rc;
}
