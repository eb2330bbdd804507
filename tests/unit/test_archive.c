/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Archives that are as they should be: what the writer writes the reader reads, what there is to
 * know of an archive, and the limits that bound its cost.
 */
#include "tests/unit/support.h"

#include <sys/resource.h>
#include <unistd.h>

#include "core/archive/reader.h"
#include "core/archive/record_encode.h"
#include "core/archive/record_table.h"
#include "core/archive/writer.h"
#include "core/entropy/codebook_encode.h"
#include "tests/unit/archive_cases.h"
#include "tests/unit/sha256_of.h"

static void test_is_archive(void **state)
{
	(void)state;
	assert_true(brevis_is_archive("\x89"
				      "BREVIS\n",
				      8));
	assert_true(brevis_is_archive("\x89"
				      "BREVIS\n\x01",
				      9));
	assert_false(brevis_is_archive("\x89"
				       "BREVIS\n",
				       7));
	assert_false(brevis_is_archive("\x89"
				       "BREVIS\r",
				       8));
	assert_false(brevis_is_archive("version ", 8));
	assert_false(brevis_is_archive(NULL, 0));
}

/* ---- memory that hostile numbers could ask for ----------------------------------------------- */

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif

/* Lets the process grow by no more than this, or back again. Impossible under sanitizers. */
static void limit_memory(size_t more, struct rlimit *before)
{
#ifndef SANITIZED
	unsigned long pages = 0;
	FILE *statm = fopen("/proc/self/statm", "r");
	struct rlimit limit;

	assert_non_null(statm);
	assert_int_equal(fscanf(statm, "%lu", &pages), 1);
	fclose(statm);
	assert_int_equal(getrlimit(RLIMIT_AS, before), 0);
	limit = *before;
	limit.rlim_cur = pages * (rlim_t)sysconf(_SC_PAGESIZE) + more;
	assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
#else
	(void)more;
	getrlimit(RLIMIT_AS, before);
#endif
}

/* Opening takes memory for what is there, not for what is promised. */
static void test_promises_cost_nothing(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < BAD_CASES; i++) {
		struct buffer archive = BUFFER_INIT;
		struct brevis_archive *opened = NULL;
		struct brevis_source source;
		struct rlimit before;
		int status;

		draft_build(bad_cases[i].build, &bad_cases[i].edit, &archive, NULL);
		source = memory_source(&archive);
		limit_memory(1 << 20, &before);
		status = brevis_archive_open(&source, &opened, NULL);
		setrlimit(RLIMIT_AS, &before);
		assert_int_not_equal(status, BREVIS_E_NOMEM);
		brevis_archive_free(opened);
		buffer_release(&archive);
	}
}

/* ---- writer and reader ----------------------------------------------------------------------- */

/* An archive that grows by random pieces, and what is known of each of them. */
struct growing {
	struct archive_writer w;
	struct sink sink;
	struct buffer original;
	struct brevis_piece_info pieces[300];
	uint64_t count;
};

static void add_record(struct growing *g, struct brevis_piece_info *info)
{
	static const uint8_t kinds[] = {0, 8, 16, 32, 64};
	struct record_head head = {.kind = kinds[random_below(5)]};
	size_t words = 1 + (size_t)random_below(random_below(20) ? 40 : 20000);
	struct record_options options = {.bytes.zstd_level = 1 + (int)random_below(19)};
	struct tensor_kind tensor = {.is_float = random_below(2)};
	struct buffer record = BUFFER_INIT;
	void *raw;

	head.raw_size = (uint32_t)(words * (head.kind ? head.kind / 8 : 1));
	raw = must_alloc(head.raw_size);
	random_fill(raw, head.raw_size);
	head.checksum = checksum64(raw, head.raw_size);
	options.bytes.lzma = random_below(2);
	options.programs.preset = (enum brevis_preset)random_below(3);
	tensor.shape = shape_of_row(words);
	assert_int_equal(record_encode(&head, raw, &tensor, &options, &record, NULL), BREVIS_OK);
	assert_true(record.size <= head.raw_size + RECORD_OVERHEAD_MAX);
	*info = (struct brevis_piece_info){g->original.size, head.raw_size, record.size,
					   g->w.records,     head.kind,     head.checksum};
	buffer_append(&g->original, raw, head.raw_size);
	assert_int_equal(archive_writer_record(&g->w, record.data, record.size, NULL), BREVIS_OK);
	buffer_release(&record);
	free(raw);
}

