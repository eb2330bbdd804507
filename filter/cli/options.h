/* SPDX-License-Identifier: Apache-2.0 */
/** Command-line options of a verb, described by a table. */
#ifndef FILTER_OPTIONS_H
#define FILTER_OPTIONS_H

#include <stdbool.h>

#include "filter/cli/command.h"

/** Workers that may be asked for, at most; more would only wait for each other. */
#define OPTION_THREADS_MAX 256

/** One option. Exactly one of flag and value is set; a table ends with an entry of neither. */
struct option_spec {
	char letter;        /* 'o' for -o, or 0 */
	const char *name;   /* "output" for --output, or NULL */
	bool *flag;         /* an option without a value sets this to true */
	const char **value; /* an option with one stores it here; it lives in argv */
	const char *help;   /* what it does, in a line of -h; NULL: not listed */
	/* For completion: the words that the value is one of, or what kind of thing it is in one
	 * word of capitals (FILE); NULL: nothing is known of it. */
	const char *values;
};

/** True for the entry that ends a table. */
bool options_end(const struct option_spec *spec);

/**
 * Takes the options out of argv, wherever they stand, and moves the other arguments to its front.
 * "-" is an argument; all that follows "--" are. Options are written -o V, -oV, --output V or
 * --output=V. What the questions of command.h ask for is answered.
 *
 * Returns how many arguments are left in argv (the verb itself not counted, argv[0] is the first of
 * them), or -1 if the verb has to end at once with *exit_code; the cause is then reported.
 */
int options_parse(const struct command *self, int argc, char **argv,
		  const struct option_spec *table, int *exit_code);

/**
 * Answers a question (not QUESTION_NONE) about a verb that has these options, on stdout or by
 * becoming the manual's reader. Returns EXIT_DONE.
 */
int options_answer(const struct command *self, const struct option_spec *table,
		   enum question question);

/**
 * For verbs without options that only other programs run: their words are names, which may begin
 * with a dash, so a question is one only where nothing else is said. Returns true if one was
 * answered: then the verb ends with EXIT_DONE.
 */
bool options_answer_alone(const struct command *self, int argc, char **argv);

/** Reads a whole number from 0 to max. Returns false if text is none. */
bool option_number(const char *text, unsigned max, unsigned *out);

#endif
