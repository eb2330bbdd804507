/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Each version is read once, which proves it and hashes its tensors; merge_plan.h decides; then the
 * merged file is streamed into a cleaning, tensor after tensor out of the version that has it, and
 * each is hashed again on its way.
 */
#include "filter/merge/merge_tensors.h"

#include <stdio.h>
#include <string.h>

#include "core/base/escape.h"
#include "filter/merge/merge_source.h"
#include "filter/cli/report.h"
#include "filter/stream.h"

struct tensor_merge {
	struct workspace *ws;
	const char *path;
	struct merge_source sources[MERGE_VERSIONS];
	struct merge_list tensor_lists[MERGE_VERSIONS];
	struct merge_list metadata_lists[MERGE_VERSIONS];
	struct merge_plan tensors;
	struct merge_plan metadata;
	struct merge_outcome *out;
};

static enum merge_result fail_nomem(const struct tensor_merge *m)
{
	report_error("%s: out of memory", m->path);
	return MERGE_FAILED;
}

/* ---- reading and deciding ------------------------------------------------------------------- */

static enum merge_result read_versions(struct tensor_merge *m,
				       const struct merge_side sides[MERGE_VERSIONS])
{
	for (size_t v = 0; v < MERGE_VERSIONS; v++) {
		struct merge_source *source = &m->sources[v];

		if (merge_source_open(source, m->ws, m->path, &sides[v]) != 0)
			return MERGE_FAILED;
		if (!source->is_regular) {
			snprintf(m->out->why, sizeof(m->out->why),
				 "%s is no safetensors file that could be merged by tensors",
				 sides[v].title);
			return MERGE_CONFLICT;
		}
		m->tensor_lists[v] = source->tensors;
		m->metadata_lists[v] = source->metadata;
	}
	return MERGE_DONE;
}

/* Names what both sides changed; a name may be of any length. */
static enum merge_result tell_conflict(struct tensor_merge *m, const struct merge_plan *plan,
				       const char *what)
{
	char more[48] = "";
	char name[160];

	escape_text(name, sizeof(name), plan->conflict);
	if (plan->conflicts > 1)
		snprintf(more, sizeof(more), " and %zu more", plan->conflicts - 1);
	snprintf(m->out->why, sizeof(m->out->why), "both sides changed %s %s%s", what, name, more);
	return MERGE_CONFLICT;
}

static enum merge_result make_plans(struct tensor_merge *m)
{
	if (merge_plan_make(m->tensor_lists, &m->tensors) != 0 ||
	    merge_plan_make(m->metadata_lists, &m->metadata) != 0)
		return fail_nomem(m);
	if (m->tensors.conflicts)
		return tell_conflict(m, &m->tensors, "the tensor");
	if (m->metadata.conflicts)
		return tell_conflict(m, &m->metadata, "the metadata");
	m->out->from_ours = m->tensors.from_ours + m->metadata.from_ours;
	m->out->from_theirs = m->tensors.from_theirs + m->metadata.from_theirs;
	return MERGE_DONE;
}

/* ---- the header ----------------------------------------------------------------------------- */

static bool same_header(const struct tensor_merge *m, enum merge_version a, enum merge_version b)
{
	const struct merge_source *x = &m->sources[a];
	const struct merge_source *y = &m->sources[b];

	return x->header_size == y->header_size &&
	       memcmp(x->header_sha256, y->header_sha256, sizeof(x->header_sha256)) == 0;
}

/* True if the merged file can have the header of a version as it is. */
static bool fits(const struct tensor_merge *m, enum merge_version version)
{
	return m->metadata.equals[version] &&
	       merge_plan_follows(&m->tensors, m->tensor_lists, version);
}

/*
 * Chooses whose header the merged file has: *version; MERGE_BASE if it is to be composed. A header
 * may say more than is merged here (unknown fields, its layout): if only one side changed it, that
 * is the one; if both did, nothing of that kind may be lost.
 */
static enum merge_result choose_header(struct tensor_merge *m, enum merge_version *version)
{
	bool ours_changed = !same_header(m, MERGE_BASE, MERGE_OURS);
	bool theirs_changed = !same_header(m, MERGE_BASE, MERGE_THEIRS);

