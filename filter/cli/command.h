/* SPDX-License-Identifier: Apache-2.0 */
/** The verbs of git-brevis: one verb, one file (verb_*.c), one table (main.c). */
#ifndef FILTER_COMMAND_H
#define FILTER_COMMAND_H

/** Exit codes, as git uses them. */
enum exit_code {
	EXIT_DONE = 0,
	EXIT_FOUND = 1,   /* a check found damage, a difference, or something missing */
	EXIT_FATAL = 128, /* could not do it; one line on stderr says why */
	EXIT_USAGE = 129
};

struct command {
	const char *name;    /* "": a heading of the list, in summary; all else is NULL */
	const char *usage;   /* after "git brevis ", e.g. "compress FILE [-o OUT]" */
	const char *summary; /* one line for `git brevis help` */
	int (*run)(const struct command *self, int argc, char **argv); /* argv[0] is the verb */
};

/** The table, in the order of `git brevis help`; ends with a NULL name. What people do not type by
 * hand comes last, below COMMANDS_PLUMBING. */
extern const struct command commands[];

/** The last heading of the table. */
#define COMMANDS_PLUMBING "what git and git-lfs run"

/** Finds a verb in a table that ends with a NULL name. NULL if it is not there. */
const struct command *command_find(const struct command *table, const char *name);

/** The verb that somebody who typed name may have meant, NULL if none is like it. */
const struct command *command_like(const struct command *table, const char *name);

/** Reports that there is no verb of this name, and which one may be meant. Returns EXIT_USAGE. */
int command_unknown(const struct command *table, const char *name);

/** Prints the usage of one verb: to stdout for -h (returns EXIT_DONE), else stderr (EXIT_USAGE). */
int command_usage(const struct command *self, int asked_for);

/** What a word asks for instead of work. */
enum question {
	QUESTION_NONE,
	QUESTION_USAGE,  /* -h */
	QUESTION_MANUAL, /* --help: the manual page, or the usage where there is none */
	QUESTION_WORDS   /* --complete: what may follow, for the completion of shells */
};

enum question command_question(const char *word);

int verb_checkout(const struct command *self, int argc, char **argv);
int verb_clean(const struct command *self, int argc, char **argv);
int verb_compress(const struct command *self, int argc, char **argv);
int verb_decompress(const struct command *self, int argc, char **argv);
int verb_diff(const struct command *self, int argc, char **argv);
int verb_diff_driver(const struct command *self, int argc, char **argv);
int verb_env(const struct command *self, int argc, char **argv);
int verb_export(const struct command *self, int argc, char **argv);
int verb_filter_process(const struct command *self, int argc, char **argv);
int verb_fsck(const struct command *self, int argc, char **argv);
int verb_help(const struct command *self, int argc, char **argv);
int verb_hook(const struct command *self, int argc, char **argv);
int verb_inspect(const struct command *self, int argc, char **argv);
int verb_install(const struct command *self, int argc, char **argv);
int verb_ls_files(const struct command *self, int argc, char **argv);
int verb_merge_driver(const struct command *self, int argc, char **argv);
int verb_migrate(const struct command *self, int argc, char **argv);
int verb_pointer(const struct command *self, int argc, char **argv);
int verb_pull(const struct command *self, int argc, char **argv);
int verb_smudge(const struct command *self, int argc, char **argv);
int verb_stats(const struct command *self, int argc, char **argv);
int verb_status(const struct command *self, int argc, char **argv);
int verb_store(const struct command *self, int argc, char **argv);
int verb_textconv(const struct command *self, int argc, char **argv);
int verb_track(const struct command *self, int argc, char **argv);
int verb_transfer(const struct command *self, int argc, char **argv);
int verb_uninstall(const struct command *self, int argc, char **argv);
int verb_untrack(const struct command *self, int argc, char **argv);
int verb_verify(const struct command *self, int argc, char **argv);
int verb_version(const struct command *self, int argc, char **argv);

#endif
