/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "scripts/bench-speed.h"

/* A ratio in each round; the middle one counts, as a disturbance meets whole rounds. */
struct ratios {
	double of[BENCH_RUNS_MAX];
	unsigned count;
};

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(const struct ratios *r)
{
	struct ratios sorted = *r;

	if (r->count == 0)
		return 0;
	qsort(sorted.of, sorted.count, sizeof(double), compare);
	return (sorted.of[(sorted.count - 1) / 2] + sorted.of[sorted.count / 2]) / 2;
}

static void add(struct ratios *r, double over, double under)
{
	/* Noise can leave nothing of a difference. */
	if (under > 0)
		r->of[r->count++] = over / under;
}

/* ---- what was measured ---------------------------------------------------------------------- */

static double rate(const struct bench_file *file, const struct bench_cell *cell,
		   enum bench_direction direction, bool wall)
{
	struct ratios r = {.count = 0};

	for (unsigned run = 0; run < cell->runs; run++) {
		const struct bench_sample *s = &cell->samples[direction][run];

		add(&r, (double)file->original.size / 1e6, wall ? s->wall : s->cpu);
	}
	return median(&r);
}

static void print_codec(const struct bench_file *file, unsigned codec)
{
	const struct bench_cell *cell = &file->cells[codec];
	const bool restores = bench_codecs[codec].decode != NULL;

	printf("| %s | %s |", file->name, bench_codecs[codec].name);
	if (restores)
		printf(" %.2f %% |",
		       100 - 100 * (double)cell->encoded / (double)file->original.size);
	else
		printf(" – |");
	for (unsigned direction = 0; direction < 2; direction++) {
		/* A limit is one for both directions. */
		enum bench_direction d = restores ? direction : BENCH_ENCODE;

		printf(" %.0f | %.0f |", rate(file, cell, d, false), rate(file, cell, d, true));
	}
	printf(" %u |\n", cell->runs);
}

static void print_rates(const struct bench_speed *speed)
{
	printf("\nMB/s are 10^6 bytes of the original per second of processor time of the whole "
	       "process, and in brackets by the clock: medians of the runs, all codecs in turn, "
	       "from memory to memory that has been used before, on one processor; every decoded "
	       "file was compared with the original. The repeated model has other values in the "
	       "three lowest bits of each word of each copy, so that no tensor repeats another "
	       "one.\n\n");
	printf("| file | codec | share saved | encode MB/s | (clock) | decode MB/s | (clock) | "
	       "runs |\n|---|---|--:|--:|--:|--:|--:|--:|\n");
	for (unsigned f = 0; f < BENCH_FILES; f++)
		for (unsigned c = 0; speed->files[f].original.data && c < BENCH_CODECS; c++)
			print_codec(&speed->files[f], c);
}

/* ---- ratios and bars ------------------------------------------------------------------------ */

/* Seconds of brevis in a round, whole or its codec alone. */
static double seconds(const struct bench_file *file, enum bench_direction direction, unsigned run,
		      bool whole)
{
	const unsigned codec = whole ? BENCH_BREVIS : BENCH_BREVIS_CODEC;

	return file->cells[codec].samples[direction][run].cpu;
}

static void print_cell(const struct ratios *r, double least)
{
	if (r)
		printf(" %.2f %s |", median(r), median(r) >= least ? "yes" : "no");
	else
		printf(" – |");
}

static void print_bar(const char *what, const char *file, const struct ratios *whole,
		      const struct ratios *codec, double least)
{
	printf("| %s | %s |", what, file);
	print_cell(whole, least);
	print_cell(codec, least);
	printf(" %.2f |\n", least);
}

/* How many times as fast as a peer brevis is on a file. */
static void print_beside(const struct bench_file *file, enum bench_direction direction,
			 unsigned peer, double least)
{
	const bool limit = bench_codecs[peer].decode == NULL;
	struct ratios whole = {.count = 0};
	struct ratios codec = {.count = 0};
	char what[64];

	if (!file->original.data)
		return;
	for (unsigned run = 0; run < file->cells[BENCH_BREVIS].runs; run++) {
		double other = file->cells[peer].samples[limit ? BENCH_ENCODE : direction][run].cpu;

		add(&whole, other, seconds(file, direction, run, true));
		add(&codec, other, seconds(file, direction, run, false));
	}
	snprintf(what, sizeof(what), "%s / %s", direction == BENCH_ENCODE ? "encode" : "decode",
		 bench_codecs[peer].name);
	print_bar(what, file->name, &whole, &codec, least);
}