	*version = theirs_changed && !ours_changed ? MERGE_THEIRS : MERGE_OURS;
	if ((!ours_changed || !theirs_changed || same_header(m, MERGE_OURS, MERGE_THEIRS)) &&
	    fits(m, *version))
		return MERGE_DONE;
	if (!m->sources[MERGE_OURS].is_plain || !m->sources[MERGE_THEIRS].is_plain) {
		snprintf(m->out->why, sizeof(m->out->why),
			 "both sides changed the header, which has fields of its own");
		return MERGE_CONFLICT;
	}
	*version = fits(m, MERGE_OURS)     ? MERGE_OURS
		   : fits(m, MERGE_THEIRS) ? MERGE_THEIRS
					   : MERGE_BASE;
	return MERGE_DONE;
}

/* ---- the merged file ------------------------------------------------------------------------ */

/* A tensor on its way into the cleaning. */
struct delivery {
	struct cleaning *cleaning;
	struct brevis_sha256 *sha;
};

static int deliver(void *ctx, const void *data, size_t len)
{
	struct delivery *delivery = ctx;

	brevis_sha256_update(delivery->sha, data, len);
	return cleaning_write(delivery->cleaning, data, len);
}

static int write_tensor(const struct tensor_merge *m, struct cleaning *cleaning,
			const struct merge_pick *pick)
{
	struct model_view *view = m->sources[pick->version].view;
	const struct merge_item *item = &m->tensor_lists[pick->version].items[pick->item];
	struct delivery delivery = {cleaning, brevis_sha256_new()};
	uint8_t sha256[BREVIS_SHA256_SIZE];
	int result = -1;

	if (!delivery.sha)
		return report_error("%s: out of memory", m->path);
	if (model_view_read(view, model_view_tensor(view, pick->item)->offset, item->size, deliver,
			    &delivery) != 0)
		goto out;
	brevis_sha256_final(delivery.sha, sha256);
	result = memcmp(sha256, item->sha256, sizeof(sha256)) == 0
			 ? 0
			 : report_error("%s: tensor %s changed while it was merged; merge again",
					m->path, item->name);
out:
	brevis_sha256_free(delivery.sha);
	return result;
}

/* Makes the header of the merged file. */
static enum merge_result make_header(struct tensor_merge *m, struct buffer *header)
{
	enum merge_version version;
	enum merge_result result = choose_header(m, &version);

	if (result != MERGE_DONE)
		return result;
	if (version != MERGE_BASE)
		return model_view_read(m->sources[version].view, 0, m->sources[version].header_size,
				       stream_keep, header) == 0
			       ? MERGE_DONE
			       : MERGE_FAILED;
	switch (merge_header_compose(&m->tensors, m->tensor_lists, &m->metadata, m->metadata_lists,
				     header)) {
	case MERGE_COMPOSED:
		return MERGE_DONE;
	case MERGE_TOO_LARGE:
		snprintf(m->out->why, sizeof(m->out->why),
			 "the merged header would be larger than that of any model");
		return MERGE_CONFLICT;
	default:
		return fail_nomem(m);
	}
}

static int write_file(const struct tensor_merge *m, struct cleaning *cleaning,
		      const struct buffer *header)
{
	if (cleaning_write(cleaning, header->data, header->size) != 0)
		return -1;
	for (size_t i = 0; i < m->tensors.count; i++)
		if (write_tensor(m, cleaning, &m->tensors.picks[i]) != 0)
			return -1;
	return 0;
}

static enum merge_result make_file(struct tensor_merge *m)
{
	struct buffer header = BUFFER_INIT;
	struct cleaning *cleaning = NULL;
	enum merge_result result = make_header(m, &header);
	const void *text;
	size_t len;

	if (result != MERGE_DONE)
		goto out;
	result = MERGE_FAILED;
	cleaning = cleaning_begin(m->ws, m->path);
	if (!cleaning || write_file(m, cleaning, &header) != 0 ||
	    cleaning_finish(cleaning, &text, &len) != 0 || len > sizeof(m->out->text))
		goto out;
	memcpy(m->out->text, text, len);
	m->out->text_len = len;
	result = MERGE_DONE;
out:
	cleaning_free(cleaning);
	buffer_release(&header);
	return result;
}

enum merge_result merge_tensors(struct workspace *ws, const char *path,
				const struct merge_side sides[MERGE_VERSIONS],
				struct merge_outcome *out)
{
	struct tensor_merge m = {.ws = ws, .path = path, .out = out};
	enum merge_result result;

	memset(out, 0, sizeof(*out));
	result = read_versions(&m, sides);
	if (result == MERGE_DONE)
		result = make_plans(&m);
	if (result == MERGE_DONE)
		result = make_file(&m);
	merge_plan_release(&m.tensors);
	merge_plan_release(&m.metadata);
	for (size_t v = 0; v < MERGE_VERSIONS; v++)
		merge_source_release(&m.sources[v]);
	return result;
}
