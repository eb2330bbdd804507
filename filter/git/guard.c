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
#include "filter/string_table.h"

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

/* The next entry of a list, trimmed; *len is 0 for an empty one. Moves *list behind it. */
static const char *next_entry(const char **list, size_t *len)
{
	const char *entry = *list + strspn(*list, " \t");
	const char *end = entry + strcspn(entry, ",");

	*list = end + (*end == ',');
	while (end > entry && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	*len = (size_t)(end - entry);
	return entry;
}

static void append_entry(struct buffer *list, const char *entry, size_t len)
{
	if (list->size)
		buffer_u8(list, ',');
	buffer_append(list, entry, len);
}

/* Notes a string. Returns 1 if it is new in the table, 0 if not, -1 when memory is short. */
static int note(struct string_table *table, const char *text, size_t len)
{
	size_t *seen = string_table_at(table, text, len);

	return seen ? (*seen)++ == 0 : -1;
}

/* Writes the list with the patterns that it lacks at its end. */
static int add_patterns(const char *list, const struct buffer *patterns, struct buffer *out)
{
	struct string_table there = {NULL};
	int rc = 0;

	buffer_append(out, list, strlen(list));
	while (*list && rc >= 0) {
		size_t len;
		const char *entry = next_entry(&list, &len);

		rc = note(&there, entry, len);
	}
	for (size_t at = 0; at < patterns->size && rc >= 0;) {
		const char *pattern = (const char *)patterns->data + at;
		size_t len = strlen(pattern);

		at += len + 1;
		rc = note(&there, pattern, len);
		if (rc > 0)
			append_entry(out, pattern, len);
	}
	string_table_clear(&there);
	return rc < 0 ? -1 : 0;
}

/* Writes the list without the patterns, unless it has none of them. */
static int remove_patterns(const char *list, const struct buffer *patterns, struct buffer *out)
{
	struct string_table unwanted = {NULL};
	const char *rest = list;
	bool found = false;
	int rc = 0;

	for (size_t at = 0; at < patterns->size && rc >= 0;) {
		const char *pattern = (const char *)patterns->data + at;
		size_t len = strlen(pattern);

		at += len + 1;
		rc = note(&unwanted, pattern, len);
	}
	while (*rest && rc >= 0) {
		size_t len;
		const char *entry = next_entry(&rest, &len);
		size_t *seen = string_table_at(&unwanted, entry, len);

		rc = seen ? 0 : -1;
		if (seen && *seen)
			found = true;
		else if (len)
			append_entry(out, entry, len);
	}
	if (!found) {
		buffer_clear(out);
		buffer_append(out, list, strlen(list));
	}
	string_table_clear(&unwanted);
	return rc < 0 ? -1 : 0;
}

int guard_change(const char *path, const struct buffer *patterns, bool add, bool *changed)
{
	struct buffer text = BUFFER_INIT;
	char *list;
	int rc;

	if (!patterns->size)
		return 0;
	list = read_list(path);
	if (!list)
		return -1;
	rc = (add ? add_patterns : remove_patterns)(list, patterns, &text);
	buffer_u8(&text, 0);
	if (rc < 0 || buffer_failed(&text)) {
		rc = report_error("out of memory");
	} else if (strcmp((const char *)text.data, list) != 0) {
		rc = write_list(path, (const char *)text.data);
		*changed = *changed || rc == 0;
	}
	buffer_release(&text);
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
