/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Whether something that failed is tried again, and after how long: only transient faults are, as
 * often as the settings say, after pauses that double from 250 ms on, or as long as a server asks
 * for. An attempt that got further than any before it makes the counting begin anew.
 */
#ifndef FILTER_REMOTE_RETRY_H
#define FILTER_REMOTE_RETRY_H

#include <stdatomic.h>
#include <stdbool.h>

#include "filter/remote/fault.h"
#include "filter/remote/settings.h"

struct retry {
	unsigned limit; /* attempts after the first one */
	unsigned max_delay_ms;
	const atomic_bool *stop; /* ends a pause, and the attempts; may be NULL */
	unsigned failures;       /* since it got further */
	unsigned delay_ms;
};

void retry_begin(struct retry *retry, const struct store_settings *settings,
		 const atomic_bool *stop);

/**
 * Tells of a failed attempt. Returns true, after a pause, if it is to be tried again; else false,
 * and a fault that was tried several times says so.
 */
bool retry_again(struct retry *retry, bool got_further, struct fault *fault);

#endif