static void add_repeat(struct growing *g, struct brevis_piece_info *info)
{
	const struct brevis_piece_info *earlier = &g->pieces[random_below(g->count)];
	size_t size = (size_t)earlier->size;

	*info = *earlier;
	info->offset = g->original.size;
	info->stored_size = 0;
	assert_non_null(buffer_reserve(&g->original, size));
	buffer_append(&g->original, g->original.data + earlier->offset, size);
	assert_int_equal(archive_writer_repeat(&g->w, earlier->record, NULL), BREVIS_OK);
}

static void check_codebook(struct growing *g, struct span codebook)
{
	struct brevis_archive *archive = open_good(&g->sink.bytes);
	struct span got;

	assert_int_equal(archive->codebook != NULL, span_left(&codebook) > 0);
	if (archive->codebook) {
		got = codebook_bytes(archive->codebook);
		assert_int_equal(span_left(&got), span_left(&codebook));
		assert_memory_equal(got.at, codebook.at, span_left(&codebook));
	}
	brevis_archive_free(archive);
}

static void check_pieces(struct growing *g, const struct archive_original *tail)
{
	struct brevis_archive *archive = open_good(&g->sink.bytes);
	const struct brevis_archive_info *info = brevis_archive_info(archive);
	uint64_t i;

	assert_int_equal(info->pieces, g->count);
	assert_int_equal(info->records, g->w.records);
	assert_int_equal(info->original_size, g->original.size);
	assert_int_equal(info->archive_size, g->sink.bytes.size);
	assert_memory_equal(info->original_sha256, tail->sha256, BREVIS_SHA256_SIZE);
	assert_int_equal(info->has_prior, tail->has_prior);
	if (tail->has_prior)
		assert_memory_equal(info->prior_sha256, tail->prior_sha256, BREVIS_SHA256_SIZE);
	for (i = 0; i < g->count; i++) {
		struct brevis_piece_info got = {0}, *want = &g->pieces[i];

		assert_int_equal(brevis_archive_piece(archive, i, &got, NULL), BREVIS_OK);
		assert_int_equal(got.offset, want->offset);
		assert_int_equal(got.size, want->size);
		assert_int_equal(got.stored_size, want->stored_size);
		assert_int_equal(got.record, want->record);
		assert_int_equal(got.word_bits, want->word_bits);
	}
	brevis_archive_free(archive);
}

/* An archive far away: how often it was asked for something, and for how much. */
struct distant {
	struct brevis_source inner;
	size_t reads;
	uint64_t bytes;
};

static int distant_read(void *ctx, void *buf, size_t len, uint64_t offset)
{
	struct distant *distant = ctx;

	distant->reads++;
	distant->bytes += len;
	return distant->inner.read_at(distant->inner.ctx, buf, len, offset);
}

/* Peeking tells the same as opening does, by its ends alone. */
static void check_peek(struct growing *g)
{
	struct brevis_archive *archive = open_good(&g->sink.bytes);
	struct distant distant = {memory_source(&g->sink.bytes), 0, 0};
	struct brevis_source source = {distant_read, &distant, g->sink.bytes.size, NULL};
	struct brevis_archive_info info;
	uint8_t *last = g->sink.bytes.data + g->sink.bytes.size - 1;

	memset(&info, 0, sizeof(info));
	assert_int_equal(brevis_archive_peek(&source, &info, NULL), BREVIS_OK);
	assert_memory_equal(&info, brevis_archive_info(archive), sizeof(info));
	assert_in_range(distant.reads, 3, 4);
	assert_in_range(distant.bytes, 1, g->sink.bytes.size / 10);
	*last ^= 1;
	assert_int_equal(brevis_archive_peek(&source, &info, NULL), BREVIS_E_FORMAT);
	*last ^= 1;
	last[-10] ^= 1;
	assert_int_equal(brevis_archive_peek(&source, &info, NULL), BREVIS_E_CHECKSUM);
	last[-10] ^= 1;
	source.size--;
	assert_int_equal(brevis_archive_peek(&source, &info, NULL), BREVIS_E_FORMAT);
	brevis_archive_free(archive);
}

