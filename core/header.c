/* SPDX-License-Identifier: Apache-2.0 */
#include "core/header.h"

#include <stdlib.h>

#include "core/base/error.h"
#include "core/safetensors/safetensors.h"

/*
 * Bytes that the parser gets at a time. Most headers are shorter than the first part; of those that
 * are not the parts are large, because the parser's time grows with the number of parts of a
 * string.
 */
#define FIRST_PART (64u << 10)
#define PART       (1u << 20)

struct brevis_header {
	struct safetensors_parser *parser;
	enum brevis_layout layout;
};

static int header_new(enum safetensors_keep keep, struct brevis_header **out,
		      struct brevis_error *err)
{
	struct brevis_header *header = calloc(1, sizeof(*header));
	int status;

	if (!header)
		return error_nomem(err);
	status = safetensors_parser_new(keep, &header->parser, err);
	if (status)
		free(header);
	else
		*out = header;
	return status;
}

void brevis_header_free(struct brevis_header *header)
{
	if (!header)
		return;
	safetensors_parser_free(header->parser);
	free(header);
}

/* ---- of a file ------------------------------------------------------------------------------- */

/* Feeds the parser until it has seen enough, or the file ends. */
static int parse_file(const struct brevis_source *source, struct safetensors_parser *parser,
		      enum safetensors_state *state, struct brevis_error *err)
{
	size_t room = source->size < PART ? (size_t)source->size : PART;
	uint8_t *part = malloc(room + 1);
	uint64_t at = 0;
	int status = part ? BREVIS_OK : error_nomem(err);

	*state = SAFETENSORS_MORE;
	while (!status && *state == SAFETENSORS_MORE && at < source->size) {
		uint64_t left = source->size - at;
		size_t len = at ? PART : FIRST_PART;
		size_t used;

		if (left < len)
			len = (size_t)left;
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
	struct brevis_header *header;
	enum safetensors_state state;
	uint64_t data;
	int status = header_new(SAFETENSORS_KEEP_METADATA, &header, err);

	if (status)
		return status;
	status = parse_file(source, header->parser, &state, err);
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

/* ---- of an archive's original ---------------------------------------------------------------- */

/* Feeds what was gathered, once that is enough. */
static int feed(struct safetensors_parser *parser, struct buffer *text, bool last,
		enum safetensors_state *state, struct brevis_error *err)
{
	uint64_t wanted = safetensors_wanted(parser);
	size_t used;
	int status;

	if (buffer_failed(text))
		return error_nomem(err);
	if (!last && text->size < PART && text->size < wanted)
		return BREVIS_OK;
	status = safetensors_parser_feed(parser, text->data, text->size, &used, state, err);
	buffer_clear(text);
	return status;
}

/* Feeds the archive's first pieces to the parser until it has seen the whole header. Pieces of a
 * few bytes are gathered first. */
static int parse_pieces(const struct brevis_archive *archive, struct safetensors_parser *parser,
			enum safetensors_state *state, struct brevis_error *err)
{
	struct buffer text = BUFFER_INIT;
	struct piece_buffer pb = {0}, before = {0};
	struct record_decoder decoder = {0};
	uint64_t i;
	int status = BREVIS_OK;

	*state = SAFETENSORS_MORE;
	for (i = 0; i < archive->info.pieces && *state == SAFETENSORS_MORE && !status; i++) {
		piece_buffer_swap(&pb, &before);
		status = archive_fetch_piece(archive, i, &pb, err);
		if (!status)
			status = archive_restore_piece(archive, i, &pb, &before, &decoder, err);
		if (status)
			break;
		buffer_append(&text, pb.raw, pb.raw_size);
		status = feed(parser, &text, i + 1 == archive->info.pieces, state, err);
	}
	buffer_release(&text);
	piece_buffer_release(&pb);
	piece_buffer_release(&before);
	record_decoder_release(&decoder);
	return status;
}

/* What the archive says there is must be there. */
static int check_state(const struct safetensors_parser *parser, enum safetensors_state state,
		       struct brevis_error *err)
{
	if (state == SAFETENSORS_INVALID)
		return error_set(err, BREVIS_E_FORMAT, "the safetensors header is damaged: %s",
				 safetensors_reason(parser));
	if (state == SAFETENSORS_MORE)
		return error_set(err, BREVIS_E_FORMAT, "the safetensors header is cut short");
	return BREVIS_OK;
}

int header_of_archive(const struct brevis_archive *archive, enum safetensors_keep keep,
		      struct brevis_header **out, struct brevis_error *err)
{
	struct brevis_header *header;
	enum safetensors_state state = SAFETENSORS_BEYOND;
	int status = header_new(keep, &header, err);

	if (status)
		return status;
	if (archive->info.layout != BREVIS_LAYOUT_OPAQUE) {
		status = parse_pieces(archive, header->parser, &state, err);
		if (!status)
			status = check_state(header->parser, state, err);
	}
	if (status) {
		brevis_header_free(header);
		return status;
	}
	if (state == SAFETENSORS_VALID)
		header->layout = archive->info.layout;
	*out = header;
	return BREVIS_OK;
}

int brevis_archive_header(const struct brevis_archive *archive, struct brevis_header **out,
			  struct brevis_error *err)
{
	return header_of_archive(archive, SAFETENSORS_KEEP_METADATA, out, err);
}

/* ---- what it says ---------------------------------------------------------------------------- */

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

uint64_t brevis_header_place(const struct brevis_header *header, uint64_t i)
{
	return i < brevis_header_tensors(header) ? safetensors_place_of(header->parser, (size_t)i)
						 : 0;
}

bool brevis_header_has_more(const struct brevis_header *header)
{
	return header->layout != BREVIS_LAYOUT_OPAQUE && safetensors_has_more(header->parser);
}

uint64_t brevis_header_metadata_count(const struct brevis_header *header)
{
	return header->layout == BREVIS_LAYOUT_OPAQUE ? 0
						      : safetensors_metadata_count(header->parser);
}

int brevis_header_metadata(const struct brevis_header *header, uint64_t i,
			   struct brevis_metadata_info *out, struct brevis_error *err)
{
	if (i >= brevis_header_metadata_count(header))
		return error_set(err, BREVIS_E_USAGE, "the header has no such metadata");
	*out = safetensors_metadata_at(header->parser, (size_t)i);
	return BREVIS_OK;
}
