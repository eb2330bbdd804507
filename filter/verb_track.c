/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "filter/git/attributes_file.h"
#include "filter/cli/command.h"
#include "filter/git/git_run.h"
#include "filter/git/guard.h"
#include "filter/git/hooks_setup.h"
#include "filter/cli/json_output.h"
#include "filter/cli/options.h"
#include "filter/cli/report.h"
#include "filter/git/repository.h"
#include "filter/cli/text.h"
#include "filter/work/work_file.h"

/* ---- listing --------------------------------------------------------------------------------- */

struct listing {
	const char *file;         /* as it is shown */
	struct json_output *json; /* NULL: text */
	bool any;
};

/* Prints "BEFORE PATTERN AFTER": patterns may come from a stranger's repository. */
static void print_around(const char *before, const char *pattern, const char *after)
{
	fputs(before, stdout);
	print_path(stdout, pattern);
	fputs(after, stdout);
}

static void print_pattern(void *ctx, const char *pattern, bool tracked)
{
	struct listing *listing = ctx;

	if (!tracked)
		return;
	if (listing->json) {
		json_open(listing->json, NULL, '{');
		json_string(listing->json, "pattern", pattern);
		json_string(listing->json, "source", listing->file);
		json_close(listing->json);
		return;
	}
	if (!listing->any)
		printf("Patterns that git-brevis keeps:\n");
	listing->any = true;
	print_around("    ", pattern, "");
	print_around(" (", listing->file, ")\n");
}

static int list_in(const struct repository *repository, const char *name, struct listing *listing)
{
	const char *dir = name[0] == '/' ? "" : repository_work_tree(repository);
	struct attributes_file *file;
	char *path;

	if (asprintf(&path, "%s/%s", dir, name) < 0)
		return report_error("out of memory");
	file = attributes_file_load(path);
	free(path);
	if (!file)
		return -1;
	listing->file = name;
	attributes_file_each(file, print_pattern, listing);
	attributes_file_free(file);
	return 0;
}

/* Runs `git ls-files` with pathspecs of ours: what the user made of all pathspecs does not apply.
 */
static int list_names(const char *const *args, struct buffer *names)
{
	static const char *const env[] = {"GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS",
					  "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS", NULL};
	struct buffer errors = BUFFER_INIT;
	int rc = git_run(
		&(struct git_run){.args = args, .env = env, .output = names, .errors = &errors});

	if (rc > 0)
		rc = report_error("git cannot list files: %s", git_errors_line(&errors));
	buffer_release(&errors);
	return rc;
}

/* Goes through every .gitattributes of the work tree, and the repository's own file. */
static int list_patterns(const struct repository *repository, struct json_output *json)
{
	static const char *const args[] = {"ls-files",
					   "-z",
					   "--full-name",
					   "--cached",
					   "--others",
					   "--exclude-standard",
					   "--deduplicate",
					   "--",
					   ":(top,glob)**/.gitattributes",
					   NULL};
	struct listing listing = {.json = json};
	struct buffer names = BUFFER_INIT;
	char *own = NULL;
	int rc = list_names(args, &names);

	if (json) {
		json_open(json, NULL, '{');
		json_open(json, "patterns", '[');
	}
	for (size_t at = 0; rc == 0 && at < names.size;
	     at += strlen((const char *)names.data + at) + 1)
		rc = list_in(repository, (const char *)names.data + at, &listing);
	if (rc == 0 && asprintf(&own, "%s/info/attributes", repository_common_dir(repository)) < 0)
		own = NULL;
	if (rc == 0 && own)
		rc = list_in(repository, own, &listing);
	if (rc == 0 && !listing.any && !json)
		report_note("no pattern is tracked; `git brevis track '*.safetensors'` adds one");
	if (json) {
		json_close(json);
		json_close(json);
	}
	free(own);
	buffer_release(&names);
	return rc;
}

static int list(const struct repository *repository, bool as_json)
{
	struct json_output *json = as_json ? json_begin() : NULL;

	if (as_json && !json)
		return -1;
	return json_end(json, list_patterns(repository, json));
}

/* ---- what already is there ------------------------------------------------------------------- */

/* git does not look at a file again until it changes, or seems to. */
static int touch_raw(void *ctx, const struct tracked_file *file)
{
	const char *top = ctx;
	int fd;

	if (file->is_pointer || file->blob_missing || file->blob_size == 0 || file->skip_worktree)
		return 0;
	fd = work_file_open(top, file->path);
	if (fd < 0)
		return 0;
	if (futimens(fd, NULL) == 0)
		report_note("%s is stored raw so far; `git add` keeps it compressed from now on",
			    file->path);
	close(fd);
	return 0;
}

