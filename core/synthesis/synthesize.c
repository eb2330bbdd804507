/* SPDX-License-Identifier: Apache-2.0 */
#include "core/synthesis/synthesize.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/program/fields.h"
#include "core/synthesis/search.h"

/* Expansions of each effort. The first is the paper's own choice for its evaluation. */
#define BUDGET_FAST    1
#define BUDGET_DEFAULT 8
#define BUDGET_BEST    64

/*
 * A slower preset does what the faster ones do, too: so it is never larger. It does that last, when
 * the bounds in bytes spare most of it.
 */
static int explore(struct search *search, const struct synthesis_options *o,
		   struct brevis_error *err)
{
	bool fast = o->preset == BREVIS_PRESET_FAST;
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

int synthesize(const void *words, unsigned width, size_t count, const struct tensor_kind *kind,
	       const struct synthesis_options *options, struct buffer *out, struct prior *counts,
	       struct brevis_error *err)
{
	struct search_options search_options = {
		.prior = options->prior,
		.dtype = kind->dtype,
		.first_come = options->first_come,
	};
	struct words target = {words, width, count};
	struct stream *root;
	struct search *search = NULL;
	void *swapped = NULL;
	int status;

	if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ && width > 8) {
		swapped = malloc(count * (width / 8));
		if (!swapped)
			return error_nomem(err);
		target.data = memcpy(swapped, words, count * (width / 8));
		fields_to_bytes(swapped, width, count);
	}
	root = stream_new(&target, swapped, &kind->shape,
			  kind->is_float ? MEANS_FLOAT : MEANS_INTEGER);
	if (root)
		root->codebook = options->codebook;
	if (root)
		search = search_new(root, &search_options);
	status = search ? explore(search, options, err) : error_nomem(err);
	if (!status)
		status = search_finish(search, out, counts, err);
	search_free(search);
	stream_free(root);
	return status;
}
