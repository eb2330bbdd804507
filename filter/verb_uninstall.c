/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/command.h"
#include "filter/filter_config.h"
#include "filter/git_run.h"
#include "filter/hook_files.h"
#include "filter/options.h"
#include "filter/report.h"
#include "filter/repository.h"

/* Removes the settings that are as install wrote them. */
static int remove_settings(const struct config_scope *scope)
{
	for (size_t i = 0; i < FILTER_SETTINGS; i++)
		if (config_scope_unset(scope, filter_settings[i].key, filter_settings[i].value) < 0)
			return -1;
	return config_scope_unset(scope, "brevis.skipSmudge", "true");
}

/* Ours took the place of git-lfs's hooks; objects of committed files still need those. */
static void restore_lfs_hooks(void)
{
	static const char *const args[] = {"lfs", "update", NULL};
	struct buffer output = BUFFER_INIT;
	struct buffer errors = BUFFER_INIT;

	if (git_run(&(struct git_run){.args = args, .output = &output, .errors = &errors}) != 0)
		report_warning(
			"git-lfs could not put its own hooks back, so a push would upload no "
			"objects; run `git lfs update`");
	buffer_release(&output);
	buffer_release(&errors);
}

static int remove_hooks(const struct repository *repository)
{
	char *dir = repository_hooks_dir(repository);
	size_t removed = 0;
	int rc = dir ? 0 : -1;

	for (size_t i = 0; i < HOOK_COUNT && rc == 0; i++) {
		enum hook_state state = hook_file_state(dir, &hook_texts[i]);

		if (state == HOOK_OURS) {
			rc = hook_file_remove(dir, &hook_texts[i]);
			removed += rc == 0;
			if (rc < 0)
				report_error("%s/%s: cannot remove the hook: %s", dir,
					     hook_texts[i].name, strerror(errno));
		} else if (state == HOOK_MERGED && strcmp(hook_texts[i].name, "post-commit") != 0) {
			report_note("%s/%s is your own; take the call of `git brevis hook` out of "
				    "it yourself",
				    dir, hook_texts[i].name);
		}
	}
	if (rc == 0 && removed)
		restore_lfs_hooks();
	free(dir);
	return rc;
}

int verb_uninstall(const struct command *self, int argc, char **argv)
{
	struct scope_options where = {.local = false};
	bool skip_repo = false;
	const struct option_spec table[] = {
		{.letter = 'l', .name = "local", .flag = &where.local},
		{.letter = 'w', .name = "worktree", .flag = &where.worktree},
		{.name = "system", .flag = &where.system},
		{.name = "file", .value = &where.file},
		{.name = "skip-repo", .flag = &skip_repo},
		{0}};
	struct repository *repository = NULL;
	struct config_scope scope;
	int code;
	int count = options_parse(self, argc, argv, table, &code);
	int rc;

	if (count < 0)
		return code;
	if (count > 0 || config_scope_choose(&where, &scope) < 0)
		return command_usage(self, 0);
	if (remove_settings(&scope) < 0)
		return EXIT_FATAL;
	if (!skip_repo && repository_is_here()) {
		if (repository_open(&repository) < 0)
			return EXIT_FATAL;
		rc = remove_hooks(repository);
		repository_free(repository);
		if (rc < 0)
			return EXIT_FATAL;
	}
	printf("git-brevis is no longer set up. Work files stay as they are. What is committed "
	       "stays\n"
	       "archives: `git brevis decompress ARCHIVE` restores one without git. To go back to "
	       "raw\n"
	       "files in a repository: git brevis install; git brevis untrack PATTERN; git add\n"
	       "--renormalize .\n");
	return EXIT_DONE;
}
