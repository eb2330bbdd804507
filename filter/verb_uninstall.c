/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/cli/command.h"
#include "filter/git/filter_config.h"
#include "filter/git/git_run.h"
#include "filter/git/hook_files.h"
#include "filter/cli/options.h"
#include "filter/cli/report.h"
#include "filter/git/repository.h"
#include "filter/cli/text.h"

/* Whether a setting belongs to somebody else's transfer agent. Returns -1 after reporting. */
static int is_foreign(const struct config_scope *scope, const struct filter_setting *setting)
{
	char *path = NULL;
	int rc = setting->agent ? config_scope_get(scope, setting->agent, &path) : 0;

	if (rc > 0)
		rc = strcmp(path, AGENT_PROGRAM) != 0;
	free(path);
	return rc;
}

/* Removes the settings that are as install wrote them; of a transfer agent the path last, by which
 * the others are known as ours. */
static int remove_settings(const struct config_scope *scope)
{
	for (size_t i = FILTER_SETTINGS_ALL; i-- > 0;) {
		const struct filter_setting *setting = &filter_settings[i];
		int foreign = is_foreign(scope, setting);

		if (foreign < 0)
			return -1;
		if (!foreign && config_scope_unset(scope, setting->key, setting->value) < 0)
			return -1;
	}
	return config_scope_unset(scope, "brevis.skipSmudge", "true");
}

/* A pre-push hook of somebody's own, which git-lfs does not touch: whether a push uploads is up to
 * it. */
static void tell_of_own_hook(const char *dir)
{
	if (hook_file_uploads(dir))
		return;
	report_warning(
		"%s/pre-push is your own; it has to run `git lfs pre-push \"$@\"`, or a push "
		"uploads no objects",
		dir);
}

/* What git-lfs brings along is not for us to take away: committed files still need it. */
static void tell_of_lfs(const struct repository *repository)
{
	char *shared = repository_config(repository, "lfs.storage");

	printf("The hooks of this repository are git-lfs's own now, for a push still has to upload "
	       "the\nobjects of committed files. Where no branch or commit holds any, `git lfs "
	       "uninstall --local`\nremoves them, and `git config --local --remove-section lfs` "
	       "the settings of git-lfs.\n");
	if (!shared) {
		printf("Then nothing needs ");
		print_path(stdout, repository_lfs_dir(repository));
		printf(" any more.\n");
	}
	free(shared);
}

/* Ours took the place of git-lfs's hooks; objects of committed files still need those. */
static void restore_lfs_hooks(const struct repository *repository, const char *dir)
{
	static const char *const args[] = {"lfs", "update", NULL};
	struct buffer output = BUFFER_INIT;
	struct buffer errors = BUFFER_INIT;

	if (git_run(&(struct git_run){.args = args, .output = &output, .errors = &errors}) == 0)
		tell_of_lfs(repository);
	else if (hook_file_state(dir, &hook_texts[0]) == HOOK_FOREIGN ||
		 hook_file_state(dir, &hook_texts[0]) == HOOK_MERGED)
		tell_of_own_hook(dir);
	else if (!hook_file_uploads(dir))
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
				report_error("%s/%s: cannot remove the hook: %s; make that a "
					     "directory that can be written",
					     dir, hook_texts[i].name, strerror(errno));
		} else if (state == HOOK_MERGED && strcmp(hook_texts[i].name, "post-commit") != 0) {
			report_note("%s/%s is your own; take the call of `git brevis hook` out of "
				    "it yourself",
				    dir, hook_texts[i].name);
		}
	}
	if (rc == 0 && removed)
		restore_lfs_hooks(repository, dir);
	free(dir);
	return rc;
}

int verb_uninstall(const struct command *self, int argc, char **argv)
{
	struct scope_options where = {.local = false};
	bool skip_repo = false;
	const struct option_spec table[] = {SCOPE_OPTIONS(where),
					    {.name = "skip-repo",
					     .flag = &skip_repo,
					     .help = "leave the hooks of this repository alone"},
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
	if (config_scope_check(&scope) < 0 || remove_settings(&scope) < 0)
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
	       "files in a repository, before: git brevis install; git brevis migrate export; git "
	       "brevis\n"
	       "uninstall.\n");
	return EXIT_DONE;
}
