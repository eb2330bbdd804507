/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/remote/retry.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#define FIRST_DELAY_MS 250

/* Who asks for more time than this is not waited for. */
#define LONGEST_MS (10 * 60 * 1000)

/* A pause can be ended within this time. */
#define SLICE_MS 50

void retry_begin(struct retry *retry, const struct store_settings *settings,
		 const atomic_bool *stop)
{
	*retry = (struct retry){.limit = settings->retries,
				.max_delay_ms = settings->max_delay_ms,
				.stop = stop,
				.delay_ms = FIRST_DELAY_MS};
}

/* Between half of it and all: many that failed together must not come back together. */
static unsigned jittered(unsigned ms)
{
	uint32_t random = 0;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != (ssize_t)sizeof(random))
		return ms;
	return ms - random % (ms / 2 + 1);
}

static bool is_stopped(const struct retry *retry)
{
	return retry->stop && *retry->stop;
}

static void pause_for(const struct retry *retry, unsigned ms)
{
	while (ms && !is_stopped(retry)) {
		unsigned slice = ms < SLICE_MS ? ms : SLICE_MS;
		struct timespec time = {.tv_nsec = (long)slice * 1000000};

		nanosleep(&time, NULL);
		ms -= slice;
	}
}

static void say_how_often(const struct retry *retry, struct fault *fault)
{
	size_t len = strlen(fault->cause);

	if (retry->failures > 1)
		snprintf(fault->cause + len, sizeof(fault->cause) - len, " (tried %u times)",
			 retry->failures);
}

bool retry_again(struct retry *retry, bool got_further, struct fault *fault)
{
	unsigned delay;

	if (fault->kind != FAULT_TRANSIENT)
		return false;
	if (got_further) {
		retry->failures = 0;
		retry->delay_ms = FIRST_DELAY_MS;
	}
	retry->failures++;
	if (retry->failures > retry->limit || fault->retry_after_ms > LONGEST_MS) {
		say_how_often(retry, fault);
		return false;
	}
	if (retry->delay_ms > retry->max_delay_ms)
		retry->delay_ms = retry->max_delay_ms;
	delay = jittered(retry->delay_ms);
	if (delay < fault->retry_after_ms)
		delay = fault->retry_after_ms;
	retry->delay_ms *= 2;
	pause_for(retry, delay);
	return !is_stopped(retry);
}
