/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What is read of strangers' headers where models are compared and merged. An input is three
 * headers' texts, of base, ours and theirs, each after its length (two bytes), and then bits that
 * say whether the data of a tensor is another one than that of its namesake. Each text becomes a
 * file. What is merged of them must be a header again that is read as what was merged; the files
 * can be shown as text; and comparing them tells a difference if, and only if, there is one.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/buffer.h"
#include "filter/diff/diff_report.h"
#include "filter/merge/merge_header.h"
#include "filter/model/model_text.h"
#include "tests/fuzz/fuzz.h"

/* Data of larger files is left out: their headers are valid all the same. */
#define DATA_MAX ((uint64_t)1 << 16)

static FILE *nowhere;

struct version {
	struct buffer file;
	char path[64];
	int fd;
	struct brevis_header *header;
	bool plain;
};

struct input {
	struct version versions[MERGE_VERSIONS];
	struct merge_list tensors[MERGE_VERSIONS];
	struct merge_list metadata[MERGE_VERSIONS];
};

static int read_buffer(void *ctx, void *buf, size_t len, uint64_t offset)
{
	const struct buffer *file = ctx;

	PROPERTY(offset <= file->size && len <= file->size - offset);
	memcpy(buf, file->data + offset, len);
	return 0;
}

static struct brevis_header *read_header(struct buffer *file)
{
	struct brevis_source source = {.read_at = read_buffer, .ctx = file, .size = file->size};
	struct brevis_header *header;

	PROPERTY(brevis_header_read(&source, &header, NULL) == BREVIS_OK);
	return header;
}

/* Where the last tensor ends. */
static uint64_t end_of(const struct brevis_header *header)
{
	uint64_t count = brevis_header_tensors(header);
	struct brevis_tensor_info last = {.offset = brevis_header_size(header)};

	if (count)
		PROPERTY(brevis_header_tensor(header, count - 1, &last, NULL) == BREVIS_OK);
	return last.offset + last.size;
}

/* ---- files ----------------------------------------------------------------------------------- */

static void version_init(struct version *v, struct span *in)
{
	size_t size = span_le16(in);
	const uint8_t *text;
	uint64_t data;

	if (size > span_left(in))
		size = span_left(in);
	text = span_take(in, size);
	buffer_le64(&v->file, size);
	buffer_append(&v->file, text, size);
	v->header = read_header(&v->file);
	data = end_of(v->header);
	/* Of what has little data all is there, but a part where the text is of an odd length. */
	if (brevis_header_layout(v->header) != BREVIS_LAYOUT_OPAQUE &&
	    data - v->file.size <= DATA_MAX)
		memset(buffer_extend(&v->file, (size_t)(data - v->file.size) / (size % 2 + 1)), 0,
		       (size_t)(data - v->file.size) / (size % 2 + 1));
	PROPERTY(!buffer_failed(&v->file));
	v->fd = memfd_create("header", MFD_CLOEXEC);
	PROPERTY(v->fd >= 0 && write(v->fd, v->file.data, v->file.size) == (ssize_t)v->file.size);
	snprintf(v->path, sizeof(v->path), "/proc/self/fd/%d", v->fd);
}

static void version_release(struct version *v)
{
	brevis_header_free(v->header);
	buffer_release(&v->file);
	close(v->fd);
}

/* ---- comparing ------------------------------------------------------------------------------- */

static struct model_view *open_view(const struct workspace *ws, const struct version *v)
{
	struct model_view *view = NULL;

	PROPERTY(model_view_open_file(ws, v->path, "file", &view) == 0);
	PROPERTY(model_view_is_here(view) && model_view_size(view) == v->file.size);
	return view;
}

static void compare(const struct version *a, const struct version *b)
{
	const struct workspace ws = {.threads = 1};
	struct diff_file file = {.sides = {{.name = "a"}, {.name = "b"}}};
	struct json_output *json = json_begin();
	bool same = a->file.size == b->file.size &&
		    memcmp(a->file.data, b->file.data, a->file.size) == 0;
	enum diff_result as_text, as_json;

	file.sides[0].view = open_view(&ws, a);
	file.sides[1].view = open_view(&ws, b);
	PROPERTY(model_text_print(file.sides[0].view) == 0);
	PROPERTY(json);
	json_open(json, NULL, '[');
	as_text = diff_text(&file, true, stdout);
	as_json = diff_json(&file, json);
	json_close(json);
	PROPERTY(json_end(json, 0) == 0);
	PROPERTY(as_text == as_json);
	PROPERTY(as_text == (same ? DIFF_SAME : DIFF_FOUND));
	model_view_free(file.sides[0].view);
	model_view_free(file.sides[1].view);
}

