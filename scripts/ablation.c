/* SPDX-License-Identifier: Apache-2.0 */
/**
 * ablation [--budget N] [--budgets N,N,...] FILE...
 *
 * What guides the search, taken away: the paper's Table 2 and its series of budgets, for the
 * tensors of safetensors files. Prints Markdown: one pair of tables for each file, and one for all
 * of them. Every configuration has the same codebook; those with a prior pay for its calibration.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/compress/pieces.h"
#include "core/synthesis/calibrate.h"
#include "scripts/load-file.h"

#define BUDGETS_MAX 8

/** A tensor, or the part of one that gets a record. */
struct piece {
	void *words;
	size_t size;
	unsigned width;
	struct tensor_kind kind;
};

struct checkpoint {
	struct piece *pieces;
	size_t count;
	struct sample_tensor *tensors; /* the same, as calibration takes them */
	struct codebook *codebook;
};

struct configuration {
	const char *name;
	bool search; /* A* */
	bool prior;
};

static const struct configuration configurations[] = {
	{"Full (A* + prior)", true, true},
	{"No A*", false, true},
	{"No prior", true, false},
	{"No A* or prior", false, false},
};

#define CONFIGURATIONS (sizeof(configurations) / sizeof(configurations[0]))

struct result {
	uint64_t bytes;
	double seconds;
};

struct series {
	unsigned budget;
	unsigned budgets[BUDGETS_MAX];
	unsigned budget_count;
	struct result table[CONFIGURATIONS];
	struct result by_budget[BUDGETS_MAX];
	uint64_t original;
};

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int complain(const char *path, const char *why)
{
	fprintf(stderr, "ablation: %s: %s\n", path, why);
	return -1;
}

/* ---- the tensors of a file ------------------------------------------------------------------- */

/* Adds a copy of a piece, which is aligned as the file's bytes are not. */
static int add_piece(struct checkpoint *c, const uint8_t *data, size_t size,
		     const struct piece_kind *kind)
{
	struct piece *pieces = realloc(c->pieces, sizeof(*pieces) * (c->count + 1));
	struct piece *p;

	if (!pieces)
		return -1;
	c->pieces = pieces;
	p = &pieces[c->count];
	*p = (struct piece){malloc(size), size, kind->record, kind->tensor};
	if (!p->words)
		return -1;
	memcpy(p->words, data, size);
	c->count++;
	return 0;
}

/* Cuts a file as an encoder does, and keeps what is a tensor. */
static int cut_file(struct checkpoint *c, const uint8_t *data, size_t size,
		    struct brevis_error *err)
{
	struct piece_cutter cutter;
	size_t begin = 0, at = 0;
	int status = piece_cutter_init(&cutter, err);

	if (status)
		return status;
	while (at < size && !status) {
		struct piece_kind kind;
		size_t used;
		bool ends;

		status = piece_cutter_feed(&cutter, data + at, size - at, &used, &ends, &kind, err);
		at += used;
		if (status || !ends)
			continue;
		if (kind.record != RECORD_BYTES && add_piece(c, data + begin, at - begin, &kind)) {
			status = BREVIS_E_NOMEM;
			snprintf(err->message, sizeof(err->message), "out of memory");
		}
		begin = at;
	}
	piece_cutter_release(&cutter);
	return status;
}

static void release(struct checkpoint *c)
{
	for (size_t i = 0; i < c->count; i++)
		free(c->pieces[i].words);
	free(c->pieces);
	free(c->tensors);
	codebook_free(c->codebook);
}

/* Makes the codebook of the tensors, if one pays. */
static int make_codebook(struct checkpoint *c, struct brevis_error *err)
{
	struct buffer bytes = BUFFER_INIT;
	int status;

	for (size_t i = 0; i < c->count; i++) {
		const struct piece *p = &c->pieces[i];

		c->tensors[i] = (struct sample_tensor){p->words, p->width, p->size / (p->width / 8),
						       &p->kind};
	}
	status = calibrate_codebook(c->tensors, c->count, &bytes, err);
	if (!status && bytes.size)
		status = codebook_parse(bytes.data, bytes.size, &c->codebook, err);
	buffer_release(&bytes);
	return status;
}

static int load_checkpoint(const char *path, struct checkpoint *c)
{
	struct brevis_error err = {0};
	uint8_t *data = NULL;
	size_t size = 0;
	int r = -1;

	*c = (struct checkpoint){0};
	errno = 0;
	if (load_file(path, &data, &size)) {
		complain(path, strerror(errno));
		goto out;
	}
	if (cut_file(c, data, size, &err)) {
		complain(path, err.message);
		goto out;
	}
	if (!c->count) {
		complain(path, "it has no tensors");
		goto out;
	}
	c->tensors = calloc(c->count, sizeof(*c->tensors));
	if (!c->tensors)
		complain(path, strerror(ENOMEM));
	else if (make_codebook(c, &err))
		complain(path, err.message);
	else
		r = 0;
out:
	free(data);
	if (r)
		release(c);
	return r;
}

/* ---- measuring ------------------------------------------------------------------------------- */

