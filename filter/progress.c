/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* Nothing is shown of work that is done before that. */
#define DELAY_MS    1000
#define INTERVAL_MS 200

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void progress_begin(struct progress *progress, const char *what, uint64_t total)
{
	*progress = (struct progress){.what = what,
				      .total = total,
				      .next_ms = now_ms() + DELAY_MS,
				      .visible = isatty(STDERR_FILENO) == 1};
}

void progress_add(struct progress *progress, uint64_t bytes)
{
	uint64_t now;

	progress->done += bytes;
	if (!progress->what || !progress->visible)
		return;
	now = now_ms();
	if (now < progress->next_ms)
		return;
	progress->next_ms = now + INTERVAL_MS;
	progress->shown = true;
	if (progress->total)
		fprintf(stderr, "\r%s: %" PRIu64 " of %" PRIu64 " MB (%" PRIu64 " %%) ",
			progress->what, progress->done / 1000000, progress->total / 1000000,
			progress->done >= progress->total
				? 100
				: progress->done / (progress->total / 100 + 1));
	else
		fprintf(stderr, "\r%s: %" PRIu64 " MB ", progress->what, progress->done / 1000000);
}

void progress_end(struct progress *progress)
{
	if (progress->what && progress->shown)
		fputs("\r\033[K", stderr);
	progress->what = NULL;
}
