/* SPDX-License-Identifier: Apache-2.0 */
/* Looking into an archive without restoring it: its pieces, programs and tensors. */
#include <stdlib.h>
#include <string.h>

#include "core/archive/reader.h"
#include "core/base/error.h"

/* Bytes of a header that the parser gets at a time, at least. */
#define HEADER_PART_MIN (16u << 10)

static int check_piece(const struct brevis_archive *archive, uint64_t i, struct brevis_error *err)
{
	if (i >= archive->info.pieces)
		return error_set(err, BREVIS_E_USAGE, "the archive has no such piece");
	return BREVIS_OK;
}

int brevis_archive_piece(const struct brevis_archive *archive, uint64_t i,
			 struct brevis_piece_info *out, struct brevis_error *err)
{
	const struct piece_entry *piece;
	const struct record_entry *record;
	int status = check_piece(archive, i, err);

	if (status)
		return status;
	piece = &archive->pieces[i];
	record = &archive->records[piece->record];
	out->offset = piece->offset;
	out->size = record->head.raw_size;
	out->stored_size = piece->repeats ? 0 : record->size;
	out->record = piece->record;
	out->word_bits = record->head.kind;
	return BREVIS_OK;
}

int brevis_archive_program(const struct brevis_archive *archive, uint64_t i, char **text,
			   struct brevis_error *err)
{
	struct buffer stored = BUFFER_INIT;
	struct buffer out = BUFFER_INIT;
	uint64_t record;
	int status = check_piece(archive, i, err);

	if (status)
		return status;
	record = archive->pieces[i].record;
	if (!buffer_extend(&stored, archive->records[record].size))
		status = error_nomem(err);
	if (!status)
		status = archive_read_record(archive, record, stored.data, err);
	if (!status)
		status = record_print(stored.data, stored.size, &out, err);
	buffer_u8(&out, '\0');
	if (!status && buffer_failed(&out))
		status = error_nomem(err);
	buffer_release(&stored);
	if (status)
		buffer_release(&out);
	else
		*text = (char *)out.data;
	return status;
}

/*
 * Feeds the archive's first pieces to the parser until it has seen the whole header. Pieces of a
 * few bytes are gathered first: the parser's time grows with the number of parts of a name.
 */
static int parse_header(const struct brevis_archive *archive, struct safetensors_parser *parser,
			struct brevis_error *err)
{
	enum safetensors_state state = SAFETENSORS_MORE;
	struct buffer text = BUFFER_INIT;
	struct piece_buffer pb = {0};
	uint64_t i;
	int status = BREVIS_OK;

	for (i = 0; i < archive->info.pieces && state == SAFETENSORS_MORE && !status; i++) {
		size_t size, used;

		status = archive_decode_piece(archive, i, &pb, &size, err);
		if (status)
			break;
		buffer_append(&text, pb.raw, size);
		if (buffer_failed(&text))
			status = error_nomem(err);
		else if (text.size < HEADER_PART_MIN && i + 1 < archive->info.pieces)
			continue;
		else
			status = safetensors_parser_feed(parser, text.data, text.size, &used,
							 &state, err);
		buffer_clear(&text);
	}
	buffer_release(&text);
	piece_buffer_release(&pb);
	if (!status && state == SAFETENSORS_INVALID)
		return error_set(err, BREVIS_E_FORMAT, "the safetensors header is damaged: %s",
				 safetensors_reason(parser));
	if (!status && state == SAFETENSORS_MORE)
		return error_set(err, BREVIS_E_FORMAT, "the safetensors header is cut short");
	return status;
}

int brevis_archive_load_tensors(struct brevis_archive *archive, uint64_t *count,
				struct brevis_error *err)
{
	struct safetensors_parser *parser;
	int status = BREVIS_OK;

	if (archive->info.layout == BREVIS_LAYOUT_OPAQUE) {
		*count = 0;
		return BREVIS_OK;
	}
	if (!archive->header) {
		status = safetensors_parser_new(true, &parser, err);
		if (status)
			return status;
		status = parse_header(archive, parser, err);
		if (status)
			safetensors_parser_free(parser);
		else
			archive->header = parser;
	}
	if (!status)
		*count = safetensors_count(archive->header);
	return status;
}

/* First piece that begins at or after offset, by bisection. */
static uint64_t piece_at(const struct brevis_archive *archive, uint64_t offset)
{
	uint64_t low = 0, high = archive->info.pieces;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (archive->pieces[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int brevis_archive_tensor(const struct brevis_archive *archive, uint64_t i,
			  struct brevis_tensor_info *out, struct brevis_error *err)
{
	struct safetensors_tensor tensor;
	uint64_t begin, end, at;

	if (!archive->header || i >= safetensors_count(archive->header))
		return error_set(err, BREVIS_E_USAGE, "the archive has no such tensor loaded");
	tensor = safetensors_tensor_at(archive->header, (size_t)i);
	begin = safetensors_header_size(archive->header) + tensor.extent.begin;
	end = safetensors_header_size(archive->header) + tensor.extent.end;
	*out = (struct brevis_tensor_info){
		.name = tensor.name,
		.dtype = tensor.dtype,
		.shape = tensor.shape,
		.rank = tensor.rank,
		.offset = begin,
		.size = end - begin,
	};
	for (at = piece_at(archive, begin);
	     at < archive->info.pieces && archive->pieces[at].offset < end; at++)
		if (!archive->pieces[at].repeats)
			out->stored_size += archive->records[archive->pieces[at].record].size;
	return BREVIS_OK;
}
