/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Archives that are not as they should be: everything that can be wrong with one has its own status
 * and message, and nothing that is wrong with one is worse than that.
 *
 * BREVIS_WRITE_CORPUS=tests/corpus writes the archives of archive_cases.h there.
 */
#include "tests/unit/support.h"

#include <unistd.h>

#include "core/entropy/codebook_encode.h"
#include "core/entropy/histogram.h"
#include "core/entropy/literal_encode.h"
#include "core/program/program.h"
#include "tests/unit/archive_cases.h"

#define CORPUS "tests/corpus"

/* ---- good and bad archives by hand ----------------------------------------------------------- */

static void test_good_cases(void **state)
{
	size_t i;
	unsigned threads;

	(void)state;
	for (i = 0; i < GOOD_CASES; i++) {
		struct buffer archive = BUFFER_INIT, original = BUFFER_INIT;

		draft_build(good_cases[i].build, NULL, &archive, &original);
		for (threads = 1; threads <= 3; threads++)
			assert_restores(&archive, original.data, original.size, threads);
		buffer_release(&archive);
		buffer_release(&original);
	}
}

/* Also: nothing of a piece that is damaged is handed out, and a NULL error is accepted. */
static void test_bad_cases(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < BAD_CASES; i++) {
		const struct bad_case *c = &bad_cases[i];
		struct buffer archive = BUFFER_INIT, original = BUFFER_INIT;
		struct sink out = {0};
		struct brevis_error err = {0};
		int status;

		draft_build(c->build, &c->edit, &archive, &original);
		status = open_and_decode(&archive, 1 + (unsigned)(i % 3), &out, &err);
		if (status != (int)c->status || !strstr(err.message, c->message))
			print_error("%s: status %d, \"%s\"\n", c->name, status, err.message);
		assert_int_equal(status, c->status);
		assert_int_equal(err.status, c->status);
		assert_non_null(strstr(err.message, c->message));
		assert_true(out.bytes.size <= original.size);
		assert_true(!out.bytes.size ||
			    !memcmp(out.bytes.data, original.data, out.bytes.size));
		buffer_clear(&out.bytes);
		assert_int_equal(open_and_decode(&archive, 1, &out, NULL), c->status);
		buffer_release(&out.bytes);
		buffer_release(&archive);
		buffer_release(&original);
	}
}

/* Names from a hostile archive come out printable, and cut to fit. */
static void test_long_feature_name(void **state)
{
	struct buffer archive = BUFFER_INIT;
	struct brevis_archive *opened = NULL;
	struct brevis_source source;
	struct brevis_error err = {0};
	int i;

	(void)state;
	buffer_append(&archive, WIRE_MAGIC "\x01\x01\xff", 11);
	for (i = 0; i < 400; i++)
		buffer_u8(&archive, 0x1b);
	source = memory_source(&archive);
	assert_int_equal(brevis_archive_open(&source, &opened, &err), BREVIS_E_UNSUPPORTED);
	assert_non_null(strstr(err.message, "feature '\\x1b\\x1b"));
	assert_true(strlen(err.message) < sizeof(err.message));
	assert_null(strchr(err.message, 0x1b));
	assert_null(opened);
	buffer_release(&archive);
}

/* ---- damage ---------------------------------------------------------------------------------- */

/* A small archive as the encoder makes it, with every kind of record, and its original. */
static void encode_small(struct buffer *archive, struct buffer *original)
{
	static uint8_t weights[2 * 600], floats[4 * 150], bytes[64];
	const struct tensor_spec tensors[] = {
		{"weights", "BF16", 600, sizeof(weights), weights},
		{"floats", "F32", 150, sizeof(floats), floats},
		{"bytes", "U8", 64, 64, bytes},
		{"again", "BF16", 600, sizeof(weights), weights},
	};
	struct encoding e;

	random_bf16(weights, 600, 0.1f);
	random_f32(floats, 150, 2);
	random_fill(bytes, 60);
	put_safetensors(original, tensors, 4);
	e = encode(original->data, original->size, NULL);
	*archive = e.archive.bytes;
}

/* A block of exactly this size, so that a sanitizer sees a read past its end. */
static struct buffer exact_copy(const struct buffer *from, size_t size)
{
	struct buffer copy = {must_alloc(size), size, size, false};

	memcpy(copy.data, from->data, size);
	return copy;
}

