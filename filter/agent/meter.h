/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Tells git-lfs how far an object has come: a byte at once, because its other workers wait for that
 * one, then now and then, never less than before and never more than the object has.
 */
#ifndef FILTER_AGENT_METER_H
#define FILTER_AGENT_METER_H

#include <stdbool.h>
#include <stdio.h>

#include "filter/objects/pointer.h"

struct meter {
	FILE *out;
	const struct pointer *pointer;
	uint64_t told;
	uint64_t next_ms; /* when to tell again */
	bool is_broken;   /* git-lfs hears nothing any more */
};

/** Begins an object; both must live as long as the meter is used. */
void meter_begin(struct meter *meter, FILE *out, const struct pointer *pointer);

/** So many bytes of the object are done. Only one thread at a time may call it. */
void meter_show(struct meter *meter, uint64_t done);

/** All of it is. */
void meter_finish(struct meter *meter);

#endif
