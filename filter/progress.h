/* SPDX-License-Identifier: Apache-2.0 */
/** A line that shows how far long work has come: on a terminal only, and only if it takes long. */
#ifndef FILTER_PROGRESS_H
#define FILTER_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	const char *what; /* NULL: not begun, or ended */
	uint64_t total;   /* bytes to come, 0 if that is not known */
	uint64_t done;
	uint64_t next_ms; /* when the line is written next, by the monotonic clock */
	bool visible;     /* stderr is a terminal */
	bool shown;
};

void progress_begin(struct progress *progress, const char *what, uint64_t total);
void progress_add(struct progress *progress, uint64_t bytes);

/** Takes the line away. Allowed at any time, more than once. */
void progress_end(struct progress *progress);

#endif
