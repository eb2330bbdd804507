/* SPDX-License-Identifier: Apache-2.0 */
/** Measures how fast the codec is for each core, with peers and limits in the same rounds. */
#ifndef SCRIPTS_BENCH_SPEED_H
#define SCRIPTS_BENCH_SPEED_H

#include "scripts/bench-codecs.h"

#define BENCH_SPEED_USAGE                                                                          \
	"       bench --speed [--runs N] [--size MIB] [--small COUNT] MODEL [KIND=FILE...]\n"

/** What a file is measured for. */
enum bench_file_kind {
	BENCH_FILE_MODEL, /* a language model in BF16, repeated */
	BENCH_FILE_BF16,
	BENCH_FILE_F16,
	BENCH_FILE_F32,
	BENCH_FILE_FP8,
	BENCH_FILE_SMALL, /* thousands of small tensors */
	BENCH_FILES
};

enum bench_direction { BENCH_ENCODE, BENCH_DECODE };

#define BENCH_RUNS_MAX 101

struct bench_sample {
	double wall; /* seconds */
	double cpu;  /* seconds of the whole process, all threads */
};

/** What all rounds measured of one codec on one file. */
struct bench_cell {
	struct bench_sample samples[2][BENCH_RUNS_MAX]; /* by direction and round */
	unsigned runs;                                  /* fewer than rounds for slow peers */
	size_t encoded;
};

struct bench_file {
	char name[80];
	struct bench_input original; /* data is NULL if there is no such file */
	struct bench_cell cells[BENCH_CODECS];
};

struct bench_speed {
	unsigned runs;
	struct bench_file files[BENCH_FILES];
	/* Of brevis on the first file, not pinned: by number of workers, less one. */
	struct bench_cell workers[2];
};

/** The command line `bench --speed`. Returns an exit code. */
int bench_speed(int argc, char **argv);

/** Prints what was measured, then the ratios that matter and the bars for them. */
void bench_print_speed(const struct bench_speed *speed);

#endif
