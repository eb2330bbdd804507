/* SPDX-License-Identifier: Apache-2.0 */
#include "core/archive/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/entropy/library_decode.h"
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

static int parse_program(struct span body, const struct record_head *head,
			 const struct codebook *codebook, struct program *program,
			 struct brevis_error *err)
{
	return program_parse(body, head->kind, head->raw_size / (head->kind / 8), codebook, program,
			     err);
}

/* Executes the program; the executor knows who is told of its words. */
static int decode_program(struct record_decoder *d, struct span body,
			  const struct record_head *head, const struct codebook *codebook,
			  void *raw, struct brevis_error *err)
{
	int status;

	if (!d->program)
		d->program = malloc(sizeof(*d->program));
	if (!d->program)
		return error_nomem(err);
	status = parse_program(body, head, codebook, d->program, err);
	if (!status)
		status = executor_run(&d->executor, d->program, raw, err);
	program_release(d->program);
	return status;
}

/* Takes the head off the record, which must say what was read before. */
static int take_head(struct span *record, const struct record_head *head, struct record_head *found,
		     struct brevis_error *err)
{
	int status = record_head_parse(record, found, err);

	if (!status && !record_head_equal(found, head))
		status = error_set(err, BREVIS_E_CHECKSUM, "the archive changed while it was read");
	return status;
}

static void add_written(void *ctx, const void *bytes, size_t size)
{
	checksum64_stream_update(ctx, bytes, size);
}

static int begin_checksum(struct record_decoder *d, struct brevis_error *err)
{
	if (!d->checksum)
		d->checksum = checksum64_stream_new();
	if (!d->checksum)
		return error_nomem(err);
	checksum64_stream_begin(d->checksum);
	return BREVIS_OK;
}

/* The checksum is taken of words that are still in the nearest cache. */
static int decode_summed(struct record_decoder *d, struct span body, const struct record_head *head,
			 const struct codebook *codebook, void *raw, uint64_t *checksum,
			 struct brevis_error *err)
{
	int status = begin_checksum(d, err);

	if (status)
		return status;
	d->executor.written = add_written;
	d->executor.ctx = d->checksum;
	status = decode_program(d, body, head, codebook, raw, err);
	*checksum = checksum64_stream_end(d->checksum);
	return status;
}

int record_decoder_run(struct record_decoder *d, struct span record, const struct record_head *head,
		       const struct codebook *codebook, struct span before, void *raw,
		       struct brevis_error *err)
{
	struct record_head found = {0};
	uint64_t checksum = 0;
	int status = take_head(&record, head, &found, err);

	if (status)
		return status;
	if (!record_is_bytes(&found)) {
		status = decode_summed(d, record, head, codebook, raw, &checksum, err);
	} else {
		status = decode_bytes(record, found.kind == RECORD_CHAINED, before, raw,
				      head->raw_size, err);
		checksum = status ? 0 : checksum64(raw, head->raw_size);
	}
	if (!status && !checksum64_agrees(checksum, head->checksum))
		return error_set(err, BREVIS_E_CHECKSUM, "checksum does not match");
	return status;
}

/* ---- comparing ------------------------------------------------------------------------------ */

#define CACHE_LINE 64

struct comparison {
	const uint8_t *raw; /* what is to come */
	size_t left;        /* bytes of it */
	bool differs;
	struct checksum64_stream *checksum; /* of what came */
};

static void compare_written(void *ctx, const void *bytes, size_t size)
{
	struct comparison *comparison = ctx;
	size_t i;

	if (size > comparison->left) {
		comparison->differs = true;
		return;
	}
	comparison->differs |= memcmp(comparison->raw, bytes, size) != 0;
	checksum64_stream_update(comparison->checksum, bytes, size);
	comparison->raw += size;
	comparison->left -= size;
	/* What comes next is on its way while it is decoded. */
	for (i = 0; i < size && i < comparison->left; i += CACHE_LINE)
		__builtin_prefetch(comparison->raw + i, 0, 2);
}

static int compare_bytes(struct record_decoder *d, struct span body, bool chained,
			 struct span before, struct comparison *comparison, size_t raw_size,
			 struct brevis_error *err)
{
	int status;

	buffer_clear(&d->bytes);
	if (!buffer_extend(&d->bytes, raw_size))
		return error_nomem(err);
	status = decode_bytes(body, chained, before, d->bytes.data, raw_size, err);
	if (!status)
		compare_written(comparison, d->bytes.data, raw_size);
	return status;
}

int record_decoder_compare(struct record_decoder *d, struct span record,
			   const struct record_head *head, const struct codebook *codebook,
			   struct span before, const void *raw, struct brevis_error *err)
{
	struct comparison comparison = {.raw = raw, .left = head->raw_size};
	struct record_head found = {0};
	int status = take_head(&record, head, &found, err);

	if (!status)
		status = begin_checksum(d, err);
	if (status)
		return status;
	comparison.checksum = d->checksum;
	if (record_is_bytes(&found)) {
		status = compare_bytes(d, record, found.kind == RECORD_CHAINED, before, &comparison,
				       head->raw_size, err);
	} else {
		d->executor.written = compare_written;
		d->executor.ctx = &comparison;
		status = decode_program(d, record, head, codebook, NULL, err);
	}
	if (!status && (comparison.differs || comparison.left))
		status = error_set(err, BREVIS_E_CHECKSUM, "it restores something else");
	/* Readers compare nothing but the checksum: a wrong one would lose the piece. */
	if (!status && checksum64_stream_end(d->checksum) != head->checksum)
		status = error_set(err, BREVIS_E_CHECKSUM, "checksum does not match");
	return status;
}

void record_decoder_release(struct record_decoder *d)
{
	free(d->program);
	executor_release(&d->executor);
	checksum64_stream_free(d->checksum);
	buffer_release(&d->bytes);
	*d = (struct record_decoder){0};
}

struct span record_reach(const void *raw, size_t raw_size)
{
	size_t reach = raw_size < CHAIN_REACH ? raw_size : CHAIN_REACH;

	return reach ? span_of((const uint8_t *)raw + (raw_size - reach), reach) : span_of(NULL, 0);
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
	struct program *program;
	int status = record_head_parse(&in, &head, err);

	if (status)
		return status;
	if (record_is_bytes(&head))
		return print_bytes(in, head.kind == RECORD_CHAINED, out, err);
	program = malloc(sizeof(*program));
	if (!program)
		return error_nomem(err);
	status = parse_program(in, &head, codebook, program, err);
	if (!status)
		program_print(program, out);
	program_release(program);
	free(program);
	return status;
}
