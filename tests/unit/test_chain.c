/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chained records: bytes of more than one piece, which refer to the piece before. What is refused
 * in them is in archive_cases.h.
 */
#include "tests/unit/support.h"

#include <malloc.h>

#include "core/archive/reader.h"
#include "core/archive/record_encode.h"
#include "core/archive/writer.h"
#include "core/base/digest.h"
#include "core/entropy/library_encode.h"
#include "tests/unit/decoding.h"
#include "tests/unit/sha256_of.h"

#define MIB ((size_t)1 << 20)

static const unsigned thread_counts[] = {1, 8};

/* Bytes of a few values, of which most were there before, up to `far` bytes earlier. */
static void fill_redundant(uint8_t *to, size_t size, size_t far)
{
	size_t at = 0, i;

	while (at < size) {
		size_t n = 1 + (size_t)random_below(200);
		size_t distance = 1 + (size_t)random_below(far);
		bool copy = at >= distance && random_below(8);

		if (copy)
			n *= 20;
		if (n > size - at)
			n = size - at;
		for (i = 0; i < n; i++)
			to[at + i] =
				copy ? to[at + i - distance] : (uint8_t)('a' + random_next() % 23);
		at += n;
	}
}

static uint8_t *redundant(size_t size)
{
	uint8_t *data = must_alloc(size);

	fill_redundant(data, size, 7 * MIB);
	return data;
}

/* Encodes with every number of threads, to the same bytes, which restore the data. */
static struct encoding encode_all(const uint8_t *data, size_t size, enum brevis_preset preset,
				  const struct brevis_archive *known)
{
	struct brevis_encode_options options = {
		.preset = preset, .known = &known, .known_count = known ? 1 : 0};
	struct encoding first = {0};
	size_t i;

	for (i = 0; i < 2; i++) {
		struct encoding e;

		options.threads = thread_counts[i];
		e = encode_with(data, size, CHUNK_RANDOM, &options, 0);
		if (e.status)
			fail_msg("%s", e.err.message);
		assert_null(e.summary.same_as);
		assert_restores(&e.archive.bytes, data, size, thread_counts[i]);
		if (i == 0) {
			first = e;
			continue;
		}
		assert_int_equal(e.archive.bytes.size, first.archive.bytes.size);
		assert_true(!memcmp(e.archive.bytes.data, first.archive.bytes.data,
				    first.archive.bytes.size));
		encoding_release(&e);
	}
	return first;
}

/* A letter for each piece: b bytes, c chained, r repeated, w words. */
static void assert_pieces(struct buffer *archive, const char *expected)
{
	struct brevis_archive *a = open_good(archive);
	struct brevis_piece_info info;
	char found[16] = "";
	uint64_t i;

	assert_true(a->info.pieces < sizeof(found));
	for (i = 0; i < a->info.pieces; i++) {
		uint8_t kind = a->records[a->pieces[i].record].head.kind;

		assert_int_equal(brevis_archive_piece(a, i, &info, NULL), BREVIS_OK);
		found[i] = (char)(a->pieces[i].repeats     ? 'r'
				  : kind == RECORD_CHAINED ? 'c'
				  : kind == RECORD_BYTES   ? 'b'
							   : 'w');
		assert_int_equal(info.word_bits, kind >= 8 ? kind : 0);
	}
	assert_string_equal(found, expected);
	brevis_archive_free(a);
}

/* ---- records --------------------------------------------------------------------------------- */

