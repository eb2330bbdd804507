/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/inspect/inspect_pieces.h"

int inspect_next_piece(const struct brevis_archive *archive, uint64_t begin, uint64_t end,
		       uint64_t *next, struct brevis_piece_info *out, uint64_t *number, bool *found,
		       struct brevis_error *err)
{
	*found = false;
	for (; *next < brevis_archive_info(archive)->pieces; (*next)++) {
		int status = brevis_archive_piece(archive, *next, out, err);

		if (status != BREVIS_OK)
			return status;
		if (out->offset < begin)
			continue;
		*found = out->offset < end;
		if (*found)
			*number = (*next)++;
		return BREVIS_OK;
	}
	return BREVIS_OK;
}

/* Moves *tensor to the first one that ends behind offset. *begins is where its data begins,
 * UINT64_MAX if there is none. */
static int tensor_behind(const struct brevis_archive *archive, uint64_t tensors, uint64_t offset,
			 uint64_t *tensor, uint64_t *begins, struct brevis_error *err)
{
	struct brevis_tensor_info info;

	for (; *tensor < tensors; (*tensor)++) {
		int status = brevis_archive_tensor(archive, *tensor, &info, err);

		if (status != BREVIS_OK)
			return status;
		*begins = info.offset;
		if (info.offset + info.size > offset)
			return BREVIS_OK;
	}
	*begins = UINT64_MAX;
	return BREVIS_OK;
}

int inspect_other_pieces(const struct brevis_archive *archive, uint64_t tensors,
			 int (*each)(void *ctx, uint64_t number,
				     const struct brevis_piece_info *piece,
				     struct brevis_error *err),
			 void *ctx, struct brevis_error *err)
{
	uint64_t count = brevis_archive_info(archive)->pieces;
	uint64_t tensor = 0;
	int status = BREVIS_OK;

	for (uint64_t i = 0; i < count && status == BREVIS_OK; i++) {
		struct brevis_piece_info piece;
		uint64_t begins;

		status = brevis_archive_piece(archive, i, &piece, err);
		if (status == BREVIS_OK)
			status = tensor_behind(archive, tensors, piece.offset, &tensor, &begins,
					       err);
		if (status == BREVIS_OK && piece.offset < begins)
			status = each(ctx, i, &piece, err);
	}
	return status;
}

int inspect_frame_size(const struct brevis_archive *archive, uint64_t *size,
		       struct brevis_error *err)
{
	const struct brevis_archive_info *info = brevis_archive_info(archive);
	uint64_t left = info->archive_size;

	for (uint64_t i = 0; i < info->pieces; i++) {
		struct brevis_piece_info piece;
		int status = brevis_archive_piece(archive, i, &piece, err);

		if (status != BREVIS_OK)
			return status;
		left -= piece.stored_size;
	}
	*size = left;
	return BREVIS_OK;
}
