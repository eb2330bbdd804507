/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/agent/meter.h"

#include <string.h>
#include <time.h>

#include "filter/agent/protocol.h"

#define INTERVAL_MS 100

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

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
	meter->next_ms = now_ms() + INTERVAL_MS;
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
	now = now_ms();
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
