/* SPDX-License-Identifier: Apache-2.0 */
/**
 * bench --speed [--runs N] [--size MIB] [--small COUNT] MODEL [KIND=FILE...]
 *
 * KIND is bf16, f16, f32 or fp8. All files are in memory at once and all codecs take turns on them,
 * round by round, so that what else happens on the machine meets them alike. One processor is
 * used, but for the runs that compare two workers with one.
 */
#include <errno.h>
#include <malloc.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scripts/bench-inputs.h"
#include "scripts/bench-machine.h"
#include "scripts/bench-speed.h"
#include "scripts/load-file.h"

#define MIB ((size_t)1 << 20)

/* Peers that only stand beside do not get all their runs once a file has cost them so much. */
#define PEER_SECONDS 20.0

/* A sample of a small file repeats it up to so many bytes. */
#define BYTES_A_SAMPLE (64 * MIB)

static const char *const kinds[BENCH_FILES] = {
	[BENCH_FILE_BF16] = "bf16",
	[BENCH_FILE_F16] = "f16",
	[BENCH_FILE_F32] = "f32",
	[BENCH_FILE_FP8] = "fp8",
};

/* Memory that all codecs write to. */
struct outputs {
	struct bench_output encoded;
	struct bench_output restored;
};

struct arguments {
	const char *paths[BENCH_FILES];
	unsigned long runs;
	unsigned long mib;
	unsigned long small;
};

static int complain(const char *what, const char *why)
{
	fprintf(stderr, "bench: %s: %s\n", what, why);
	return -1;
}

/* ---- measuring ------------------------------------------------------------------------------ */

struct work {
	bench_fn fn;      /* or NULL: */
	unsigned workers; /* the codec of brevis alone with these */
	enum bench_direction direction;
};

static int run_once(const struct work *work, const struct bench_input *in, struct bench_output *out,
		    struct brevis_error *err)
{
	out->size = 0;
	if (work->fn)
		return work->fn(in, out, err);
	if (work->direction == BENCH_ENCODE)
		return bench_brevis_encode(in, out, work->workers, true, err);
	return bench_brevis_decode(in, out, work->workers, true, err);
}

static int take_sample(const struct work *work, size_t original, const struct bench_input *in,
		       struct bench_output *out, struct bench_sample *sample)
{
	const size_t repeats = (BYTES_A_SAMPLE - 1) / original + 1;
	double wall = bench_clock(CLOCK_MONOTONIC);
	double cpu = bench_clock(CLOCK_PROCESS_CPUTIME_ID);
	struct brevis_error err = {0};

	for (size_t i = 0; i < repeats; i++)
		if (run_once(work, in, out, &err))
			return complain("codec", err.message);
	sample->wall = (bench_clock(CLOCK_MONOTONIC) - wall) / (double)repeats;
	sample->cpu = (bench_clock(CLOCK_PROCESS_CPUTIME_ID) - cpu) / (double)repeats;
	return 0;
}

/* Encodes and decodes a file, and compares. Limits (no decoder) only do their work. */
static int measure(const struct bench_file *file, struct work encode, struct work decode,
		   struct outputs *o, struct bench_cell *cell)
{
	const size_t size = file->original.size;
	struct bench_input encoded;

	if (take_sample(&encode, size, &file->original, &o->encoded,
			&cell->samples[BENCH_ENCODE][cell->runs]))
		return -1;
	cell->encoded = o->encoded.size;
	if (decode.fn || decode.workers) {
		encoded = (struct bench_input){o->encoded.data, o->encoded.size};
		/* What was restored before must not pass for this one's work. */
		memset(o->restored.data, 0, o->restored.capacity);
		if (take_sample(&decode, size, &encoded, &o->restored,
				&cell->samples[BENCH_DECODE][cell->runs]))
			return -1;
		if (o->restored.size != size ||
		    memcmp(o->restored.data, file->original.data, size) != 0)
			return complain(file->name, "a codec restored something else");
	}
	cell->runs++;
	return 0;
}