/* ---- merging --------------------------------------------------------------------------------- */

/* The header says what was picked, and nothing else. */
static void check_merged(const struct brevis_header *header, const struct input *in,
			 const struct merge_plan *tensors, const struct merge_plan *metadata)
{
	struct merge_list list;

	PROPERTY(merge_header_tensors(header, &list) == 0 && list.count == tensors->count);
	for (size_t i = 0; i < list.count; i++) {
		const struct merge_item *a = &list.items[i];
		const struct merge_item *b = merge_plan_item(tensors, in->tensors, i);

		PROPERTY(strcmp(a->name, b->name) == 0 && strcmp(a->dtype, b->dtype) == 0);
		PROPERTY(a->size == b->size && a->rank == b->rank);
		PROPERTY(!a->rank || memcmp(a->shape, b->shape, a->rank * sizeof(*a->shape)) == 0);
	}
	free(list.items);
	PROPERTY(merge_header_metadata(header, &list) == 0 && list.count == metadata->count);
	for (size_t i = 0; i < list.count; i++) {
		const struct merge_item *a = &list.items[i];
		const struct merge_item *b = merge_plan_item(metadata, in->metadata, i);

		PROPERTY(strcmp(a->name, b->name) == 0 && a->size == b->size &&
			 memcmp(a->value, b->value, (size_t)a->size) == 0);
	}
	free(list.items);
}

static void compose(const struct input *in, const struct merge_plan *tensors,
		    const struct merge_plan *metadata)
{
	struct buffer file = BUFFER_INIT;
	struct brevis_header *header;
	enum merge_composed result =
		merge_header_compose(tensors, in->tensors, metadata, in->metadata, &file);

	PROPERTY(result != MERGE_NO_MEMORY);
	if (result == MERGE_COMPOSED) {
		header = read_header(&file);
		PROPERTY(brevis_header_layout(header) != BREVIS_LAYOUT_OPAQUE);
		PROPERTY(brevis_header_size(header) == file.size);
		check_merged(header, in, tensors, metadata);
		brevis_header_free(header);
	}
	buffer_release(&file);
}

static void list(struct input *in, struct span *bits)
{
	for (size_t v = 0; v < MERGE_VERSIONS; v++) {
		const struct brevis_header *header = in->versions[v].header;

		PROPERTY(merge_header_tensors(header, &in->tensors[v]) == 0);
		PROPERTY(merge_header_metadata(header, &in->metadata[v]) == 0);
		PROPERTY(merge_header_is_plain(header, &in->versions[v].plain) == 0);
		for (size_t i = 0; i < in->tensors[v].count; i++)
			in->tensors[v].items[i].sha256[0] =
				in->tensors[v].items[i].size ? span_u8(bits) & 1 : 0;
	}
}

static void merge(struct input *in, struct span *bits)
{
	struct merge_plan tensors, metadata;

	list(in, bits);
	PROPERTY(merge_plan_make(in->tensors, &tensors) == 0);
	PROPERTY(merge_plan_make(in->metadata, &metadata) == 0);
	PROPERTY(!tensors.conflicts == !tensors.conflict);
	for (size_t v = 0; v < MERGE_VERSIONS; v++)
		merge_plan_follows(&tensors, in->tensors, (enum merge_version)v);
	if (!tensors.conflicts && !metadata.conflicts && in->versions[MERGE_OURS].plain &&
	    in->versions[MERGE_THEIRS].plain)
		compose(in, &tensors, &metadata);
	merge_plan_release(&tensors);
	merge_plan_release(&metadata);
	for (size_t v = 0; v < MERGE_VERSIONS; v++) {
		free(in->tensors[v].items);
		free(in->metadata[v].items);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span in = span_of(data, size);
	struct input input = {0};
	FILE *kept = stdout;

	/* What is printed is of no interest, but that it can be. */
	if (!nowhere)
		nowhere = fopen("/dev/null", "w");
	PROPERTY(nowhere);
	stdout = nowhere;
	for (size_t v = 0; v < MERGE_VERSIONS; v++)
		version_init(&input.versions[v], &in);
	merge(&input, &in);
	compare(&input.versions[MERGE_OURS], &input.versions[MERGE_THEIRS]);
	compare(&input.versions[MERGE_BASE], &input.versions[MERGE_BASE]);
	for (size_t v = 0; v < MERGE_VERSIONS; v++)
		version_release(&input.versions[v]);
	stdout = kept;
	return 0;
}
