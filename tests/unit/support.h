/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What the unit tests of core/ share: seeded randomness, streams in memory, small safetensors
 * files, and both directions of the library with every option that a test may want to vary.
 */
#ifndef TESTS_UNIT_SUPPORT_H
#define TESTS_UNIT_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "core/base/buffer.h"
#include "core/base/bytes.h"
#include "core/brevis.h"

/* ---- randomness ------------------------------------------------------------------------------ */

static uint64_t test_seed;
static uint64_t random_state;

/** Reads or makes the seed, and prints it. Call it first thing in main. */
static inline void seed_init(const char *test)
{
	const char *given = getenv("BREVIS_TEST_SEED");

	test_seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
	printf("# %s seed %llu (BREVIS_TEST_SEED replays it)\n", test,
	       (unsigned long long)test_seed);
	fflush(stdout);
}

/** A cmocka setup function: each test sees the same numbers, whichever ran before it. */
static inline int seed_restart(void **state)
{
	(void)state;
	random_state = test_seed;
	return 0;
}

#define TEST(function) cmocka_unit_test_setup(function, seed_restart)

static inline uint64_t random_next(void)
{
	uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/** A number in [0, n), n >= 1. */
static inline uint64_t random_below(uint64_t n)
{
	return random_next() % n;
}

static inline void random_fill(void *to, size_t size)
{
	uint8_t *at = to;
	size_t i;

	for (i = 0; i + 8 <= size; i += 8)
		store_le64(at + i, random_next());
	for (; i < size; i++)
		at[i] = (uint8_t)random_next();
}

/** About normally distributed, deviation 1. */
static inline float random_normal(void)
{
	float sum = 0;
	int i;

	for (i = 0; i < 12; i++)
		sum += (float)(random_next() >> 40) / (float)(1 << 24);
	return sum - 6;
}

/** Fills with BF16 weights of the given scale. */
static inline void random_bf16(void *to, size_t count, float scale)
{
	size_t i;

	for (i = 0; i < count; i++) {
		float f = random_normal() * scale;
		uint32_t bits;

		memcpy(&bits, &f, sizeof(bits));
		store_le16((uint8_t *)to + 2 * i, (uint16_t)(bits >> 16));
	}
}

static inline void random_f32(void *to, size_t count, float scale)
{
	size_t i;

	for (i = 0; i < count; i++) {
		float f = random_normal() * scale;
		uint32_t bits;

		memcpy(&bits, &f, sizeof(bits));
		store_le32((uint8_t *)to + 4 * i, bits);
	}
}

static inline void *must_alloc(size_t size)
{
	void *p = malloc(size ? size : 1);

	assert_non_null(p);
	return p;
}

/* ---- streams --------------------------------------------------------------------------------- */

/** A brevis_write_fn's memory; refuses call number fail_at (from 1), if that is not 0. */
struct sink {
	struct buffer bytes;
	size_t calls;
	size_t fail_at;
};

static inline int sink_write(void *ctx, const void *data, size_t len)
{
	struct sink *sink = ctx;

	if (++sink->calls == sink->fail_at)
		return -1;
	buffer_append(&sink->bytes, data, len);
	return 0;
}

static inline int memory_read(void *ctx, void *buf, size_t len, uint64_t offset)
{
	const struct buffer *memory = ctx;

	if (offset > memory->size || len > memory->size - offset)
		return -1;
	if (len)
		memcpy(buf, memory->data + offset, len);
	return 0;
}

static inline struct brevis_source memory_source(struct buffer *memory)
{
	return (struct brevis_source){memory_read, memory, memory->size, NULL};
}

/** Opens an archive that must be good. */
static inline struct brevis_archive *open_good(struct buffer *memory)
{
	struct brevis_source source = memory_source(memory);
	struct brevis_archive *archive = NULL;
	struct brevis_error err = {0};
	int status = brevis_archive_open(&source, &archive, &err);

	if (status)
		print_error("open: %d %s\n", status, err.message);
	assert_int_equal(status, BREVIS_OK);
	return archive;
}

/** Opens and decodes; on success fills *out, which the caller releases in any case. */
static inline int open_and_decode(struct buffer *memory, unsigned threads, struct sink *out,
				  struct brevis_error *err)
{
	struct brevis_source source = memory_source(memory);
	struct brevis_decode_options options = {.threads = threads};
	struct brevis_archive *archive = NULL;
	int status = brevis_archive_open(&source, &archive, err);

	if (!status)
		status = brevis_archive_decode(archive, &options, sink_write, out, err);
	brevis_archive_free(archive);
	return status;
}

/** Restoring to memory does so, too, and touches nothing else; at an odd address words are copied.
 */
static inline void assert_restores_to_memory(struct buffer *archive, const void *data, size_t size,
					     unsigned threads)
{
	struct brevis_archive *opened = open_good(archive);
	uint8_t *room = must_alloc(size + 2);
	unsigned odd;

	for (odd = 0; odd < 2; odd++) {
		struct brevis_decode_options options = {.threads = threads, .memory = room + odd};

		memset(room, 0xa5, size + 2);
		assert_int_equal(brevis_archive_decode(opened, &options, NULL, NULL, NULL),
				 BREVIS_OK);
		assert_true(!memcmp(room + odd, data, size));
		assert_int_equal(room[odd + size], 0xa5);
		assert_int_equal(room[odd ? 0 : size + 1], 0xa5);
	}
	free(room);
	brevis_archive_free(opened);
}

/** The archive restores exactly these bytes. */
static inline void assert_restores(struct buffer *archive, const void *data, size_t size,
				   unsigned threads)
{
	struct sink out = {0};
	struct brevis_error err = {0};
	int status = open_and_decode(archive, threads, &out, &err);

	if (status)
		print_error("decode: %d %s\n", status, err.message);
	assert_int_equal(status, BREVIS_OK);
	assert_int_equal(out.bytes.size, size);
	if (size)
		assert_true(!memcmp(out.bytes.data, data, size));
	buffer_release(&out.bytes);
	if (size)
		assert_restores_to_memory(archive, data, size, threads);
}

/* ---- encoding -------------------------------------------------------------------------------- */

#define CHUNK_WHOLE  0
#define CHUNK_RANDOM SIZE_MAX

struct encoding {
	int status;
	struct brevis_error err;
	struct brevis_encode_summary summary;
	struct sink archive;
};

static inline size_t next_chunk(size_t chunk, size_t left)
{
	size_t n = chunk;

	if (chunk == CHUNK_WHOLE)
		n = left;
	else if (chunk == CHUNK_RANDOM)
		n = (size_t)(1 + random_below(random_below(8) ? 70000 : 3 << 20));
	return n < left ? n : left;
}

/** Encodes data, handed over in chunks of that many bytes. fail_at as in struct sink. */
static inline struct encoding encode_with(const void *data, size_t size, size_t chunk,
					  const struct brevis_encode_options *options,
					  size_t fail_at)
{
	struct encoding e = {.archive = {.fail_at = fail_at}};
	struct brevis_encoder *encoder = NULL;
	size_t at, n;

	e.status = brevis_encoder_new(options, sink_write, &e.archive, &encoder, &e.err);
	for (at = 0; at < size && !e.status; at += n) {
		n = next_chunk(chunk, size - at);
		e.status = brevis_encoder_write(encoder, (const uint8_t *)data + at, n, &e.err);
	}
	if (!e.status)
		e.status = brevis_encoder_finish(encoder, &e.summary, &e.err);
	brevis_encoder_free(encoder);
	return e;
}

/** Encodes what must succeed. */
static inline struct encoding encode(const void *data, size_t size,
				     const struct brevis_encode_options *options)
{
	struct encoding e = encode_with(data, size, CHUNK_WHOLE, options, 0);

	if (e.status)
		print_error("encode: %d %s\n", e.status, e.err.message);
	assert_int_equal(e.status, BREVIS_OK);
	return e;
}

static inline void encoding_release(struct encoding *e)
{
	buffer_release(&e->archive.bytes);
}

/* ---- safetensors files ----------------------------------------------------------------------- */

struct tensor_spec {
	const char *name;
	const char *dtype;
	size_t elements;
	size_t size; /* of the data in bytes */
	const void *data;
};

/** Appends a safetensors file that holds these tensors, one-dimensional, in this order. */
static inline void put_safetensors(struct buffer *out, const struct tensor_spec *tensors,
				   size_t count)
{
	struct buffer text = BUFFER_INIT;
	char line[256];
	uint64_t at = 0;
	size_t i;

	buffer_u8(&text, '{');
	for (i = 0; i < count; i++) {
		int n = snprintf(line, sizeof(line),
				 "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[%zu],"
				 "\"data_offsets\":[%llu,%llu]}",
				 i ? "," : "", tensors[i].name, tensors[i].dtype,
				 tensors[i].elements, (unsigned long long)at,
				 (unsigned long long)(at + tensors[i].size));

		buffer_append(&text, line, (size_t)n);
		at += tensors[i].size;
	}
	buffer_u8(&text, '}');
	buffer_le64(out, text.size);
	buffer_append(out, text.data, text.size);
	for (i = 0; i < count; i++)
		buffer_append(out, tensors[i].data, tensors[i].size);
	buffer_release(&text);
	assert_false(buffer_failed(out));
}

#endif
