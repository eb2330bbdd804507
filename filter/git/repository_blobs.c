/* SPDX-License-Identifier: Apache-2.0 */
/** What git knows of blobs: which ones remotes were sent, which are links, and fetching those that
 * a partial clone lacks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "filter/cli/report.h"
#include "filter/git/repository_private.h"

/* Blobs that one `git log` is asked about: its command line has an end. */
#define BLOBS_AT_ONCE 1000

/* ---- what remotes were sent ------------------------------------------------------------------ */

static int compare_blobs(const void *a, const void *b)
{
	const struct remote_blob *const *x = a;
	const struct remote_blob *const *y = b;

	return strcmp((*x)->blob, (*y)->blob);
}

static int compare_name(const void *name, const void *blob)
{
	const struct remote_blob *const *x = blob;

	return strncmp(name, (*x)->blob, BLOB_HEX_SIZE);
}

/* The blobs in the order of their names, none marked yet. Caller frees; NULL when memory is short.
 */
static struct remote_blob **sort_blobs(struct remote_blob *blobs, size_t count)
{
	struct remote_blob **sorted = calloc(count + 1, sizeof(struct remote_blob *));

	for (size_t i = 0; i < count && sorted; i++) {
		blobs[i].found = false;
		sorted[i] = &blobs[i];
	}
	if (sorted)
		qsort(sorted, count, sizeof(struct remote_blob *), compare_blobs);
	return sorted;
}

/* Marks a blob that git named, and whoever asked for the same one, as found or not. */
static void mark(struct remote_blob **sorted, size_t count, const char *name, bool is_found)
{
	struct remote_blob **found = bsearch(name, sorted, count, sizeof(*sorted), compare_name);
	size_t at;

	if (!found)
		return;
	at = (size_t)(found - sorted);
	while (at > 0 && compare_name(name, &sorted[at - 1]) == 0)
		at--;
	for (; at < count && compare_name(name, &sorted[at]) == 0; at++)
		sorted[at]->found = is_found;
}

/* Takes lines ":MODE MODE BLOB BLOB LETTER<tab>PATH". */
static void take_changes(char *text, struct remote_blob **sorted, size_t count)
{
	const size_t first = 15;
	const size_t second = first + BLOB_HEX_SIZE + 1;
	char *rest;

	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		if (*line != ':' || strlen(line) < second + BLOB_HEX_SIZE)
			continue;
		mark(sorted, count, line + first, true);
		mark(sorted, count, line + second, true);
	}
}

/* Asks about a part of the list. */
static int ask_remotes(const struct repository *repository, struct remote_blob **sorted,
		       size_t count)
{
	static const char *const first[] = {"-c",       "log.showRoot=true", "log",   "--remotes",
					    "-m",       "--no-renames",      "--raw", "--no-abbrev",
					    "--format="};
	static const char option[] = "--find-object=";
	const size_t first_count = sizeof(first) / sizeof(first[0]);
	const size_t size = sizeof(option) + BLOB_HEX_SIZE;
	const char **args = calloc(first_count + count + 1, sizeof(*args));
	char *options = malloc(count * size);
	struct buffer text = BUFFER_INIT;
	int rc = -1;

	if (!args || !options) {
		report_error("out of memory");
		goto out;
	}
	memcpy(args, first, sizeof(first));
	for (size_t i = 0; i < count; i++) {
		snprintf(options + i * size, size, "%s%s", option, sorted[i]->blob);
		args[first_count + i] = options + i * size;
	}
	rc = repository_git_reported(repository, NULL,
				     (struct git_run){.args = args, .output = &text},
				     "git cannot search what remotes were sent");
	buffer_u8(&text, 0);
	if (rc == 0 && buffer_failed(&text))
		rc = report_error("out of memory");
	if (rc == 0)
		take_changes((char *)text.data, sorted, count);
out:
	buffer_release(&text);
	free(options);
	free(args);
	return rc;
}

