/* SPDX-License-Identifier: Apache-2.0 */
/** `git brevis verify` of revisions: which they are, and what is said of their objects. */
#ifndef FILTER_VERIFY_HISTORY_H
#define FILTER_VERIFY_HISTORY_H

#include "filter/convert/convert.h"

/** True if the words name revisions, not files: the first one decides. */
bool verify_means_history(const struct workspace *ws, char **words, int count);

/**
 * Proves what the revisions name: none is HEAD, all is everything that the repository keeps. Tells
 * of it on stdout, or in JSON. Returns an exit code.
 */
int verify_history(const struct workspace *ws, char **words, int count, bool all, bool as_json);

#endif