/* Everything that can be asked of an archive, whatever it answers. */
static void ask_everything(struct brevis_archive *archive)
{
	struct brevis_piece_info piece;
	struct brevis_tensor_info tensor;
	uint64_t tensors, i;
	char *text;

	for (i = 0; i < brevis_archive_info(archive)->pieces; i++) {
		brevis_archive_piece(archive, i, &piece, NULL);
		if (!brevis_archive_program(archive, i, &text, NULL))
			free(text);
	}
	if (brevis_archive_load_tensors(archive, &tensors, NULL))
		return;
	for (i = 0; i < tensors; i++)
		brevis_archive_tensor(archive, i, &tensor, NULL);
}

/* A damaged archive is refused, or yields the original: nothing else. Returns its status. */
static int must_refuse_or_restore(struct buffer *archive, const struct buffer *original)
{
	struct brevis_decode_options options = {.threads = 1};
	struct brevis_source source = memory_source(archive);
	struct brevis_archive *opened = NULL;
	struct brevis_error err = {0};
	struct sink out = {0};
	int status = brevis_archive_open(&source, &opened, &err);

	if (!status) {
		ask_everything(opened);
		status = brevis_archive_decode(opened, &options, sink_write, &out, &err);
	}
	if (status) {
		assert_int_equal(status, err.status);
		assert_true(status == BREVIS_E_FORMAT || status == BREVIS_E_CHECKSUM ||
			    status == BREVIS_E_UNSUPPORTED);
		assert_true(err.message[0]);
	} else {
		assert_int_equal(out.bytes.size, original->size);
		assert_true(!memcmp(out.bytes.data, original->data, original->size));
	}
	brevis_archive_free(opened);
	buffer_release(&out.bytes);
	return status;
}

/* By hand, with a codebook, a prior, and what libraries have made. */
static void build_small(struct buffer *archive, struct buffer *original)
{
	struct draft d = {0};

	draft_codebook(&d);
	draft_lzma2_plain(&d);
	draft_libraries(&d);
	d.layout = BREVIS_LAYOUT_IRREGULAR;
	d.has_prior = true;
	draft_seal(&d, NULL, archive);
	buffer_append(original, d.original.data, d.original.size);
	draft_release(&d);
}

/* Where the records of a small archive begin. */
static size_t head_size(const struct buffer *archive)
{
	return WIRE_HEAD_SIZE + archive->data[WIRE_HEAD_FIXED];
}

/* The pieces in which libraries wrote are those of these numbers. */
struct maker {
	void (*make)(struct buffer *archive, struct buffer *original);
	uint64_t first;
	uint64_t last;
};

static const struct maker makers[] = {{encode_small, 0, 0}, {build_small, 4, 5}};

#define MAKERS (sizeof(makers) / sizeof(*makers))

/* Where the record of a piece begins, which repeats none. */
static size_t record_offset(struct buffer *archive, uint64_t piece)
{
	struct brevis_archive *opened = open_good(archive);
	struct brevis_piece_info info = {0};
	size_t at = head_size(archive);
	uint64_t i;

	for (i = 0; i < piece; i++) {
		assert_int_equal(brevis_archive_piece(opened, i, &info, NULL), BREVIS_OK);
		at += (size_t)info.stored_size;
	}
	brevis_archive_free(opened);
	return at;
}

static void truncate_everywhere(const struct maker *maker)
{
	struct buffer archive = BUFFER_INIT, original = BUFFER_INIT;
	size_t size;

	maker->make(&archive, &original);
	for (size = 0; size < archive.size; size++) {
		struct buffer copy = exact_copy(&archive, size);

		assert_int_not_equal(must_refuse_or_restore(&copy, &original), BREVIS_OK);
		buffer_release(&copy);
	}
	buffer_release(&archive);
	buffer_release(&original);
}

static void test_every_truncation(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < MAKERS; i++)
		truncate_everywhere(&makers[i]);
}

/*
 * Each byte that changes is noticed. In a Zstandard frame there are bits that mean nothing; there
 * it is enough that the original comes back.
 */
static void change_everywhere(const struct maker *maker)
{
	struct buffer archive = BUFFER_INIT, original = BUFFER_INIT;
	size_t from, to, at;

	maker->make(&archive, &original);
	from = record_offset(&archive, maker->first);
	to = record_offset(&archive, maker->last + 1);
	for (at = 0; at < archive.size; at++) {
		uint8_t changes[3] = {0xff, (uint8_t)(1 << random_below(8)),
				      (uint8_t)(1 + random_below(255))};
		unsigned i;

		for (i = 0; i < 3; i++) {
			struct buffer copy = exact_copy(&archive, archive.size);
			int status;

			copy.data[at] ^= changes[i];
			status = must_refuse_or_restore(&copy, &original);
			if (at < from || at >= to)
				assert_int_not_equal(status, BREVIS_OK);
			buffer_release(&copy);
		}
	}
	buffer_release(&archive);
	buffer_release(&original);
}