/* "*.safetensors" becomes "*.[sS][aA]...": what matches in any case. */
static char *any_case(const char *pattern)
{
	struct buffer text = BUFFER_INIT;
	bool inside = false;

	for (; *pattern; pattern++) {
		int c = (unsigned char)*pattern;

		if (!inside && isalpha(c)) {
			char both[4] = {'[', (char)tolower(c), (char)toupper(c), ']'};

			buffer_append(&text, both, sizeof(both));
		} else {
			buffer_u8(&text, (uint8_t)c);
		}
		inside = inside ? c != ']' : c == '[';
	}
	buffer_u8(&text, 0);
	if (!buffer_failed(&text))
		return (char *)text.data;
	buffer_release(&text);
	return NULL;
}

/* Asks git which files a pathspec matches; output as from `ls-files -z`. */
static int list_matches(const char *magic, const char *pattern, struct buffer *names)
{
	const char *deep = strchr(pattern, '/') ? "" : "**/";
	const char *args[] = {"ls-files",      "-z", "--cached", "--others", "--exclude-standard",
			      "--deduplicate", "--", NULL,       NULL};
	char *spec;
	int rc;

	if (asprintf(&spec, ":(%s)%s%s", magic, deep, pattern + (*pattern == '/')) < 0)
		return report_error("out of memory");
	args[7] = spec;
	rc = list_names(args, names);
	free(spec);
	return rc;
}

/* X.SAFETENSORS is not matched by *.safetensors, which people notice when it is too late. */
static void warn_of_other_case(const struct repository *repository, const char *pattern)
{
	struct buffer exact = BUFFER_INIT;
	struct buffer other = BUFFER_INIT;
	char *wider = NULL;

	if (repository_config_bool(repository, "core.ignorecase", false))
		return;
	if (list_matches("glob", pattern, &exact) == 0 &&
	    list_matches("icase,glob", pattern, &other) == 0 && other.size > exact.size)
		wider = any_case(pattern);
	if (wider)
		report_warning("some files match '%s' but for upper and lower case, and are not "
			       "tracked; `git brevis track '%s'` tracks them too",
			       pattern, wider);
	free(wider);
	buffer_release(&exact);
	buffer_release(&other);
}

/* ---- patterns that are no good --------------------------------------------------------------- */

/* A path that a pattern matches, or nearly so: wildcards become one character. Caller frees. */
static char *sample_of(const char *prefix, const char *pattern)
{
	struct buffer text = BUFFER_INIT;

	buffer_append(&text, prefix, strlen(prefix));
	for (pattern += *pattern == '/'; *pattern; pattern++) {
		const char *end = *pattern == '[' ? strchr(pattern + 1, ']') : NULL;

		if (strncmp(pattern, "[[:space:]]", 11) == 0) {
			buffer_u8(&text, ' ');
			pattern += 10;
		} else if (end) {
			buffer_u8(&text, (uint8_t)pattern[1]);
			pattern = end;
		} else if (*pattern == '*' || *pattern == '?') {
			buffer_u8(&text, 'x');
		} else {
			pattern += *pattern == '\\' && pattern[1];
			buffer_u8(&text, (uint8_t)*pattern);
		}
	}
	buffer_u8(&text, 0);
	if (!buffer_failed(&text))
		return (char *)text.data;
	buffer_release(&text);
	return NULL;
}

/* Asks git what became of a pattern: another line, file or macro may have the last word. */
static void warn_of_other_lines(const struct repository *repository, const char *prefix,
				const char *pattern)
{
	char *sample = sample_of(prefix, pattern);
	bool filtered;
	bool hidden;

	if (sample && repository_path_attributes(repository, sample, &filtered, &hidden) == 0) {
		if (hidden)
			attributes_warn_of_hidden(sample, 1);
		else if (!filtered &&
			 fnmatch(pattern + (*pattern == '/'), sample + strlen(prefix), 0) == 0)
			report_warning(
				"'%s' is tracked, but another line keeps git from passing %s to "
				"git-brevis; `git check-attr -a -- PATH` shows what is in force",
				pattern, sample);
	}
	free(sample);
}

/* True for files that git or git-lfs have to read as they are. */
static bool is_for_git(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	return strncmp(name, ".git", 4) == 0 || strcmp(name, ".lfsconfig") == 0;
}

/* A file for git that a pattern matches: one that is there, or one that will be. NULL if there is
 * none. The name lives in names or for ever. */
