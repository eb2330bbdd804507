/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/cli/command.h"
#include "filter/git/filter_config.h"
#include "filter/git/git_run.h"
#include "filter/git/hooks_setup.h"
#include "filter/cli/options.h"
#include "filter/cli/report.h"
#include "filter/git/repository.h"

/* ---- settings -------------------------------------------------------------------------------- */

/* Looks at all settings before any is written: half an installation would be worse than none. */
static int check_settings(const struct config_scope *scope, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct filter_setting *setting = &filter_settings[i];
		char *value = NULL;
		int rc = config_scope_get(scope, setting->key, &value);

		if (rc > 0 && strcmp(value, setting->value) != 0)
			rc = report_error("%s is set to '%s' already (%s); `git brevis install%s "
					  "--force` replaces it",
					  setting->key, value, scope->option,
					  i < FILTER_SETTINGS ? "" : " --multipart");
		free(value);
		if (rc < 0)
			return -1;
	}
	return 0;
}

/* What is in force already stays as it is, with whatever else that key has. */
static int write_setting(const struct config_scope *scope, const struct filter_setting *setting)
{
	char *value = NULL;
	int rc = config_scope_get(scope, setting->key, &value);

	if (rc == 0 || (rc > 0 && strcmp(value, setting->value) != 0))
		rc = config_scope_set(scope, setting->key, setting->value);
	free(value);
	return rc < 0 ? -1 : 0;
}

static int write_settings(const struct config_scope *scope, size_t count, bool skip_smudge)
{
	for (size_t i = 0; i < count; i++)
		if (write_setting(scope, &filter_settings[i]) < 0)
			return -1;
	/* What an earlier --skip-smudge set is not wanted any more. */
	return skip_smudge ? config_scope_set(scope, "brevis.skipSmudge", "true")
			   : config_scope_unset(scope, "brevis.skipSmudge", "true");
}

/* Objects travel by git-lfs: without it nothing of a push or a clone works. */
static void warn_without_git_lfs(void)
{
	static const char *const args[] = {"lfs", "version", NULL};
	struct buffer output = BUFFER_INIT;
	struct buffer errors = BUFFER_INIT;

	if (git_run(&(struct git_run){.args = args, .output = &output, .errors = &errors}) != 0)
		report_warning("git-lfs was not found; install it, or objects can neither be "
			       "pushed nor downloaded");
	buffer_release(&output);
	buffer_release(&errors);
}

static int set_up_hooks(bool manual)
{
	struct repository *repository;
	int foreign;

	if (repository_open(&repository) < 0)
		return EXIT_FATAL;
	foreign = manual ? hooks_print(repository) : hooks_install(repository);
	repository_free(repository);
	if (foreign < 0)
		return EXIT_FATAL;
	if (foreign == 0 && !manual)
		printf("The hooks of this repository are in place.\n");
	return foreign ? EXIT_FOUND : EXIT_DONE;
}

int verb_install(const struct command *self, int argc, char **argv)
{
	struct scope_options where = {.local = false};
	bool skip_smudge = false;
	bool skip_repo = false;
	bool multipart = false;
	bool force = false;
	bool manual = false;
	const struct option_spec table[] = {
		SCOPE_OPTIONS(where),
		{.letter = 's',
		 .name = "skip-smudge",
		 .flag = &skip_smudge,
		 .help = "a checkout leaves pointers; `git brevis pull` restores files"},
		{.name = "skip-repo",
		 .flag = &skip_repo,
		 .help = "leave the hooks of this repository alone"},
		{.name = "multipart",
		 .flag = &multipart,
		 .help = "also carry objects over 5 GB to hubs that ask for parts"},
		{.letter = 'f',
		 .name = "force",
		 .flag = &force,
		 .help = "replace settings of the same name that differ"},
		{.letter = 'm',
		 .name = "manual",
		 .flag = &manual,
		 .help = "print what hooks have to run, and write none"},
		{0}};
	struct config_scope scope;
	size_t settings;
	int code;
	int count = options_parse(self, argc, argv, table, &code);

	if (count < 0)
		return code;
	if (count > 0 || config_scope_choose(&where, &scope) < 0)
		return command_usage(self, 0);
	settings = multipart ? FILTER_SETTINGS_ALL : FILTER_SETTINGS;
	if (config_scope_check(&scope) < 0 || (!force && check_settings(&scope, settings) < 0) ||
	    write_settings(&scope, settings, skip_smudge) < 0)
		return EXIT_FATAL;
	warn_without_git_lfs();
	code = EXIT_DONE;
	if (!skip_repo && repository_is_here())
		code = set_up_hooks(manual);
	if (code != EXIT_FATAL)
		printf("git-brevis is set up.\n");
	return code;
}