static void test_every_byte_changed(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < MAKERS; i++)
		change_everywhere(&makers[i]);
}

/* Makes the tail's checksum right again, so that damage gets past it. */
static void reseal(struct buffer *archive)
{
	size_t covered = archive->size - 16;
	uint64_t index_size = load_le64(archive->data + archive->size - WIRE_TAIL_SIZE);
	uint64_t checksum = checksum64(archive->data, head_size(archive));

	if (index_size > archive->size - head_size(archive) - WIRE_TAIL_SIZE)
		return;
	checksum = checksum64_chain(checksum,
				    archive->data + archive->size - WIRE_TAIL_SIZE - index_size,
				    (size_t)index_size + WIRE_TAIL_COVERED);
	store_le64(archive->data + covered, checksum);
}

static void damage_behind_checksums(const struct maker *maker)
{
	struct buffer archive = BUFFER_INIT, original = BUFFER_INIT;
	size_t index, round;

	maker->make(&archive, &original);
	index = archive.size - WIRE_TAIL_SIZE -
		(size_t)load_le64(archive.data + archive.size - WIRE_TAIL_SIZE);
	for (round = 0; round < 4000; round++) {
		struct buffer copy = exact_copy(&archive, archive.size);
		unsigned changes = 1 + (unsigned)random_below(4);

		while (changes--) {
			/* Half of it where a little damage goes a long way: heads and index. */
			size_t from = random_below(2) ? index : WIRE_HEAD_SIZE;
			size_t to = archive.size - 16;

			copy.data[from + random_below(to - from)] = (uint8_t)random_next();
		}
		reseal(&copy);
		must_refuse_or_restore(&copy, &original);
		buffer_release(&copy);
	}
	buffer_release(&archive);
	buffer_release(&original);
}

static void test_damage_behind_checksums(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < MAKERS; i++)
		damage_behind_checksums(&makers[i]);
}

/* ---- sources that misbehave ------------------------------------------------------------------ */

/* Fails its call number fail_at, or shows another archive from call number change_at on. */
struct odd_source {
	struct buffer *memory;
	struct buffer *later;
	unsigned calls;
	unsigned fail_at;
	unsigned change_at;
};

static int odd_read(void *ctx, void *buf, size_t len, uint64_t offset)
{
	struct odd_source *odd = ctx;

	if (++odd->calls == odd->fail_at)
		return -1;
	return memory_read(odd->change_at && odd->calls >= odd->change_at ? odd->later
									  : odd->memory,
			   buf, len, offset);
}

static int decode_odd(struct odd_source *odd, struct sink *out, struct brevis_error *err)
{
	struct brevis_source source = {odd_read, odd, odd->memory->size, NULL};
	struct brevis_decode_options options = {.threads = 1};
	struct brevis_archive *archive = NULL;
	int status = brevis_archive_open(&source, &archive, err);

	if (!status)
		status = brevis_archive_decode(archive, &options, sink_write, out, err);
	brevis_archive_free(archive);
	return status;
}

static void test_failing_reads(void **state)
{
	struct buffer archive = BUFFER_INIT;
	struct odd_source odd;
	unsigned calls, k;

	(void)state;
	draft_build(draft_tensors, NULL, &archive, NULL);
	odd = (struct odd_source){.memory = &archive};
	for (k = 0, calls = 1; k <= calls; k++) {
		struct sink out = {0};
		struct brevis_error err = {0};
		int status;

		odd.calls = 0;
		odd.fail_at = k;
		status = decode_odd(&odd, &out, &err);
		if (!k)
			calls = odd.calls;
		assert_int_equal(status, k ? BREVIS_E_IO : BREVIS_OK);
		assert_true(!k || strstr(err.message, "could not be read"));
		buffer_release(&out.bytes);
	}
	assert_true(calls >= 6);
	buffer_release(&archive);
}

/*
 * The file changes between opening and decoding, and a record now claims to restore far more than
 * the memory that was set aside for it: noticed, not followed.
 */