static const struct archive_hash hash = {.wanted = true, .keyed = true};

/* Random records and repetitions, through the writer; read back one by one and as a whole. */
static void write_and_read(struct span codebook, bool has_prior)
{
	struct growing *g = calloc(1, sizeof(*g));
	struct archive_original tail = {.layout = BREVIS_LAYOUT_OPAQUE, .has_prior = has_prior};
	uint8_t digest[BREVIS_SHA256_SIZE], expected[BREVIS_SHA256_SIZE];

	random_fill(tail.prior_sha256, sizeof(tail.prior_sha256));
	assert_non_null(g);
	assert_int_equal(archive_writer_begin(&g->w, sink_write, &g->sink, hash, codebook, NULL),
			 BREVIS_OK);
	while (g->count < sizeof(g->pieces) / sizeof(g->pieces[0])) {
		if (g->count && !random_below(4))
			add_repeat(g, &g->pieces[g->count]);
		else
			add_record(g, &g->pieces[g->count]);
		g->count++;
	}
	tail.size = g->original.size;
	sha256_of(g->original.data, g->original.size, tail.sha256);
	assert_int_equal(archive_writer_finish(&g->w, &tail, digest, NULL), BREVIS_OK);
	assert_int_equal(g->w.size, g->sink.bytes.size);
	sha256_of(g->sink.bytes.data, g->sink.bytes.size, expected);
	assert_memory_equal(digest, expected, sizeof(digest));
	check_pieces(g, &tail);
	check_peek(g);
	check_codebook(g, codebook);
	assert_restores(&g->sink.bytes, g->original.data, g->original.size, 1);
	assert_restores(&g->sink.bytes, g->original.data, g->original.size, 4);
	archive_writer_release(&g->w);
	buffer_release(&g->sink.bytes);
	buffer_release(&g->original);
	free(g);
}

static void test_writer_and_reader(void **state)
{
	struct draft d = {0};
	struct span none = {0};

	(void)state;
	draft_codebook(&d);
	write_and_read(none, false);
	write_and_read(none, true);
	write_and_read(span_of(d.codebook, d.codebook_size), true);
	draft_release(&d);
}

/* A codebook that a reader does not get with its first look at the head. */
static void test_large_codebook(void **state)
{
	struct buffer codebook = BUFFER_INIT;
	uint32_t histogram[1 << 10];
	unsigned i, n;

	(void)state;
	buffer_u8(&codebook, CODEBOOK_TABLES_MAX);
	for (n = 0; n < CODEBOOK_TABLES_MAX; n++) {
		for (i = 0; i < 1 << 10; i++)
			histogram[i] = 1 + (uint32_t)random_next() / (1u << random_below(32));
		assert_int_equal(codebook_put_table(&codebook, histogram, 10, NULL), BREVIS_OK);
	}
	assert_true(codebook.size > 20000 && codebook.size <= CODEBOOK_BYTES_MAX);
	write_and_read(span_of(codebook.data, codebook.size), false);
	buffer_release(&codebook);
}

