/* SPDX-License-Identifier: Apache-2.0 */
/** The verbs of `git brevis store`; verb_store.c has their table. */
#ifndef FILTER_VERB_STORE_H
#define FILTER_VERB_STORE_H

#include "filter/cli/command.h"

int verb_store_gc(const struct command *self, int argc, char **argv);
int verb_store_init(const struct command *self, int argc, char **argv);
int verb_store_ls(const struct command *self, int argc, char **argv);
int verb_store_stats(const struct command *self, int argc, char **argv);
int verb_store_verify(const struct command *self, int argc, char **argv);

#endif
