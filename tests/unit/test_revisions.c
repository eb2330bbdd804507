/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The encoder beside archives of earlier revisions: the same content is recognised without a byte
 * written, unchanged tensors keep their records wherever they stand, and what is kept is proven.
 */
#include "tests/unit/support.h"

#include <stdatomic.h>

#include "core/program/program.h"
#include "tests/unit/archive_cases.h"

static const unsigned thread_counts[] = {1, 2, 3, 8};

enum { TENSORS = 6, ELEMENTS = 3000 };

/* A model whose tensors can be changed and put in another order. */
struct model {
	uint8_t data[TENSORS][2 * ELEMENTS];
	unsigned order[TENSORS];
};

static struct model *new_model(void)
{
	struct model *m = must_alloc(sizeof(*m));
	unsigned i;

	for (i = 0; i < TENSORS; i++) {
		random_bf16(m->data[i], ELEMENTS, 1);
		m->order[i] = i;
	}
	return m;
}

static struct buffer model_file(const struct model *m)
{
	static const char *const names[TENSORS] = {"a", "b", "c", "d", "e", "f"};
	struct tensor_spec tensors[TENSORS];
	struct buffer file = BUFFER_INIT;
	unsigned i;

	for (i = 0; i < TENSORS; i++)
		tensors[i] = (struct tensor_spec){names[m->order[i]], "BF16", ELEMENTS,
						  2 * ELEMENTS, m->data[m->order[i]]};
	put_safetensors(&file, tensors, TENSORS);
	return file;
}

static struct encoding encode_beside(const struct buffer *file, unsigned threads,
				     const struct brevis_archive *const *known, size_t count)
{
	struct brevis_encode_options options = {
		.threads = threads, .known = known, .known_count = count};

	return encode(file->data, file->size, &options);
}

/* Encodes with and without the known archives: equal bytes, which restore the file. */
static void check_equal_to_fresh(const struct buffer *file,
				 const struct brevis_archive *const *known, size_t count,
				 uint64_t reused)
{
	struct encoding fresh = encode(file->data, file->size, NULL);
	size_t i;

	for (i = 0; i < 4; i++) {
		struct encoding e = encode_beside(file, thread_counts[i], known, count);

		assert_null(e.summary.same_as);
		assert_int_equal(e.summary.records, fresh.summary.records);
		assert_int_equal(e.summary.records_reused, reused);
		assert_int_equal(e.archive.bytes.size, fresh.archive.bytes.size);
		assert_true(!memcmp(e.archive.bytes.data, fresh.archive.bytes.data,
				    fresh.archive.bytes.size));
		assert_memory_equal(e.summary.archive_sha256, fresh.summary.archive_sha256,
				    BREVIS_SHA256_SIZE);
		encoding_release(&e);
	}
	assert_restores(&fresh.archive.bytes, file->data, file->size, 2);
	encoding_release(&fresh);
}

/* ---- the same content ------------------------------------------------------------------------ */

static void check_recognised(const struct buffer *file, const struct brevis_archive *const *known,
			     size_t count, const struct brevis_archive *expected)
{
	size_t i;

	for (i = 0; i < 4; i++) {
		struct brevis_encode_options options = {
			.threads = thread_counts[i], .known = known, .known_count = count};
		struct encoding e = encode_with(file->data, file->size, CHUNK_RANDOM, &options, 0);

		assert_int_equal(e.status, BREVIS_OK);
		assert_ptr_equal(e.summary.same_as, expected);
		assert_int_equal(e.archive.calls, 0);
		assert_int_equal(e.summary.original_size, file->size);
		assert_memory_equal(e.summary.original_sha256,
				    brevis_archive_info(expected)->original_sha256,
				    BREVIS_SHA256_SIZE);
		encoding_release(&e);
	}
}