/* Synthesises all tensors in a configuration. */
static int measure(const struct checkpoint *c, const struct configuration *how, unsigned budget,
		   struct result *result, struct brevis_error *err)
{
	struct synthesis_options options = {
		.codebook = c->codebook,
		.budget = budget,
		.first_come = !how->search,
	};
	struct buffer program = BUFFER_INIT;
	struct prior *prior = NULL;
	double start = cpu_seconds();
	uint64_t bytes = 0;
	int status = BREVIS_OK;

	if (how->prior)
		status = calibrate_prior(c->tensors, c->count, c->codebook, &prior, err);
	options.prior = prior;
	for (size_t i = 0; i < c->count && !status; i++) {
		const struct sample_tensor *t = &c->tensors[i];

		buffer_clear(&program);
		status = synthesize(t->words, t->width, t->count, t->kind, &options, &program, NULL,
				    err);
		bytes += program.size;
	}
	result->bytes += bytes;
	result->seconds += cpu_seconds() - start;
	buffer_release(&program);
	prior_free(prior);
	return status;
}

static int measure_file(const char *path, struct series *s)
{
	struct brevis_error err = {0};
	struct checkpoint c;
	int status = BREVIS_OK;

	if (load_checkpoint(path, &c))
		return -1;
	for (size_t i = 0; i < c.count; i++)
		s->original += c.pieces[i].size;
	for (size_t i = 0; i < CONFIGURATIONS && !status; i++)
		status = measure(&c, &configurations[i], s->budget, &s->table[i], &err);
	for (unsigned i = 0; i < s->budget_count && !status; i++)
		status = measure(&c, &configurations[0], s->budgets[i], &s->by_budget[i], &err);
	release(&c);
	return status ? complain(path, err.message) : 0;
}

/* ---- printing -------------------------------------------------------------------------------- */

static void print_row(const struct result *r, const struct result *base)
{
	long long extra = (long long)r->bytes - (long long)base->bytes;

	printf(" %llu | %+lld | %.2f |\n", (unsigned long long)r->bytes, extra, r->seconds);
}

static void print_series(const char *title, const struct series *s)
{
	printf("\n## %s\n\nTensors of %llu bytes, at a budget of %u:\n\n", title,
	       (unsigned long long)s->original, s->budget);
	printf("| configuration | bytes | extra bytes | CPU seconds |\n|---|--:|--:|--:|\n");
	for (size_t i = 0; i < CONFIGURATIONS; i++) {
		printf("| %s |", configurations[i].name);
		print_row(&s->table[i], &s->table[0]);
	}
	if (!s->budget_count)
		return;
	printf("\n| budget | bytes | extra bytes | CPU seconds |\n|--:|--:|--:|--:|\n");
	for (unsigned i = 0; i < s->budget_count; i++) {
		printf("| %u |", s->budgets[i]);
		print_row(&s->by_budget[i], &s->by_budget[0]);
	}
	fflush(stdout);
}

static void add(struct result *sum, const struct result *one, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		sum[i].bytes += one[i].bytes;
		sum[i].seconds += one[i].seconds;
	}
}

/* ---- arguments ------------------------------------------------------------------------------- */

/* Parses numbers of 1 to 100,000 with commas between them. Returns how many, 0 for bad ones. */
static unsigned parse_budgets(const char *text, unsigned *out, unsigned most)
{
	unsigned count = 0;

	for (;;) {
		char *end;
		unsigned long n = strtoul(text, &end, 10);

		if (end == text || n < 1 || n > 100000 || count == most)
			return 0;
		out[count++] = (unsigned)n;
		if (!*end)
			return count;
		if (*end != ',')
			return 0;
		text = end + 1;
	}
}

/* Takes the options off the arguments. Returns the index of the first file, or 0 for bad usage. */
static int parse_arguments(int argc, char **argv, struct series *s)
{
	int at = 1;

	*s = (struct series){.budget = 32, .budgets = {1, 32, 256}, .budget_count = 3};
	for (; at + 1 < argc && argv[at][0] == '-'; at += 2) {
		if (strcmp(argv[at], "--budget") == 0 && parse_budgets(argv[at + 1], &s->budget, 1))
			continue;
		s->budget_count = parse_budgets(argv[at + 1], s->budgets, BUDGETS_MAX);
		if (strcmp(argv[at], "--budgets") != 0 || !s->budget_count)
			return 0;
	}
	return at < argc && argv[at][0] != '-' ? at : 0;
}

int main(int argc, char **argv)
{
	struct series sum;
	int first = parse_arguments(argc, argv, &sum);

	if (!first) {
		fprintf(stderr, "usage: ablation [--budget N] [--budgets N,N,...] FILE...\n");
		return 2;
	}
	printf("# What guides the search\n\nExtra bytes are those beyond the first row. CPU "
	       "seconds "
	       "are those of one thread, calibration of the prior included.\n");
	for (int i = first; i < argc; i++) {
		const char *name = strrchr(argv[i], '/');
		struct series one;

		parse_arguments(argc, argv, &one);
		if (measure_file(argv[i], &one))
			return 1;
		print_series(name ? name + 1 : argv[i], &one);
		sum.original += one.original;
		add(sum.table, one.table, CONFIGURATIONS);
		add(sum.by_budget, one.by_budget, BUDGETS_MAX);
	}
	if (argc - first > 1)
		print_series("all files together", &sum);
	return 0;
}
