/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The encoder: every size and shape of input comes back; the bytes depend on nothing but the input;
 * duplicates are stored once; the way it fails.
 */
#include "tests/unit/support.h"

#include "core/archive/wire.h"
#include "core/base/bytes.h"
#include "core/base/digest.h"
#include "tests/unit/sha256_of.h"

static const unsigned thread_counts[] = {1, 2, 3, 8};

static struct brevis_encode_options with_threads(unsigned threads)
{
	return (struct brevis_encode_options){.threads = threads};
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static void test_small_inputs(void **state)
{
	size_t size, i;

	(void)state;
	for (size = 0; size <= 70; size++) {
		uint8_t data[70];

		random_fill(data, sizeof(data));
		for (i = 0; i < 4; i++) {
			struct brevis_encode_options options = with_threads(thread_counts[i]);
			struct encoding e = encode(data, size, &options);

			assert_int_equal(e.summary.original_size, size);
			assert_int_equal(e.summary.layout, BREVIS_LAYOUT_OPAQUE);
			assert_int_equal(e.summary.records, size ? 1 : 0);
			assert_int_equal(e.summary.records_reused, 0);
			assert_null(e.summary.same_as);
			assert_int_equal(e.summary.archive_size, e.archive.bytes.size);
			assert_true(e.archive.bytes.size <= size + 128);
			assert_restores(&e.archive.bytes, data, size, thread_counts[i]);
			encoding_release(&e);
		}
	}
}

/* What the summary says is what the archive and its bytes say. */
static void test_summary(void **state)
{
	static const char text[] = "\x02\0\0\0\0\0\0\0{}";
	struct brevis_archive *archive;
	uint8_t digest[BREVIS_SHA256_SIZE];
	struct encoding e = encode(text, 10, NULL);

	(void)state;
	sha256_of(e.archive.bytes.data, e.archive.bytes.size, digest);
	assert_memory_equal(digest, e.summary.archive_sha256, sizeof(digest));
	archive = open_good(&e.archive.bytes);
	assert_memory_equal(brevis_archive_info(archive)->original_sha256,
			    e.summary.original_sha256, BREVIS_SHA256_SIZE);
	assert_int_equal(brevis_archive_info(archive)->layout, BREVIS_LAYOUT_SAFETENSORS);
	assert_int_equal(e.summary.layout, BREVIS_LAYOUT_SAFETENSORS);
	assert_string_equal(e.summary.note, "");
	brevis_archive_free(archive);
	encoding_release(&e);
}

/* Without a name it is the same archive. */
static void test_unnamed(void **state)
{
	static const uint8_t none[BREVIS_SHA256_SIZE];
	struct brevis_encode_options options = {.unnamed = true};
	struct encoding named = encode("content", 7, NULL);
	struct encoding unnamed = encode("content", 7, &options);

	(void)state;
	assert_memory_equal(unnamed.summary.archive_sha256, none, sizeof(none));
	assert_memory_not_equal(named.summary.archive_sha256, none, sizeof(none));
	assert_memory_equal(unnamed.summary.original_sha256, named.summary.original_sha256,
			    BREVIS_SHA256_SIZE);
	assert_int_equal(unnamed.archive.bytes.size, named.archive.bytes.size);
	assert_memory_equal(unnamed.archive.bytes.data, named.archive.bytes.data,
			    named.archive.bytes.size);
	encoding_release(&named);
	encoding_release(&unnamed);
}

/* Opaque content of more than one piece. */
static void test_large_opaque(void **state)
{
	size_t size = RECORD_RAW_MAX + 5, i;
	uint8_t *data = must_alloc(size);

	(void)state;
	random_fill(data, size);
	for (i = 0; i < 2; i++) {
		struct brevis_encode_options options = with_threads(thread_counts[i]);
		struct encoding e = encode(data, size - i * 5, &options);
		struct brevis_archive *archive = open_good(&e.archive.bytes);

		assert_int_equal(e.summary.layout, BREVIS_LAYOUT_OPAQUE);
		assert_int_equal(brevis_archive_info(archive)->pieces, 2 - i);
		assert_true(e.archive.bytes.size <= size + 200);
		assert_restores(&e.archive.bytes, data, size - i * 5, 2);
		brevis_archive_free(archive);
		encoding_release(&e);
	}
	free(data);
}

/* ---- a checkpoint of every kind -------------------------------------------------------------- */

/* Fills with a tile of BF16 weights whose length divides no piece, so that no pieces are equal. */
static void fill_weights(uint8_t *to, size_t size)
{
	size_t tile = 2 * 100003, at;

	random_bf16(to, (size < tile ? size : tile) / 2, 0.02f);
	for (at = tile; at < size; at += tile)
		memcpy(to + at, to, size - at < tile ? size - at : tile);
}

enum { LARGE_BF16 = (20 << 20) + 6, LARGE_F32 = (16 << 20) + 4, SMALL = 3000 };

/* Tensors larger than a piece, of all widths, of no bytes, and two of several pieces. */
static void make_checkpoint(struct buffer *file)
{
	uint8_t *large = must_alloc(LARGE_BF16 + LARGE_F32 + 5 * SMALL * 8);
	uint8_t *f32 = large + LARGE_BF16, *rest = f32 + LARGE_F32;
	const struct tensor_spec tensors[] = {
		{"empty first", "F32", 0, 0, ""},
		{"large", "BF16", LARGE_BF16 / 2, LARGE_BF16, large},
		{"f64", "F64", SMALL, SMALL * 8, rest},
		{"empty", "BOOL", 0, 0, ""},
		{"wide", "F32", LARGE_F32 / 4, LARGE_F32, f32},
		{"bytes", "U8", SMALL + 1, SMALL + 1, rest + SMALL * 8},
		{"complex", "C64", SMALL, SMALL * 8, rest + SMALL * 16},
		{"longs", "I64", SMALL, SMALL * 8, rest + SMALL * 24},
		{"empty last", "F16", 0, 0, ""},
	};
	size_t i;

	fill_weights(large, LARGE_BF16);
	for (i = 0; i + 4 <= LARGE_F32; i += 4)
		store_le32(f32 + i, 0x3f000000 + (uint32_t)(random_next() >> 48) * 5);
	random_fill(rest, 5 * SMALL * 8);
	for (i = 0; i < SMALL; i++)
		store_le64(rest + SMALL * 24 + 8 * i, i);
	put_safetensors(file, tensors, sizeof(tensors) / sizeof(tensors[0]));
	free(large);
}

static void check_pieces(struct buffer *memory)
{
	static const struct {
		uint64_t size;
		unsigned word_bits;
	} expected[] = {
		{TENSOR_RAW_MAX, 16},
		{TENSOR_RAW_MAX, 16},
		{LARGE_BF16 - 2 * TENSOR_RAW_MAX, 16},
		{SMALL * 8, 64},
		{TENSOR_RAW_MAX, 32},
		{TENSOR_RAW_MAX, 32},
		{LARGE_F32 - 2 * TENSOR_RAW_MAX, 32},
		{SMALL + 1, 8},
		{SMALL * 8, 32},
		{SMALL * 8, 64},
	};
	struct brevis_archive *archive = open_good(memory);
	struct brevis_tensor_info tensor;
	struct brevis_piece_info piece, parts[3];
	uint64_t count, i;

	assert_int_equal(brevis_archive_info(archive)->pieces, 11);
	assert_int_equal(brevis_archive_piece(archive, 0, &piece, NULL), BREVIS_OK);
	assert_int_equal(piece.word_bits, 0);
	for (i = 0; i < 10; i++) {
		assert_int_equal(brevis_archive_piece(archive, i + 1, &piece, NULL), BREVIS_OK);
		assert_int_equal(piece.size, expected[i].size);
		assert_int_equal(piece.word_bits, expected[i].word_bits);
		if (i < 3)
			parts[i] = piece;
	}
	/* A tensor's stored size is that of all its parts. */
	assert_int_equal(brevis_archive_load_tensors(archive, &count, NULL), BREVIS_OK);
	assert_int_equal(count, 9);
	for (i = 0; i < count; i++) {
		assert_int_equal(brevis_archive_tensor(archive, i, &tensor, NULL), BREVIS_OK);
		if (!strcmp(tensor.name, "large"))
			assert_int_equal(tensor.stored_size, parts[0].stored_size +
								     parts[1].stored_size +
								     parts[2].stored_size);
		assert_true(tensor.size || !tensor.stored_size);
	}
	brevis_archive_free(archive);
}

/* Feeds byte by byte around the places where pieces end, and in large chunks elsewhere. */
static struct encoding encode_around_ends(const struct buffer *file)
{
	struct encoding e = {0};
	struct brevis_encoder *encoder = NULL;
	size_t at, n;

