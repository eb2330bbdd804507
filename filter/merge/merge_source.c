/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/merge/merge_source.h"

#include <stdlib.h>
#include <string.h>

#include "filter/cli/report.h"

/* Lists what the header says; tensors are as yet without their hashes. Returns -1 when memory is
 * short. */
static int list_all(struct merge_source *s)
{
	const struct brevis_header *header = model_view_header(s->view);

	if (merge_header_tensors(header, &s->tensors) != 0 ||
	    merge_header_metadata(header, &s->metadata) != 0)
		return -1;
	return merge_header_is_plain(header, &s->is_plain);
}

/* ---- reading all of it ---------------------------------------------------------------------- */

struct pass {
	struct merge_source *source;
	uint64_t header_left;
	struct brevis_sha256 *header_sha;
	size_t tensor; /* at hand */
	uint64_t left; /* of its bytes */
	struct brevis_sha256 *sha;
};

/* Ends the tensor at hand, and those after it that have no bytes, and begins the next one. */
static int step(struct pass *pass)
{
	struct merge_list *tensors = &pass->source->tensors;

	while (pass->left == 0 && pass->tensor < tensors->count) {
		if (pass->sha) {
			brevis_sha256_final(pass->sha, tensors->items[pass->tensor++].sha256);
			brevis_sha256_free(pass->sha);
			pass->sha = NULL;
		}
		if (pass->tensor == tensors->count)
			break;
		pass->sha = brevis_sha256_new();
		if (!pass->sha)
			return -1;
		pass->left = tensors->items[pass->tensor].size;
	}
	return 0;
}

static int take(void *ctx, const void *data, size_t len)
{
	struct pass *pass = ctx;
	const uint8_t *at = data;
	size_t n = len < pass->header_left ? len : (size_t)pass->header_left;

	brevis_sha256_update(pass->header_sha, at, n);
	pass->header_left -= n;
	for (at += n, len -= n; len; at += n, len -= n) {
		if (step(pass) != 0 || pass->left == 0)
			return -1;
		n = len < pass->left ? len : (size_t)pass->left;
		brevis_sha256_update(pass->sha, at, n);
		pass->left -= n;
	}
	return 0;
}

static int read_all(struct merge_source *s, struct workspace *ws, const char *path)
{
	struct pass pass = {.source = s, .header_left = s->header_size};
	int result = -1;

	pass.header_sha = brevis_sha256_new();
	if (!pass.header_sha) {
		report_error("%s: out of memory", path);
		goto out;
	}
	if (merge_side_restore(ws, path, s->side, take, &pass) != 0)
		goto out;
	if (pass.header_left || step(&pass) != 0 || pass.tensor != s->tensors.count) {
		report_error("%s: %s changed while it was read, or memory is short; merge again",
			     path, s->side->title);
		goto out;
	}
	brevis_sha256_final(pass.header_sha, s->header_sha256);
	result = 0;
out:
	brevis_sha256_free(pass.header_sha);
	brevis_sha256_free(pass.sha);
	return result;
}

int merge_source_open(struct merge_source *source, struct workspace *ws, const char *path,
		      const struct merge_side *side)
{
	source->side = side;
	if (side->blob == MERGE_EMPTY) {
		source->is_regular = side->may_be_nothing;
		return 0;
	}
	if (model_view_open_file(ws, side->file, path, &source->view) != 0)
		return -1;
	if (!model_view_is_here(source->view))
		return model_view_report_missing(source->view);
	source->is_regular = model_view_layout(source->view) == BREVIS_LAYOUT_SAFETENSORS;
	if (!source->is_regular)
		return 0;
	source->header_size = model_view_header_size(source->view);
	if (list_all(source) != 0)
		return report_error("%s: out of memory", path);
	return read_all(source, ws, path);
}

void merge_source_release(struct merge_source *source)
{
	free(source->tensors.items);
	free(source->metadata.items);
	model_view_free(source->view);
	memset(source, 0, sizeof(*source));
}
