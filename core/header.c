/* SPDX-License-Identifier: Apache-2.0 */
/* The header of a safetensors file as it lies there, for whoever compares it with an archive. */
#include <stdlib.h>

#include "core/base/error.h"
#include "core/safetensors/safetensors.h"

/* Bytes that the parser gets at a time: most headers are shorter. */
#define HEADER_PART (64u << 10)

struct brevis_header {
	struct safetensors_parser *parser;
	enum brevis_layout layout;
};

/* Feeds the parser until it has seen enough, or the file ends. */
static int parse(const struct brevis_source *source, struct safetensors_parser *parser,
		 enum safetensors_state *state, struct brevis_error *err)
{
	uint8_t *part = malloc(HEADER_PART);
	uint64_t at = 0;
	int status = part ? BREVIS_OK : error_nomem(err);

	*state = SAFETENSORS_MORE;
	while (!status && *state == SAFETENSORS_MORE && at < source->size) {
		uint64_t left = source->size - at;
		size_t len = left < HEADER_PART ? (size_t)left : HEADER_PART;
		size_t used;

		if (source->read_at(source->ctx, part, len, at))
			status = error_set(err, BREVIS_E_IO,
					   "%zu bytes at offset %llu could not be read", len,
					   (unsigned long long)at);
		else
			status = safetensors_parser_feed(parser, part, len, &used, state, err);
		at += len;
	}
	free(part);
	return status;
}

int brevis_header_read(const struct brevis_source *source, struct brevis_header **out,
		       struct brevis_error *err)
{
	struct brevis_header *header = calloc(1, sizeof(*header));
	enum safetensors_state state;
	uint64_t data;
	int status;

	if (!header)
		return error_nomem(err);
	status = safetensors_parser_new(true, &header->parser, err);
	if (!status)
		status = parse(source, header->parser, &state, err);
	if (status) {
		brevis_header_free(header);
		return status;
	}
	if (state == SAFETENSORS_VALID) {
		data = source->size - safetensors_header_size(header->parser);
		header->layout = data == safetensors_data_size(header->parser)
					 ? BREVIS_LAYOUT_SAFETENSORS
					 : BREVIS_LAYOUT_IRREGULAR;
	}
	*out = header;
	return BREVIS_OK;
}

void brevis_header_free(struct brevis_header *header)
{
	if (!header)
		return;
	safetensors_parser_free(header->parser);
	free(header);
}

enum brevis_layout brevis_header_layout(const struct brevis_header *header)
{
	return header->layout;
}

uint64_t brevis_header_size(const struct brevis_header *header)
{
	return header->layout == BREVIS_LAYOUT_OPAQUE ? 0 : safetensors_header_size(header->parser);
}

uint64_t brevis_header_tensors(const struct brevis_header *header)
{
	return header->layout == BREVIS_LAYOUT_OPAQUE ? 0 : safetensors_count(header->parser);
}

int brevis_header_tensor(const struct brevis_header *header, uint64_t i,
			 struct brevis_tensor_info *out, struct brevis_error *err)
{
	struct safetensors_tensor tensor;

	if (i >= brevis_header_tensors(header))
		return error_set(err, BREVIS_E_USAGE, "the header has no such tensor");
	tensor = safetensors_tensor_at(header->parser, (size_t)i);
	*out = (struct brevis_tensor_info){
		.name = tensor.name,
		.dtype = tensor.dtype,
		.shape = tensor.shape,
		.rank = tensor.rank,
		.offset = safetensors_header_size(header->parser) + tensor.extent.begin,
		.size = tensor.extent.end - tensor.extent.begin,
	};
	return BREVIS_OK;
}
