/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans of an archive's original, and the header of a file that is none: what they say must be what
 * decoding everything says.
 */
#include "tests/unit/support.h"

#include "core/archive/reader.h"
#include "tests/unit/archive_cases.h"

#define MIB ((size_t)1 << 20)

static int read_span(const struct brevis_archive *archive, uint64_t offset, uint64_t size,
		     unsigned threads, struct sink *out, struct brevis_error *err)
{
	struct brevis_decode_options options = {.threads = threads};

	return brevis_archive_read(archive, offset, size, &options, sink_write, out, err);
}

static void assert_span(const struct brevis_archive *archive, const struct buffer *original,
			uint64_t offset, uint64_t size, unsigned threads)
{
	struct brevis_error err = {0};
	struct sink out = {0};
	int status = read_span(archive, offset, size, threads, &out, &err);

	if (status)
		print_error("read: %d %s\n", status, err.message);
	assert_int_equal(status, BREVIS_OK);
	assert_int_equal(out.bytes.size, size);
	assert_true(!size || !memcmp(out.bytes.data, original->data + offset, (size_t)size));
	buffer_release(&out.bytes);
}

/* Every span of the small archives: chained, repeated, irregular, empty ones among them. */
static void test_every_span(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < GOOD_CASES; i++) {
		struct buffer memory = BUFFER_INIT, original = BUFFER_INIT;
		struct brevis_archive *archive;
		uint64_t offset, size;

		draft_build(good_cases[i].build, NULL, &memory, &original);
		archive = open_good(&memory);
		for (offset = 0; offset <= original.size; offset++) {
			for (size = 0; size <= original.size - offset; size += size < 3 ? 1 : 7)
				assert_span(archive, &original, offset, size, 1);
			assert_span(archive, &original, offset, original.size - offset,
				    offset % 16 ? 1 : 3);
		}
		brevis_archive_free(archive);
		buffer_release(&memory);
		buffer_release(&original);
	}
}

static void assert_refused(const struct brevis_archive *archive, uint64_t offset, uint64_t size)
{
	struct brevis_error err = {0};
	struct sink out = {0};

	assert_int_equal(read_span(archive, offset, size, 1, &out, &err), BREVIS_E_USAGE);
	assert_non_null(strstr(err.message, "no such bytes"));
	assert_int_equal(out.calls, 0);
}

static void test_beyond_the_end(void **state)
{
	struct buffer memory = BUFFER_INIT, original = BUFFER_INIT;
	struct brevis_archive *archive;

	(void)state;
	draft_build(draft_tensors, NULL, &memory, &original);
	archive = open_good(&memory);
	assert_refused(archive, 0, original.size + 1);
	assert_refused(archive, original.size, 1);
	assert_refused(archive, original.size + 1, 0);
	assert_refused(archive, 1, UINT64_MAX);
	assert_refused(archive, UINT64_MAX, 2);
	assert_span(archive, &original, original.size, 0, 1);
	brevis_archive_free(archive);
	buffer_release(&memory);
	buffer_release(&original);
}

/* A tensor of several pieces, one that repeats it, and bytes; one read and several threads. */
static void test_large_pieces(void **state)
{
	static const size_t size = 20 * MIB;
	uint8_t *data = must_alloc(size);
	struct tensor_spec tensors[] = {{"first", "F32", size / 4, size, data},
					{"again", "F32", size / 4, size, data}};
	struct buffer file = BUFFER_INIT;
	struct brevis_encode_options options = {.preset = BREVIS_PRESET_FAST};
	struct brevis_archive *archive;
	struct encoding e;
	unsigned i;

	(void)state;
	random_f32(data, size / 4, 1);
	put_safetensors(&file, tensors, 2);
	e = encode(file.data, file.size, &options);
	archive = open_good(&e.archive.bytes);
	assert_true(archive->info.records < archive->info.pieces);
	for (i = 0; i < 6; i++) {
		uint64_t offset = random_below(file.size);

		assert_span(archive, &file, offset, random_below(file.size - offset), 1 + i % 3);
	}
	assert_span(archive, &file, 0, file.size, 2);
	brevis_archive_free(archive);
	encoding_release(&e);
	buffer_release(&file);
	free(data);
}

/* Only who reads the damaged piece hears of it, and before its bytes. */
static void test_damaged_record(void **state)
{
	static const struct edit edit = EDIT(RECORD_1, 2, 2, "\x00\x01"); /* of its checksum */
	struct buffer memory = BUFFER_INIT, original = BUFFER_INIT;
	struct brevis_archive *archive;
	struct brevis_error err = {0};
	struct sink out = {0};
	uint64_t data;

	(void)state;
	draft_build(draft_tensors, &edit, &memory, &original);
	data = original.size - 36;
	archive = open_good(&memory);
	assert_span(archive, &original, 0, data, 1);
	assert_span(archive, &original, data + 16, 4, 1);
	assert_int_equal(read_span(archive, data - 4, 5, 1, &out, &err), BREVIS_E_CHECKSUM);
	assert_non_null(strstr(err.message, "record 2 of 3: checksum"));
	assert_int_equal(out.bytes.size, 4);
	buffer_clear(&out.bytes);
	/* The piece that repeats it. */
	assert_int_equal(read_span(archive, data + 35, 1, 2, &out, &err), BREVIS_E_CHECKSUM);
	assert_int_equal(out.bytes.size, 0);
	brevis_archive_free(archive);
	buffer_release(&out.bytes);
	buffer_release(&memory);
	buffer_release(&original);
}

