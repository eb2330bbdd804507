/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "filter/work/checkout.h"
#include "filter/cli/command.h"
#include "filter/git/git_run.h"
#include "filter/git/hooks_setup.h"
#include "filter/cli/options.h"
#include "filter/cli/progress.h"

/* True if a word is the name of a remote. */
static bool is_remote(const struct repository *repository, const char *word)
{
	char *key;
	char *url = NULL;

	if (asprintf(&key, "remote.%s.url", word) >= 0) {
		url = repository_config(repository, key);
		free(key);
	}
	free(url);
	return url != NULL;
}

/* Adds a setting for our children, as `git -c` would. */
static void set_config(const char *key, const char *value)
{
	const char *text = getenv("GIT_CONFIG_COUNT");
	unsigned count = 0;
	char name[64];

	if (text && !option_number(text, 1000000, &count))
		return; /* git will say that it is no number */
	snprintf(name, sizeof(name), "GIT_CONFIG_KEY_%u", count);
	setenv(name, key, 1);
	snprintf(name, sizeof(name), "GIT_CONFIG_VALUE_%u", count);
	setenv(name, value, 1);
	snprintf(name, sizeof(name), "%u", count + 1);
	setenv("GIT_CONFIG_COUNT", name, 1);
}

/* Has git-lfs download from a remote: it takes that of the branch, or else the default. */
static void choose_remote(const char *remote)
{
	static const char *const args[] = {"symbolic-ref", "--short", "--quiet", "HEAD", NULL};
	struct buffer branch = BUFFER_INIT;
	struct buffer errors = BUFFER_INIT;
	char *key = NULL;

	set_config("remote.lfsdefault", remote);
	if (git_run(&(struct git_run){.args = args, .output = &branch, .errors = &errors}) == 0 &&
	    branch.size > 1 && !buffer_failed(&branch) &&
	    asprintf(&key, "branch.%.*s.remote", (int)branch.size - 1, (char *)branch.data) >= 0)
		set_config(key, remote);
	free(key);
	buffer_release(&branch);
	buffer_release(&errors);
}

/* Like checkout, but what is missing is downloaded first, all of it together. */
int verb_pull(const struct command *self, int argc, char **argv)
{
	struct progress_choice progress = {.on = false};
	const struct option_spec table[] = {PROGRESS_OPTIONS(progress), {0}};
	struct workspace ws;
	int code;
	int count = options_parse(self, argc, argv, table, &code);

	if (count < 0)
		return code;
	progress_choose(&progress);
	if (workspace_open(&ws) < 0)
		return EXIT_FATAL;
	/* As in `git lfs pull REMOTE`; a file of that name comes first. */
	if (count && !repository_is_file(ws.repository, argv[0]) &&
	    is_remote(ws.repository, argv[0])) {
		choose_remote(argv[0]);
		argv++;
		count--;
	}
	code = checkout_files(&ws, (const char *const *)argv, (size_t)count, CHECKOUT_PULL);
	hooks_ensure(ws.repository);
	hooks_warn(ws.repository);
	workspace_close(&ws);
	return code;
}
