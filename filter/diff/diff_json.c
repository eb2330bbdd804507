/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file is an object of these members, in this order; none is ever left out:
 *
 *   "before", "after"  null, or {"name", "mode", "oid", "layout", "size", "sha256"}; those after
 *                      "mode" are null if there is no pointer, or the content is not known
 *   "metadata"         [{"key", "before", "after"}]; null where it is not there
 *   "header"           {"metadata_order", "tensor_order", "data_order", "text", "rest"}: true for
 *                      what differs (struct frame_change)
 *   "tensors"          [{"name", "change", "before", "after", "difference"}]; change is "added",
 *                      "removed", "retyped" or "changed"; before and after are null, or {"dtype",
 *                      "shape", "size"}; difference is null, or {"elements", "changed",
 *                      "without_difference", "largest", "mean", "nan", "infinite", "cut"}: nan and
 *                      infinite are [before, after], largest and mean null where there is none,
 *                      mean also if the sum is beyond the largest double
 *   "summary"          {"changed", "added", "removed", "retyped", "same"}: numbers of tensors
 *   "status"           "same", "modified", "added", "deleted", "unmerged"; "unknown": it could not
 *                      be compared, because an object is not here or cannot be read
 */
#include "filter/diff/diff_report.h"

#include <string.h>

struct writer {
	struct json_output *json;
	bool framed; /* the frame was told: the array of tensors is open, else that of metadata */
};

/* ---- what differs ---------------------------------------------------------------------------- */

static void put_metadata(void *ctx, const struct metadata_change *change)
{
	const struct writer *w = ctx;

	json_open(w->json, NULL, '{');
	json_string(w->json, "key", change->key);
	json_string(w->json, "before", change->before);
	json_string(w->json, "after", change->after);
	json_close(w->json);
}

static void put_frame(void *ctx, const struct frame_change *change)
{
	struct writer *w = ctx;

	json_close(w->json);
	json_open(w->json, "header", '{');
	json_bool(w->json, "metadata_order", change->metadata_order);
	json_bool(w->json, "tensor_order", change->header_order);
	json_bool(w->json, "data_order", change->data_order);
	json_bool(w->json, "text", change->header_text);
	json_bool(w->json, "rest", change->rest);
	json_close(w->json);
	json_open(w->json, "tensors", '[');
	w->framed = true;
}

static void put_kind(struct json_output *json, const char *key,
		     const struct brevis_tensor_info *tensor)
{
	if (!tensor) {
		json_string(json, key, NULL);
		return;
	}
	json_open(json, key, '{');
	json_string(json, "dtype", tensor->dtype);
	json_open(json, "shape", '[');
	for (size_t i = 0; i < tensor->rank; i++)
		json_number(json, NULL, tensor->shape[i]);
	json_close(json);
	json_number(json, "size", tensor->size);
	json_close(json);
}

static void put_pair(struct json_output *json, const char *key, const uint64_t numbers[2])
{
	json_open(json, key, '[');
	json_number(json, NULL, numbers[0]);
	json_number(json, NULL, numbers[1]);
	json_close(json);
}

static void put_difference(struct json_output *json, const struct tensor_change *change)
{
	const struct tensor_difference *d = &change->difference;

	if (change->kind != TENSOR_CHANGED) {
		json_string(json, "difference", NULL);
		return;
	}
	json_open(json, "difference", '{');
	json_number(json, "elements", d->elements);
	json_number(json, "changed", d->changed);
	json_number(json, "without_difference", d->changed - d->finite);
	if (!d->finite)
		json_string(json, "largest", NULL);
	else if (d->is_integer)
		json_number(json, "largest", d->largest_integer);
	else
		json_real(json, "largest", d->largest);
	if (d->finite)
		json_real(json, "mean", d->mean);
	else
		json_string(json, "mean", NULL);
	put_pair(json, "nan", d->nan);
	put_pair(json, "infinite", d->infinite);
	json_bool(json, "cut", change->cut);
	json_close(json);
}

