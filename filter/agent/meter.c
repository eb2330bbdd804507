/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/agent/meter.h"

#include <string.h>

#include "filter/agent/protocol.h"
#include "filter/objects/clock.h"

#define INTERVAL_MS 100

static void tell(struct meter *meter, uint64_t done)
{
	if (agent_answer_progress(meter->out, meter->pointer->oid, done, done - meter->told) != 0)
		meter->is_broken = true;
	meter->told = done;
}

void meter_begin(struct meter *meter, FILE *out, const struct pointer *pointer)
{
	memset(meter, 0, sizeof(*meter));
	meter->out = out;
	meter->pointer = pointer;
	meter->next_ms = clock_ms() + INTERVAL_MS;
	if (pointer->size)
		tell(meter, 1);
}

void meter_show(struct meter *meter, uint64_t done)
{
	uint64_t now;

	if (done > meter->pointer->size)
		done = meter->pointer->size;
	if (done <= meter->told)
		return;
	now = clock_ms();
	if (now < meter->next_ms)
		return;
	meter->next_ms = now + INTERVAL_MS;
	tell(meter, done);
}

void meter_finish(struct meter *meter)
{
	if (meter->told < meter->pointer->size)
		tell(meter, meter->pointer->size);
}
