/* SPDX-License-Identifier: Apache-2.0 */
/** Puts a repository's hooks in place: without git-lfs's a push would silently upload nothing. */
#ifndef FILTER_HOOKS_SETUP_H
#define FILTER_HOOKS_SETUP_H

#include "filter/git/repository.h"

/**
 * Writes our hooks where there are none, or git-lfs's own, and never over anybody's own: for those
 * it prints to stdout which lines they have to run. Where hooks are switched off it warns. Returns
 * how many hooks are not in place for that, or -1 after reporting.
 */
int hooks_install(const struct repository *repository);

/**
 * The same without a word, for verbs that somebody uses in a repository where nobody ran `git
 * brevis install`: a clone.
 */
void hooks_ensure(const struct repository *repository);

/** Warns, in one line, if no pre-push hook would bring the objects of a push along. */
void hooks_warn(const struct repository *repository);

/** Prints to stdout what each hook has to run; changes nothing. Returns -1 after reporting. */
int hooks_print(const struct repository *repository);

#endif
