/* SPDX-License-Identifier: Apache-2.0 */
/** `git brevis stats --json`. */
#ifndef FILTER_STATS_JSON_H
#define FILTER_STATS_JSON_H

#include "filter/stats/stats.h"

/** Writes everything to stdout, or all but the revisions. Reports and returns -1 when memory is
 * short. */
int stats_json(const struct stats *s, bool summary);

#endif