/* True for a peer that no ratio needs and that has had its time. */
static bool had_enough(const struct bench_cell *cell, unsigned codec)
{
	double spent = 0;

	if (codec <= BENCH_BREVIS_CODEC || codec == BENCH_ZSTD_3 || codec == BENCH_SHA256)
		return false;
	for (unsigned run = 0; run < cell->runs; run++)
		spent +=
			cell->samples[BENCH_ENCODE][run].cpu + cell->samples[BENCH_DECODE][run].cpu;
	return spent > PEER_SECONDS;
}

static int measure_round(struct bench_speed *speed, struct outputs *o)
{
	for (unsigned f = 0; f < BENCH_FILES; f++) {
		struct bench_file *file = &speed->files[f];

		for (unsigned c = 0; file->original.data && c < BENCH_CODECS; c++) {
			const struct work encode = {.fn = bench_codecs[c].encode};
			const struct work decode = {.fn = bench_codecs[c].decode};

			if (!had_enough(&file->cells[c], c) &&
			    measure(file, encode, decode, o, &file->cells[c]))
				return -1;
		}
	}
	return 0;
}

static int measure_workers(struct bench_speed *speed, struct outputs *o)
{
	for (unsigned workers = 1; workers <= 2; workers++) {
		const struct work encode = {.workers = workers, .direction = BENCH_ENCODE};
		const struct work decode = {.workers = workers, .direction = BENCH_DECODE};

		if (measure(&speed->files[BENCH_FILE_MODEL], encode, decode, o,
			    &speed->workers[workers - 1]))
			return -1;
	}
	return 0;
}

static int measure_all(struct bench_speed *speed, struct outputs *o)
{
	cpu_set_t all, one;
	size_t last = 0;

	if (sched_getaffinity(0, sizeof(all), &all))
		return complain("sched_getaffinity", strerror(errno));
	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all))
			last = cpu;
	CPU_ZERO(&one);
	CPU_SET(last, &one);
	for (unsigned run = 0; run < speed->runs; run++) {
		fprintf(stderr, "bench: round %u of %u\n", run + 1, speed->runs);
		if (sched_setaffinity(0, sizeof(one), &one))
			return complain("sched_setaffinity", strerror(errno));
		if (measure_round(speed, o))
			return -1;
		if (sched_setaffinity(0, sizeof(all), &all))
			return complain("sched_setaffinity", strerror(errno));
		if (CPU_COUNT(&all) > 1 && measure_workers(speed, o))
			return -1;
	}
	return 0;
}

/* ---- files ---------------------------------------------------------------------------------- */

static int load(struct bench_speed *speed, unsigned kind, const char *path)
{
	struct bench_file *file = &speed->files[kind];
	const char *slash = strrchr(path, '/');
	uint8_t *data = NULL;

	snprintf(file->name, sizeof(file->name), "%s", slash ? slash + 1 : path);
	errno = 0;
	if (load_file(path, &data, &file->original.size) || file->original.size == 0) {
		free(data);
		return complain(path, errno ? strerror(errno) : "is empty");
	}
	file->original.data = data;
	return 0;
}

static int load_files(struct bench_speed *speed, const struct arguments *a)
{
	struct bench_file *model = &speed->files[BENCH_FILE_MODEL];
	struct bench_file *small = &speed->files[BENCH_FILE_SMALL];
	const char *slash = strrchr(a->paths[BENCH_FILE_MODEL], '/');
	uint8_t *data;

	if (bench_repeat_model(a->paths[BENCH_FILE_MODEL], a->mib * MIB, &data,
			       &model->original.size))
		return -1;
	model->original.data = data;
	snprintf(model->name, sizeof(model->name), "%s, repeated",
		 slash ? slash + 1 : a->paths[BENCH_FILE_MODEL]);
	if (bench_small_tensors(a->small, &data, &small->original.size))
		return -1;
	small->original.data = data;
	snprintf(small->name, sizeof(small->name), "%lu tensors of 4 to 64 KiB", a->small);
	for (unsigned kind = 0; kind < BENCH_FILES; kind++)
		if (kinds[kind] && a->paths[kind] && load(speed, kind, a->paths[kind]))
			return -1;
	return 0;
}

