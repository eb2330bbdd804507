/* SPDX-License-Identifier: Apache-2.0 */
/** The configuration that makes git run git-brevis as a filter and as a merge driver, and git-lfs
 * as a transfer agent. */
#ifndef FILTER_FILTER_CONFIG_H
#define FILTER_FILTER_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#define FILTER_SETTINGS     13 /* those that `git brevis install` writes */
#define FILTER_SETTINGS_ALL 16 /* and with --multipart */

/** The path of our transfer agents: git-lfs looks for it as a shell does. */
#define AGENT_PROGRAM "git-brevis"

struct filter_setting {
	const char *key;
	const char *value;
	const char *agent; /* of a transfer agent: its key that says whose all of it is; or NULL */
};

/**
 * In this order: filter.brevis.clean, .smudge, .process and .required, which makes git stream big
 * files to the filter, and stops it from committing raw files when the filter fails;
 * diff.brevis.command and .textconv, by which git shows what changed (never .binary: `git lfs
 * prune` would not see what was not pushed, and delete it); the merge driver, and git's own that it
 * leaves merges of common ancestors to (verb_merge_driver.c); the agent for stores (URLs that begin
 * with "brevis::"); the agent "multipart", which hubs ask for by that name.
 */
extern const struct filter_setting filter_settings[FILTER_SETTINGS_ALL];

/** Where to write, as options of `git config`: "--global", or "--file" with a name behind it. */
struct config_scope {
	const char *option;
	const char *file; /* NULL unless option is "--file" */
};

/** The options that choose a scope, for verbs that have them. */
struct scope_options {
	bool local;
	bool worktree;
	bool system;
	const char *file;
};

/* clang-format off */
/** Their entries in a table of struct option_spec (options.h); where is a struct scope_options. */
#define SCOPE_OPTIONS(where)                                                                       \
	{.letter = 'l', .name = "local", .flag = &(where).local,                                   \
	 .help = "settings of this repository only"},                                              \
	{.letter = 'w', .name = "worktree", .flag = &(where).worktree,                             \
	 .help = "settings of this work tree only"},                                               \
	{.name = "system", .flag = &(where).system,                                                \
	 .help = "settings for all users of this machine"},                                        \
	{.name = "file", .value = &(where).file, .help = "settings in the file V", .values = "FILE"}
/* clang-format on */

/** Makes a scope of the options; global if none is given. Reports and returns -1 for two. */
int config_scope_choose(const struct scope_options *options, struct config_scope *out);

/** Reports and returns -1 if a scope needs a repository, and there is none here. */
int config_scope_check(const struct config_scope *scope);

/** Reads a key in one scope. Returns 1 with *value (caller frees), 0 if it is not set, -1 after
 * reporting. */
int config_scope_get(const struct config_scope *scope, const char *key, char **value);

/** Sets a key to this value alone. Reports and returns -1 on failure. */
int config_scope_set(const struct config_scope *scope, const char *key, const char *value);

/** Removes a key where its value is ours; another value stays, with a note. Reports and returns -1
 * on failure. */
int config_scope_unset(const struct config_scope *scope, const char *key, const char *ours);

#endif