static void put_tensor(void *ctx, const struct tensor_change *change)
{
	static const char *const kinds[] = {"added", "removed", "retyped", "changed"};
	const struct writer *w = ctx;

	json_open(w->json, NULL, '{');
	json_string(w->json, "name", (change->before ? change->before : change->after)->name);
	json_string(w->json, "change", kinds[change->kind]);
	put_kind(w->json, "before", change->before);
	put_kind(w->json, "after", change->after);
	put_difference(w->json, change);
	json_close(w->json);
}

/* ---- a file ---------------------------------------------------------------------------------- */

static int put_content(struct json_output *json, struct model_view *view)
{
	static const char *const layouts[] = {"opaque", "safetensors", "irregular"};
	char hex[OID_HEX_SIZE + 1];

	if (!view || !model_view_is_here(view)) {
		json_string(json, "layout", NULL);
		json_string(json, "size", NULL);
		json_string(json, "sha256", NULL);
		return 0;
	}
	json_string(json, "layout", layouts[model_view_layout(view)]);
	json_number(json, "size", model_view_size(view));
	if (model_view_sha256(view, hex) != 0) {
		json_string(json, "sha256", NULL);
		return -1;
	}
	json_string(json, "sha256", hex);
	return 0;
}

static int put_side(struct json_output *json, const char *key, const struct diff_side *side)
{
	const struct pointer *pointer = side->view ? model_view_pointer(side->view) : NULL;
	int rc;

	if (!side->name) {
		json_string(json, key, NULL);
		return 0;
	}
	json_open(json, key, '{');
	json_string(json, "name", side->name);
	json_string(json, "mode", side->mode);
	json_string(json, "oid", pointer ? pointer->oid : NULL);
	rc = put_content(json, side->view);
	json_close(json);
	return rc;
}

static void put_summary(struct json_output *json, const struct model_changes *changes)
{
	json_open(json, "summary", '{');
	json_number(json, "changed", changes->tensors[TENSOR_CHANGED]);
	json_number(json, "added", changes->tensors[TENSOR_ADDED]);
	json_number(json, "removed", changes->tensors[TENSOR_REMOVED]);
	json_number(json, "retyped", changes->tensors[TENSOR_RETYPED]);
	json_number(json, "same", changes->tensors_same);
	json_close(json);
}

/* Compares what can be compared. Returns -1 if it cannot be. */
static int put_changes(struct writer *w, const struct diff_file *file,
		       struct model_changes *changes)
{
	const struct change_taker taker = {put_metadata, put_frame, put_tensor, w};
	struct model_view *before = file->sides[0].view;
	struct model_view *after = file->sides[1].view;
	int rc = 0;

	json_open(w->json, "metadata", '[');
	if (diff_is_same_object(file))
		changes->same = true;
	else if (diff_is_unknown(file))
		rc = -1;
	else if (before || after)
		rc = model_compare(before, after, &taker, changes);
	if (!w->framed)
		put_frame(w, &(struct frame_change){0});
	json_close(w->json);
	put_summary(w->json, changes);
	return rc;
}

static const char *status_of(const struct diff_file *file, bool same)
{
	const char *const *modes = (const char *const[]){file->sides[0].mode, file->sides[1].mode};

	if (file->unmerged)
		return "unmerged";
	if (!file->sides[0].name)
		return "added";
	if (!file->sides[1].name)
		return "deleted";
	if (modes[0] && modes[1] && strcmp(modes[0], modes[1]) != 0)
		return "modified";
	return same ? "same" : "modified";
}

enum diff_result diff_json(const struct diff_file *file, struct json_output *json)
{
	struct writer w = {json, false};
	struct model_changes changes = {0};
	const char *status = "unknown";
	int rc;

	json_open(json, NULL, '{');
	rc = put_side(json, "before", &file->sides[0]);
	if (put_side(json, "after", &file->sides[1]) != 0)
		rc = -1;
	if ((put_changes(&w, file, &changes) == 0 && rc == 0) || file->unmerged)
		status = status_of(file, changes.same);
	json_string(json, "status", status);
	json_close(json);
	if (strcmp(status, "unknown") == 0)
		return DIFF_UNKNOWN;
	return strcmp(status, "same") == 0 ? DIFF_SAME : DIFF_FOUND;
}
