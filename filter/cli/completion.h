/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What the completion of shells (scripts/completions) asks the program, so that nobody writes down
 * verbs and options a second time. One line of three columns, separated by tabs, for each word that
 * may come next:
 *
 *   WORD VALUES HELP
 *
 * WORD is a verb or an option as it is typed, or, in capitals, what kind of argument may stand
 * there (PATH, FILE, REVISION, REMOTE, VERB, ...; other words in capitals mean something that
 * cannot be listed). VALUES is empty for what takes no value; else the words that the value is one
 * of, or its kind, in capitals: VALUE if nothing is known of it. ACTION has as VALUES what the
 * first argument is one of.
 */
#ifndef FILTER_COMPLETION_H
#define FILTER_COMPLETION_H

#include "filter/cli/options.h"

/** Prints the options of a verb and the kinds of its arguments, as its usage names them. */
void completion_print(const struct command *self, const struct option_spec *table);

/** Prints the verbs of a table, without headings; their names without the words before the last. */
void completion_print_verbs(const struct command *table);

#endif