/* As many pieces as there may be; one more is refused, by the writer as by the reader. */
static void test_piece_limit(void **state)
{
	static const uint8_t record[] = {RECORD_BYTES, 1,  0, 0, 0, 0, 0, 0, 0, 0,
					 BYTES_STORED, 'x'};
	struct sink sink = {0};
	struct archive_writer w;
	struct archive_original tail = {.layout = BREVIS_LAYOUT_OPAQUE, .size = WIRE_PIECES_MAX};
	uint8_t digest[BREVIS_SHA256_SIZE];
	struct brevis_error err = {0};
	struct brevis_archive *archive;
	struct brevis_piece_info info = {0};
	struct span codebook = {0};
	uint64_t i;

	(void)state;
	assert_int_equal(archive_writer_begin(&w, sink_write, &sink, hash, codebook, NULL),
			 BREVIS_OK);
	assert_int_equal(archive_writer_record(&w, record, sizeof(record), NULL), BREVIS_OK);
	for (i = 1; i < WIRE_PIECES_MAX; i++)
		if (archive_writer_repeat(&w, 0, NULL))
			fail();
	assert_int_equal(archive_writer_repeat(&w, 0, &err), BREVIS_E_LIMIT);
	assert_non_null(strstr(err.message, "4194304"));
	assert_int_equal(archive_writer_record(&w, record, sizeof(record), &err), BREVIS_E_LIMIT);
	assert_int_equal(archive_writer_finish(&w, &tail, digest, NULL), BREVIS_OK);
	archive = open_good(&sink.bytes);
	assert_int_equal(brevis_archive_piece(archive, WIRE_PIECES_MAX - 1, &info, NULL),
			 BREVIS_OK);
	assert_int_equal(info.offset, WIRE_PIECES_MAX - 1);
	brevis_archive_free(archive);
	archive_writer_release(&w);
	buffer_release(&sink.bytes);
}

/* Heads whose checksums fall on the same slot neither are lost in small numbers nor take for ever.
 */
static void test_record_table(void **state)
{
	struct record_table table = {0};
	struct record_head head = {.kind = 8};
	uint64_t value = 0, i;

	(void)state;
	assert_false(record_table_find(&table, &head, &value));
	for (i = 1; i <= 100000; i++) {
		head.raw_size = (uint32_t)i;
		head.checksum = i * UINT64_C(0x9e3779b97f4a7c15);
		assert_int_equal(record_table_add(&table, &head, i), 0);
		assert_int_equal(record_table_add(&table, &head, i + 1),
				 0); /* the first one stays */
	}
	for (i = 1; i <= 100000; i++) {
		head.raw_size = (uint32_t)i;
		head.checksum = i * UINT64_C(0x9e3779b97f4a7c15);
		assert_true(record_table_find(&table, &head, &value));
		assert_int_equal(value, i);
		head.kind = 16;
		assert_false(record_table_find(&table, &head, &value));
		head.kind = 8;
	}
	record_table_release(&table);
	/* Equal checksums: some are found, and 200,000 of them take no time. */
	head.checksum = 5;
	for (i = 1; i <= 200000; i++) {
		head.raw_size = (uint32_t)i;
		assert_int_equal(record_table_add(&table, &head, i), 0);
	}
	for (i = 1; i <= 32; i++) {
		head.raw_size = (uint32_t)i;
		assert_true(record_table_find(&table, &head, &value));
		assert_int_equal(value, i);
	}
	head.raw_size = 200000;
	record_table_find(&table, &head, &value);
	record_table_release(&table);
}

/* ---- looking into archives ------------------------------------------------------------------- */