/* Encodes raw behind something, checks what it restores there and elsewhere, gives its size. */
static size_t chain(const uint8_t *raw, size_t size, struct span before, enum brevis_preset preset)
{
	static const struct span nothing;
	struct record_options options = {.bytes = bytes_options_of(preset)};
	struct record_head head = {RECORD_BYTES, (uint32_t)size, checksum64(raw, size)};
	struct buffer record = BUFFER_INIT;
	uint8_t *restored = must_alloc(size);
	uint8_t *other = must_alloc(span_left(&before));
	struct brevis_error err;
	size_t stored;

	options.bytes.before = before;
	random_fill(other, span_left(&before));
	assert_int_equal(record_encode(&head, raw, NULL, &options, &record, &err), BREVIS_OK);
	assert_int_equal(record.data[0], RECORD_CHAINED);
	assert_int_equal(
		record_decode(record.data, record.size, &head, NULL, before, restored, &err),
		BREVIS_OK);
	assert_true(!memcmp(restored, raw, size));
	assert_int_equal(
		record_decode(record.data, record.size, &head, NULL, nothing, restored, &err),
		BREVIS_E_FORMAT);
	assert_string_equal(err.message, "chained bytes have none before them");
	assert_int_not_equal(record_decode(record.data, record.size, &head, NULL,
					   span_of(other, span_left(&before)), restored, &err),
			     BREVIS_OK);
	stored = record.size;
	buffer_release(&record);
	free(restored);
	free(other);
	return stored;
}

/* A piece of which much is in the piece before takes little; better presets take no more. */
static void test_reach(void **state)
{
	static const size_t sizes[] = {100, 3000, 300000, 2 * MIB};
	uint8_t *data = must_alloc(6 * MIB);
	size_t i;

	(void)state;
	for (i = 0; i < 4; i++) {
		struct span before = span_of(data, 4 * MIB);
		size_t normal, best;

		random_fill(data, 4 * MIB);
		/* A dictionary's magic number and an ID: it is content all the same. */
		memcpy(data, "\x37\xa4\x30\xec\x01\x00\x00\x00", 8);
		memcpy(data + 4 * MIB, data, sizes[i]);
		normal = chain(data + 4 * MIB, sizes[i], before, BREVIS_PRESET_DEFAULT);
		best = chain(data + 4 * MIB, sizes[i], before, BREVIS_PRESET_BEST);
		assert_true(best <= normal);
		assert_true(normal <= 64 + sizes[i] / 100);
	}
	free(data);
}