static void test_source_changes(void **state)
{
	enum { SIZE = 1000 };
	struct buffer small = BUFFER_INIT, large = BUFFER_INIT;
	struct draft d = {0};
	uint8_t raw[SIZE], program[2 + 2 * SIZE] = {OP_CONST, 7};
	unsigned k;

	(void)state;
	/* Records of equal length: three words, literally, and a thousand, of a constant. */
	memset(raw, 7, sizeof(raw));
	memcpy(program, "\x01\x07\x07\x08", 4);
	draft_piece(&d, 8, "\x07\x07\x08", 3, program, 4);
	draft_seal(&d, NULL, &small);
	draft_release(&d);
	large = exact_copy(&small, small.size);
	large.data[WIRE_HEAD_SIZE + 1] = 0xe8;
	large.data[WIRE_HEAD_SIZE + 2] = 0x07;
	store_le64(large.data + WIRE_HEAD_SIZE + 3, checksum64(raw, SIZE));
	large.data[WIRE_HEAD_SIZE + 11] = OP_CONST;
	large.data[WIRE_HEAD_SIZE + 12] = 7;
	for (k = 1; k <= 6; k++) {
		struct odd_source odd = {.memory = &small, .later = &large, .change_at = k};
		struct sink out = {0};
		struct brevis_error err = {0};
		int status = decode_odd(&odd, &out, &err);

		/* Reads: head, tail, index, record heads, the record. */
		if (k == 5) {
			assert_int_equal(status, BREVIS_E_CHECKSUM);
			assert_non_null(strstr(err.message, "changed while it was read"));
		}
		assert_int_equal(status == BREVIS_OK, k == 6);
		buffer_release(&out.bytes);
	}
	buffer_release(&small);
	buffer_release(&large);
}

/* Failures of the caller's own writing end the decoding. */
static void test_failing_writes(void **state)
{
	struct buffer archive = BUFFER_INIT;
	size_t fail_at;
	unsigned threads;

	(void)state;
	draft_build(draft_tensors, NULL, &archive, NULL);
	for (threads = 1; threads <= 3; threads++) {
		for (fail_at = 1; fail_at <= 4; fail_at++) {
			struct sink out = {.fail_at = fail_at};
			struct brevis_error err = {0};

			assert_int_equal(open_and_decode(&archive, threads, &out, &err),
					 BREVIS_E_IO);
			assert_int_equal(out.calls, fail_at);
			assert_non_null(strstr(err.message, "could not be written"));
			buffer_release(&out.bytes);
		}
	}
	buffer_release(&archive);
}

/* ---- the same archives as files -------------------------------------------------------------- */

#define CODINGS 7

/* Words that suit the coding of this number. */
static void coding_words(uint8_t *words, size_t count, size_t coding, uint64_t *x)
{
	size_t j;

	for (j = 0; j < count; j++) {
		unsigned skewed;

		*x = *x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		skewed = (unsigned)__builtin_ctzll(*x >> 20 | 1u << 20);
		words[j] = (uint8_t)(coding == 0   ? *x >> 56
				     : coding == 1 ? 200 + (*x >> 61)
				     : coding == 2 ? 60 + 2 * (skewed > 5 ? 5 : skewed)
				     : coding == 3 ? 100 + skewed * skewed / 2
				     : coding == 4 ? 30 + 3 * skewed
				     : j < 200     ? *x >> 56
						   : words[j - 200]);
	}
}

/* A table for the words of the shared coding. */
static struct codebook *coding_codebook(void)
{
	struct buffer b = BUFFER_INIT;
	struct codebook *codebook = NULL;
	uint32_t histogram[256];
	uint8_t words[2000];
	uint64_t x = 7;
	unsigned i;

	coding_words(words, sizeof(words), LITERAL_SHARED, &x);
	assert_true(histogram_of(histogram, words, 8, sizeof(words)));
	for (i = 0; i <= 20; i++)
		histogram[30 + 3 * i]++;
	buffer_u8(&b, 1);
	assert_int_equal(codebook_put_table(&b, histogram, 8, NULL), BREVIS_OK);
	assert_int_equal(codebook_parse(b.data, b.size, &codebook, NULL), BREVIS_OK);
	buffer_release(&b);
	return codebook;
}

/*
 * Words of each literal coding, one after another in a concat. What the encoder of today chooses
 * may change, so the file is kept as it is: old archives must always decode.
 */
