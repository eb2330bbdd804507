/* SPDX-License-Identifier: Apache-2.0 */
#include "core/archive/record_encode.h"

#include "core/base/error.h"

int record_encode(const struct record_head *head, const void *raw, const struct tensor_kind *kind,
		  const struct record_options *options, struct buffer *out,
		  struct brevis_error *err)
{
	size_t start = out->size, body;
	int status;

	buffer_u8(out, head->kind);
	buffer_varint(out, head->raw_size);
	buffer_le64(out, head->checksum);
	body = out->size;
	if (head->kind == RECORD_BYTES)
		status = bytes_encode(raw, head->raw_size, &options->bytes, out, err);
	else
		status = synthesize(raw, head->kind, head->raw_size / (head->kind / 8), kind,
				    &options->programs, out, NULL, err);
	if (!status && buffer_failed(out))
		status = error_nomem(err);
	if (!status && head->kind == RECORD_BYTES && span_left(&options->bytes.before) &&
	    out->data[body] != BYTES_STORED)
		out->data[start] = RECORD_CHAINED;
	return status;
}
