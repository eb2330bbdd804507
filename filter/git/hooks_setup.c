/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/git/hooks_setup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/git/hook_files.h"
#include "filter/cli/report.h"

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

/* What comes of a hook that is somebody's own, as a part of a sentence. */
static const char *consequence(const char *dir, const struct hook_text *hook)
{
	if (strcmp(hook->name, "pre-push") != 0)
		return "so git-lfs or git-brevis miss what it is for";
	return hook_file_uploads(dir) ? "so a push is not checked for missing objects"
				      : "so a push uploads no objects and leaves the remote broken";
}

/* Puts one hook in place, or says what is in the way. Returns 1 if its lines are left to somebody
 * else, -1 after reporting a failure. */
static int install_one(const char *dir, const struct hook_text *hook)
{
	enum hook_state state = hook_file_state(dir, hook);

	if (state == HOOK_UNREADABLE)
		return report_error("%s/%s: cannot read the hook: %s; make it readable", dir,
				    hook->name, strerror(errno));
	if (is_wanted(state, hook) && hook_file_write(dir, hook) < 0)
		return report_error("%s/%s: cannot write the hook: %s; make that a directory that "
				    "can be written",
				    dir, hook->name, strerror(errno));
	if (state != HOOK_FOREIGN)
		return 0;
	report_warning("%s/%s is your own and stays as it is, %s; it has to run more, see the "
		       "lines on stdout",
		       dir, hook->name, consequence(dir, hook));
	print_lines(dir, hook);
	return 1;
}

static void warn_of_hooks_off(const char *dir)
{
	report_warning(
		"core.hooksPath is %s, so git runs no hooks and a push uploads no objects; `git "
		"lfs push REMOTE BRANCH` before each does",
		dir);
}

int hooks_install(const struct repository *repository)
{
	char *dir = repository_hooks_dir(repository);
	int foreign = dir ? 0 : -1;

	if (dir && hook_file_state(dir, &hook_texts[0]) == HOOK_OFF) {
		warn_of_hooks_off(dir);
		free(dir);
		return HOOK_COUNT;
	}
	for (size_t i = 0; i < HOOK_COUNT && foreign >= 0; i++) {
		int one = install_one(dir, &hook_texts[i]);

		foreign = one < 0 ? one : foreign + one;
	}
	free(dir);
	return foreign;
}

void hooks_ensure(const struct repository *repository)
{
	char *dir = repository_hooks_dir(repository);

	for (size_t i = 0; i < HOOK_COUNT && dir; i++)
		if (is_wanted(hook_file_state(dir, &hook_texts[i]), &hook_texts[i]) &&
		    hook_file_write(dir, &hook_texts[i]) < 0)
			report_trace("cannot write %s/%s: %s", dir, hook_texts[i].name,
				     strerror(errno));
	free(dir);
}

void hooks_warn(const struct repository *repository)
{
	const struct hook_text *pre_push = &hook_texts[0];
	char *dir = repository_hooks_dir(repository);

	if (!dir)
		return;
	switch (hook_file_state(dir, pre_push)) {
	case HOOK_FOREIGN:
		report_warning("%s/%s is your own and does not run all that a push needs, %s; `git "
			       "brevis install --manual` prints the lines to add",
			       dir, pre_push->name, consequence(dir, pre_push));
		break;
	case HOOK_OFF:
		warn_of_hooks_off(dir);
		break;
	case HOOK_MISSING:
	case HOOK_UNREADABLE:
		report_warning(
			"%s/%s is not in place, so a push may upload no objects; `git brevis "
			"install` tells why",
			dir, pre_push->name);
		break;
	default:
		break;
	}
	free(dir);
}

int hooks_print(const struct repository *repository)
{
	char *dir = repository_hooks_dir(repository);
	bool was_found = dir != NULL;

	for (size_t i = 0; i < HOOK_COUNT && dir; i++)
		print_lines(dir, &hook_texts[i]);
	free(dir);
	return was_found ? 0 : -1;
}
