/* SPDX-License-Identifier: Apache-2.0 */
#include "core/compress/pieces.h"

#include <stdio.h>

#include "core/safetensors/dtype.h"

int piece_cutter_init(struct piece_cutter *cutter, struct brevis_error *err)
{
	*cutter = (struct piece_cutter){.phase = PIECES_HEADER};
	return safetensors_parser_new(SAFETENSORS_KEEP_EXTENTS, &cutter->parser, err);
}

void piece_cutter_release(struct piece_cutter *cutter)
{
	safetensors_parser_free(cutter->parser);
}

/*
 * Bytes of the pieces of a tensor: all of it, or as many slices as a record may hold (FORMAT.md,
 * "What the pieces are").
 */
static void measure_tensor(struct piece_cutter *cutter)
{
	struct safetensors_extent extent = safetensors_extent_at(cutter->parser, cutter->tensor);
	uint64_t size = extent.end - extent.begin, slice = size;
	size_t rank, i, k;
	const uint64_t *shape = safetensors_shape_at(cutter->parser, cutter->tensor, &rank);

	for (i = 0; i < rank && slice > TENSOR_RAW_MAX; i++)
		slice /= shape[i];
	/* Elements of less than a byte: the slices need not be whole bytes. */
	if (slice < size && dtype_at(extent.dtype)->bits < 8) {
		slice = 1;
		i = rank;
	}
	cutter->part = (size_t)(TENSOR_RAW_MAX / slice * slice);
	cutter->slice = (struct shape){0};
	for (k = i; k < rank; k++)
		shape_add(&cutter->slice, (size_t)shape[k]);
	if (slice == size)
		cutter->part = (size_t)size;
}

/* Moves on to the next tensor that has bytes; past the last one the rest begins. */
static void skip_finished_tensors(struct piece_cutter *cutter)
{
	size_t count = safetensors_count(cutter->parser);

	while (cutter->tensor < count &&
	       safetensors_extent_at(cutter->parser, cutter->tensor).end <= cutter->data_at)
		cutter->tensor++;
	cutter->phase = cutter->tensor < count ? PIECES_TENSORS : PIECES_REST;
	if (cutter->phase == PIECES_TENSORS)
		measure_tensor(cutter);
}

size_t piece_cutter_expect(const struct piece_cutter *cutter)
{
	uint64_t left;

	if (cutter->phase != PIECES_TENSORS)
		return RECORD_RAW_MAX;
	left = safetensors_extent_at(cutter->parser, cutter->tensor).end - cutter->data_at;
	return left < cutter->part ? (size_t)left : cutter->part;
}

/* What the growing piece is, once it has `size` bytes: slices of a tensor, or all of it. */
static struct piece_kind kind_of(const struct piece_cutter *cutter, size_t size)
{
	struct safetensors_extent extent = safetensors_extent_at(cutter->parser, cutter->tensor);
	const struct dtype *dtype = dtype_at(extent.dtype);
	struct piece_kind kind = {.record = (uint8_t)extent.word_bits};
	struct shape *shape = &kind.tensor.shape;
	size_t words = size / (extent.word_bits / 8), slice = 1, i;

	for (i = 0; i < cutter->slice.rank; i++)
		slice *= cutter->slice.extents[i];
	kind.tensor.dtype = extent.dtype;
	kind.tensor.is_float = dtype->is_float;
	/* Types that are packed into bytes have shapes of elements, not of bytes. */
	if (dtype->bits != extent.word_bits || words % slice) {
		*shape = shape_of_row(words);
		return kind;
	}
	shape_add(shape, words / slice);
	for (i = 0; i < cutter->slice.rank; i++)
		shape_add(shape, cutter->slice.extents[i]);
	return kind;
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
		      bool *ends, struct piece_kind *kind, struct brevis_error *err)
{
	size_t expected = piece_cutter_expect(cutter);
	size_t room = expected - cutter->piece_size;
	int status = BREVIS_OK;

	if (len > room)
		len = room;
	*used = len;
	*ends = false;
	*kind = (struct piece_kind){.record = RECORD_BYTES};
	if (cutter->phase == PIECES_TENSORS)
		*kind = kind_of(cutter, expected);
	if (cutter->phase == PIECES_HEADER)
		status = feed_header(cutter, data, len, used, ends, err);
	cutter->size += *used;
	cutter->piece_size += *used;
	if (cutter->piece_size == expected)
		*ends = true;
	if (!*ends)
		return status;
	if (kind->record != RECORD_BYTES) {
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
