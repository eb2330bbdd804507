/* SPDX-License-Identifier: Apache-2.0 */
/* Where concat can cut: runs of equal words. */
#include "core/synthesis/expand.h"

#include <string.h>

#include "core/entropy/words.h"
#include "core/program/dispatch.h"

#define RUNS_MAX (RUNS_MAX_CUTS / 2)

/* Every run of RUN_MIN words has two words that many apart, at multiples of it. */
#define STRIDE (RUN_MIN / 2)

struct run {
	size_t begin, end;
};

/* The longest runs so far, the longest first. */
struct longest {
	unsigned count;
	struct run runs[RUNS_MAX];
};

static void keep(struct longest *longest, struct run run)
{
	unsigned i = longest->count;

	while (i && run.end - run.begin > longest->runs[i - 1].end - longest->runs[i - 1].begin)
		i--;
	if (i == RUNS_MAX)
		return;
	if (longest->count < RUNS_MAX)
		longest->count++;
	memmove(&longest->runs[i + 1], &longest->runs[i],
		(longest->count - 1 - i) * sizeof(longest->runs[0]));
	longest->runs[i] = run;
}

/* The run of equal words that word number i is in. */
ALWAYS_INLINE struct run run_around(const void *words, unsigned size, size_t count, size_t i)
{
	uint64_t value = word_get(words, size, i);
	struct run run = {i, i + 1};

	while (run.begin > 0 && word_get(words, size, run.begin - 1) == value)
		run.begin--;
	while (run.end < count && word_get(words, size, run.end) == value)
		run.end++;
	return run;
}

ALWAYS_INLINE void find_longest(const void *words, unsigned size, size_t begin, size_t end,
				struct longest *longest)
{
	size_t i = begin;

	while (i + STRIDE < end) {
		struct run run;

		if (word_get(words, size, i) != word_get(words, size, i + STRIDE)) {
			i += STRIDE;
			continue;
		}
		run = run_around(words, size, end, i);
		if (run.end - run.begin >= RUN_MIN)
			keep(longest, run);
		/* No run begins within this one, so looking on at its end misses none. */
		i = run.end > i + STRIDE ? run.end : i + STRIDE;
	}
}

static void add_cut(struct runs *out, size_t cut)
{
	unsigned i = out->count;

	while (i && out->cuts[i - 1] > cut)
		i--;
	if (i && out->cuts[i - 1] == cut)
		return;
	memmove(&out->cuts[i + 1], &out->cuts[i], (out->count - i) * sizeof(out->cuts[0]));
	out->cuts[i] = cut;
	out->count++;
}

/* Runs at the ends of what is between head and tail need a cut on one side only. */
static void add_cuts(struct runs *out, const struct longest *longest, size_t begin, size_t end)
{
	unsigned i;

	for (i = 0; i < longest->count; i++) {
		if (longest->runs[i].begin > begin)
			add_cut(out, longest->runs[i].begin);
		if (longest->runs[i].end < end)
			add_cut(out, longest->runs[i].end);
	}
}

ALWAYS_INLINE void find_runs(const void *words, unsigned size, size_t count, struct runs *out)
{
	struct longest longest = {0};
	struct run head = run_around(words, size, count, 0);
	struct run tail = run_around(words, size, count, count - 1);

	memset(out, 0, sizeof(*out));
	if (head.end >= RUN_MIN)
		out->head = head.end;
	if (tail.begin && count - tail.begin >= RUN_MIN)
		out->tail = count - tail.begin;
	find_longest(words, size, out->head, count - out->tail, &longest);
	add_cuts(out, &longest, out->head, count - out->tail);
}

void expand_runs(const struct words *in, struct runs *out)
{
#define CALL(T) find_runs(in->data, sizeof(T), in->count, out)
	DISPATCH_WORD(in->width, CALL)
#undef CALL
}