static void draft_codings(struct draft *d, const struct codebook *codebook)
{
	static const size_t counts[CODINGS] = {20, 40, 300, 2000, 60, 1000, 1000};
	struct buffer program = BUFFER_INIT, raw = BUFFER_INIT;
	struct span shared = codebook_bytes(codebook);
	uint64_t x = 1;
	size_t i;

	d->codebook = shared.at;
	d->codebook_size = span_left(&shared);
	program_put_concat(&program, counts, CODINGS);
	for (i = 0; i < CODINGS; i++) {
		struct literal_options options = {.codebook = codebook,
						  .zstd_level = i == LITERAL_ZSTD ? 19 : 0,
						  .lzma = i == LITERAL_LZMA2};
		uint8_t words[2000];

		coding_words(words, counts[i], i, &x);
		assert_int_equal(literal_encode(&program, words, 8, counts[i], &options, NULL),
				 BREVIS_OK);
		buffer_append(&raw, words, counts[i]);
	}
	draft_piece(d, 8, raw.data, raw.size, program.data, program.size);
	buffer_release(&program);
	buffer_release(&raw);
}

static bool read_file(const char *path, struct buffer *out)
{
	FILE *file = fopen(path, "rb");
	uint8_t block[4096];
	size_t n;

	if (!file)
		return false;
	while ((n = fread(block, 1, sizeof(block), file)) > 0)
		buffer_append(out, block, n);
	fclose(file);
	return !buffer_failed(out);
}

static void file_path(char path[256], const char *folder, const char *name)
{
	assert_true(snprintf(path, 256, "%s/%s.brevis", folder, name) < 256);
}

/* Compares the archive with its file, or writes it. */
static void check_file(const char *name, const struct buffer *archive)
{
	const char *folder = getenv("BREVIS_WRITE_CORPUS");
	struct buffer stored = BUFFER_INIT;
	char path[256];

	file_path(path, folder ? folder : CORPUS, name);
	if (folder) {
		FILE *file = fopen(path, "wb");

		assert_non_null(file);
		assert_int_equal(fwrite(archive->data, 1, archive->size, file), archive->size);
		assert_int_equal(fclose(file), 0);
	}
	if (!read_file(path, &stored))
		fail_msg("%s is missing", path);
	if (stored.size != archive->size || memcmp(stored.data, archive->data, stored.size) != 0)
		fail_msg("%s is not what archive_cases.h says", path);
	buffer_release(&stored);
}

static void test_corpus_files(void **state)
{
	struct buffer archive = BUFFER_INIT;
	size_t i;

	(void)state;
	for (i = 0; i < GOOD_CASES; i++) {
		buffer_clear(&archive);
		draft_build(good_cases[i].build, NULL, &archive, NULL);
		check_file(good_cases[i].name, &archive);
	}
	for (i = 0; i < BAD_CASES; i++) {
		buffer_clear(&archive);
		draft_build(bad_cases[i].build, &bad_cases[i].edit, &archive, NULL);
		check_file(bad_cases[i].name, &archive);
	}
	buffer_release(&archive);
}

/* The archive that an encoder made once, whatever today's would make. */
static void test_frozen_file(void **state)
{
	static const char *const codings[CODINGS] = {"raw",    "packed", "huffman", "rans",
						     "shared", "zstd",   "lzma2"};
	struct codebook *codebook = coding_codebook();
	struct draft d = {0};
	struct buffer today = BUFFER_INIT, stored = BUFFER_INIT, original = BUFFER_INIT;
	struct brevis_archive *archive;
	char path[256];
	char *text = NULL;
	size_t i;

	(void)state;
	draft_codings(&d, codebook);
	draft_seal(&d, NULL, &today);
	buffer_append(&original, d.original.data, d.original.size);
	draft_release(&d);
	codebook_free(codebook);
	assert_restores(&today, original.data, original.size, 1);
	file_path(path, CORPUS, "good-codings");
	if (getenv("BREVIS_WRITE_CORPUS") && access(path, F_OK))
		check_file("good-codings", &today);
	assert_true(read_file(path, &stored));
	assert_restores(&stored, original.data, original.size, 1);
	archive = open_good(&stored);
	assert_int_equal(brevis_archive_program(archive, 0, &text, NULL), BREVIS_OK);
	for (i = 0; i < CODINGS; i++)
		if (!strstr(text, codings[i]))
			fail_msg("no %s literal: %s", codings[i], text);
	free(text);
	brevis_archive_free(archive);
	buffer_release(&today);
	buffer_release(&stored);
	buffer_release(&original);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_good_cases),         TEST(test_bad_cases),
		TEST(test_long_feature_name),  TEST(test_every_truncation),
		TEST(test_every_byte_changed), TEST(test_damage_behind_checksums),
		TEST(test_failing_reads),      TEST(test_source_changes),
		TEST(test_failing_writes),     TEST(test_corpus_files),
		TEST(test_frozen_file),
	};

	seed_init("test_archive_damage");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