static void test_same_content(void **state)
{
	struct model *m = new_model();
	struct buffer files[5] = {model_file(m), model_file(m), model_file(m), BUFFER_INIT,
				  BUFFER_INIT};
	struct encoding encodings[5];
	struct brevis_archive *archives[5];
	const struct brevis_archive *known[5];
	size_t i, j;

	(void)state;
	/* A checkpoint; one with something behind it; one cut short; opaque bytes; nothing. */
	buffer_append(&files[1], "more", 4);
	files[2].size -= 1000;
	buffer_append(&files[3], "opaque", 6);
	for (i = 0; i < 5; i++) {
		encodings[i] = encode(files[i].data, files[i].size, NULL);
		archives[i] = open_good(&encodings[i].archive.bytes);
	}
	for (i = 0; i < 5; i++) {
		known[0] = archives[i];
		check_recognised(&files[i], known, 1, archives[i]);
		/* Among the others, wherever it stands. */
		for (j = 0; j < 5; j++)
			known[j] = archives[(i + j) % 5];
		check_recognised(&files[i], known, 5, archives[i]);
		for (j = 0; j < 5; j++)
			known[j] = archives[(i + 4 - j) % 5];
		check_recognised(&files[i], known, 5, archives[i]);
	}
	for (i = 0; i < 5; i++) {
		brevis_archive_free(archives[i]);
		encoding_release(&encodings[i]);
		buffer_release(&files[i]);
	}
	free(m);
}

/* Equal pieces are not enough: the digest decides. A layout of another name is another archive. */
static void test_almost_the_same(void **state)
{
	struct edit other_sha = EDIT(TAIL, 20, 2, "\x00\x01");
	struct edit other_layout = EDIT(INDEX, 0, 1, "\x02");
	const struct edit *edits[] = {&other_sha, &other_layout};
	struct buffer original = BUFFER_INIT, memory = BUFFER_INIT;
	struct encoding e;
	size_t i;

	(void)state;
	draft_build(draft_tensors, NULL, &memory, &original);
	for (i = 0; i < 2; i++) {
		struct brevis_archive *archive;
		const struct brevis_archive *known[1];

		buffer_clear(&memory);
		draft_build(draft_tensors, edits[i], &memory, NULL);
		archive = open_good(&memory);
		known[0] = archive;
		e = encode_beside(&original, 2, known, 1);
		assert_null(e.summary.same_as);
		assert_int_equal(e.summary.records_reused, 3);
		assert_restores(&e.archive.bytes, original.data, original.size, 1);
		encoding_release(&e);
		brevis_archive_free(archive);
	}
	buffer_release(&original);
	buffer_release(&memory);
}

/* A known archive that lies: the digest is the input's, but more is in it. */
static void test_more_than_the_same(void **state)
{
	uint8_t digest[BREVIS_SHA256_SIZE];
	struct edit edit = {TAIL, 16, sizeof(digest), (const char *)digest, sizeof(digest)};
	struct buffer memory = BUFFER_INIT;
	struct encoding e = encode("abc", 3, NULL);
	struct brevis_archive *archive;
	const struct brevis_archive *known[1];
	struct brevis_encode_options options = {.threads = 1, .known = known, .known_count = 1};
	struct draft d = {0};

	(void)state;
	memcpy(digest, e.summary.original_sha256, sizeof(digest));
	encoding_release(&e);
	draft_stored(&d, "abc", 3);
	draft_stored(&d, "def", 3);
	draft_seal(&d, &edit, &memory);
	archive = open_good(&memory);
	known[0] = archive;
	e = encode("abc", 3, &options);
	assert_null(e.summary.same_as);
	assert_restores(&e.archive.bytes, "abc", 3, 1);
	encoding_release(&e);
	brevis_archive_free(archive);
	draft_release(&d);
	buffer_release(&memory);
}

/* ---- changed content ------------------------------------------------------------------------- */

/* One tensor changed, the first, one in the middle, the last: all others keep their records. */
static void test_one_tensor_changed(void **state)
{
	struct model *m = new_model();
	struct buffer before = model_file(m);
	struct encoding old = encode(before.data, before.size, NULL);
	struct brevis_archive *archive = open_good(&old.archive.bytes);
	const struct brevis_archive *known[1] = {archive};
	unsigned i;

	(void)state;
	for (i = 0; i < TENSORS; i++) {
		struct buffer after;

		m->data[i][77] ^= 0x10;
		after = model_file(m);
		m->data[i][77] ^= 0x10;
		check_equal_to_fresh(&after, known, 1, TENSORS); /* and the header */
		buffer_release(&after);
	}
	brevis_archive_free(archive);
	encoding_release(&old);
	buffer_release(&before);
	free(m);
}

