/* SPDX-License-Identifier: Apache-2.0 */
#include "core/synthesis/synthesize.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/program/fields.h"
#include "core/synthesis/search.h"
#include "core/synthesis/shortened.h"

/* Expansions of each effort. The first is the paper's own choice for its evaluation. */
#define BUDGET_FAST    1
#define BUDGET_DEFAULT 8
#define BUDGET_BEST    64

/* A tensor of fewer bytes is not worth more than the least effort, unless the preset is the best.
 */
#define TINY_BYTES 2048

/* One of fewer is searched in no time. */
#define MINUTE_BYTES 32

/*
 * A slower preset does what the faster ones do, too: so it is never larger. It does that last, when
 * the bounds in bytes spare most of it.
 */
static int explore(struct search *search, const struct synthesis_options *o, size_t bytes,
		   struct brevis_error *err)
{
	bool fast =
		o->preset == BREVIS_PRESET_FAST ||
		(o->preset == BREVIS_PRESET_DEFAULT && bytes >= MINUTE_BYTES && bytes < TINY_BYTES);
	bool best = o->preset == BREVIS_PRESET_BEST;
	unsigned own = o->budget;
	int status = BREVIS_OK;

	if (best)
		status = search_explore(search, EFFORT_BEST, own ? own : BUDGET_BEST, err);
	if (!status && !fast)
		status = search_explore(search, EFFORT_DEFAULT, !best && own ? own : BUDGET_DEFAULT,
					err);
	if (!status)
		status = search_explore(search, EFFORT_FAST, fast && own ? own : BUDGET_FAST, err);
	return status;
}

/* The words in the machine's order. *swapped, for free(), holds them if that is not the bytes'. */
static int take_words(const void *words, unsigned width, size_t count, struct words *out,
		      void **swapped, struct brevis_error *err)
{
	*out = (struct words){words, width, count};
	*swapped = NULL;
	if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ || width == 8)
		return BREVIS_OK;
	*swapped = malloc(count * (width / 8));
	if (!*swapped)
		return error_nomem(err);
	out->data = memcpy(*swapped, words, count * (width / 8));
	fields_to_bytes(*swapped, width, count);
	return BREVIS_OK;
}

bool synthesis_is_usual(const void *words, unsigned width, size_t count,
			const struct tensor_kind *kind)
{
	struct words in;
	void *swapped;
	bool result = !take_words(words, width, count, &in, &swapped, NULL) &&
		      shortened_applies(&in, kind);

	free(swapped);
	return result;
}

/* Appends what the search finds if that is smaller than `limit` bytes, if that is not 0. Takes over
 * `owned`. */
static int find(const struct words *words, void *owned, const struct tensor_kind *kind,
		const struct synthesis_options *options, size_t limit, struct buffer *out,
		struct prior *counts, struct brevis_error *err)
{
	struct search_options search_options = {
		.prior = options->prior,
		.dtype = kind->dtype,
		.first_come = options->first_come,
		.counts = counts,
		.limit = limit,
	};
	struct stream *root = stream_new(words, owned, &kind->shape,
					 kind->is_float ? MEANS_FLOAT : MEANS_INTEGER);
	struct search *search = NULL;
	int status;

	if (root)
		root->codebook = options->codebook;
	if (root)
		search = search_new(root, &search_options);
	status = search ? explore(search, options, words->count * (words->width / 8), err)
			: error_nomem(err);
	if (!status)
		status = search_finish(search, out, counts, err);
	search_free(search);
	stream_free(root);
	return status;
}

int synthesize(const void *words, unsigned width, size_t count, const struct tensor_kind *kind,
	       const struct synthesis_options *options, struct buffer *out, struct prior *counts,
	       struct brevis_error *err)
{
	struct words target;
	enum usual usual = USUAL_NONE;
	struct buffer found = BUFFER_INIT;
	size_t before = out->size;
	void *swapped;
	int status = take_words(words, width, count, &target, &swapped, err);

	if (status)
		return status;
	if (!options->first_come && !options->search_only && !counts)
		status = shortened_program(&target, kind, options, out, &usual, err);
	if (status || (usual == USUAL_SUFFICES && options->preset != BREVIS_PRESET_BEST)) {
		free(swapped);
		return status;
	}
	if (!usual)
		return find(&target, swapped, kind, options, 0, out, counts, err);
	status = find(&target, swapped, kind, options, out->size - before, &found, counts, err);
	if (!status && found.size) {
		out->size = before;
		buffer_append(out, found.data, found.size);
	}
	buffer_release(&found);
	return status;
}
