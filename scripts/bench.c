/* SPDX-License-Identifier: Apache-2.0 */
/**
 * bench [--runs N] [--slow] FILE...
 * bench --speed ...
 *
 * The second form is bench-speed.c. The first prints one Markdown table per file: what each codec
 * makes of it and how fast one core does that; with --slow also those that take minutes. All
 * codecs run in this process one after the other, from memory to memory. Rates are bytes of the
 * original per second of processor time of the whole process, so that a codec which starts threads
 * is charged for all of them and other programs on the machine disturb less.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scripts/bench-codecs.h"
#include "scripts/bench-machine.h"
#include "scripts/bench-speed.h"
#include "scripts/load-file.h"

#define DEFAULT_RUNS 5

/* Slow codecs do not get all their runs: after this much time, the best so far counts. */
#define BUDGET_SECONDS 4.0

/* A run repeats small inputs up to this many bytes, as the clock cannot see less. */
#define BYTES_A_RUN ((size_t)8 << 20)

struct result {
	uint64_t original;
	uint64_t encoded;
	double encode_seconds;
	double decode_seconds;
};

struct bench {
	const char *path;
	unsigned runs;
	struct bench_input original;
	struct bench_output encoded;
	struct bench_output restored;
};

static int complain(const char *path, const char *codec, const char *why)
{
	fprintf(stderr, "bench: %s: %s%s%s\n", path, codec, *codec ? ": " : "", why);
	return -1;
}

/* Compares what a decoder left; limits restore nothing. */
static bool is_original(const struct bench *b)
{
	return b->restored.size == b->original.size &&
	       memcmp(b->restored.data, b->original.data, b->original.size) == 0;
}

/**
 * Runs fn several times and stores the seconds of the fastest. If check is set, what every run left
 * in b->restored must be the original.
 */
static int measure(const struct bench *b, const struct bench_codec *codec, bench_fn fn,
		   const struct bench_input *in, struct bench_output *out, bool check,
		   double *seconds)
{
	size_t repeats = b->original.size ? (BYTES_A_RUN - 1) / b->original.size + 1 : 1;
	double best = 0;
	double spent = 0;

	if (repeats > 1000)
		repeats = 1000;
	for (unsigned run = 0; run < b->runs && spent < BUDGET_SECONDS; run++) {
		struct brevis_error err = {0};
		double start = bench_clock(CLOCK_PROCESS_CPUTIME_ID);
		double took;

		for (size_t i = 0; i < repeats; i++) {
			out->size = 0;
			if (fn(in, out, &err))
				return complain(b->path, codec->name, err.message);
		}
		took = bench_clock(CLOCK_PROCESS_CPUTIME_ID) - start;
		spent += took;
		if (run == 0 || took < best)
			best = took;
		if (check && !is_original(b))
			return complain(b->path, codec->name, "restored something else");
	}
	*seconds = best / (double)repeats;
	return 0;
}

static int measure_codec(struct bench *b, const struct bench_codec *codec, struct result *result)
{
	struct bench_input encoded;
	int r;

	memset(result, 0, sizeof(*result));
	result->original = b->original.size;
	r = measure(b, codec, codec->encode, &b->original, &b->encoded, false,
		    &result->encode_seconds);
	if (r || !codec->decode)
		return r;
	result->encoded = b->encoded.size;
	encoded = (struct bench_input){b->encoded.data, b->encoded.size};
	/* What the codec before restored must not pass for this one's work. */
	memset(b->restored.data, 0, b->restored.capacity);
	return measure(b, codec, codec->decode, &encoded, &b->restored, true,
		       &result->decode_seconds);
}

/* ---- printing ------------------------------------------------------------------------------- */

static void print_rate(uint64_t bytes, double seconds)
{
	if (bytes && seconds > 0)
		printf(" %.*f |", (double)bytes / 1e6 / seconds < 10,
		       (double)bytes / 1e6 / seconds);
	else
		printf(" – |");
}