/* The input ends where a piece of the known archive ends, or goes on after its last. */
static void test_shorter_and_longer(void **state)
{
	struct model *m = new_model();
	struct buffer file = model_file(m);
	struct encoding old = encode(file.data, file.size, NULL);
	struct brevis_archive *archive = open_good(&old.archive.bytes);
	const struct brevis_archive *known[1] = {archive};
	size_t whole = file.size, pieces;

	(void)state;
	for (pieces = 1; pieces <= TENSORS; pieces++) {
		file.size = whole - pieces * 2 * ELEMENTS;
		check_equal_to_fresh(&file, known, 1, 1 + TENSORS - pieces);
		file.size += 1;
		check_equal_to_fresh(&file, known, 1, 1 + TENSORS - pieces);
	}
	file.size = 0;
	check_equal_to_fresh(&file, known, 1, 0);
	file.size = whole;
	buffer_append(&file, "x", 1);
	check_equal_to_fresh(&file, known, 1, 1 + TENSORS);
	brevis_archive_free(archive);
	encoding_release(&old);
	buffer_release(&file);
	free(m);
}

static void test_tensors_reordered(void **state)
{
	struct model *m = new_model();
	struct buffer before = model_file(m), after;
	struct encoding old = encode(before.data, before.size, NULL);
	struct brevis_archive *archive = open_good(&old.archive.bytes);
	const struct brevis_archive *known[1] = {archive};
	unsigned i;

	(void)state;
	for (i = 0; i < TENSORS; i++)
		m->order[i] = TENSORS - 1 - i;
	after = model_file(m);
	check_equal_to_fresh(&after, known, 1, TENSORS);
	brevis_archive_free(archive);
	encoding_release(&old);
	buffer_release(&before);
	buffer_release(&after);
	free(m);
}

/* The input leaves one known archive and goes on as another one, which has what the first lacks. */
static void test_several_known(void **state)
{
	struct model *m = new_model();
	struct buffer files[3];
	struct encoding encodings[3];
	struct brevis_archive *archives[3];
	const struct brevis_archive *known[3];
	struct buffer mixed;
	size_t i;

	(void)state;
	for (i = 0; i < 3; i++) {
		files[i] = model_file(m);
		encodings[i] = encode(files[i].data, files[i].size, NULL);
		archives[i] = open_good(&encodings[i].archive.bytes);
		known[i] = archives[i];
		m->data[2 + i][100] ^= 1;
	}
	/* Tensor 2 as in the second and third, 3 as in the third, 4 as in none of them, 5 as in
	 * all. */
	mixed = model_file(m);
	check_equal_to_fresh(&mixed, known, 3, TENSORS);
	/* Tensor 2 as in the first only. */
	m->data[2][100] ^= 1;
	buffer_release(&mixed);
	mixed = model_file(m);
	check_equal_to_fresh(&mixed, known, 3, TENSORS);
	for (i = 0; i < 3; i++) {
		brevis_archive_free(archives[i]);
		encoding_release(&encodings[i]);
		buffer_release(&files[i]);
	}
	buffer_release(&mixed);
	free(m);
}

/* Repetitions within the beginning that is copied stay repetitions; new ones refer into it. */
static void test_repeats_in_what_is_copied(void **state)
{
	struct model *m = new_model();
	struct buffer before, after;
	struct encoding old;
	struct brevis_archive *archive;
	const struct brevis_archive *known[1];

	(void)state;
	memcpy(m->data[1], m->data[0], sizeof(m->data[0]));
	memcpy(m->data[3], m->data[2], sizeof(m->data[0]));
	before = model_file(m);
	old = encode(before.data, before.size, NULL);
	assert_int_equal(old.summary.records, 1 + 4);
	archive = open_good(&old.archive.bytes);
	known[0] = archive;
	memcpy(m->data[4], m->data[2], sizeof(m->data[0]));
	memcpy(m->data[5], m->data[0], sizeof(m->data[0]));
	after = model_file(m);
	check_equal_to_fresh(&after, known, 1, 3);
	brevis_archive_free(archive);
	encoding_release(&old);
	buffer_release(&before);
	buffer_release(&after);
	free(m);
}

