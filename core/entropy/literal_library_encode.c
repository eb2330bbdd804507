/* SPDX-License-Identifier: Apache-2.0 */
#include "core/entropy/literal_library_encode.h"

#include <stdlib.h>

#include "core/base/error.h"
#include "core/entropy/library_encode.h"
#include "core/entropy/raw_encode.h"

/* A larger literal is tried only if a sample of it promises something. */
#define JUST_TRY_MAX (UINT32_C(1) << 20)

/* The level for samples. */
#define SAMPLE_LEVEL 3

/* An empty stream of either kind, in its node, is no smaller. */
#define NODE_MIN 8

struct attempt {
	struct buffer *out;
	size_t start;
	const uint8_t *raw; /* the words as coding 0 has them */
	size_t size;
	unsigned word_bytes;
	uint64_t *best;
	bool *found;
	struct brevis_error *err;
};

/* Puts the node in place of the best one so far if it is smaller. */
static int attempt(struct attempt *a, enum library library, int level)
{
	struct library_effort effort = {.zstd_level = level, .word_bytes = a->word_bytes};
	struct buffer stream = BUFFER_INIT;
	bool fits;
	int status = library_encode(&stream, library, &effort, a->raw, a->size, *a->best - 2, &fits,
				    a->err);
	uint64_t size = 1 + varint_size(stream.size) + stream.size;
	unsigned coding = library == LIBRARY_ZSTD ? LITERAL_ZSTD : LITERAL_LZMA2;

	if (!status && fits && size < *a->best) {
		a->out->size = a->start;
		buffer_u8(a->out, (uint8_t)(LITERAL_NODE | coding << 4));
		buffer_varint(a->out, stream.size);
		buffer_append(a->out, stream.data, stream.size);
		*a->best = size;
		*a->found = true;
	}
	buffer_release(&stream);
	return status;
}

/* Bytes that a fast look takes for the sample; UINT64_MAX if that does not pay at all. */
static int look(const uint8_t *sample, enum library library, unsigned word_bytes, uint64_t *size,
		struct brevis_error *err)
{
	struct library_effort effort = {
		.zstd_level = SAMPLE_LEVEL, .lzma_fast = true, .word_bytes = word_bytes};
	struct buffer stream = BUFFER_INIT;
	bool fits;
	int status = library_encode(&stream, library, &effort, sample, LIBRARY_SAMPLE,
				    LIBRARY_SAMPLE, &fits, err);

	*size = fits ? stream.size : UINT64_MAX;
	buffer_release(&stream);
	return status;
}

/*
 * Decides from a sample which of the libraries are worth their time. Zstandard wins by matches,
 * which show as a size below the sample's order-0 entropy, or where nothing else pays. LZMA2 also
 * wins by context, and is not much better when it tries hard.
 */
static int choose_by_sample(const struct attempt *a, bool *zstd, bool *lzma)
{
	uint8_t *sample = malloc(LIBRARY_SAMPLE);
	uint64_t share = *a->best * LIBRARY_SAMPLE / a->size;
	uint64_t order0, size;
	int status = BREVIS_OK;

	if (!sample)
		return error_nomem(a->err);
	library_sample(a->raw, a->size, sample);
	order0 = library_order0(sample, LIBRARY_SAMPLE, a->word_bytes);
	if (*zstd) {
		status = look(sample, LIBRARY_ZSTD, a->word_bytes, &size, a->err);
		*zstd = size < share || (size < share + share / 4 && size < order0 - order0 / 64);
	}
	if (*lzma && !status) {
		status = look(sample, LIBRARY_LZMA2, a->word_bytes, &size, a->err);
		*lzma = size < share + share / 16;
	}
	free(sample);
	return status;
}

static int try_libraries(struct attempt *a, const struct literal_options *options)
{
	bool zstd = options->zstd_level != 0;
	bool lzma = options->lzma;
	int status = BREVIS_OK;

	if (a->size > JUST_TRY_MAX)
		status = choose_by_sample(a, &zstd, &lzma);
	if (zstd && !status)
		status = attempt(a, LIBRARY_ZSTD, options->zstd_level);
	if (lzma && !status)
		status = attempt(a, LIBRARY_LZMA2, 0);
	return status;
}

int literal_library_encode(struct buffer *out, size_t start, const void *words, unsigned width,
			   size_t count, const struct literal_options *options, uint64_t *best,
			   bool *found, struct brevis_error *err)
{
	struct attempt a = {.out = out,
			    .start = start,
			    .word_bytes = raw_bytes(width),
			    .best = best,
			    .found = found,
			    .err = err};
	uint8_t *copy = NULL;
	int status;

	*found = false;
	if (*best <= NODE_MIN || count > LITERAL_LIBRARY_BYTES_MAX / raw_bytes(width))
		return BREVIS_OK;
	a.size = count * raw_bytes(width);
	a.raw = words;
	if (!raw_is_memory(width)) {
		copy = malloc(a.size);
		if (!copy)
			return error_nomem(err);
		raw_encode(copy, words, width, count);
		a.raw = copy;
	}
	status = try_libraries(&a, options);
	free(copy);
	return status;
}