/* How the bytes per second of brevis on a file compare with those on another one. */
static void print_against(const struct bench_speed *speed, enum bench_file_kind kind,
			  enum bench_file_kind other, double least)
{
	const struct bench_file *file = &speed->files[kind];
	const struct bench_file *base = &speed->files[other];

	if (!file->original.data || !base->original.data)
		return;
	for (unsigned direction = 0; direction < 2; direction++) {
		struct ratios r[2] = {{.count = 0}, {.count = 0}};
		char what[160];

		for (unsigned i = 0; i < 2; i++)
			for (unsigned run = 0; run < file->cells[BENCH_BREVIS].runs; run++)
				add(&r[i],
				    (double)file->original.size * seconds(base, direction, run, !i),
				    (double)base->original.size *
					    seconds(file, direction, run, !i));
		snprintf(what, sizeof(what), "%s / that of %s", direction ? "decode" : "encode",
			 base->name);
		print_bar(what, file->name, &r[0], &r[1], least);
	}
}

static void print_workers(const struct bench_speed *speed)
{
	for (unsigned direction = 0; direction < 2; direction++) {
		struct ratios r = {.count = 0};

		for (unsigned run = 0; run < speed->workers[1].runs; run++)
			add(&r, speed->workers[0].samples[direction][run].wall,
			    speed->workers[1].samples[direction][run].wall);
		print_bar(direction ? "decode, two workers / one, clock"
				    : "encode, two workers / one, clock",
			  speed->files[BENCH_FILE_MODEL].name, NULL, &r, 1.8);
	}
}

static void print_missing(const struct bench_speed *speed)
{
	static const char *const names[BENCH_FILES] = {
		[BENCH_FILE_BF16] = "BF16",
		[BENCH_FILE_F16] = "F16",
		[BENCH_FILE_F32] = "F32",
		[BENCH_FILE_FP8] = "FP8",
	};

	for (unsigned f = 0; f < BENCH_FILES; f++)
		if (names[f] && !speed->files[f].original.data)
			printf("\nNot measured: %s, as no file of it was given.\n", names[f]);
	if (speed->workers[1].runs == 0)
		printf("\nNot measured: two workers, as there is one processor.\n");
}

void bench_print_speed(const struct bench_speed *speed)
{
	static const enum bench_file_kind bf16[] = {BENCH_FILE_MODEL, BENCH_FILE_BF16};

	print_rates(speed);
	printf("\nRatios: medians over the rounds. \"Whole\" contains the SHA-256 of the original "
	       "and of the archive and the proof that each record decodes; \"codec\" is without "
	       "these, and so are two workers beside one.\n\n");
	printf("| ratio | file | whole | codec | at least |\n|---|---|--:|--:|--:|\n");
	for (unsigned i = 0; i < 2; i++) {
		const struct bench_file *file = &speed->files[bf16[i]];

		print_beside(file, BENCH_ENCODE, BENCH_SHA256, 0.7);
		print_beside(file, BENCH_ENCODE, BENCH_ZSTD_3, 2.5);
		print_beside(file, BENCH_DECODE, BENCH_SHA256, 1.6);
		print_beside(file, BENCH_DECODE, BENCH_ZSTD_3, 3.3);
	}
	print_against(speed, BENCH_FILE_F16, BENCH_FILE_BF16, 1 / 1.5);
	print_against(speed, BENCH_FILE_F32, BENCH_FILE_BF16, 1 / 1.5);
	print_against(speed, BENCH_FILE_FP8, BENCH_FILE_BF16, 1 / 1.5);
	print_against(speed, BENCH_FILE_SMALL, BENCH_FILE_MODEL, 0.5);
	if (speed->workers[1].runs)
		print_workers(speed);
	print_missing(speed);
}