static void test_failing_write(void **state)
{
	struct buffer memory = BUFFER_INIT;
	struct brevis_archive *archive;
	struct brevis_error err = {0};
	struct sink out = {.fail_at = 2};

	(void)state;
	draft_build(draft_tensors, NULL, &memory, NULL);
	archive = open_good(&memory);
	assert_int_equal(read_span(archive, 0, archive->info.original_size, 1, &out, &err),
			 BREVIS_E_IO);
	assert_int_equal(out.calls, 2);
	brevis_archive_free(archive);
	buffer_release(&out.bytes);
	buffer_release(&memory);
}

static void test_piece_checksums(void **state)
{
	struct buffer memory = BUFFER_INIT, original = BUFFER_INIT;
	struct brevis_archive *archive;
	struct brevis_piece_info piece;
	uint64_t i;

	(void)state;
	draft_build(draft_tensors, NULL, &memory, &original);
	archive = open_good(&memory);
	for (i = 0; i < archive->info.pieces; i++) {
		assert_int_equal(brevis_archive_piece(archive, i, &piece, NULL), BREVIS_OK);
		assert_true(piece.checksum ==
			    checksum64(original.data + piece.offset, (size_t)piece.size));
	}
	brevis_archive_free(archive);
	buffer_release(&memory);
	buffer_release(&original);
}

/* ---- headers of files ------------------------------------------------------------------------ */

static void assert_same_tensors(const struct brevis_header *header, struct brevis_archive *archive)
{
	struct brevis_tensor_info a, b;
	uint64_t count, i;

	assert_int_equal(brevis_archive_load_tensors(archive, &count, NULL), BREVIS_OK);
	assert_int_equal(brevis_header_tensors(header), count);
	assert_int_equal(brevis_header_tensor(header, count, &a, NULL), BREVIS_E_USAGE);
	for (i = 0; i < count; i++) {
		assert_int_equal(brevis_header_tensor(header, i, &a, NULL), BREVIS_OK);
		assert_int_equal(brevis_archive_tensor(archive, i, &b, NULL), BREVIS_OK);
		assert_string_equal(a.name, b.name);
		assert_string_equal(a.dtype, b.dtype);
		assert_int_equal(a.rank, b.rank);
		assert_memory_equal(a.shape, b.shape, a.rank * sizeof(*a.shape));
		assert_int_equal(a.offset, b.offset);
		assert_int_equal(a.size, b.size);
		assert_int_equal(a.stored_size, 0);
	}
}

/* A file's header says what its archive says of it. */
static void test_header_of_file(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < GOOD_CASES; i++) {
		struct buffer memory = BUFFER_INIT, original = BUFFER_INIT;
		struct brevis_header *header = NULL;
		struct brevis_archive *archive;
		struct brevis_source source;

		draft_build(good_cases[i].build, NULL, &memory, &original);
		archive = open_good(&memory);
		source = memory_source(&original);
		assert_int_equal(brevis_header_read(&source, &header, NULL), BREVIS_OK);
		assert_int_equal(brevis_header_layout(header), archive->info.layout);
		if (archive->info.layout == BREVIS_LAYOUT_OPAQUE)
			assert_int_equal(brevis_header_size(header), 0);
		else
			assert_int_equal(brevis_header_size(header), 8 + load_le64(original.data));
		assert_same_tensors(header, archive);
		brevis_header_free(header);
		assert_int_equal(brevis_archive_header(archive, &header, NULL), BREVIS_OK);
		assert_int_equal(brevis_header_layout(header), archive->info.layout);
		assert_same_tensors(header, archive);
		brevis_header_free(header);
		brevis_archive_free(archive);
		buffer_release(&memory);
		buffer_release(&original);
	}
}

/* A file of this text behind its length, and its header. */
static struct brevis_header *header_of(struct buffer *file, const void *text, size_t len)
{
	struct brevis_header *header = NULL;
	struct brevis_source source;

	buffer_clear(file);
	buffer_le64(file, len);
	buffer_append(file, text, len);
	source = memory_source(file);
	assert_int_equal(brevis_header_read(&source, &header, NULL), BREVIS_OK);
	return header;
}

#define FIELDS "\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":"

