/* SPDX-License-Identifier: Apache-2.0 */
/**
 * make-checkpoint [--seed N] [--revision] MIB FILE
 *
 * Writes a checkpoint of MIB MiB of BF16 weights, of the shapes of a Llama-style language model: a
 * token embedding, layers of attention and MLP, norms, an output head. With --revision it is the
 * same one later in its training, when a tenth of the tensors (and of the bytes) has moved. The
 * shares that moved are printed.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "scripts/synthetic.h"

#define MIB ((size_t)1 << 20)

/* Below so many MiB the model is a narrow one: else it would not have a whole layer. */
#define NARROW_BELOW 512
#define TINY_BELOW   16

#define STEPS 4 /* of training, that a revision is away */

struct model {
	struct synthetic_tensor *tensors;
	size_t count;
	size_t room; /* of tensors */
	size_t left; /* bytes still to be given to tensors */
	bool failed;
};

/* A weight of a layer, its sides as multiples of a 32nd of the hidden size. */
struct shape {
	const char *name;
	unsigned rows;
	unsigned columns;
};

static const struct shape layer_shapes[] = {
	{"input_layernorm", 0, 32},          {"mlp.down_proj", 32, 128},
	{"mlp.gate_proj", 128, 32},          {"mlp.up_proj", 128, 32},
	{"post_attention_layernorm", 0, 32}, {"self_attn.k_proj", 8, 32},
	{"self_attn.o_proj", 32, 32},        {"self_attn.q_proj", 32, 32},
	{"self_attn.v_proj", 8, 32},
};

static void add(struct model *m, const char *name, size_t rows, size_t columns)
{
	struct synthetic_tensor *t;

	if (m->count == m->room) {
		const size_t room = m->room * 2 + 64;

		t = reallocarray(m->tensors, room, sizeof(*t));
		if (!t) {
			m->failed = true;
			return;
		}
		m->tensors = t;
		m->room = room;
	}
	t = &m->tensors[m->count++];
	*t = (struct synthetic_tensor){.rows = rows, .columns = columns};
	snprintf(t->name, sizeof(t->name), "%s.weight", name);
	m->left -= synthetic_size(t) < m->left ? synthetic_size(t) : m->left;
}

/* Adds whole tensors of layers for as long as more is left than the output head can take. */
static void add_layers(struct model *m, size_t hidden, size_t head)
{
	const size_t shapes = sizeof(layer_shapes) / sizeof(*layer_shapes);
	const size_t unit = hidden / 32;

	for (size_t i = 0; m->left > head && !m->failed; i++) {
		const struct shape *s = &layer_shapes[i % shapes];
		char name[48];

		snprintf(name, sizeof(name), "model.layers.%zu.%s", i / shapes, s->name);
		add(m, name, s->rows ? s->rows * unit : 1, s->columns * unit);
	}
}

static void describe(struct model *m, size_t mib)
{
	const size_t hidden = mib < TINY_BELOW ? 256 : mib < NARROW_BELOW ? 1024 : 2048;
	const size_t row = hidden * sizeof(uint16_t);
	/* 64 MiB, as the head too has at most; but a quarter of a small file. */
	const size_t vocabulary = (mib < 256 ? mib * MIB / 4 : 64 * MIB) / row;

	m->left = mib * MIB;
	add(m, "model.embed_tokens", vocabulary, hidden);
	add_layers(m, hidden, vocabulary * row);
	add(m, "model.norm", 1, hidden);
	if (m->left >= row)
		add(m, "lm_head", m->left / row, hidden);
}

/* Bytes of every tenth tensor from number first. */
static size_t bytes_of_tenth(const struct model *m, size_t first)
{
	size_t bytes = 0;

	for (size_t i = first; i < m->count; i += 10)
		bytes += synthetic_size(&m->tensors[i]);
	return bytes;
}

/* Moves that tenth of the tensors whose bytes are nearest to a tenth of all. */
static void revise(struct model *m)
{
	size_t all = 0;
	size_t best = 0;
	size_t best_off = SIZE_MAX;
	size_t moved = 0;

	for (size_t i = 0; i < m->count; i++)
		all += synthetic_size(&m->tensors[i]);
	for (size_t first = 0; first < 10 && first < m->count; first++) {
		size_t bytes = bytes_of_tenth(m, first);
		size_t off = bytes > all / 10 ? bytes - all / 10 : all / 10 - bytes;

		if (off < best_off) {
			best_off = off;
			best = first;
		}
	}
	for (size_t i = best; i < m->count; i += 10, moved++)
		m->tensors[i].revision = STEPS;
	printf("%zu of %zu tensors, %zu of %zu bytes\n", moved, m->count, bytes_of_tenth(m, best),
	       all);
}

static int write_data(const struct model *m, uint64_t seed, FILE *out)
{
	struct synthetic *synthetic = synthetic_new();
	size_t largest = 1;
	uint8_t *data = NULL;
	int r = -1;

	for (size_t i = 0; i < m->count; i++)
		if (synthetic_size(&m->tensors[i]) > largest)
			largest = synthetic_size(&m->tensors[i]);
	data = malloc(largest);
	if (!synthetic || !data || synthetic_put_header(out, m->tensors, m->count))
		goto out;
	for (size_t i = 0; i < m->count; i++) {
		if (synthetic_fill(synthetic, &m->tensors[i], seed, data))
			goto out;
		fwrite(data, 1, synthetic_size(&m->tensors[i]), out);
	}
	r = 0;
out:
	free(data);
	synthetic_free(synthetic);
	return r;
}

static int write_file(const struct model *m, uint64_t seed, const char *path)
{
	FILE *out = fopen(path, "wb");
	int r = out ? write_data(m, seed, out) : -1;

	if (out && ferror(out))
		r = -1;
	if (out && fclose(out))
		r = -1;
	if (r)
		fprintf(stderr, "make-checkpoint: %s: %s\n", path, strerror(errno));
	return r;
}

static bool parse_number(const char *text, uint64_t least, uint64_t most, uint64_t *number)
{
	char *end;

	errno = 0;
	*number = strtoull(text, &end, 10);
	return text[0] >= '0' && text[0] <= '9' && !*end && !errno && *number >= least &&
	       *number <= most;
}

int main(int argc, char **argv)
{
	struct model m = {0};
	uint64_t seed = 1;
	uint64_t mib = 0;
	bool revision = false;
	bool good = true;
	int at = 1;
	int r;

	for (; good && at < argc && argv[at][0] == '-'; at++) {
		if (strcmp(argv[at], "--revision") == 0)
			revision = true;
		else if (strcmp(argv[at], "--seed") == 0 && at + 1 < argc)
			good = parse_number(argv[++at], 0, UINT64_MAX, &seed);
		else
			good = false;
	}
	if (!good || argc - at != 2 || !parse_number(argv[at], 1, 1 << 20, &mib)) {
		fprintf(stderr, "usage: make-checkpoint [--seed N] [--revision] MIB FILE\n");
		return 2;
	}
	describe(&m, mib);
	if (revision && !m.failed)
		revise(&m);
	if (m.failed)
		fprintf(stderr, "make-checkpoint: out of memory\n");
	r = m.failed ? -1 : write_file(&m, seed, argv[at + 1]);
	free(m.tensors);
	return r ? 1 : 0;
}
