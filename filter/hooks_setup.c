/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/hooks_setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/hook_files.h"
#include "filter/report.h"

static void print_lines(const char *dir, const struct hook_text *hook)
{
	char *lines = hook_lines(hook);

	if (lines)
		printf("Let %s/%s run these lines (in place of its own call of git-lfs, if "
		       "any):\n\n"
		       "%s\n",
		       dir, hook->name, lines);
	free(lines);
}

/* True if our hook is to be written over what is there. */
static bool is_wanted(enum hook_state state, const struct hook_text *hook)
{
	/* git-lfs's own post-commit does all that ours would. */
	if (state == HOOK_STOCK)
		return strcmp(hook->name, "post-commit") != 0;
	return state == HOOK_MISSING;
}

int hooks_install(const struct repository *repository)
{
	char *dir = repository_hooks_dir(repository);
	int foreign = dir ? 0 : -1;

	for (size_t i = 0; i < HOOK_COUNT && foreign >= 0; i++) {
		enum hook_state state = hook_file_state(dir, &hook_texts[i]);

		if (state == HOOK_UNREADABLE)
			foreign = -1;
		else if (is_wanted(state, &hook_texts[i]) &&
			 hook_file_write(dir, &hook_texts[i]) < 0)
			foreign = -1;
		if (state != HOOK_FOREIGN)
			continue;
		report_warning("%s/%s is your own and stays as it is; it has to run more, see the "
			       "lines on stdout",
			       dir, hook_texts[i].name);
		print_lines(dir, &hook_texts[i]);
		foreign++;
	}
	free(dir);
	return foreign;
}

void hooks_ensure(const struct repository *repository)
{
	char *dir = repository_hooks_dir(repository);

	for (size_t i = 0; i < HOOK_COUNT && dir; i++)
		if (is_wanted(hook_file_state(dir, &hook_texts[i]), &hook_texts[i]))
			hook_file_write(dir, &hook_texts[i]);
	free(dir);
}

void hooks_warn(const struct repository *repository)
{
	const struct hook_text *pre_push = &hook_texts[0];
	char *dir = repository_hooks_dir(repository);

	if (dir && hook_file_state(dir, pre_push) == HOOK_FOREIGN)
		report_warning("%s/%s does not run all that a push needs; see `git brevis install "
			       "--manual`",
			       dir, pre_push->name);
	free(dir);
}

int hooks_print(const struct repository *repository)
{
	char *dir = repository_hooks_dir(repository);

	for (size_t i = 0; i < HOOK_COUNT && dir; i++)
		print_lines(dir, &hook_texts[i]);
	free(dir);
	return dir ? 0 : -1;
}
