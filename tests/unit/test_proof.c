/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the encoder does when a record does not restore what it was made of. This program has a
 * record_encode of its own, which makes wrong records on demand, in place of the library's.
 */
#include "tests/unit/support.h"

#include <stdatomic.h>

#include "core/archive/record_encode.h"
#include "core/base/error.h"

enum fault { FAULT_NONE, FAULT_BIT, FAULT_SHORT, FAULT_EMPTY, FAULT_HEAD, FAULTS };

static atomic_int fault;

/* A record of bytes as they are, or one that only looks like it. */
int record_encode(const struct record_head *head, const void *raw, const struct tensor_kind *kind,
		  const struct record_options *options, struct buffer *out,
		  struct brevis_error *err)
{
	size_t start = out->size;
	int now = atomic_load(&fault);

	(void)kind;
	(void)options;
	buffer_u8(out, head->kind);
	buffer_varint(out, head->raw_size - (now == FAULT_HEAD));
	buffer_le64(out, head->checksum);
	if (head->kind == RECORD_BYTES)
		buffer_u8(out, BYTES_STORED);
	else
		buffer_u8(out, 0xff); /* no operator of any program */
	buffer_append(out, raw, head->raw_size);
	if (now == FAULT_BIT)
		out->data[out->size - 1] ^= 1;
	if (now == FAULT_SHORT)
		out->size--;
	if (now == FAULT_EMPTY)
		out->size = start;
	return buffer_failed(out) ? error_nomem(err) : BREVIS_OK;
}

/* Each record is wrong, or is of a program that nobody can parse: all are stored as they are. */
static void check_fault(int kind, unsigned threads)
{
	enum { WORDS = 20000 };
	uint8_t *data = malloc(WORDS * 2);
	struct brevis_encode_options options = {.threads = threads};
	struct tensor_spec tensors[] = {{"a", "BF16", WORDS, WORDS * 2, NULL},
					{"b", "U8", WORDS, WORDS, NULL},
					{"c", "BF16", WORDS, WORDS * 2, NULL}};
	struct buffer file = BUFFER_INIT;
	struct encoding e;

	assert_non_null(data);
	random_fill(data, WORDS * 2);
	tensors[0].data = tensors[1].data = tensors[2].data = data;
	put_safetensors(&file, tensors, 3);
	atomic_store(&fault, kind);
	e = encode_with(file.data, file.size, CHUNK_WHOLE, &options, 0);
	atomic_store(&fault, FAULT_NONE);
	assert_int_equal(e.status, BREVIS_OK);
	assert_false(e.summary.unproven);
	assert_int_equal(e.summary.records, 3); /* header, a and c, b */
	assert_true(e.summary.archive_size > WORDS * 3);
	assert_restores(&e.archive.bytes, file.data, file.size, threads);
	encoding_release(&e);
	buffer_release(&file);
	free(data);
}

static void test_wrong_records(void **state)
{
	int kind;

	(void)state;
	for (kind = 0; kind < FAULTS; kind++) {
		check_fault(kind, 1);
		check_fault(kind, 3);
	}
}

/* Opaque bytes, in pieces that could be chained. */
static void test_wrong_bytes(void **state)
{
	size_t size = ((size_t)20 << 20) + 5;
	uint8_t *data = malloc(size);
	struct brevis_encode_options options = {.threads = 2};
	struct encoding e;
	int kind;

	(void)state;
	assert_non_null(data);
	random_fill(data, size);
	for (kind = 0; kind < FAULTS; kind++) {
		atomic_store(&fault, kind);
		e = encode_with(data, size, CHUNK_WHOLE, &options, 0);
		assert_int_equal(e.status, BREVIS_OK);
		assert_restores(&e.archive.bytes, data, size, 2);
		encoding_release(&e);
	}
	atomic_store(&fault, FAULT_NONE);
	free(data);
}

/* Where who writes has checked the bytes, the size is compared, and the archive opened. */
static void test_write_checks(void **state)
{
	static const struct brevis_encode_options options = {.write_checks = true};
	struct sink out = {0};
	struct brevis_source source;
	struct brevis_encoder *encoder = NULL;
	struct brevis_encode_summary summary;
	struct brevis_error err;

	(void)state;
	assert_int_equal(brevis_encoder_new(&options, sink_write, &out, &encoder, NULL), BREVIS_OK);
	assert_int_equal(brevis_encoder_write(encoder, "content", 7, NULL), BREVIS_OK);
	assert_int_equal(brevis_encoder_finish(encoder, &summary, NULL), BREVIS_OK);
	source = memory_source(&out.bytes);
	assert_int_equal(brevis_encoder_check(encoder, &source, &err), BREVIS_OK);
	source.size--;
	assert_int_equal(brevis_encoder_check(encoder, &source, &err), BREVIS_E_CHECKSUM);
	source.size++;
	out.bytes.data[0] ^= 1;
	assert_int_equal(brevis_encoder_check(encoder, &source, &err), BREVIS_E_FORMAT);
	brevis_encoder_free(encoder);
	buffer_release(&out.bytes);
}

/* brevis_encoder_check finds every difference between what was written and what is there. */
static void test_check(void **state)
{
	struct buffer *bytes;
	struct sink out = {0};
	struct brevis_source source;
	struct brevis_encoder *encoder = NULL;
	struct brevis_encode_summary summary;
	struct brevis_error err;
	uint8_t data[3000];
	size_t i;

	(void)state;
	random_fill(data, sizeof(data));
	assert_int_equal(brevis_encoder_new(NULL, sink_write, &out, &encoder, NULL), BREVIS_OK);
	assert_int_equal(brevis_encoder_write(encoder, data, sizeof(data), NULL), BREVIS_OK);
	bytes = &out.bytes;
	source = (struct brevis_source){memory_read, bytes, bytes->size, NULL};
	assert_int_equal(brevis_encoder_check(encoder, &source, &err), BREVIS_E_USAGE);
	assert_int_equal(brevis_encoder_finish(encoder, &summary, NULL), BREVIS_OK);
	source.size = bytes->size;
	assert_int_equal(brevis_encoder_check(encoder, &source, &err), BREVIS_OK);
	for (i = 0; i < bytes->size; i += 1 + (size_t)random_below(40)) {
		bytes->data[i] ^= 0x10;
		assert_int_equal(brevis_encoder_check(encoder, &source, &err), BREVIS_E_CHECKSUM);
		bytes->data[i] ^= 0x10;
	}
	source.size--;
	assert_int_equal(brevis_encoder_check(encoder, &source, &err), BREVIS_E_CHECKSUM);
	source.size++;
	bytes->size--;
	assert_int_equal(brevis_encoder_check(encoder, &source, &err), BREVIS_E_IO);
	bytes->size++;
	assert_int_equal(brevis_encoder_check(encoder, &source, &err), BREVIS_OK);
	brevis_encoder_free(encoder);
	buffer_release(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_wrong_records),
		TEST(test_wrong_bytes),
		TEST(test_check),
		TEST(test_write_checks),
	};

	seed_init("test_proof");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