static void print_table(const char *title, const struct result *results, size_t codecs)
{
	printf("\n## %s\n\n", title);
	printf("%llu bytes\n\n", (unsigned long long)results[0].original);
	printf("| | bytes | share saved | encode MB/s | decode MB/s |\n");
	printf("|---|--:|--:|--:|--:|\n");
	for (size_t i = 0; i < codecs; i++) {
		const struct bench_codec *codec = &bench_codecs[i];
		const struct result *r = &results[i];

		printf("| %s |", codec->name);
		if (!codec->decode) {
			/* A limit is one for both directions. */
			printf(" – | – |");
			print_rate(r->original, r->encode_seconds);
			print_rate(r->original, r->encode_seconds);
		} else {
			printf(" %llu |", (unsigned long long)r->encoded);
			if (r->original)
				printf(" %.2f %% |",
				       100 - 100 * (double)r->encoded / (double)r->original);
			else
				printf(" – |");
			print_rate(r->original, r->encode_seconds);
			print_rate(r->original, r->decode_seconds);
		}
		printf("\n");
	}
	fflush(stdout);
}

/* ---- files ---------------------------------------------------------------------------------- */

static int bench_file(const char *path, unsigned runs, size_t codecs, struct result *results)
{
	struct bench b = {.path = path, .runs = runs};
	const char *name = strrchr(path, '/');
	uint8_t *data = NULL;
	int r = -1;

	errno = 0;
	if (load_file(path, &data, &b.original.size)) {
		complain(path, "", strerror(errno));
		goto out;
	}
	b.original.data = data;
	b.encoded.capacity = bench_bound(b.original.size);
	b.encoded.data = malloc(b.encoded.capacity);
	b.restored.capacity = b.original.size + 1;
	b.restored.data = malloc(b.restored.capacity);
	if (!b.encoded.data || !b.restored.data) {
		complain(path, "", "too large for the memory of this machine");
		goto out;
	}
	/* Touch the pages now, so that no codec pays for that. */
	memset(b.encoded.data, 1, b.encoded.capacity);
	r = 0;
	for (size_t i = 0; r == 0 && i < codecs; i++)
		r = measure_codec(&b, &bench_codecs[i], &results[i]);
	if (r == 0)
		print_table(name ? name + 1 : path, results, codecs);
out:
	free(b.restored.data);
	free(b.encoded.data);
	free(data);
	return r;
}

static void add_results(struct result sum[BENCH_ALL_CODECS],
			const struct result one[BENCH_ALL_CODECS])
{
	for (size_t i = 0; i < BENCH_ALL_CODECS; i++) {
		sum[i].original += one[i].original;
		sum[i].encoded += one[i].encoded;
		sum[i].encode_seconds += one[i].encode_seconds;
		sum[i].decode_seconds += one[i].decode_seconds;
	}
}

/* Takes the options off the arguments. Returns the index of the first file, or 0 for bad usage. */
static int parse_arguments(int argc, char **argv, unsigned *runs, size_t *codecs)
{
	int at = 1;

	*runs = DEFAULT_RUNS;
	*codecs = BENCH_CODECS;
	if (at + 1 < argc && strcmp(argv[at], "--runs") == 0) {
		char *end;
		unsigned long n = strtoul(argv[at + 1], &end, 10);

		if (*end || n < 1 || n > 1000)
			return 0;
		*runs = (unsigned)n;
		at += 2;
	}
	if (at < argc && strcmp(argv[at], "--slow") == 0) {
		*codecs = BENCH_ALL_CODECS;
		at++;
	}
	return at < argc && argv[at][0] != '-' ? at : 0;
}

int main(int argc, char **argv)
{
	struct result sum[BENCH_ALL_CODECS] = {0};
	unsigned runs;
	size_t codecs;
	int first;

	if (argc > 1 && strcmp(argv[1], "--speed") == 0)
		return bench_speed(argc - 1, argv + 1);
	first = parse_arguments(argc, argv, &runs, &codecs);
	if (!first) {
		fprintf(stderr, "usage: bench [--runs N] [--slow] FILE...\n" BENCH_SPEED_USAGE);
		return 2;
	}
	printf("# Share saved and speed of one core\n\n");
	bench_print_machine();
	printf("- MB/s: 10^6 bytes of the original per second of processor time, best of up to "
	       "%u runs in memory, one thread;\n  every decoded file was compared with the "
	       "original. brevis's figures contain the checksums and SHA-256 that it always "
	       "makes.\n",
	       runs);
	for (int i = first; i < argc; i++) {
		struct result results[BENCH_ALL_CODECS] = {0};

		if (bench_file(argv[i], runs, codecs, results))
			return 1;
		add_results(sum, results);
	}
	if (argc - first > 1)
		print_table("all files together", sum, codecs);
	return 0;
}
