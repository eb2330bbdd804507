/* SPDX-License-Identifier: Apache-2.0 */
/** `git brevis stats`, for people. */
#ifndef FILTER_STATS_TEXT_H
#define FILTER_STATS_TEXT_H

#include "filter/stats/stats.h"

/** Prints revisions (unless summary is set), files and totals to stdout. */
void stats_text(const struct stats *s, bool summary);

#endif