	assert_int_equal(brevis_encoder_new(NULL, sink_write, &e.archive, &encoder, NULL),
			 BREVIS_OK);
	for (at = 0; at < file->size; at += n) {
		bool slow = at % (4 << 20) < 2000;

		n = slow ? 1 : 4096;
		n = n < file->size - at ? n : file->size - at;
		assert_int_equal(brevis_encoder_write(encoder, file->data + at, n, &e.err),
				 BREVIS_OK);
	}
	assert_int_equal(brevis_encoder_finish(encoder, &e.summary, &e.err), BREVIS_OK);
	brevis_encoder_free(encoder);
	return e;
}

static void assert_same_archive(const struct encoding *a, const struct encoding *b)
{
	assert_int_equal(a->archive.bytes.size, b->archive.bytes.size);
	assert_true(!memcmp(a->archive.bytes.data, b->archive.bytes.data, a->archive.bytes.size));
	assert_memory_equal(a->summary.archive_sha256, b->summary.archive_sha256,
			    BREVIS_SHA256_SIZE);
	assert_memory_equal(a->summary.original_sha256, b->summary.original_sha256,
			    BREVIS_SHA256_SIZE);
	assert_int_equal(a->summary.layout, b->summary.layout);
	assert_string_equal(a->summary.note, b->summary.note);
}

/* The same bytes for every number of threads, and for every way in which the input arrives. */
static void test_checkpoint(void **state)
{
	struct brevis_encode_options options = with_threads(1);
	struct buffer file = BUFFER_INIT;
	struct encoding first, other;
	size_t i;

	(void)state;
	make_checkpoint(&file);
	first = encode(file.data, file.size, &options);
	assert_int_equal(first.summary.layout, BREVIS_LAYOUT_SAFETENSORS);
	assert_true(first.archive.bytes.size < file.size * 3 / 4);
	check_pieces(&first.archive.bytes);
	for (i = 0; i < 4; i++) {
		options = with_threads(thread_counts[i]);
		other = encode_with(file.data, file.size, i ? CHUNK_RANDOM : CHUNK_WHOLE, &options,
				    0);
		assert_int_equal(other.status, BREVIS_OK);
		assert_same_archive(&first, &other);
		encoding_release(&other);
		assert_restores(&first.archive.bytes, file.data, file.size, thread_counts[i]);
	}
	other = encode_around_ends(&file);
	assert_same_archive(&first, &other);
	encoding_release(&other);
	encoding_release(&first);
	buffer_release(&file);
}

/* A small file of several tensors; header_size says where its data begins. */
static size_t make_small(struct buffer *file)
{
	static uint8_t data[4][4096];
	const struct tensor_spec tensors[] = {
		{"a", "BF16", 2000, 4000, data[0]},
		{"b", "F32", 1000, 4000, data[1]},
		{"c", "U8", 777, 777, data[2]},
		{"d", "BF16", 1500, 3000, data[3]},
	};

	random_bf16(data[0], 2000, 1);
	random_f32(data[1], 1000, 1);
	random_fill(data[2], 777);
	random_bf16(data[3], 1500, 1);
	put_safetensors(file, tensors, 4);
	return file->size - 4000 - 4000 - 777 - 3000;
}

static void test_chunks(void **state)
{
	static const size_t chunks[] = {1, 2, 3, 7, 8, 9, 4096, CHUNK_RANDOM};
	struct buffer file = BUFFER_INIT;
	struct encoding first, other;
	size_t i, kind;

	(void)state;
	for (kind = 0; kind < 4; kind++) {
		buffer_clear(&file);
		make_small(&file);
		if (kind == 1)
			buffer_append(&file, "trailing", 8);
		else if (kind == 2)
			file.size -= 1234;
		else if (kind == 3)
			file.data[20] = 1; /* a control character: no header */
		first = encode(file.data, file.size, NULL);
		assert_int_equal(first.summary.layout, kind == 0   ? BREVIS_LAYOUT_SAFETENSORS
						       : kind == 3 ? BREVIS_LAYOUT_OPAQUE
								   : BREVIS_LAYOUT_IRREGULAR);
		for (i = 0; i < sizeof(chunks) / sizeof(chunks[0]); i++) {
			other = encode_with(file.data, file.size, chunks[i], NULL, 0);
			assert_int_equal(other.status, BREVIS_OK);
			assert_same_archive(&first, &other);
			encoding_release(&other);
		}
		assert_restores(&first.archive.bytes, file.data, file.size, 2);
		encoding_release(&first);
	}
	buffer_release(&file);
}

/* ---- duplicates ------------------------------------------------------------------------------ */

static void test_duplicates_are_stored_once(void **state)
{
	enum { SIZE = 200000 };
	static uint8_t data[SIZE], other[SIZE];
	const struct tensor_spec tensors[] = {
		{"one", "U8", SIZE, SIZE, data},           {"two", "U8", SIZE, SIZE, data},
		{"other", "U8", SIZE, SIZE, other},        {"signed", "I8", SIZE, SIZE, data},
		{"wide", "U16", SIZE / 2, SIZE, data},     {"three", "U8", SIZE, SIZE, data},
		{"wide too", "I16", SIZE / 2, SIZE, data},
	};
	struct buffer file = BUFFER_INIT;
	size_t i;

	(void)state;
	random_fill(data, SIZE);
	random_fill(other, SIZE);
	put_safetensors(&file, tensors, 7);
	for (i = 0; i < 4; i++) {
		struct brevis_encode_options options = with_threads(thread_counts[i]);
		struct encoding e = encode(file.data, file.size, &options);

		/* Header, bytes, other bytes, the bytes as words of 16 bits. */
		assert_int_equal(e.summary.records, 4);
		assert_in_range(e.archive.bytes.size, 3 * SIZE, 3 * SIZE + 1000);
		assert_restores(&e.archive.bytes, file.data, file.size, 3);
		encoding_release(&e);
	}
	buffer_release(&file);
}

/* ---- content that is not quite safetensors --------------------------------------------------- */

/* Cut short anywhere: opaque within the header, irregular within the data. */
static void test_every_cut(void **state)
{
	struct buffer file = BUFFER_INIT;
	size_t header = make_small(&file), size, whole = file.size;

	(void)state;
	for (size = 0; size <= whole; size += size < header + 4 ? 1 : 61) {
		struct encoding e = encode(file.data, size, NULL);

		if (size < header) {
			assert_int_equal(e.summary.layout, BREVIS_LAYOUT_OPAQUE);
			assert_string_equal(e.summary.note,
					    "not a safetensors file (the header is cut short), "
					    "kept as opaque bytes");
		} else if (size < whole) {
			char text[64];

			assert_int_equal(e.summary.layout, BREVIS_LAYOUT_IRREGULAR);
			snprintf(text, sizeof(text), "ends %zu bytes early", whole - size);
			assert_non_null(strstr(e.summary.note, text));
		}
		assert_restores(&e.archive.bytes, file.data, size, 1);
		encoding_release(&e);
	}
	buffer_release(&file);
}

static void test_trailing_bytes(void **state)
{
	struct buffer file = BUFFER_INIT;
	struct brevis_archive *archive;
	struct brevis_piece_info piece = {0};
	struct encoding e;

	(void)state;
	make_small(&file);
	buffer_append(&file, "12345", 5);
	e = encode(file.data, file.size, NULL);
	assert_int_equal(e.summary.layout, BREVIS_LAYOUT_IRREGULAR);
	assert_string_equal(e.summary.note, "5 bytes follow the last tensor, kept as opaque bytes");
	archive = open_good(&e.archive.bytes);
	assert_int_equal(brevis_archive_info(archive)->layout, BREVIS_LAYOUT_IRREGULAR);
	assert_int_equal(brevis_archive_info(archive)->pieces, 6);
	assert_int_equal(brevis_archive_piece(archive, 5, &piece, NULL), BREVIS_OK);
	assert_int_equal(piece.word_bits, 0);
	assert_int_equal(piece.size, 5);
	brevis_archive_free(archive);
	assert_restores(&e.archive.bytes, file.data, file.size, 2);
	encoding_release(&e);
	buffer_release(&file);
}

static void test_notes(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
		const char *note;
	} cases[] = {
		{"", 0, "the header is cut short"},
		{"\0\0\0\0\0\0\0", 7, "the header is cut short"},
		{"\0\0\0\0\0\0\0\0", 8, "header is empty"},
		{"\x02\0\0\0\0\0\0\0[]", 10, "not a safetensors file ("},
		{"\x01\xe1\xf5\x05\0\0\0\0{", 9, "over 100,000,000"},
		{"PK\x03\x04 and so on", 14, "over 100,000,000"},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct encoding e = encode(cases[i].bytes, cases[i].size, NULL);

		assert_int_equal(e.summary.layout, BREVIS_LAYOUT_OPAQUE);
		if (!strstr(e.summary.note, cases[i].note))
			fail_msg("note: %s", e.summary.note);
		assert_restores(&e.archive.bytes, cases[i].bytes, cases[i].size, 1);
		encoding_release(&e);
	}
}