/* Takes what the largest file needs, and touches it, so that no codec pays for fresh pages. */
static int make_outputs(const struct bench_speed *speed, struct outputs *o)
{
	size_t largest = 0;

	for (unsigned f = 0; f < BENCH_FILES; f++)
		if (speed->files[f].original.size > largest)
			largest = speed->files[f].original.size;
	o->encoded.capacity = bench_bound(largest);
	o->encoded.data = malloc(o->encoded.capacity);
	o->restored.capacity = largest + 1;
	o->restored.data = malloc(o->restored.capacity);
	if (!o->encoded.data || !o->restored.data)
		return complain("the files", "too large for the memory of this machine");
	memset(o->encoded.data, 1, o->encoded.capacity);
	return 0;
}

/* ---- the command line ----------------------------------------------------------------------- */

static bool parse_number(const char *text, unsigned long most, unsigned long *number)
{
	char *end;

	*number = strtoul(text, &end, 10);
	return text[0] >= '0' && text[0] <= '9' && !*end && *number >= 1 && *number <= most;
}

static bool parse_file(const char *text, struct arguments *a)
{
	for (unsigned kind = 0; kind < BENCH_FILES; kind++) {
		size_t n = kinds[kind] ? strlen(kinds[kind]) : 0;

		if (n && strncmp(text, kinds[kind], n) == 0 && text[n] == '=') {
			a->paths[kind] = text + n + 1;
			return true;
		}
	}
	return false;
}

static bool parse_arguments(int argc, char **argv, struct arguments *a)
{
	int at = 1;

	for (; at + 1 < argc && argv[at][0] == '-'; at += 2) {
		const char *value = argv[at + 1];
		bool good = false;

		if (strcmp(argv[at], "--runs") == 0)
			good = parse_number(value, BENCH_RUNS_MAX, &a->runs);
		else if (strcmp(argv[at], "--size") == 0)
			good = parse_number(value, 1 << 16, &a->mib);
		else if (strcmp(argv[at], "--small") == 0)
			good = parse_number(value, 1 << 20, &a->small);
		if (!good)
			return false;
	}
	if (at >= argc || argv[at][0] == '-')
		return false;
	a->paths[BENCH_FILE_MODEL] = argv[at];
	while (++at < argc)
		if (!parse_file(argv[at], a))
			return false;
	return true;
}

int bench_speed(int argc, char **argv)
{
	struct arguments a = {.runs = 5, .mib = 512, .small = 3000};
	struct outputs o = {0};
	struct bench_speed *speed = NULL;
	int code = EXIT_FAILURE;

	if (!parse_arguments(argc, argv, &a)) {
		fprintf(stderr, "usage: bench [--runs N] FILE...\n" BENCH_SPEED_USAGE);
		return 2;
	}
	speed = calloc(1, sizeof(*speed));
	if (!speed) {
		complain("the figures", strerror(errno));
		goto out;
	}
	speed->runs = (unsigned)a.runs;
	/* As git-brevis does, whose buffers would come page by page again and again. All codecs
	 * have it. */
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	mallopt(M_TRIM_THRESHOLD, 256 << 20);
	printf("# Speed of one core, in memory\n\n");
	bench_print_machine();
	fflush(stdout);
	if (load_files(speed, &a) || make_outputs(speed, &o) || measure_all(speed, &o))
		goto out;
	bench_print_speed(speed);
	code = EXIT_SUCCESS;
out:
	for (unsigned f = 0; speed && f < BENCH_FILES; f++)
		free((void *)(uintptr_t)speed->files[f].original.data);
	free(speed);
	free(o.encoded.data);
	free(o.restored.data);
	return code;
}
