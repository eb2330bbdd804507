/* SPDX-License-Identifier: Apache-2.0 */
/* Looking into an archive without restoring it: its pieces, programs and tensors. */
#include <stdlib.h>
#include <string.h>

#include "core/archive/reader.h"
#include "core/base/error.h"
#include "core/program/program.h"

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
	out->word_bits = record_is_bytes(&record->head) ? 0 : record->head.kind;
	out->checksum = record->head.checksum;
	return BREVIS_OK;
}

/* Reads the record that restores piece i. */
static int read_piece(const struct brevis_archive *archive, uint64_t i, struct buffer *stored,
		      struct brevis_error *err)
{
	uint64_t record;
	int status = check_piece(archive, i, err);

	if (status)
		return status;
	record = archive->pieces[i].record;
	if (!buffer_extend(stored, archive->records[record].size))
		return error_nomem(err);
	return archive_read_record(archive, record, stored->data, err);
}

int brevis_archive_program(const struct brevis_archive *archive, uint64_t i, char **text,
			   struct brevis_error *err)
{
	struct buffer stored = BUFFER_INIT;
	struct buffer out = BUFFER_INIT;
	int status = read_piece(archive, i, &stored, err);

	if (!status)
		status = record_print(stored.data, stored.size, archive->codebook, &out, err);
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

/* Parses the program that fills the span, and describes its nodes. */
static int list_nodes(struct span body, const struct record_head *head,
		      const struct codebook *codebook, struct brevis_node_info **nodes,
		      size_t *count, struct brevis_error *err)
{
	struct program *program = malloc(sizeof(*program));
	struct brevis_node_info *list = NULL;
	int status;

	if (!program)
		return error_nomem(err);
	status = program_parse(body, head->kind, head->raw_size / (head->kind / 8), codebook,
			       program, err);
	if (status)
		goto out;
	list = malloc(program->size * sizeof(*list));
	if (!list) {
		status = error_nomem(err);
		goto out;
	}
	program_describe(program, list);
	*nodes = list;
	*count = program->size;
out:
	program_release(program);
	free(program);
	return status;
}

int brevis_archive_nodes(const struct brevis_archive *archive, uint64_t i,
			 struct brevis_node_info **nodes, size_t *count, struct brevis_error *err)
{
	struct buffer stored = BUFFER_INIT;
	struct record_head head = {0};
	struct span in;
	int status = read_piece(archive, i, &stored, err);

	if (status)
		goto out;
	in = span_of(stored.data, stored.size);
	status = record_head_parse(&in, &head, err);
	if (!status && record_is_bytes(&head)) {
		*nodes = NULL;
		*count = 0;
	} else if (!status) {
		status = list_nodes(in, &head, archive->codebook, nodes, count, err);
	}
out:
	buffer_release(&stored);
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
	struct piece_buffer pb = {0}, before = {0};
	struct record_decoder decoder = {0};
	uint64_t i;
	int status = BREVIS_OK;

	for (i = 0; i < archive->info.pieces && state == SAFETENSORS_MORE && !status; i++) {
		size_t used;

		piece_buffer_swap(&pb, &before);
		status = archive_fetch_piece(archive, i, &pb, err);
		if (!status)
			status = archive_restore_piece(archive, i, &pb, &before, &decoder, err);
		if (status)
			break;
		buffer_append(&text, pb.raw, pb.raw_size);
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
	piece_buffer_release(&before);
	record_decoder_release(&decoder);
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
	for (at = archive_piece_at(archive, begin);
	     at < archive->info.pieces && archive->pieces[at].offset < end; at++)
		if (!archive->pieces[at].repeats)
			out->stored_size += archive->records[archive->pieces[at].record].size;
	return BREVIS_OK;
}
