/* SPDX-License-Identifier: Apache-2.0 */
/**
 * <lfs dir>/brevis/transfer.log: a line for each transfer that failed. git-lfs shows one line at
 * most, and nothing of what an agent writes to stderr. Of bounded size: what is older goes to
 * transfer.log.old, and what is older still is forgotten.
 */
#ifndef FILTER_AGENT_TRANSFER_LOG_H
#define FILTER_AGENT_TRANSFER_LOG_H

#include "filter/remote/fault.h"

/** Bytes that each of both files has, about. */
#define TRANSFER_LOG_SIZE (1L << 20)

/** Adds a line: time, process, event, where, kind of the fault, cause and remedy. What cannot be
 * written is not. */
void transfer_log_add(const char *lfs_dir, const char *event, const char *where,
		      const struct fault *fault);

#endif
