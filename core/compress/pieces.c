/* SPDX-License-Identifier: Apache-2.0 */
#include "core/compress/pieces.h"

#include <stdio.h>

int piece_cutter_init(struct piece_cutter *cutter, struct brevis_error *err)
{
	*cutter = (struct piece_cutter){.phase = PIECES_HEADER};
	return safetensors_parser_new(false, &cutter->parser, err);
}

void piece_cutter_release(struct piece_cutter *cutter)
{
	safetensors_parser_free(cutter->parser);
}

/* Moves on to the next tensor that has bytes; past the last one the rest begins. */
static void skip_finished_tensors(struct piece_cutter *cutter)
{
	size_t count = safetensors_count(cutter->parser);

	while (cutter->tensor < count &&
	       safetensors_extent_at(cutter->parser, cutter->tensor).end <= cutter->data_at)
		cutter->tensor++;
	cutter->phase = cutter->tensor < count ? PIECES_TENSORS : PIECES_REST;
}

size_t piece_cutter_expect(const struct piece_cutter *cutter)
{
	uint64_t left;

	if (cutter->phase != PIECES_TENSORS)
		return RECORD_RAW_MAX;
	left = safetensors_extent_at(cutter->parser, cutter->tensor).end - cutter->data_at;
	return left < RECORD_RAW_MAX ? (size_t)left : RECORD_RAW_MAX;
}

static int feed_header(struct piece_cutter *cutter, const void *data, size_t len, size_t *used,
		       bool *ends, struct brevis_error *err)
{
	enum safetensors_state state;
	int status = safetensors_parser_feed(cutter->parser, data, len, used, &state, err);

	if (status)
		return status;
	if (state == SAFETENSORS_INVALID)
		cutter->phase = PIECES_REST;
	if (state == SAFETENSORS_VALID) {
		cutter->described = true;
		skip_finished_tensors(cutter);
		*ends = true;
	}
	return BREVIS_OK;
}

int piece_cutter_feed(struct piece_cutter *cutter, const void *data, size_t len, size_t *used,
		      bool *ends, uint8_t *kind, struct brevis_error *err)
{
	size_t expected = piece_cutter_expect(cutter);
	size_t room = expected - cutter->piece_size;
	int status = BREVIS_OK;

	if (len > room)
		len = room;
	*used = len;
	*ends = false;
	*kind = RECORD_BYTES;
	if (cutter->phase == PIECES_TENSORS)
		*kind = (uint8_t)safetensors_extent_at(cutter->parser, cutter->tensor).word_bits;
	if (cutter->phase == PIECES_HEADER)
		status = feed_header(cutter, data, len, used, ends, err);
	cutter->size += *used;
	cutter->piece_size += *used;
	if (cutter->piece_size == expected)
		*ends = true;
	if (!*ends)
		return status;
	if (*kind != RECORD_BYTES) {
		cutter->data_at += cutter->piece_size;
		skip_finished_tensors(cutter);
	}
	cutter->piece_size = 0;
	return status;
}

enum brevis_layout piece_cutter_finish(const struct piece_cutter *cutter, char *note,
				       size_t note_size)
{
	uint64_t expected, present;

	note[0] = '\0';
	if (!cutter->described) {
		snprintf(note, note_size, "not a safetensors file (%s), kept as opaque bytes",
			 cutter->phase == PIECES_HEADER ? "the header is cut short"
							: safetensors_reason(cutter->parser));
		return BREVIS_LAYOUT_OPAQUE;
	}
	expected = safetensors_data_size(cutter->parser);
	present = cutter->size - safetensors_header_size(cutter->parser);
	if (present == expected)
		return BREVIS_LAYOUT_SAFETENSORS;
	if (present < expected)
		snprintf(note, note_size,
			 "safetensors data ends %llu bytes early, the last tensor's kept as "
			 "opaque bytes",
			 (unsigned long long)(expected - present));
	else
		snprintf(note, note_size, "%llu bytes follow the last tensor, kept as opaque bytes",
			 (unsigned long long)(present - expected));
	return BREVIS_LAYOUT_IRREGULAR;
}