/* A header larger than a piece. */
static void test_large_header(void **state)
{
	struct buffer file = BUFFER_INIT;
	size_t text = RECORD_RAW_MAX + 100, i;
	struct brevis_archive *archive;
	struct encoding e;
	uint64_t count = 0;

	(void)state;
	buffer_le64(&file, text);
	buffer_append(&file, "{\"x\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}", 53);
	for (i = file.size - 8; i < text; i++)
		buffer_u8(&file, ' ');
	buffer_append(&file, "data", 4);
	assert_false(buffer_failed(&file));
	e = encode_with(file.data, file.size, CHUNK_RANDOM, NULL, 0);
	assert_int_equal(e.status, BREVIS_OK);
	assert_int_equal(e.summary.layout, BREVIS_LAYOUT_SAFETENSORS);
	archive = open_good(&e.archive.bytes);
	assert_int_equal(brevis_archive_info(archive)->pieces, 3);
	assert_int_equal(brevis_archive_load_tensors(archive, &count, NULL), BREVIS_OK);
	assert_int_equal(count, 1);
	brevis_archive_free(archive);
	assert_restores(&e.archive.bytes, file.data, file.size, 2);
	encoding_release(&e);
	buffer_release(&file);
}

/* ---- failures -------------------------------------------------------------------------------- */