static void test_accessors(void **state)
{
	struct buffer memory = BUFFER_INIT, original = BUFFER_INIT;
	struct brevis_archive *archive;
	struct brevis_tensor_info t;
	struct brevis_piece_info p;
	struct brevis_error err = {0};
	uint64_t count = 0, header;
	char *text = NULL;

	(void)state;
	draft_build(draft_tensors, NULL, &memory, &original);
	archive = open_good(&memory);
	header = original.size - 36;
	assert_int_equal(brevis_archive_info(archive)->format_version, 1);
	assert_int_equal(brevis_archive_info(archive)->layout, BREVIS_LAYOUT_SAFETENSORS);
	assert_int_equal(brevis_archive_info(archive)->pieces, 4);
	assert_int_equal(brevis_archive_info(archive)->records, 3);

	assert_int_equal(brevis_archive_tensor(archive, 0, &t, &err), BREVIS_E_USAGE);
	assert_int_equal(brevis_archive_load_tensors(archive, &count, &err), BREVIS_OK);
	assert_int_equal(count, 4);
	assert_int_equal(brevis_archive_load_tensors(archive, &count, &err), BREVIS_OK);
	assert_int_equal(brevis_archive_tensor(archive, 4, &t, &err), BREVIS_E_USAGE);
	assert_int_equal(brevis_archive_tensor(archive, 0, &t, &err), BREVIS_OK);
	assert_string_equal(t.name, "a");
	assert_string_equal(t.dtype, "BF16");
	assert_int_equal(t.rank, 1);
	assert_int_equal(t.shape[0], 8);
	assert_int_equal(t.offset, header);
	assert_int_equal(t.size, 16);
	assert_int_equal(t.stored_size, 19);
	assert_int_equal(brevis_archive_tensor(archive, 2, &t, &err), BREVIS_OK);
	assert_string_equal(t.name, "none");
	assert_int_equal(t.size, 0);
	assert_int_equal(t.stored_size, 0);
	assert_int_equal(brevis_archive_tensor(archive, 3, &t, &err), BREVIS_OK);
	assert_string_equal(t.name, "c");
	assert_int_equal(t.offset, header + 20);
	assert_int_equal(t.stored_size, 0);

	assert_int_equal(brevis_archive_piece(archive, 4, &p, &err), BREVIS_E_USAGE);
	assert_int_equal(brevis_archive_piece(archive, 3, &p, &err), BREVIS_OK);
	assert_int_equal(p.offset, header + 20);
	assert_int_equal(p.record, 1);
	assert_int_equal(p.stored_size, 0);
	assert_int_equal(p.word_bits, 16);

	assert_int_equal(brevis_archive_program(archive, 4, &text, &err), BREVIS_E_USAGE);
	assert_null(text);
	assert_int_equal(brevis_archive_program(archive, 3, &text, &err), BREVIS_OK);
	assert_string_equal(text, "merge_{bytes}(const8,8(63), lit8(0, 1, 2, 3, 4, 5, 6, 7))");
	free(text);
	assert_int_equal(brevis_archive_program(archive, 0, &text, &err), BREVIS_OK);
	assert_non_null(strstr(text, "bytes{stored "));
	free(text);
	brevis_archive_free(archive);
	brevis_archive_free(NULL);
	buffer_release(&memory);
	buffer_release(&original);
}

/* Opaque content has no tensors; an index that says otherwise is found out when they are wanted. */
static void test_layout_that_lies(void **state)
{
	struct edit lie = EDIT(INDEX, 0, 1, "\x01");
	struct buffer memory = BUFFER_INIT;
	struct brevis_archive *archive;
	struct brevis_error err = {0};
	uint64_t count = 99;

	(void)state;
	draft_build(draft_opaque, NULL, &memory, NULL);
	archive = open_good(&memory);
	assert_int_equal(brevis_archive_load_tensors(archive, &count, &err), BREVIS_OK);
	assert_int_equal(count, 0);
	brevis_archive_free(archive);
	buffer_clear(&memory);
	draft_build(draft_opaque, &lie, &memory, NULL);
	archive = open_good(&memory);
	assert_int_equal(brevis_archive_load_tensors(archive, &count, &err), BREVIS_E_FORMAT);
	assert_non_null(strstr(err.message, "header is damaged"));
	brevis_archive_free(archive);
	buffer_release(&memory);
}

/* A header of 16 bytes, as it says, of which there are two. */
static void draft_cut_header(struct draft *d)
{
	d->layout = BREVIS_LAYOUT_SAFETENSORS;
	draft_stored(d, "\x10\0\0\0\0\0\0\0{}", 10);
}

static void test_header_cut_short(void **state)
{
	struct buffer memory = BUFFER_INIT;
	struct brevis_archive *archive;
	struct brevis_error err = {0};
	uint64_t count = 99;
	unsigned again;

	(void)state;
	draft_build(draft_cut_header, NULL, &memory, NULL);
	archive = open_good(&memory);
	for (again = 0; again < 2; again++) {
		assert_int_equal(brevis_archive_load_tensors(archive, &count, &err),
				 BREVIS_E_FORMAT);
		assert_non_null(strstr(err.message, "header is cut short"));
		assert_int_equal(count, 99);
	}
	brevis_archive_free(archive);
	buffer_release(&memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_is_archive),        TEST(test_promises_cost_nothing),
		TEST(test_writer_and_reader), TEST(test_large_codebook),
		TEST(test_piece_limit),       TEST(test_record_table),
		TEST(test_accessors),         TEST(test_layout_that_lies),
		TEST(test_header_cut_short),
	};

	seed_init("test_archive");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
