/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scripts/bench-codecs.h"
#include "scripts/bench-inputs.h"
#include "scripts/load-file.h"
#include "scripts/synthetic.h"

#define SEED 20240229

static int complain(const char *what, const char *why)
{
	fprintf(stderr, "bench: %s: %s\n", what, why);
	return -1;
}

/* ---- any list of tensors -------------------------------------------------------------------- */

struct checkpoint {
	struct synthetic_tensor *tensors;
	size_t count;
	uint8_t *bytes; /* of the whole file */
	size_t size;
	uint8_t *data; /* of the first tensor, within bytes */
};

/* Takes memory for a file of these tensors and writes its header. */
static int begin_file(struct checkpoint *c)
{
	char *header = NULL;
	size_t header_size = 0;
	FILE *out = open_memstream(&header, &header_size);
	int r = out ? synthetic_put_header(out, c->tensors, c->count) : -1;

	if (out && fclose(out))
		r = -1;
	c->size = header_size;
	for (size_t i = 0; i < c->count; i++)
		c->size += synthetic_size(&c->tensors[i]);
	c->bytes = r ? NULL : malloc(c->size);
	if (c->bytes) {
		memcpy(c->bytes, header, header_size);
		c->data = c->bytes + header_size;
	}
	free(header);
	return c->bytes ? 0 : -1;
}

/* ---- a model, repeated ---------------------------------------------------------------------- */

struct model {
	uint8_t *bytes;
	size_t size;
	struct brevis_archive *archive; /* by which the library tells what is in a file */
	uint8_t *encoded;
	uint64_t tensors;
	size_t data_size;
};

static int read_at(void *ctx, void *buf, size_t len, uint64_t offset)
{
	const struct bench_output *encoded = ctx;

	if (offset > encoded->size || len > encoded->size - offset)
		return -1;
	memcpy(buf, encoded->data + offset, len);
	return 0;
}

/* The name of a tensor in a copy. False if the tensor is none that can be copied. */
static bool describe_copy(const struct brevis_tensor_info *t, size_t copy,
			  struct synthetic_tensor *out)
{
	int n = snprintf(out->name, sizeof(out->name), "copies.%zu.%s", copy, t->name);

	if (n < 0 || (size_t)n >= sizeof(out->name) || strpbrk(t->name, "\"\\\n\t"))
		return false;
	if (strcmp(t->dtype, "BF16") != 0 || t->size == 0 || t->rank == 0)
		return false;
	out->columns = (size_t)t->shape[t->rank - 1];
	out->rows = (size_t)t->size / sizeof(uint16_t) / out->columns;
	return true;
}

static int describe_copies(const struct model *m, size_t copies, struct checkpoint *c)
{
	c->tensors = calloc(copies, (size_t)m->tensors * sizeof(*c->tensors));
	if (!c->tensors)
		return -1;
	for (size_t copy = 0; copy < copies; copy++) {
		for (uint64_t i = 0; i < m->tensors; i++) {
			struct brevis_tensor_info t;

			if (brevis_archive_tensor(m->archive, i, &t, NULL) ||
			    !describe_copy(&t, copy, &c->tensors[c->count++]))
				return -1;
		}
	}
	return 0;
}

/*
 * Copies BF16 words. With a state of random numbers, each gets other low bits of its mantissa,
 * which are as good as random in a trained weight; fewer than three of them would leave a codec
 * with a window of megabytes something to find.
 */
static void copy_words(uint8_t *to, const uint8_t *from, size_t size, uint64_t *random)
{
	uint64_t bits = 0;

	memcpy(to, from, size);
	for (size_t word = 0; random && word < size / 2; word++) {
		if (word % 16 == 0)
			bits = synthetic_random(random);
		to[2 * word] ^= (uint8_t)((bits >> word % 16 * 4) & 7);
	}
}

/* Opens an archive of the model, which is in memory like everything here. */
static int open_model(const char *path, struct model *m, struct bench_output *encoded)
{
	const struct bench_input input = {m->bytes, m->size};
	struct brevis_error err = {0};
	struct brevis_source source;

	encoded->capacity = bench_bound(m->size);
	encoded->data = m->encoded = malloc(encoded->capacity);
	if (!encoded->data)
		return complain(path, "out of memory");
	if (bench_brevis_encode(&input, encoded, 1, false, &err))
		return complain(path, err.message);
	source = (struct brevis_source){read_at, encoded, encoded->size, NULL};
	if (brevis_archive_open(&source, &m->archive, &err) ||
	    brevis_archive_load_tensors(m->archive, &m->tensors, &err))
		return complain(path, err.message);
	for (uint64_t i = 0; i < m->tensors; i++) {
		struct brevis_tensor_info t;

		if (brevis_archive_tensor(m->archive, i, &t, &err))
			return complain(path, err.message);
		m->data_size += (size_t)t.size;
	}
	return m->data_size ? 0 : complain(path, "no checkpoint with tensors");
}

int bench_repeat_model(const char *path, size_t size, uint8_t **data, size_t *got)
{
	struct model m = {0};
	struct checkpoint c = {0};
	struct bench_output encoded = {0};
	uint64_t random = SEED;
	size_t copies;
	uint8_t *to;
	int r = -1;

	errno = 0;
	if (load_file(path, &m.bytes, &m.size)) {
		complain(path, strerror(errno));
		goto out;
	}
	if (open_model(path, &m, &encoded))
		goto out;
	copies = size / m.data_size + 1;
	if (describe_copies(&m, copies, &c) || begin_file(&c)) {
		complain(path, "only tensors in BF16 with plain names can be repeated, as far as "
			       "memory goes");
		goto out;
	}
	to = c.data;
	for (size_t copy = 0; copy < copies; copy++, to += m.data_size)
		copy_words(to, m.bytes + m.size - m.data_size, m.data_size, copy ? &random : NULL);
	*data = c.bytes;
	*got = c.size;
	r = 0;
out:
	free(c.tensors);
	brevis_archive_free(m.archive);
	free(m.encoded);
	free(m.bytes);
	return r;
}

/* ---- small tensors -------------------------------------------------------------------------- */

int bench_small_tensors(size_t count, uint8_t **data, size_t *got)
{
	struct synthetic *synthetic = synthetic_new();
	struct checkpoint c = {.tensors = calloc(count, sizeof(*c.tensors)), .count = count};
	uint64_t random = SEED;
	uint8_t *to;
	int r = -1;

	if (!synthetic || !c.tensors)
		goto out;
	for (size_t i = 0; i < count; i++) {
		struct synthetic_tensor *t = &c.tensors[i];

		snprintf(t->name, sizeof(t->name), "blocks.%zu.adapter.weight", i);
		t->columns = (size_t)64 << synthetic_random(&random) % 5;
		/* 4 to 64 KiB, evenly. */
		t->rows = (2048 + synthetic_random(&random) % 30721) / t->columns;
	}
	if (begin_file(&c))
		goto out;
	to = c.data;
	for (size_t i = 0; i < count; i++, to += synthetic_size(&c.tensors[i - 1]))
		if (synthetic_fill(synthetic, &c.tensors[i], SEED, to))
			goto out;
	*data = c.bytes;
	*got = c.size;
	c.bytes = NULL;
	r = 0;
out:
	if (r)
		complain("small tensors", "out of memory");
	free(c.bytes);
	free(c.tensors);
	synthetic_free(synthetic);
	return r;
}