/* The caller's write fails at its k-th call: an I/O error, and no call after that. */
static void test_failing_writes(void **state)
{
	struct buffer file = BUFFER_INIT;
	struct encoding whole;
	size_t k, i;

	(void)state;
	make_small(&file);
	whole = encode(file.data, file.size, NULL);
	assert_true(whole.archive.calls >= 6); /* head, records, index and tail */
	for (i = 0; i < 4; i++) {
		for (k = 1; k <= whole.archive.calls; k++) {
			struct brevis_encode_options options = with_threads(thread_counts[i]);
			struct encoding e =
				encode_with(file.data, file.size, CHUNK_RANDOM, &options, k);

			assert_int_equal(e.status, BREVIS_E_IO);
			assert_int_equal(e.err.status, BREVIS_E_IO);
			assert_non_null(strstr(e.err.message, "could not be written"));
			assert_int_equal(e.archive.calls, k);
			encoding_release(&e);
		}
	}
	encoding_release(&whole);
	buffer_release(&file);
}

static int write_nothing(void *ctx, const void *data, size_t len)
{
	(void)ctx, (void)data, (void)len;
	return 0;
}

static int write_refuse(void *ctx, const void *data, size_t len)
{
	int *calls = ctx;

	(void)data, (void)len;
	return ++*calls > 1 ? -1 : 0;
}