/* ---- records that this encoder would not write ----------------------------------------------- */

static bool holds(const struct buffer *archive, const void *bytes, size_t size)
{
	return memmem(archive->data, archive->size, bytes, size) != NULL;
}

/*
 * A known record is kept byte for byte even where a better one could be made: here a constant
 * tensor that some earlier encoder stored as it is.
 */
static void test_foreign_records_are_kept(void **state)
{
	uint8_t raw[256], body[1 + sizeof(raw)] = {LITERAL_NODE};
	const struct tensor_spec tensors[] = {{"t", "U8", sizeof(raw), sizeof(raw), raw}};
	struct buffer memory = BUFFER_INIT, file = BUFFER_INIT;
	struct brevis_archive *archive;
	const struct brevis_archive *known[1];
	struct encoding e;
	struct draft d = {0};

	(void)state;
	memset(raw, 42, sizeof(raw));
	memset(body + 1, 42, sizeof(raw));
	draft_piece(&d, 8, raw, sizeof(raw), body, sizeof(body));
	draft_seal(&d, NULL, &memory);
	put_safetensors(&file, tensors, 1);
	archive = open_good(&memory);
	known[0] = archive;
	e = encode_beside(&file, 2, known, 1);
	assert_int_equal(e.summary.records, 2);
	assert_int_equal(e.summary.records_reused, 1);
	assert_true(holds(&e.archive.bytes, d.records[0].data, d.records[0].size));
	assert_restores(&e.archive.bytes, file.data, file.size, 1);
	encoding_release(&e);
	e = encode(file.data, file.size, NULL);
	assert_false(holds(&e.archive.bytes, d.records[0].data, d.records[0].size));
	encoding_release(&e);
	brevis_archive_free(archive);
	draft_release(&d);
	buffer_release(&memory);
	buffer_release(&file);
}

/* ---- known archives that are damaged --------------------------------------------------------- */

/* Offset of record i of an archive that the encoder made of a model. */
static size_t record_at(const struct brevis_archive *archive, uint64_t record)
{
	struct brevis_piece_info piece = {0};
	size_t at = WIRE_HEAD_SIZE;
	uint64_t i;

	for (i = 0; i < record; i++) {
		assert_int_equal(brevis_archive_piece(archive, i, &piece, NULL), BREVIS_OK);
		at += (size_t)piece.stored_size;
	}
	return at;
}

/*
 * The known archive's file goes bad after it was opened. A record that is looked up is proven
 * before it is kept, so the tensor is encoded anew: the archive equals the one without any help.
 */
static void test_damaged_record_is_not_reused(void **state)
{
	struct model *m = new_model();
	struct buffer before = model_file(m), after;
	struct encoding old = encode(before.data, before.size, NULL);
	struct brevis_archive *archive = open_good(&old.archive.bytes);
	const struct brevis_archive *known[1] = {archive};
	uint8_t *record = old.archive.bytes.data + record_at(archive, 3);
	/* Kind, size, checksum, the first byte of the program, and somewhere in its words. */
	static const size_t offsets[] = {0, 1, 2, 5, 11, 13, 700};
	size_t i;

	(void)state;
	m->order[0] = 1; /* another header: nothing is followed */
	m->order[1] = 0;
	after = model_file(m);
	check_equal_to_fresh(&after, known, 1, TENSORS);
	for (i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		record[offsets[i]] ^= 0x40;
		check_equal_to_fresh(&after, known, 1, TENSORS - 1);
		record[offsets[i]] ^= 0x40;
	}
	/* Its claimed size grows beyond the memory that the tensor needs. */
	record[2] ^= 0x01;
	record[3] ^= 0x7f;
	check_equal_to_fresh(&after, known, 1, TENSORS - 1);
	brevis_archive_free(archive);
	encoding_release(&old);
	buffer_release(&before);
	buffer_release(&after);
	free(m);
}

/*
 * Records at the beginning, which were followed, are copied before anyone can encode them anew: if
 * one is damaged, the new archive does not pass for a good one.
 */