int repository_find_on_remotes(const struct repository *repository, struct remote_blob *blobs,
			       size_t count)
{
	struct remote_blob **sorted = sort_blobs(blobs, count);
	int rc = 0;

	if (!sorted)
		return report_error("out of memory");
	for (size_t at = 0; at < count && rc == 0; at += BLOBS_AT_ONCE)
		rc = ask_remotes(repository, sorted + at,
				 count - at < BLOBS_AT_ONCE ? count - at : BLOBS_AT_ONCE);
	free(sorted);
	return rc;
}

/* ---- symbolic links -------------------------------------------------------------------------- */

/* Takes lines ":MODE MODE BLOB BLOB LETTER<tab>PATH": marks the blobs of links first, then takes
 * the mark from those that are files elsewhere. */
static void take_links(const char *text, bool links, struct remote_blob **sorted, size_t count)
{
	const size_t second_mode = 8;
	const size_t second_blob = 15 + BLOB_HEX_SIZE + 1;

	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line != 0) {
		bool is_link;

		if (*line != ':' || strcspn(line, "\n") < second_blob + BLOB_HEX_SIZE)
			continue;
		is_link = strncmp(line + second_mode, "120000", 6) == 0;
		if (is_link == links)
			mark(sorted, count, line + second_blob, links);
	}
}

/* Runs `git log` with these options and arguments of the caller for changes of files, and takes
 * what it says. paths is one pathspec, or NULL. */
static int list_changes(const struct repository *repository, const char *const *arguments,
			const char *option, const char *paths, struct buffer *text)
{
	static const char *const first[] = {"-c",           "log.showRoot=true",
					    "-c",           "log.diffMerges=separate",
					    "log",          "-m",
					    "--no-renames", "--raw",
					    "--no-abbrev",  "--no-ext-diff",
					    "--format="};
	const size_t first_count = sizeof(first) / sizeof(first[0]);
	size_t count = 0;
	const char **args;
	int rc;

	while (arguments[count])
		count++;
	args = calloc(first_count + count + 4, sizeof(*args));
	if (!args)
		return report_error("out of memory");
	memcpy(args, first, sizeof(first));
	memcpy(args + first_count, arguments, count * sizeof(*args));
	count += first_count;
	if (option)
		args[count++] = option;
	args[count++] = "--"; /* none of the arguments is a path */
	args[count] = paths;
	rc = repository_git_reported(repository, NULL,
				     (struct git_run){.args = args, .output = text},
				     "git cannot list the changes in question");
	buffer_u8(text, 0);
	free(args);
	return rc == 0 && buffer_failed(text) ? report_error("out of memory") : rc;
}

int repository_find_links(const struct repository *repository, const char *const *arguments,
			  struct remote_blob *blobs, size_t count)
{
	struct remote_blob **sorted = sort_blobs(blobs, count);
	struct buffer text = BUFFER_INIT;
	int rc = sorted ? list_changes(repository, arguments, NULL, NULL, &text)
			: report_error("out of memory");

	if (rc == 0) {
		take_links((const char *)text.data, true, sorted, count);
		take_links((const char *)text.data, false, sorted, count);
	}
	buffer_release(&text);
	free(sorted);
	return rc;
}

/* ---- names with line feeds ------------------------------------------------------------------- */

/* The whole name of a blob whose name was cut, among changes ":MODE MODE BLOB BLOB LETTER NUL PATH
 * NUL"; NULL if there is none. */
static const char *whole_name(const struct buffer *changes, const char *blob, const char *cut)
{
	const size_t second = 15 + BLOB_HEX_SIZE + 1;
	size_t len = strlen(cut);

	for (size_t at = 0; at < changes->size;) {
		const char *change = (const char *)changes->data + at;
		const char *path;

		at += strlen(change) + 1;
		if (*change != ':' || strlen(change) < second + BLOB_HEX_SIZE ||
		    at >= changes->size)
			continue;
		path = (const char *)changes->data + at;
		at += strlen(path) + 1;
		if (strncmp(change + second, blob, BLOB_HEX_SIZE) == 0 &&
		    strncmp(path, cut, len) == 0 && path[len] == '\n')
			return path;
	}
	return NULL;
}