/* After a failure or the end, the encoder only says that it is over. */
static void test_misuse(void **state)
{
	struct brevis_encode_summary summary = {0};
	struct brevis_encoder *encoder = NULL;
	int calls = 0;

	(void)state;
	assert_int_equal(brevis_encoder_new(NULL, write_nothing, NULL, &encoder, NULL), BREVIS_OK);
	assert_int_equal(brevis_encoder_write(encoder, "", 0, NULL), BREVIS_OK);
	assert_int_equal(brevis_encoder_finish(encoder, &summary, NULL), BREVIS_OK);
	assert_int_equal(brevis_encoder_write(encoder, "x", 1, NULL), BREVIS_E_USAGE);
	assert_int_equal(brevis_encoder_finish(encoder, &summary, NULL), BREVIS_E_USAGE);
	brevis_encoder_free(encoder);
	assert_int_equal(brevis_encoder_new(NULL, write_refuse, &calls, &encoder, NULL), BREVIS_OK);
	assert_int_equal(brevis_encoder_write(encoder, "x", 1, NULL), BREVIS_OK);
	assert_int_equal(brevis_encoder_finish(encoder, &summary, NULL), BREVIS_E_IO);
	assert_int_equal(brevis_encoder_write(encoder, "x", 1, NULL), BREVIS_E_USAGE);
	brevis_encoder_free(encoder);
	brevis_encoder_free(NULL);
}

