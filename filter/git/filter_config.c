/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/git/filter_config.h"

#include <stdlib.h>
#include <string.h>

#include "filter/git/git_run.h"
#include "filter/cli/report.h"
#include "filter/git/repository.h"

#define STORE_AGENT "lfs.customtransfer.brevis."
#define HUB_AGENT   "lfs.customtransfer.multipart."

/* Nothing of "lfs.standalonetransferagent" alone: that would take all transfers away from hubs. */
const struct filter_setting filter_settings[FILTER_SETTINGS_ALL] = {
	{"filter.brevis.clean", "git-brevis clean -- %f", NULL},
	{"filter.brevis.smudge", "git-brevis smudge -- %f", NULL},
	{"filter.brevis.process", "git-brevis filter-process", NULL},
	{"filter.brevis.required", "true", NULL},

	{"diff.brevis.command", "git-brevis diff-driver", NULL},
	{"diff.brevis.textconv", "git-brevis textconv", NULL},

	{"merge.brevis.name", "tensors of safetensors files", NULL},
	{"merge.brevis.driver", "git-brevis merge-driver %O %A %B %L %P", NULL},
	{"merge.brevis.recursive", "binary", NULL},

	{"lfs.brevis::.standalonetransferagent", "brevis", NULL},
	{STORE_AGENT "path", AGENT_PROGRAM, NULL},
	{STORE_AGENT "args", "transfer", STORE_AGENT "path"},
	{STORE_AGENT "concurrent", "false", STORE_AGENT "path"},

	{HUB_AGENT "path", AGENT_PROGRAM, NULL},
	{HUB_AGENT "args", "transfer --multipart", HUB_AGENT "path"},
	{HUB_AGENT "concurrent", "false", HUB_AGENT "path"},
};

int config_scope_choose(const struct scope_options *options, struct config_scope *out)
{
	int given = options->local + options->worktree + options->system + (options->file != NULL);

	if (given > 1)
		return report_error("--local, --worktree, --system and --file exclude each other");
	*out = (struct config_scope){"--global", NULL};
	if (options->local)
		out->option = "--local";
	else if (options->worktree)
		out->option = "--worktree";
	else if (options->system)
		out->option = "--system";
	else if (options->file)
		*out = (struct config_scope){"--file", options->file};
	return 0;
}

int config_scope_check(const struct config_scope *scope)
{
	bool is_repository =
		strcmp(scope->option, "--local") == 0 || strcmp(scope->option, "--worktree") == 0;

	if (!is_repository || repository_is_here())
		return 0;
	return report_error("%s concerns a git repository, and there is none here; go into one",
			    scope->option);
}

/* Fills args: config SCOPE [FILE] MORE... */
static void compose(const char **args, const struct config_scope *scope, const char *const *more)
{
	*args++ = "config";
	*args++ = scope->option;
	if (scope->file)
		*args++ = scope->file;
	while (*more)
		*args++ = *more++;
	*args = NULL;
}

int config_scope_get(const struct config_scope *scope, const char *key, char **value)
{
	const char *args[8];
	struct buffer text = BUFFER_INIT;
	struct buffer errors = BUFFER_INIT;
	int rc;

	compose(args, scope, (const char *const[]){"--get", key, NULL});
	rc = git_run(&(struct git_run){.args = args, .output = &text, .errors = &errors});
	if (rc == 0 && text.size) {
		text.data[text.size - 1] = 0; /* the line feed */
		*value = (char *)text.data;
		text = (struct buffer)BUFFER_INIT;
		rc = 1;
	} else if (rc > 1 && errors.size) {
		rc = report_error("cannot read %s (%s): %s; mend that file", key, scope->option,
				  git_errors_line(&errors));
	} else if (rc > 0) {
		rc = 0; /* not set; a scope without a file says so with 1 */
	}
	buffer_release(&errors);
	buffer_release(&text);
	return rc;
}

/* Runs `git config` with these arguments to change a key. Reports and returns -1 on failure. */
static int change(const struct config_scope *scope, const char *key, const char *const *more)
{
	const char *args[9];
	struct buffer errors = BUFFER_INIT;
	int rc;

	compose(args, scope, more);
	rc = git_run(&(struct git_run){.args = args, .errors = &errors});
	if (rc > 0)
		rc = report_error(
			"cannot set %s (%s): %s; make that file and its directory writable", key,
			scope->option, git_errors_line(&errors));
	buffer_release(&errors);
	return rc;
}

int config_scope_set(const struct config_scope *scope, const char *key, const char *value)
{
	return change(scope, key, (const char *const[]){"--replace-all", key, value, NULL});
}

/* A key may have several values: only those that are ours go. */
int config_scope_unset(const struct config_scope *scope, const char *key, const char *ours)
{
	char *value = NULL;
	int rc = config_scope_get(scope, key, &value);

	if (rc > 0 && strcmp(value, ours) == 0) {
		free(value);
		value = NULL;
		rc = change(scope, key,
			    (const char *const[]){"--fixed-value", "--unset-all", key, ours, NULL});
		if (rc == 0)
			rc = config_scope_get(scope, key, &value);
	}
	if (rc > 0)
		report_note("%s is set to '%s', not by `git brevis install`; it stays", key, value);
	free(value);
	return rc < 0 ? -1 : 0;
}