static void test_damage_in_what_is_copied_shows(void **state)
{
	struct model *m = new_model();
	struct buffer before = model_file(m), after;
	struct encoding old = encode(before.data, before.size, NULL);
	struct brevis_archive *archive = open_good(&old.archive.bytes);
	const struct brevis_archive *known[1] = {archive};
	struct brevis_encode_options options = {.threads = 1, .known = known, .known_count = 1};
	struct encoding e;

	(void)state;
	m->data[5][9] ^= 1;
	after = model_file(m);
	old.archive.bytes.data[record_at(archive, 3) + 700] ^= 0x40;
	e = encode_with(after.data, after.size, CHUNK_WHOLE, &options, 0);
	assert_int_equal(e.status, BREVIS_OK);
	assert_true(e.summary.unproven);
	assert_true(e.summary.why_unproven[0]);
	assert_null(e.summary.same_as);
	encoding_release(&e);
	encoding_release(&old);
	brevis_archive_free(archive);
	buffer_release(&before);
	buffer_release(&after);
	free(m);
}

/* Reads of the known archive that fail: what was followed is lost, what was not is encoded. */
struct failing {
	struct buffer *memory;
	atomic_bool fails;
};

static int failing_read(void *ctx, void *buf, size_t len, uint64_t offset)
{
	struct failing *f = ctx;

	return f->fails ? -1 : memory_read(f->memory, buf, len, offset);
}

static void test_unreadable_known(void **state)
{
	struct model *m = new_model();
	struct buffer before = model_file(m), changed, reordered;
	struct encoding old = encode(before.data, before.size, NULL), e;
	struct failing failing = {&old.archive.bytes, false};
	struct brevis_source source = {failing_read, &failing, old.archive.bytes.size, NULL};
	struct brevis_archive *archive = NULL;
	const struct brevis_archive *known[1];
	struct brevis_encode_options options = {.threads = 2, .known = known, .known_count = 1};

	(void)state;
	assert_int_equal(brevis_archive_open(&source, &archive, NULL), BREVIS_OK);
	known[0] = archive;
	failing.fails = true;
	check_recognised(&before, known, 1, archive);
	m->data[4][9] ^= 1;
	changed = model_file(m);
	e = encode_with(changed.data, changed.size, CHUNK_WHOLE, &options, 0);
	assert_int_equal(e.status, BREVIS_OK);
	assert_true(e.summary.unproven);
	encoding_release(&e);
	m->order[0] = 1;
	m->order[1] = 0;
	reordered = model_file(m);
	check_equal_to_fresh(&reordered, known, 1, 0);
	brevis_archive_free(archive);
	encoding_release(&old);
	buffer_release(&before);
	buffer_release(&changed);
	buffer_release(&reordered);
	free(m);
}

/* The caller's write fails at its k-th call, while copying as while encoding. */
static void test_failing_writes(void **state)
{
	struct model *m = new_model();
	struct buffer before = model_file(m), after;
	struct encoding old = encode(before.data, before.size, NULL), e;
	struct brevis_archive *archive = open_good(&old.archive.bytes);
	const struct brevis_archive *known[1] = {archive};
	size_t k, i;

	(void)state;
	m->data[3][9] ^= 1;
	after = model_file(m);
	for (i = 0; i < 4; i++) {
		struct brevis_encode_options options = {
			.threads = thread_counts[i], .known = known, .known_count = 1};

		for (k = 1; k <= 2 + TENSORS; k++) {
			e = encode_with(after.data, after.size, CHUNK_RANDOM, &options, k);
			assert_int_equal(e.status, BREVIS_E_IO);
			assert_int_equal(e.archive.calls, k);
			encoding_release(&e);
		}
	}
	brevis_archive_free(archive);
	encoding_release(&old);
	buffer_release(&before);
	buffer_release(&after);
	free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_same_content),
		TEST(test_almost_the_same),
		TEST(test_more_than_the_same),
		TEST(test_one_tensor_changed),
		TEST(test_shorter_and_longer),
		TEST(test_tensors_reordered),
		TEST(test_several_known),
		TEST(test_repeats_in_what_is_copied),
		TEST(test_foreign_records_are_kept),
		TEST(test_damaged_record_is_not_reused),
		TEST(test_damage_in_what_is_copied_shows),
		TEST(test_unreadable_known),
		TEST(test_failing_writes),
	};

	seed_init("test_revisions");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