int repository_complete_names(const struct repository *repository, const char *const *arguments,
			      struct file_list *list)
{
	const struct found_file *file = (const struct found_file *)(void *)list->files.data;
	const char *path = (const char *)list->paths.data;
	struct buffer changes = BUFFER_INIT;
	struct buffer paths = BUFFER_INIT;
	int rc = list_changes(repository, arguments, "-z", ":(top)*\n*", &changes);

	/* One byte is the end that list_changes adds: nothing was found. */
	if (rc < 0 || changes.size == 1)
		goto out;
	for (size_t i = 0; i < file_list_count(list); i++, path += strlen(path) + 1) {
		const char *whole = whole_name(&changes, file[i].blob, path);

		whole = whole ? whole : path;
		buffer_append(&paths, whole, strlen(whole) + 1);
	}
	if (buffer_failed(&paths)) {
		rc = report_error("out of memory");
		goto out;
	}
	buffer_release(&list->paths);
	list->paths = paths;
	paths = (struct buffer)BUFFER_INIT;
out:
	buffer_release(&paths);
	buffer_release(&changes);
	return rc;
}

/* ---- partial clones -------------------------------------------------------------------------- */

/* The remote that promised what is missing. NULL if none says so. Caller frees. */
static char *find_promisor(const struct repository *repository)
{
	static const char *const args[] = {
		"config", "-z", "--type=bool", "--get-regexp", "^remote\\..*\\.promisor$", NULL};
	static const char prefix[] = "remote.";
	static const char suffix[] = ".promisor";
	struct buffer text = BUFFER_INIT;
	struct buffer errors = BUFFER_INIT;
	struct git_run run = {.args = args, .output = &text, .errors = &errors};
	char *name = NULL;

	/* "remote.NAME.promisor LF true NUL" */
	if (repository_git(repository, NULL, run) == 0 && !buffer_failed(&text)) {
		for (size_t at = 0; at < text.size && !name;) {
			const char *entry = (const char *)text.data + at;
			size_t key = strcspn(entry, "\n");

			at += strlen(entry) + 1;
			if (strcmp(entry + key, "\ntrue") == 0)
				name = strndup(entry + strlen(prefix),
					       key - strlen(prefix) - strlen(suffix));
		}
	}
	buffer_release(&errors);
	buffer_release(&text);
	return name;
}

static void fetch_all(const struct repository *repository, const struct buffer *names)
{
	char *remote = find_promisor(repository);
	/* What git itself runs for objects that it misses. */
	const char *const fetch[] = {"-c",
				     "fetch.negotiationAlgorithm=noop",
				     "fetch",
				     "--quiet",
				     "--no-tags",
				     "--no-write-fetch-head",
				     "--no-auto-maintenance",
				     "--recurse-submodules=no",
				     "--filter=blob:none",
				     "--stdin",
				     remote,
				     NULL};
	/* Without a name for the remote git still knows where to look, object by object. */
	static const char *const look[] = {"cat-file", "--batch-check", NULL};
	struct buffer output = BUFFER_INIT;

	repository_git_reported(repository, NULL,
				(struct git_run){.args = remote ? fetch : look,
						 .input = names->data,
						 .input_len = names->size,
						 .output = &output},
				"git cannot fetch what this partial clone lacks");
	buffer_release(&output);
	free(remote);
}

int repository_note_lacking(struct lacking_blobs *lacking, const struct tracked_file *file)
{
	if (lacking->fetched) {
		report_error(
			"%s: its pointer (blob %.12s) is not in this clone, or cannot be read; "
			"`git fetch` from the remote, then try again",
			file->path, file->blob);
		return 1;
	}
	buffer_append(&lacking->names, file->blob, BLOB_HEX_SIZE);
	buffer_u8(&lacking->names, '\n');
	return buffer_failed(&lacking->names) ? report_error("out of memory") : 0;
}

bool repository_fetch_lacking(const struct repository *repository, struct lacking_blobs *lacking)
{
	if (!lacking->names.size)
		return false;
	fetch_all(repository, &lacking->names);
	lacking->fetched = true;
	buffer_release(&lacking->names);
	return true;
}
