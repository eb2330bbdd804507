/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/inspect_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_gen.h>

#include "filter/pointer.h"

static void print(void *ctx, const char *text, size_t len)
{
	(void)ctx;
	fwrite(text, 1, len, stdout);
}

static void put_string(yajl_gen json, const char *text)
{
	yajl_gen_string(json, (const unsigned char *)text, strlen(text));
}

/* yajl's integers are signed. */
static void put_number(yajl_gen json, uint64_t number)
{
	char text[24];

	yajl_gen_number(json, text, (size_t)snprintf(text, sizeof(text), "%" PRIu64, number));
}

static void put_member(yajl_gen json, const char *key, uint64_t number)
{
	put_string(json, key);
	put_number(json, number);
}

static void put_facts(yajl_gen json, const char *name, const struct brevis_archive_info *info)
{
	static const char *const layouts[] = {"opaque", "safetensors", "irregular"};
	char hex[OID_HEX_SIZE + 1];

	digest_to_hex(info->original_sha256, hex);
	put_string(json, "file");
	put_string(json, name);
	put_member(json, "format", info->format_version);
	put_string(json, "layout");
	put_string(json, layouts[info->layout]);
	put_string(json, "original");
	yajl_gen_map_open(json);
	put_member(json, "size", info->original_size);
	put_string(json, "sha256");
	put_string(json, hex);
	yajl_gen_map_close(json);
	put_string(json, "archive");
	yajl_gen_map_open(json);
	put_member(json, "size", info->archive_size);
	yajl_gen_map_close(json);
	put_member(json, "records", info->records);
}

static int put_tensors(yajl_gen json, struct brevis_archive *archive, struct brevis_error *err)
{
	uint64_t count, i;
	int status = brevis_archive_load_tensors(archive, &count, err);

	put_string(json, "tensors");
	yajl_gen_array_open(json);
	for (i = 0; status == BREVIS_OK && i < count; i++) {
		struct brevis_tensor_info tensor;
		size_t axis;

		status = brevis_archive_tensor(archive, i, &tensor, err);
		if (status != BREVIS_OK)
			break;
		yajl_gen_map_open(json);
		put_string(json, "name");
		put_string(json, tensor.name);
		put_string(json, "dtype");
		put_string(json, tensor.dtype);
		put_string(json, "shape");
		yajl_gen_array_open(json);
		for (axis = 0; axis < tensor.rank; axis++)
			put_number(json, tensor.shape[axis]);
		yajl_gen_array_close(json);
		put_member(json, "offset", tensor.offset);
		put_member(json, "size", tensor.size);
		put_member(json, "stored", tensor.stored_size);
		yajl_gen_map_close(json);
	}
	yajl_gen_array_close(json);
	return status;
}

static int put_pieces(yajl_gen json, const struct brevis_archive *archive, struct brevis_error *err)
{
	uint64_t count = brevis_archive_info(archive)->pieces;
	int status = BREVIS_OK;
	uint64_t i;

	put_string(json, "pieces");
	yajl_gen_array_open(json);
	for (i = 0; i < count; i++) {
		struct brevis_piece_info piece;
		char *program;

		status = brevis_archive_piece(archive, i, &piece, err);
		if (status == BREVIS_OK)
			status = brevis_archive_program(archive, i, &program, err);
		if (status != BREVIS_OK)
			break;
		yajl_gen_map_open(json);
		put_member(json, "offset", piece.offset);
		put_member(json, "size", piece.size);
		put_member(json, "stored", piece.stored_size);
		put_member(json, "record", piece.record);
		put_string(json, "program");
		put_string(json, program);
		yajl_gen_map_close(json);
		free(program);
	}
	yajl_gen_array_close(json);
	return status;
}

int inspect_json(struct brevis_archive *archive, const char *name, struct brevis_error *err)
{
	yajl_gen json = yajl_gen_alloc(NULL);
	int status;

	if (!json) {
		if (err) {
			err->status = BREVIS_E_NOMEM;
			snprintf(err->message, sizeof(err->message), "out of memory");
		}
		return BREVIS_E_NOMEM;
	}
	yajl_gen_config(json, yajl_gen_beautify, 1);
	yajl_gen_config(json, yajl_gen_print_callback, print, NULL);
	yajl_gen_map_open(json);
	put_facts(json, name, brevis_archive_info(archive));
	status = put_tensors(json, archive, err);
	if (status == BREVIS_OK)
		status = put_pieces(json, archive, err);
	yajl_gen_map_close(json);
	yajl_gen_free(json);
	return status;
}
