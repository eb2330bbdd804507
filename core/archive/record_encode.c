/* SPDX-License-Identifier: Apache-2.0 */
#include "core/archive/record_encode.h"

#include <zstd.h>

#include "core/base/error.h"
#include "core/synthesis/synthesize.h"

/* Small pieces are mostly headers, which every checkpoint has: worth a slow search. */
#define ZSTD_LEVEL_SMALL 15
#define ZSTD_LEVEL_LARGE 3
#define ZSTD_SMALL_MAX   (1u << 18)

static int encode_bytes(const void *raw, size_t raw_size, struct buffer *out,
			struct brevis_error *err)
{
	size_t bound = ZSTD_compressBound(raw_size);
	size_t start = out->size;
	uint8_t *frame;
	size_t n;

	buffer_u8(out, BYTES_ZSTD);
	frame = buffer_reserve(out, bound);
	if (!frame)
		return error_nomem(err);
	n = ZSTD_compress(frame, bound, raw, raw_size,
			  raw_size <= ZSTD_SMALL_MAX ? ZSTD_LEVEL_SMALL : ZSTD_LEVEL_LARGE);
	if (!ZSTD_isError(n) && n < raw_size) {
		out->size += n;
		return BREVIS_OK;
	}
	out->data[start] = BYTES_STORED;
	buffer_append(out, raw, raw_size);
	return BREVIS_OK;
}

int record_encode(const struct record_head *head, const void *raw, struct buffer *out,
		  struct brevis_error *err)
{
	int status;

	buffer_u8(out, head->kind);
	buffer_varint(out, head->raw_size);
	buffer_le64(out, head->checksum);
	if (head->kind == RECORD_BYTES)
		status = encode_bytes(raw, head->raw_size, out, err);
	else
		status = synthesize(raw, head->kind, head->raw_size / (head->kind / 8), out, err);
	if (!status && buffer_failed(out))
		status = error_nomem(err);
	return status;
}
