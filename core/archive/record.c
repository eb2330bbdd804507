/* SPDX-License-Identifier: Apache-2.0 */
#include "core/archive/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/entropy/library_decode.h"
#include "core/program/execute.h"
#include "core/program/program.h"

int record_head_parse(struct span *in, struct record_head *out, struct brevis_error *err)
{
	struct record_head head;
	uint64_t raw_size;

	head.kind = span_u8(in);
	raw_size = span_varint(in);
	head.checksum = span_le64(in);
	if (span_failed(in))
		return error_set(err, BREVIS_E_FORMAT, "record head is cut short");
	if (!record_is_bytes(&head) && head.kind != 8 && head.kind != 16 && head.kind != 32 &&
	    head.kind != 64)
		return error_set(err, BREVIS_E_FORMAT, "unknown kind of record %u", head.kind);
	if (!raw_size || raw_size > RECORD_RAW_MAX ||
	    (!record_is_bytes(&head) && raw_size % (head.kind / 8)))
		return error_set(err, BREVIS_E_FORMAT, "record size out of range");
	head.raw_size = (uint32_t)raw_size;
	*out = head;
	return BREVIS_OK;
}

/* What is not chained gets nothing to refer to. */
static int decode_bytes(struct span body, bool chained, struct span before, void *raw,
			size_t raw_size, struct brevis_error *err)
{
	static const struct span nothing;
	uint8_t coding = span_u8(&body);

	if (span_failed(&body))
		return error_set(err, BREVIS_E_FORMAT, "record of bytes is cut short");
	if (chained && !span_left(&before))
		return error_set(err, BREVIS_E_FORMAT, "chained bytes have none before them");
	if (coding == BYTES_ZSTD || coding == BYTES_LZMA2)
		return library_decode(coding == BYTES_ZSTD ? LIBRARY_ZSTD : LIBRARY_LZMA2, body,
				      chained ? before : nothing, raw, raw_size, err);
	if (chained)
		return error_set(err, BREVIS_E_FORMAT, "unknown coding of chained bytes %u",
				 coding);
	if (coding != BYTES_STORED)
		return error_set(err, BREVIS_E_FORMAT, "unknown coding of bytes %u", coding);
	if (span_left(&body) != raw_size)
		return error_set(err, BREVIS_E_FORMAT, "stored bytes have the wrong size");
	memcpy(raw, body.at, raw_size);
	return BREVIS_OK;
}

static void free_program(struct program *program)
{
	program_release(program);
	free(program);
}

static int parse_program(struct span body, const struct record_head *head,
			 const struct codebook *codebook, struct program **out,
			 struct brevis_error *err)
{
	struct program *program = malloc(sizeof(*program));
	int status;

	if (!program)
		return error_nomem(err);
	status = program_parse(body, head->kind, head->raw_size / (head->kind / 8), codebook,
			       program, err);
	if (status)
		free_program(program);
	else
		*out = program;
	return status;
}

static int decode_program(struct span body, const struct record_head *head,
			  const struct codebook *codebook, void *raw, struct brevis_error *err)
{
	struct program *program = NULL;
	int status = parse_program(body, head, codebook, &program, err);

	if (status)
		return status;
	status = program_execute(program, raw, err);
	free_program(program);
	return status;
}

int record_restore(const void *record, size_t size, const struct record_head *head,
		   const struct codebook *codebook, struct span before, void *raw,
		   struct brevis_error *err)
{
	struct span in = span_of(record, size);
	struct record_head found;
	int status = record_head_parse(&in, &found, err);

	if (status)
		return status;
	if (!record_head_equal(&found, head))
		return error_set(err, BREVIS_E_CHECKSUM, "the archive changed while it was read");
	if (record_is_bytes(&found))
		return decode_bytes(in, found.kind == RECORD_CHAINED, before, raw, head->raw_size,
				    err);
	return decode_program(in, head, codebook, raw, err);
}

int record_decode(const void *record, size_t size, const struct record_head *head,
		  const struct codebook *codebook, struct span before, void *raw,
		  struct brevis_error *err)
{
	int status = record_restore(record, size, head, codebook, before, raw, err);

	if (!status && checksum64(raw, head->raw_size) != head->checksum)
		return error_set(err, BREVIS_E_CHECKSUM, "checksum does not match");
	return status;
}

struct span record_reach(const void *raw, size_t raw_size)
{
	size_t reach = raw_size < CHAIN_REACH ? raw_size : CHAIN_REACH;

	return span_of((const uint8_t *)raw + (raw_size - reach), reach);
}

static int print_bytes(struct span body, bool chained, struct buffer *out, struct brevis_error *err)
{
	static const char *const names[] = {"stored", "zstd", "lzma2"};
	char text[48];
	uint8_t coding = span_u8(&body);

	if (span_failed(&body) || coding > BYTES_LZMA2)
		return error_set(err, BREVIS_E_FORMAT, "unknown coding of bytes");
	snprintf(text, sizeof(text), "bytes{%s%s %zu B}", chained ? "chained " : "", names[coding],
		 span_left(&body));
	buffer_append(out, text, strlen(text));
	return BREVIS_OK;
}

int record_print(const void *record, size_t size, const struct codebook *codebook,
		 struct buffer *out, struct brevis_error *err)
{
	struct span in = span_of(record, size);
	struct record_head head;
	struct program *program = NULL;
	int status = record_head_parse(&in, &head, err);

	if (status)
		return status;
	if (record_is_bytes(&head))
		return print_bytes(in, head.kind == RECORD_CHAINED, out, err);
	status = parse_program(in, &head, codebook, &program, err);
	if (status)
		return status;
	program_print(program, out);
	free_program(program);
	return BREVIS_OK;
}
