/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Configuration, as git sees it: asked of git itself, once, because libgit2 knows neither `git -c`
 * nor GIT_CONFIG_COUNT, nor what includes depend on. That child takes about two milliseconds.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "filter/cli/report.h"
#include "filter/git/repository_private.h"

/* Entries are "key\nvalue\0", or "key\0" for a key without "=", which means true. */
static void load(struct repository *repository)
{
	const char *args[] = {"config", "--list", "-z", NULL};
	struct buffer errors = BUFFER_INIT;
	struct git_run run = {.args = args, .output = &repository->config, .errors = &errors};

	repository->config_loaded = true;
	if (repository_git(repository, NULL, run) != 0 || buffer_failed(&repository->config)) {
		report_warning("git cannot read its configuration (%s); defaults are in force",
			       git_errors_line(&errors));
		buffer_clear(&repository->config);
	}
	buffer_release(&errors);
	/* A damaged last entry must not be read past its end. */
	buffer_u8(&repository->config, 0);
	if (buffer_failed(&repository->config))
		buffer_release(&repository->config);
}

/* Section and variable name ignore case, what stands between the first and last dot does not. */
static bool same_key(const char *entry, size_t len, const char *key)
{
	const char *first = strchr(key, '.');
	const char *last = strrchr(key, '.');
	size_t head = first ? (size_t)(first - key) : 0;
	size_t tail = last ? (size_t)(last - key) : 0;

	if (strlen(key) != len || !first)
		return false;
	return strncasecmp(entry, key, head) == 0 &&
	       strncmp(entry + head, key + head, tail - head) == 0 &&
	       strncasecmp(entry + tail, key + tail, len - tail) == 0;
}

/* Finds the last entry of a key in a list. *value is NULL if it has none. Returns false if it is
 * not set. */
static bool find_in(const struct buffer *config, const char *key, const char **value)
{
	const char *at = (const char *)config->data;
	const char *end;
	bool found = false;

	for (end = at + config->size; at < end; at += strlen(at) + 1) {
		size_t len = strcspn(at, "\n");

		if (!same_key(at, len, key))
			continue;
		*value = at[len] ? at + len + 1 : NULL;
		found = true;
	}
	return found;
}

static bool find(const struct repository *repository, const char *key, const char **value)
{
	/* A cache filled by the first question; callers need not know. */
	struct repository *self = (struct repository *)(uintptr_t)repository;

	if (!self->config_loaded)
		load(self);
	return find_in(&self->config, key, value);
}

char *repository_config(const struct repository *repository, const char *key)
{
	const char *value;

	if (!find(repository, key, &value))
		return NULL;
	return strdup(value ? value : "true");
}

/* Reads a whole number with git's suffixes k, m and g. */
static bool parse_number(const char *text, int64_t *out)
{
	static const char suffixes[] = "kmg";
	int64_t number;
	char *end;

	errno = 0;
	number = strtoll(text, &end, 0);
	if (errno || end == text)
		return false;
	if (*end) {
		const char *suffix = strchr(suffixes, tolower((unsigned char)*end));

		if (!suffix || end[1])
			return false;
		for (const char *s = suffixes; s <= suffix; s++)
			if (__builtin_mul_overflow(number, 1024, &number))
				return false;
	}
	*out = number;
	return true;
}

bool repository_config_bool(const struct repository *repository, const char *key, bool unset)
{
	static const char *const yes[] = {"true", "yes", "on"};
	static const char *const no[] = {"false", "no", "off", ""};
	const char *value;
	int64_t number;

	if (!find(repository, key, &value))
		return unset;
	if (!value)
		return true;
	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		if (strcasecmp(value, yes[i]) == 0)
			return true;
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		if (strcasecmp(value, no[i]) == 0)
			return false;
	if (parse_number(value, &number))
		return number != 0;
	report_warning("%s = %s in git's configuration is neither true nor false; taken as %s", key,
		       value, unset ? "true" : "false");
	return unset;
}

int64_t repository_config_int(const struct repository *repository, const char *key, int64_t unset)
{
	const char *value;
	int64_t number;

	if (!find(repository, key, &value))
		return unset;
	if (value && parse_number(value, &number))
		return number;
	report_warning("%s = %s in git's configuration is not a number; taken as %lld", key,
		       value ? value : "", (long long)unset);
	return unset;
}

/* ---- .lfsconfig ------------------------------------------------------------------------------
 * What a repository's authors commit. It is read as git-lfs does: the file in the work tree, else
 * that of the index, else that of HEAD. Other than by git-lfs, what it includes is not read, and it
 * is not read through a link: either may name any file of this machine. */

/* Reads a .lfsconfig. Returns true if there is one, even one that git cannot read. */
static bool load_lfsconfig(struct repository *repository, const char *option, const char *what)
{
	const char *args[] = {"config", "--no-includes", option, what, "--list", "-z", NULL};
	struct buffer *config = &repository->lfsconfig;
	struct buffer errors = BUFFER_INIT;
	struct git_run run = {.args = args, .output = config, .errors = &errors};
	bool is_file = strcmp(option, "--file") == 0;
	int rc = repository_git(repository, NULL, run);

	if (rc != 0 && is_file)
		report_warning("git cannot read .lfsconfig (%s); it is passed over",
			       git_errors_line(&errors));
	buffer_release(&errors);
	if (rc == 0)
		buffer_u8(config, 0);
	if (rc != 0 || buffer_failed(config))
		buffer_release(config);
	return rc == 0 || is_file;
}

static void find_lfsconfig(struct repository *repository)
{
	const char *top = repository->work_tree;
	char *path = NULL;
	struct stat st;
	bool in_work_tree;

	repository->lfsconfig_loaded = true;
	if (top && asprintf(&path, "%s/.lfsconfig", top) < 0)
		return;
	in_work_tree = path && lstat(path, &st) == 0;
	free(path);
	/* A link may lead to any file of this machine, or to a pipe that never ends. */
	if (in_work_tree && !S_ISREG(st.st_mode))
		report_warning(".lfsconfig is no regular file; it is passed over; put a file with "
			       "its lines in its place");
	else if (in_work_tree)
		load_lfsconfig(repository, "--file", ".lfsconfig");
	else if (!top || !load_lfsconfig(repository, "--blob", ":.lfsconfig"))
		load_lfsconfig(repository, "--blob", "HEAD:.lfsconfig");
}

char *repository_lfsconfig(const struct repository *repository, const char *key)
{
	struct repository *self = (struct repository *)(uintptr_t)repository;
	const char *value;

	if (!self->lfsconfig_loaded)
		find_lfsconfig(self);
	if (!find_in(&self->lfsconfig, key, &value))
		return NULL;
	return strdup(value ? value : "true");
}
