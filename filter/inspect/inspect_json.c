/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/inspect/inspect_json.h"

#include <stdlib.h>

#include "filter/inspect/inspect_pieces.h"
#include "filter/objects/pointer.h"

static int put_facts(struct json_output *json, const char *name,
		     const struct brevis_archive *archive, struct brevis_error *err)
{
	static const char *const layouts[] = {"opaque", "safetensors", "irregular"};
	const struct brevis_archive_info *info = brevis_archive_info(archive);
	char original[OID_HEX_SIZE + 1];
	char prior[OID_HEX_SIZE + 1];
	uint64_t frame;
	int status = inspect_frame_size(archive, &frame, err);

	if (status != BREVIS_OK)
		return status;
	digest_to_hex(info->original_sha256, original);
	digest_to_hex(info->prior_sha256, prior);
	json_string(json, "file", name);
	json_number(json, "format", info->format_version);
	json_string(json, "layout", layouts[info->layout]);
	json_open(json, "original", '{');
	json_number(json, "size", info->original_size);
	json_string(json, "sha256", original);
	json_close(json);
	json_open(json, "archive", '{');
	json_number(json, "size", info->archive_size);
	json_number(json, "frame", frame);
	json_close(json);
	json_string(json, "prior", info->has_prior ? prior : NULL);
	json_number(json, "records", info->records);
	return BREVIS_OK;
}

/* The nodes of a program that are still to be told, in prefix order. */
struct nodes {
	const struct brevis_node_info *next;
	const struct brevis_node_info *end;
};

/* As deep as the language lets programs be. */
static void put_node(struct json_output *json, const char *key, struct nodes *left)
{
	const struct brevis_node_info *node = left->next++;

	json_open(json, key, '{');
	json_string(json, "op", node->op);
	json_string(json, "detail", node->detail);
	json_number(json, "width", node->width);
	json_number(json, "count", node->count);
	json_number(json, "bytes", node->bytes);
	if (node->arity) {
		json_open(json, "children", '[');
		for (unsigned i = 0; i < node->arity && left->next < left->end; i++)
			put_node(json, NULL, left);
		json_close(json);
	}
	json_close(json);
}

struct output {
	struct json_output *json;
	const struct brevis_archive *archive;
};

static int put_program(struct output *out, uint64_t number, struct brevis_error *err)
{
	struct brevis_node_info *nodes = NULL;
	struct nodes left;
	char *notation = NULL;
	size_t count = 0;
	int status = brevis_archive_program(out->archive, number, &notation, err);

	if (status == BREVIS_OK)
		status = brevis_archive_nodes(out->archive, number, &nodes, &count, err);
	if (status != BREVIS_OK)
		goto out;
	json_string(out->json, "notation", notation);
	left = (struct nodes){nodes, nodes + count};
	if (count)
		put_node(out->json, "program", &left);
	else
		json_string(out->json, "program", NULL);
out:
	free(notation);
	free(nodes);
	return status;
}

/* A record is described where it first restores something: a small archive whose pieces repeat a
 * large program would say it as often as there are pieces. */
static int put_piece(void *ctx, uint64_t number, const struct brevis_piece_info *piece,
		     struct brevis_error *err)
{
	struct output *out = ctx;
	int status = BREVIS_OK;

	json_open(out->json, NULL, '{');
	json_number(out->json, "offset", piece->offset);
	json_number(out->json, "size", piece->size);
	json_number(out->json, "stored", piece->stored_size);
	json_number(out->json, "record", piece->record);
	if (piece->stored_size)
		status = put_program(out, number, err);
	json_close(out->json);
	return status;
}

static int put_tensor(struct output *out, const struct brevis_tensor_info *tensor, uint64_t *next,
		      struct brevis_error *err)
{
	struct json_output *json = out->json;
	struct brevis_piece_info piece;
	uint64_t number;
	bool found = true;
	int status = BREVIS_OK;

	json_open(json, NULL, '{');
	json_string(json, "name", tensor->name);
	json_string(json, "dtype", tensor->dtype);
	json_open(json, "shape", '[');
	for (size_t axis = 0; axis < tensor->rank; axis++)
		json_number(json, NULL, tensor->shape[axis]);
	json_close(json);
	json_number(json, "offset", tensor->offset);
	json_number(json, "size", tensor->size);
	json_number(json, "stored", tensor->stored_size);
	json_open(json, "pieces", '[');
	while (status == BREVIS_OK && found) {
		status = inspect_next_piece(out->archive, tensor->offset,
					    tensor->offset + tensor->size, next, &piece, &number,
					    &found, err);
		if (status == BREVIS_OK && found)
			status = put_piece(out, number, &piece, err);
	}
	json_close(json);
	json_close(json);
	return status;
}

static int put_content(struct output *out, struct brevis_archive *archive, struct brevis_error *err)
{
	uint64_t next = 0;
	uint64_t count;
	int status = brevis_archive_load_tensors(archive, &count, err);

	if (status != BREVIS_OK)
		return status;
	json_open(out->json, "tensors", '[');
	for (uint64_t i = 0; status == BREVIS_OK && i < count; i++) {
		struct brevis_tensor_info tensor;

		status = brevis_archive_tensor(archive, i, &tensor, err);
		if (status == BREVIS_OK)
			status = put_tensor(out, &tensor, &next, err);
	}
	json_close(out->json);
	if (status != BREVIS_OK)
		return status;
	json_open(out->json, "other", '[');
	status = inspect_other_pieces(archive, count, put_piece, out, err);
	json_close(out->json);
	return status;
}

int inspect_json(struct json_output *json, struct brevis_archive *archive, const char *name,
		 struct brevis_error *err)
{
	struct output out = {json, archive};
	int status;

	json_open(json, NULL, '{');
	status = put_facts(json, name, archive, err);
	if (status == BREVIS_OK)
		status = put_content(&out, archive, err);
	json_close(json);
	return status;
}