/* Both libraries. */
static void test_codings(void **state)
{
	uint8_t *data = redundant(3 * MIB);
	struct span before = span_of(data, 2 * MIB);
	unsigned i;

	(void)state;
	for (i = 0; i < 2; i++) {
		enum library library = i ? LIBRARY_LZMA2 : LIBRARY_ZSTD;
		struct library_effort effort = {.zstd_level = 9};
		struct buffer alone = BUFFER_INIT, behind = BUFFER_INIT;
		uint8_t *restored = must_alloc(MIB);
		bool fits;

		assert_int_equal(library_encode(&alone, library, &effort, data + 2 * MIB, MIB, MIB,
						&fits, NULL),
				 BREVIS_OK);
		assert_true(fits);
		effort.before = before;
		assert_int_equal(library_encode(&behind, library, &effort, data + 2 * MIB, MIB, MIB,
						&fits, NULL),
				 BREVIS_OK);
		assert_true(fits);
		assert_true(behind.size < alone.size / 2);
		assert_int_equal(library_decode(library, span_of(behind.data, behind.size), before,
						restored, MIB, NULL),
				 BREVIS_OK);
		assert_true(!memcmp(restored, data + 2 * MIB, MIB));
		/* Less before it than it was made for. */
		assert_int_not_equal(library_decode(library, span_of(behind.data, behind.size),
						    span_of(data + MIB, MIB), restored, MIB,
						    NULL) ||
					     memcmp(restored, data + 2 * MIB, MIB),
				     0);
		buffer_release(&alone);
		buffer_release(&behind);
		free(restored);
	}
	free(data);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* The first record alone, and what is added by the others. */
static void test_sizes(void **state)
{
	static const struct {
		size_t size;
		const char *pieces;
	} cases[] = {
		{16 * MIB - 1, "b"}, {16 * MIB, "b"},           {16 * MIB + 700, "bc"},
		{32 * MIB, "bc"},    {32 * MIB + 70000, "bcc"},
	};
	uint8_t *data = redundant(33 * MIB);
	size_t i;

	(void)state;
	for (i = 0; i < 5; i++) {
		struct encoding e = encode_all(data, cases[i].size, BREVIS_PRESET_FAST, NULL);

		assert_pieces(&e.archive.bytes, cases[i].pieces);
		encoding_release(&e);
	}
	free(data);
}

/* Appends a piece of bytes, chained to those before it if there are any. */
static void add_bytes(struct archive_writer *w, const uint8_t *raw, size_t size, struct span before)
{
	struct record_options options = {.bytes = bytes_options_of(BREVIS_PRESET_FAST)};
	struct record_head head = {RECORD_BYTES, (uint32_t)size, checksum64(raw, size)};
	struct buffer record = BUFFER_INIT;

	options.bytes.before = before;
	assert_int_equal(record_encode(&head, raw, NULL, &options, &record, NULL), BREVIS_OK);
	assert_int_equal(record.data[0], before.at ? RECORD_CHAINED : RECORD_BYTES);
	assert_int_equal(archive_writer_record(w, record.data, record.size, NULL), BREVIS_OK);
	buffer_release(&record);
}

/*
 * Two short links behind a long piece, and some pieces before it: the buffer of the long one, which
 * is handed on, is free to be used before its bytes are hashed. (Encoders make no such links.)
 */
static void check_short_links(size_t others)
{
	enum { LINK = 1000 };
	const struct archive_hash hash = {.wanted = true};
	const struct span nothing = {0};
	const size_t large = 16 * MIB, size = others + large + 2 * LINK;
	struct archive_original original = {.layout = BREVIS_LAYOUT_OPAQUE, .size = size};
	uint8_t *data = must_alloc(size), *at = data, digest[BREVIS_SHA256_SIZE];
	struct archive_writer w;
	struct sink sink = {0};
	size_t i;

	random_fill(data, others + large);
	memcpy(data + others + large, data + others + large - LINK, LINK);
	memcpy(data + others + large + LINK, data + others + large, LINK);
	sha256_of(data, size, original.sha256);
	assert_int_equal(archive_writer_begin(&w, sink_write, &sink, hash, nothing, NULL),
			 BREVIS_OK);
	for (; at < data + others; at++)
		add_bytes(&w, at, 1, nothing);
	add_bytes(&w, at, large, nothing);
	add_bytes(&w, at + large, LINK, record_reach(at, large));
	add_bytes(&w, at + large + LINK, LINK, span_of(at + large, LINK));
	assert_int_equal(archive_writer_finish(&w, &original, digest, NULL), BREVIS_OK);
	for (i = 0; i < 2; i++)
		assert_restores(&sink.bytes, data, size, thread_counts[i]);
	archive_writer_release(&w);
	buffer_release(&sink.bytes);
	free(data);
}

static void test_short_links(void **state)
{
	size_t others;

	(void)state;
	/* Large memory that is freed is gone at once: whoever still reads it does not go on. */
	mallopt(M_MMAP_THRESHOLD, 1 << 20);
	for (others = 0; others < 10; others++)
		check_short_links(others);
}

/* The slow presets, on a piece that is all in the one before. */
static void test_presets(void **state)
{
	uint8_t *data = redundant(17 * MIB);
	struct encoding e[3], first;
	unsigned i;

	(void)state;
	/* Mostly zeros, which no preset is slow at. */
	memset(data + 2 * MIB, 0, 13 * MIB);
	random_fill(data + 15 * MIB, MIB);
	memcpy(data + 16 * MIB, data + 15 * MIB, MIB);
	for (i = 0; i < 3; i++) {
		static const enum brevis_preset presets[] = {
			BREVIS_PRESET_FAST, BREVIS_PRESET_DEFAULT, BREVIS_PRESET_BEST};
		struct brevis_encode_options options = {.threads = 2, .preset = presets[i]};

		e[i] = encode(data, 17 * MIB, &options);
		assert_restores(&e[i].archive.bytes, data, 17 * MIB, 2);
		assert_pieces(&e[i].archive.bytes, "bc");
		first = encode(data, 16 * MIB, &options);
		assert_true(e[i].archive.bytes.size < first.archive.bytes.size + 2000);
		encoding_release(&first);
	}
	assert_true(e[2].archive.bytes.size <= e[1].archive.bytes.size);
	assert_true(e[1].archive.bytes.size <= e[0].archive.bytes.size);
	for (i = 0; i < 3; i++)
		encoding_release(&e[i]);
	free(data);
}

/*
 * Noise is stored, not chained, and therefore repeated. So is the first piece; a chained one is
 * not, whoever asks first: the thread that encodes it or the one that meets it again.
 */
static void test_repetitions(void **state)
{
	const size_t size = 16 * MIB;
	uint8_t *data = must_alloc(6 * size);
	struct encoding e;

	(void)state;
	fill_redundant(data, 2 * size, 7 * MIB);
	memcpy(data + 2 * size, data, 2 * size);
	random_fill(data + 4 * size, size);
	memcpy(data + 5 * size, data + 4 * size, size);
	e = encode_all(data, 6 * size, BREVIS_PRESET_FAST, NULL);
	assert_pieces(&e.archive.bytes, "bcrcbr");
	encoding_release(&e);
	free(data);
}

/* ---- beside earlier archives ----------------------------------------------------------------- */

/* Encodes beside the archive of an earlier revision. */
static void check_revision(const struct brevis_archive *known, const uint8_t *data, size_t size,
			   const char *pieces, uint64_t reused)
{
	struct encoding e = encode_all(data, size, BREVIS_PRESET_FAST, known);
	struct encoding fresh =
		encode(data, size,
		       &(struct brevis_encode_options){.threads = 2, .preset = BREVIS_PRESET_FAST});

	assert_int_equal(e.summary.records_reused, reused);
	assert_pieces(&e.archive.bytes, pieces);
	assert_int_equal(e.archive.bytes.size, fresh.archive.bytes.size);
	assert_true(!memcmp(e.archive.bytes.data, fresh.archive.bytes.data, e.archive.bytes.size));
	encoding_release(&e);
	encoding_release(&fresh);
}

static void test_revisions(void **state)
{
	struct brevis_encode_options options = {.threads = 2, .preset = BREVIS_PRESET_FAST};
	uint8_t *data = redundant(54 * MIB);
	struct encoding earlier = encode(data, 52 * MIB, &options), again;
	struct brevis_archive *archive = open_good(&earlier.archive.bytes);
	const struct brevis_archive *known = archive;

	(void)state;
	options.known = &known;
	options.known_count = 1;
	again = encode(data, 52 * MIB, &options);
	assert_ptr_equal(again.summary.same_as, archive);
	encoding_release(&again);
	/* Longer, and shorter: the pieces before the last one are followed. */
	check_revision(archive, data, 54 * MIB, "bccc", 3);
	check_revision(archive, data, 51 * MIB, "bccc", 3);
	/* A change that the next piece cannot see: all pieces but this one. */
	random_fill(data + 17 * MIB, MIB);
	check_revision(archive, data, 52 * MIB, "bccc", 3);
	/* One that it refers to: not that one either. */
	random_fill(data + 24 * MIB, 8 * MIB);
	check_revision(archive, data, 52 * MIB, "bccc", 2);
	/* Without the first piece the second one has nothing before it, and the third one has. */
	check_revision(archive, data + 16 * MIB, 36 * MIB, "bcc", 1);
	brevis_archive_free(archive);
	encoding_release(&earlier);
	free(data);
}

/* ---- safetensors files ----------------------------------------------------------------------- */

/* Behind a tensor there is nothing to refer to, behind the rest there is. */
static void test_long_rest(void **state)
{
	uint8_t tensor[4000], *rest = redundant(17 * MIB);
	const struct tensor_spec tensors[] = {{"a", "BF16", 2000, 4000, tensor}};
	struct buffer file = BUFFER_INIT;
	struct encoding e;
	struct brevis_archive *archive;
	struct brevis_tensor_info info;
	struct brevis_node_info *nodes;
	size_t nodes_count;
	uint64_t count;
	char *text;

	(void)state;
	random_bf16(tensor, 2000, 1);
	put_safetensors(&file, tensors, 1);
	buffer_append(&file, rest, 17 * MIB);
	e = encode_all(file.data, file.size, BREVIS_PRESET_FAST, NULL);
	assert_int_equal(e.summary.layout, BREVIS_LAYOUT_IRREGULAR);
	assert_pieces(&e.archive.bytes, "bwbc");
	archive = open_good(&e.archive.bytes);
	assert_int_equal(brevis_archive_load_tensors(archive, &count, NULL), BREVIS_OK);
	assert_int_equal(count, 1);
	assert_int_equal(brevis_archive_tensor(archive, 0, &info, NULL), BREVIS_OK);
	assert_int_equal(info.size, 4000);
	assert_int_equal(brevis_archive_program(archive, 3, &text, NULL), BREVIS_OK);
	assert_true(!strncmp(text, "bytes{chained zstd ", 19));
	assert_int_equal(brevis_archive_nodes(archive, 3, &nodes, &nodes_count, NULL), BREVIS_OK);
	assert_int_equal(nodes_count, 0);
	free(text);
	brevis_archive_free(archive);
	encoding_release(&e);
	buffer_release(&file);
	free(rest);
}

/* A header of 17 MiB: its second piece is chained, and the tensors are found all the same. */
static void test_long_header(void **state)
{
	static const char end[] =
		"\"},\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}";
	uint8_t *value = redundant(32000);
	struct buffer text = BUFFER_INIT, file = BUFFER_INIT;
	struct encoding e;
	struct brevis_archive *archive;
	struct brevis_tensor_info info;
	char key[64];
	uint64_t count;
	unsigned i;

	(void)state;
	for (i = 0; text.size < 17 * MIB; i++) {
		int n = snprintf(key, sizeof(key), "%skey %u\":\"",
				 i ? "\",\"" : "{\"__metadata__\":{\"", i);

		buffer_append(&text, key, (size_t)n);
		buffer_append(&text, value, 32000);
	}
	buffer_append(&text, end, 2);
	buffer_append(&text, end + 2, sizeof(end) - 3);
	buffer_le64(&file, text.size);
	buffer_append(&file, text.data, text.size);
	buffer_append(&file, "xy", 2);
	assert_false(buffer_failed(&file));
	e = encode_all(file.data, file.size, BREVIS_PRESET_FAST, NULL);
	assert_string_equal(e.summary.note, "");
	assert_pieces(&e.archive.bytes, "bcw");
	archive = open_good(&e.archive.bytes);
	assert_int_equal(brevis_archive_load_tensors(archive, &count, NULL), BREVIS_OK);
	assert_int_equal(count, 1);
	assert_int_equal(brevis_archive_tensor(archive, 0, &info, NULL), BREVIS_OK);
	assert_string_equal(info.name, "b");
	assert_int_equal(info.offset, file.size - 2);
	brevis_archive_free(archive);
	encoding_release(&e);
	buffer_release(&text);
	buffer_release(&file);
	free(value);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_reach),       TEST(test_codings),   TEST(test_sizes),
		TEST(test_short_links), TEST(test_presets),   TEST(test_repetitions),
		TEST(test_revisions),   TEST(test_long_rest), TEST(test_long_header),
	};

	seed_init("test_chain");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
