/* SPDX-License-Identifier: Apache-2.0 */
/* Looking into an archive without restoring it: its pieces, programs and tensors. */
#include <stdlib.h>
#include <string.h>

#include "core/archive/reader.h"
#include "core/base/error.h"
#include "core/header.h"
#include "core/program/program.h"

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

int brevis_archive_load_tensors(struct brevis_archive *archive, uint64_t *count,
				struct brevis_error *err)
{
	int status = BREVIS_OK;

	if (!archive->header)
		status = header_of_archive(archive, SAFETENSORS_KEEP_NAMES, &archive->header, err);
	if (!status)
		*count = brevis_header_tensors(archive->header);
	return status;
}

int brevis_archive_tensor(const struct brevis_archive *archive, uint64_t i,
			  struct brevis_tensor_info *out, struct brevis_error *err)
{
	uint64_t end, at;
	int status;

	if (!archive->header)
		return error_set(err, BREVIS_E_USAGE, "the archive's tensors are not loaded");
	status = brevis_header_tensor(archive->header, i, out, err);
	if (status)
		return status;
	end = out->offset + out->size;
	for (at = brevis_archive_piece_at(archive, out->offset);
	     at < archive->info.pieces && archive->pieces[at].offset < end; at++)
		if (!archive->pieces[at].repeats)
			out->stored_size += archive->records[archive->pieces[at].record].size;
	return BREVIS_OK;
}
