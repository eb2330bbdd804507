/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The hook files of a repository. git runs one file for each hook, and git-lfs wants to be it; ours
 * take the place of git-lfs's own and call git-lfs. hooks/README.md tells why.
 */
#ifndef FILTER_HOOK_FILES_H
#define FILTER_HOOK_FILES_H

#include <stdbool.h>

#define HOOK_COUNT 4

struct hook_text {
	const char *name;
	const char *text;
};

/** Our hooks, pre-push first (written by scripts/make-hook-texts). */
extern const struct hook_text hook_texts[HOOK_COUNT];

enum hook_state {
	HOOK_UNREADABLE = -1, /* errno tells why */
	HOOK_MISSING = 0,     /* nothing there */
	HOOK_OURS,            /* exactly our text */
	HOOK_STOCK,           /* exactly what some git-lfs writes: safe to replace */
	HOOK_MERGED,          /* someone's own that runs all that is needed */
	HOOK_FOREIGN,         /* someone's own that does not, be it blank or a link to nothing */
	HOOK_OFF              /* core.hooksPath names no directory: whoever set it wants no hooks */
};

/** Tells what stands at dir/name. Reports nothing. A hook that needs no git-brevis (post-commit) is
 * merged if it runs git-lfs. */
enum hook_state hook_file_state(const char *dir, const struct hook_text *hook);

/** True if the pre-push hook in dir, whoever wrote it, has git-lfs upload the objects of a push. */
bool hook_file_uploads(const char *dir);

/** Writes a hook, executable, in one step. Returns -1 with errno set, without reporting. */
int hook_file_write(const char *dir, const struct hook_text *hook);

/** Removes a hook of ours. Returns -1 with errno set, without reporting. */
int hook_file_remove(const char *dir, const struct hook_text *hook);

/** The lines that someone's own hook has to run: those of ours without its first and comments. To
 * be printed with a leading tab each. Caller frees; NULL when memory is short. */
char *hook_lines(const struct hook_text *hook);

/** A word for `git brevis env`. */
const char *hook_state_name(enum hook_state state);

#endif