static void test_header_tells_all(void **state)
{
	static const char text[] =
		"{\"__metadata__\":{\"k\":\"a\\u0000b\",\"\":\"\",\"k\":\"\xc3\xa9\\n\"},"
		"\"y\":{" FIELDS "[1,2]},\"x\":{" FIELDS "[0,1]}}";
	static const char more[] = "{\"x\":{" FIELDS "[0,1],\"z\":[{}]}}";
	struct brevis_metadata_info entry;
	struct buffer file = BUFFER_INIT;
	struct brevis_header *header = header_of(&file, text, strlen(text));

	(void)state;
	assert_int_equal(brevis_header_layout(header), BREVIS_LAYOUT_IRREGULAR);
	assert_int_equal(brevis_header_place(header, 0), 1);
	assert_int_equal(brevis_header_place(header, 1), 0);
	assert_false(brevis_header_has_more(header));
	assert_int_equal(brevis_header_metadata_count(header), 3);
	assert_int_equal(brevis_header_metadata(header, 0, &entry, NULL), BREVIS_OK);
	assert_string_equal(entry.key, "k");
	assert_int_equal(entry.value_size, 3);
	assert_memory_equal(entry.value, "a\0b", 4);
	assert_int_equal(brevis_header_metadata(header, 1, &entry, NULL), BREVIS_OK);
	assert_int_equal(entry.key_size + entry.value_size, 0);
	assert_int_equal(brevis_header_metadata(header, 2, &entry, NULL), BREVIS_OK);
	assert_string_equal(entry.value, "\xc3\xa9\n");
	assert_int_equal(brevis_header_metadata(header, 3, &entry, NULL), BREVIS_E_USAGE);
	brevis_header_free(header);
	header = header_of(&file, more, strlen(more));
	assert_true(brevis_header_has_more(header));
	assert_int_equal(brevis_header_metadata_count(header), 0);
	brevis_header_free(header);
	header = header_of(&file, "[]", 2);
	assert_false(brevis_header_has_more(header));
	assert_int_equal(brevis_header_metadata_count(header), 0);
	assert_int_equal(brevis_header_place(header, 0), 0);
	brevis_header_free(header);
	buffer_release(&file);
}

/* A header whose metadata are so many empty entries, and one of a value of so many bytes. */
static struct brevis_header *metadata_of(struct buffer *file, size_t entries, size_t value)
{
	struct brevis_header *header;
	struct buffer text = BUFFER_INIT;
	size_t i;

	buffer_append(&text, "{\"__metadata__\":{", 17);
	for (i = 0; i < entries; i++)
		buffer_append(&text, "\"\":\"\",", 6);
	buffer_append(&text, "\"\":\"", 4);
	memset(buffer_extend(&text, value), 'v', value);
	buffer_append(&text, "\"}}", 3);
	header = header_of(file, text.data, text.size);
	buffer_release(&text);
	return header;
}

/* Strings of any length are whole; beyond what any model has, a header is not looked into. */
static void test_header_limits(void **state)
{
	static const size_t sizes[] = {0, 65535, 65536, 65537, 1 << 20, (6 << 20) - 30};
	struct brevis_metadata_info entry;
	struct buffer file = BUFFER_INIT;
	struct brevis_header *header;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		header = metadata_of(&file, 1, sizes[i]);
		assert_int_equal(brevis_header_layout(header), BREVIS_LAYOUT_SAFETENSORS);
		assert_int_equal(brevis_header_metadata(header, 1, &entry, NULL), BREVIS_OK);
		assert_int_equal(entry.value_size, sizes[i]);
		assert_int_equal(strspn(entry.value, "v"), entry.value_size);
		brevis_header_free(header);
	}
	header = metadata_of(&file, 1, (6 << 20) - 29);
	assert_int_equal(brevis_header_layout(header), BREVIS_LAYOUT_OPAQUE);
	brevis_header_free(header);
	header = metadata_of(&file, 65535, 1);
	assert_int_equal(brevis_header_metadata_count(header), 65536);
	brevis_header_free(header);
	header = metadata_of(&file, 65536, 1);
	assert_int_equal(brevis_header_layout(header), BREVIS_LAYOUT_OPAQUE);
	brevis_header_free(header);
	buffer_release(&file);
}

static int refuse_read(void *ctx, void *buf, size_t len, uint64_t offset)
{
	(void)ctx;
	(void)buf;
	(void)len;
	(void)offset;
	return -1;
}

static void test_header_unreadable(void **state)
{
	struct brevis_source source = {refuse_read, NULL, 100, NULL};
	struct brevis_header *header = NULL;
	struct brevis_error err = {0};

	(void)state;
	assert_int_equal(brevis_header_read(&source, &header, &err), BREVIS_E_IO);
	assert_null(header);
	assert_non_null(strstr(err.message, "could not be read"));
	brevis_header_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_every_span),       TEST(test_beyond_the_end),
		TEST(test_large_pieces),     TEST(test_damaged_record),
		TEST(test_failing_write),    TEST(test_piece_checksums),
		TEST(test_header_of_file),   TEST(test_header_unreadable),
		TEST(test_header_tells_all), TEST(test_header_limits),
	};

	seed_init("test_archive_read");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
