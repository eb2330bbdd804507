/* SPDX-License-Identifier: Apache-2.0 */
#include "core/archive/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "core/base/bytes.h"
#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/program/execute.h"
#include "core/program/program.h"

/* The first four bytes of a frame (RFC 8878, section 3.1.1). */
#define ZSTD_MAGIC UINT32_C(0xFD2FB528)

int record_head_parse(struct span *in, struct record_head *out, struct brevis_error *err)
{
	struct record_head head;
	uint64_t raw_size;

	head.kind = span_u8(in);
	raw_size = span_varint(in);
	head.checksum = span_le64(in);
	if (span_failed(in))
		return error_set(err, BREVIS_E_FORMAT, "record head is cut short");
	if (head.kind != RECORD_BYTES && head.kind != 8 && head.kind != 16 && head.kind != 32 &&
	    head.kind != 64)
		return error_set(err, BREVIS_E_FORMAT, "unknown kind of record %u", head.kind);
	if (!raw_size || raw_size > RECORD_RAW_MAX || (head.kind && raw_size % (head.kind / 8)))
		return error_set(err, BREVIS_E_FORMAT, "record size out of range");
	head.raw_size = (uint32_t)raw_size;
	*out = head;
	return BREVIS_OK;
}

/*
 * True if the frame needs no window beyond what a record restores (RFC 8878, section 3.1.1.1). A
 * frame of a single segment has none.
 */
static bool is_window_small(const uint8_t *frame, size_t size)
{
	unsigned exponent, mantissa;

	if (size < 6 || frame[4] & 0x20)
		return true;
	exponent = 10u + (frame[5] >> 3);
	mantissa = frame[5] & 7;
	return (UINT64_C(1) << exponent) + (UINT64_C(1) << exponent >> 3) * mantissa <=
	       RECORD_RAW_MAX;
}

/* The body is one zstd frame without a dictionary that yields exactly raw_size bytes. */
static int decode_zstd(struct span body, void *raw, size_t raw_size, struct brevis_error *err)
{
	size_t size = span_left(&body);
	size_t n;

	/* Libraries may know older formats by other magic numbers. */
	if (size < 4 || load_le32(body.at) != ZSTD_MAGIC)
		return error_set(err, BREVIS_E_FORMAT, "not a zstd frame");
	if (!is_window_small(body.at, size))
		return error_set(err, BREVIS_E_FORMAT, "zstd window is larger than a record");
	n = ZSTD_findFrameCompressedSize(body.at, size);
	if (!ZSTD_isError(n) && (n != size || ZSTD_getDictID_fromFrame(body.at, size)))
		return error_set(err, BREVIS_E_FORMAT, "more than one zstd frame, or a dictionary");
	if (!ZSTD_isError(n))
		n = ZSTD_decompress(raw, raw_size, body.at, size);
	if (ZSTD_isError(n))
		return error_set(err, BREVIS_E_FORMAT, "zstd: %s", ZSTD_getErrorName(n));
	if (n != raw_size)
		return error_set(err, BREVIS_E_FORMAT, "zstd frame has the wrong size");
	return BREVIS_OK;
}

static int decode_bytes(struct span body, void *raw, size_t raw_size, struct brevis_error *err)
{
	uint8_t coding = span_u8(&body);

	if (span_failed(&body))
		return error_set(err, BREVIS_E_FORMAT, "record of bytes is cut short");
	if (coding == BYTES_ZSTD)
		return decode_zstd(body, raw, raw_size, err);
	if (coding != BYTES_STORED)
		return error_set(err, BREVIS_E_FORMAT, "unknown coding of bytes %u", coding);
	if (span_left(&body) != raw_size)
		return error_set(err, BREVIS_E_FORMAT, "stored bytes have the wrong size");
	memcpy(raw, body.at, raw_size);
	return BREVIS_OK;
}

static int decode_program(struct span body, const struct record_head *head, void *raw,
			  struct brevis_error *err)
{
	struct program *program = malloc(sizeof(*program));
	int status;

	if (!program)
		return error_nomem(err);
	status = program_parse(body, head->kind, head->raw_size / (head->kind / 8), program, err);
	if (!status)
		status = program_execute(program, raw, err);
	free(program);
	return status;
}

int record_decode(const void *record, size_t size, const struct record_head *head, void *raw,
		  struct brevis_error *err)
{
	struct span in = span_of(record, size);
	struct record_head found;
	int status = record_head_parse(&in, &found, err);

	if (status)
		return status;
	if (!record_head_equal(&found, head))
		return error_set(err, BREVIS_E_CHECKSUM, "the archive changed while it was read");
	if (head->kind == RECORD_BYTES)
		status = decode_bytes(in, raw, head->raw_size, err);
	else
		status = decode_program(in, head, raw, err);
	if (!status && checksum64(raw, head->raw_size) != head->checksum)
		return error_set(err, BREVIS_E_CHECKSUM, "checksum does not match");
	return status;
}

static int print_bytes(struct span body, struct buffer *out, struct brevis_error *err)
{
	char text[48];
	uint8_t coding = span_u8(&body);

	if (span_failed(&body) || coding > BYTES_ZSTD)
		return error_set(err, BREVIS_E_FORMAT, "unknown coding of bytes");
	snprintf(text, sizeof(text), "bytes{%s %zu B}", coding == BYTES_ZSTD ? "zstd" : "stored",
		 span_left(&body));
	buffer_append(out, text, strlen(text));
	return BREVIS_OK;
}

int record_print(const void *record, size_t size, struct buffer *out, struct brevis_error *err)
{
	struct span in = span_of(record, size);
	struct record_head head;
	struct program *program;
	int status = record_head_parse(&in, &head, err);

	if (status)
		return status;
	if (head.kind == RECORD_BYTES)
		return print_bytes(in, out, err);
	program = malloc(sizeof(*program));
	if (!program)
		return error_nomem(err);
	status = program_parse(in, head.kind, head.raw_size / (head.kind / 8), program, err);
	if (!status)
		program_print(program, out);
	free(program);
	return status;
}