/* Of so many zeros; whichever of these it is, the archive has the same size. */
static struct brevis_encoder *encode_zeros(size_t count, struct sink *out)
{
	static const struct brevis_encode_options options = {.write_checks = true};
	static const uint8_t zeros[1001];
	struct brevis_encode_summary summary;
	struct brevis_encoder *encoder = NULL;

	assert_int_equal(brevis_encoder_new(&options, sink_write, out, &encoder, NULL), BREVIS_OK);
	assert_int_equal(brevis_encoder_write(encoder, zeros, count, NULL), BREVIS_OK);
	assert_int_equal(brevis_encoder_finish(encoder, &summary, NULL), BREVIS_OK);
	return encoder;
}

/* An archive as large, but of something else. */
static void test_other_archive(void **state)
{
	struct sink out = {0}, other = {0};
	struct brevis_encoder *encoder = encode_zeros(1000, &out);
	struct brevis_source source;
	struct brevis_error err;

	(void)state;
	brevis_encoder_free(encode_zeros(1001, &other));
	assert_int_equal(out.bytes.size, other.bytes.size);
	source = memory_source(&other.bytes);
	assert_int_equal(brevis_encoder_check(encoder, &source, &err), BREVIS_E_CHECKSUM);
	assert_non_null(strstr(err.message, "index is not what was written"));
	source = memory_source(&out.bytes);
	assert_int_equal(brevis_encoder_check(encoder, &source, &err), BREVIS_OK);
	brevis_encoder_free(encoder);
	buffer_release(&out.bytes);
	buffer_release(&other.bytes);
}

/* Given up in the middle, with work under way: nothing leaks, nothing is written any more. */
static void test_abandoned(void **state)
{
	struct buffer file = BUFFER_INIT;
	size_t i;

	(void)state;
	make_small(&file);
	for (i = 0; i < 40; i++) {
		struct brevis_encode_options options = with_threads(thread_counts[i % 4]);
		struct brevis_encoder *encoder = NULL;

		assert_int_equal(brevis_encoder_new(&options, write_nothing, NULL, &encoder, NULL),
				 BREVIS_OK);
		assert_int_equal(brevis_encoder_write(encoder, file.data,
						      (size_t)random_below(file.size), NULL),
				 BREVIS_OK);
		brevis_encoder_free(encoder);
	}
	buffer_release(&file);
}

/*
 * Two contents with one XXH3-64: in the first lane of two stripes the low halves are those of the
 * secret, so that the products that mix in the high halves are 0, and those can be exchanged.
 */
static void test_forged_duplicates(void **state)
{
	enum { SIZE = 4096 };
	static const uint64_t low[2] = {0x396cfeb8, 0x2c81017c};
	static const uint64_t high[2] = {UINT64_C(0x11223344) << 32, UINT64_C(0xdeadbeef) << 32};
	uint8_t a[SIZE], b[SIZE];
	const struct tensor_spec tensors[] = {
		{"a", "U8", SIZE, SIZE, a}, {"b", "U8", SIZE, SIZE, b}, {"c", "U8", SIZE, SIZE, a}};
	struct buffer file = BUFFER_INIT;
	struct encoding e;

	(void)state;
	random_fill(a, SIZE);
	store_le64(a, high[0] | low[0]);
	store_le64(a + 64, high[1] | low[1]);
	memcpy(b, a, SIZE);
	store_le64(b, high[1] | low[0]);
	store_le64(b + 64, high[0] | low[1]);
	assert_int_equal(checksum64(a, SIZE), checksum64(b, SIZE));
	put_safetensors(&file, tensors, 3);
	e = encode(file.data, file.size, NULL);
	assert_int_equal(e.summary.records, 3); /* header, a and c, b */
	assert_restores(&e.archive.bytes, file.data, file.size, 1);
	encoding_release(&e);
	buffer_release(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_small_inputs),
		TEST(test_summary),
		TEST(test_unnamed),
		TEST(test_large_opaque),
		TEST(test_checkpoint),
		TEST(test_chunks),
		TEST(test_duplicates_are_stored_once),
		TEST(test_every_cut),
		TEST(test_trailing_bytes),
		TEST(test_notes),
		TEST(test_large_header),
		TEST(test_failing_writes),
		TEST(test_misuse),
		TEST(test_abandoned),
		TEST(test_other_archive),
		TEST(test_forged_duplicates),
	};

	seed_init("test_encoder");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