static const char *match_for_git(const char *pattern, struct buffer *names)
{
	static const char *const usual[] = {".gitattributes", ".gitignore", ".gitmodules",
					    ".lfsconfig"};
	const char *name = pattern + (*pattern == '/');

	if (strncmp(name, "**/", 3) == 0)
		name += 3;
	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]) && !strchr(name, '/'); i++)
		if (fnmatch(name, usual[i], 0) == 0)
			return usual[i];
	if (is_for_git(name))
		return name;
	if (list_matches("glob", pattern, names) != 0)
		return NULL;
	for (size_t at = 0; at < names->size; at += strlen((const char *)names->data + at) + 1)
		if (is_for_git((const char *)names->data + at))
			return (const char *)names->data + at;
	return NULL;
}

static int refuse_if_for_git(const char *pattern)
{
	struct buffer names = BUFFER_INIT;
	const char *name = match_for_git(pattern, &names);

	if (name)
		report_error(
			"'%s' would match %s, which git has to read as it is; nothing was changed; "
			"choose a pattern that names your files, like '*.safetensors'",
			pattern, name);
	buffer_release(&names);
	return name ? -1 : 0;
}

/* ---- tracking -------------------------------------------------------------------------------- */

static int track_one(const struct repository *repository, struct attributes_file *file,
		     const char *prefix, const char *pattern, bool guard, bool *guard_changed)
{
	enum attributes_change change = attributes_file_track(file, pattern);

	if (change == ATTRIBUTES_FAILED ||
	    (guard && guard_set(repository, prefix, pattern, true, guard_changed) < 0) ||
	    attributes_file_save(file) < 0)
		return -1;
	if (change == ATTRIBUTES_CHANGED)
		print_around("Tracking '", pattern, "'\n");
	else
		print_around("'", pattern, "' is tracked already\n");
	warn_of_other_case(repository, pattern);
	warn_of_other_lines(repository, prefix, pattern);
	return 0;
}

static int track_all(struct repository *repository, char **typed, int count, bool literal,
		     bool guard)
{
	char *prefix = repository_prefix(repository);
	struct attributes_file *file = prefix ? attributes_file_load(".gitattributes") : NULL;
	bool guard_changed = false;
	int rc = file ? 0 : -1;

	for (int i = 0; i < count && rc == 0; i++) {
		char *pattern = attributes_pattern(typed[i], literal);
		const char *fault = pattern ? attributes_pattern_fault(pattern) : NULL;

		if (fault)
			rc = report_error("'%s' %s; nothing was changed", typed[i], fault);
		else
			rc = pattern ? refuse_if_for_git(pattern) : report_error("out of memory");
		free(pattern);
	}
	for (int i = 0; i < count && rc == 0; i++) {
		char *pattern = attributes_pattern(typed[i], literal);

		rc = pattern ? track_one(repository, file, prefix, pattern, guard, &guard_changed)
			     : report_error("out of memory");
		free(pattern);
	}
	if (rc == 0 && guard_changed)
		report_note(".lfsconfig now keeps a git-lfs without git-brevis from touching these "
			    "files; commit it with .gitattributes");
	attributes_file_free(file);
	free(prefix);
	return rc;
}

static void warn_if_not_installed(const struct repository *repository)
{
	char *process = repository_config(repository, "filter.brevis.process");

	if (!process)
		report_warning("the filter is not set up, so nothing is compressed yet; run `git "
			       "brevis install`");
	free(process);
}

int verb_track(const struct command *self, int argc, char **argv)
{
	bool no_guard = false;
	bool literal = false;
	bool json = false;
	const struct option_spec table[] = {
		{.name = "no-guard",
		 .flag = &no_guard,
		 .help = "do not write lfs.fetchexclude to .lfsconfig"},
		{.name = "filename",
		 .flag = &literal,
		 .help = "take * ? [ ] as parts of a file's name"},
		{.name = "json", .flag = &json, .help = "list the patterns in JSON"},
		{0}};
	struct repository *repository;
	int code;
	int count = options_parse(self, argc, argv, table, &code);
	int rc;

	if (count < 0)
		return code;
	if (count && json)
		return command_usage(self, 0);
	for (int i = 0; i < count; i++) {
		if (*argv[i])
			continue;
		report_error("track: a pattern is empty; name files, like '*.safetensors'");
		return EXIT_USAGE;
	}
	if (repository_open(&repository) < 0)
		return EXIT_FATAL;
	if (!repository_work_tree(repository)) {
		rc = report_error(
			"there is no work tree here whose files could be tracked; run it in "
			"a clone");
	} else if (count == 0) {
		rc = list(repository, json);
	} else {
		rc = track_all(repository, argv, count, literal, !no_guard);
		hooks_ensure(repository);
		hooks_warn(repository);
		if (rc == 0)
			rc = repository_each_tracked(
				repository, NULL, NULL, 0, touch_raw,
				(void *)(uintptr_t)repository_work_tree(repository));
		warn_if_not_installed(repository);
	}
	repository_free(repository);
	return rc < 0 ? EXIT_FATAL : EXIT_DONE;
}
