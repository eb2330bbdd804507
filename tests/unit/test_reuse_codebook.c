/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records that use the codebook of their archive, and what becomes of them in the archive of the
 * next revision: they are kept where they mean the same, and only there.
 */
#include "tests/unit/support.h"

#include "core/archive/reader.h"
#include "tests/unit/archive_cases.h"

/* An archive that is known, and its memory. */
struct known {
	struct buffer memory;
	struct buffer original;
	struct brevis_archive *archive;
};

static void known_init(struct known *k, void (*how)(struct draft *), const struct edit *edit)
{
	*k = (struct known){BUFFER_INIT, BUFFER_INIT, NULL};
	draft_build(how, edit, &k->memory, &k->original);
	k->archive = open_good(&k->memory);
}

static void known_release(struct known *k)
{
	brevis_archive_free(k->archive);
	buffer_release(&k->memory);
	buffer_release(&k->original);
}

static struct encoding encode_beside(const struct buffer *file,
				     const struct brevis_archive *const *known, size_t count)
{
	struct brevis_encode_options options = {.threads = 2, .known = known, .known_count = count};

	return encode(file->data, file->size, &options);
}

/* The tensors of draft_tensors by other names, so that nothing of the file's beginning is known. */
static void put_renamed(struct buffer *file)
{
	const struct tensor_spec tensors[] = {
		{"renamed_a", "BF16", 8, 16, tensor_a},
		{"renamed_b", "U8", 4, 4, "wxyz"},
	};

	put_safetensors(file, tensors, 2);
}

static bool has_codebook_of(struct buffer *memory, const struct brevis_archive *known)
{
	struct brevis_archive *archive = open_good(memory);
	bool equal = !archive->codebook == !known->codebook;

	if (archive->codebook && equal) {
		struct span got = codebook_bytes(archive->codebook);
		struct span want = codebook_bytes(known->codebook);

		equal = span_left(&got) == span_left(&want) &&
			!memcmp(got.at, want.at, span_left(&got));
	}
	brevis_archive_free(archive);
	return equal;
}

/* Its one literal with a table of the codebook. */
static bool holds_shared(const struct buffer *archive)
{
	static const uint8_t program[] = {0x41, 0, 0, 4, 0x80, 0x00, 0x39, 0x00};

	return memmem(archive->data, archive->size, program, sizeof(program)) != NULL;
}

static void test_same_content(void **state)
{
	const struct brevis_archive *known[1];
	struct encoding e;
	struct known k;

	(void)state;
	known_init(&k, draft_codebook, NULL);
	known[0] = k.archive;
	e = encode_beside(&k.original, known, 1);
	assert_ptr_equal(e.summary.same_as, k.archive);
	encoding_release(&e);
	known_release(&k);
}

/* What both files begin with is copied, with the codebook that it needs. */
static void test_common_beginning(void **state)
{
	const struct brevis_archive *known[1];
	struct encoding e;
	struct known k;

	(void)state;
	known_init(&k, draft_codebook, NULL);
	known[0] = k.archive;
	k.original.data[k.original.size - 1] ^= 1;
	e = encode_beside(&k.original, known, 1);
	assert_null(e.summary.same_as);
	assert_int_equal(e.summary.records_reused, 3);
	assert_true(has_codebook_of(&e.archive.bytes, k.archive));
	assert_true(holds_shared(&e.archive.bytes));
	assert_restores(&e.archive.bytes, k.original.data, k.original.size, 1);
	encoding_release(&e);
	known_release(&k);
}

/* Nothing is in common at the beginning, but tensors are further on. */
static void test_common_tensors(void **state)
{
	const struct brevis_archive *known[1];
	struct buffer file = BUFFER_INIT;
	struct encoding e;
	struct known k;

	(void)state;
	known_init(&k, draft_codebook, NULL);
	known[0] = k.archive;
	put_renamed(&file);
	e = encode_beside(&file, known, 1);
	assert_int_equal(e.summary.records_reused, 2);
	assert_true(has_codebook_of(&e.archive.bytes, k.archive));
	assert_true(holds_shared(&e.archive.bytes));
	assert_restores(&e.archive.bytes, file.data, file.size, 1);
	encoding_release(&e);
	buffer_release(&file);
	known_release(&k);
}

/*
 * The record is that of another archive than the one whose codebook is kept: with this one, which
 * has a table for the words 'x' to '{', it does not restore the tensor.
 */
static void test_other_codebook(void **state)
{
	static const struct edit shifted = EDIT(HEAD, 14, 1, "\x78");
	const struct brevis_archive *known[2];
	struct buffer file = BUFFER_INIT;
	struct known followed, other;
	struct encoding e;

	(void)state;
	known_init(&followed, draft_codebook, &shifted);
	known_init(&other, draft_codebook, NULL);
	known[0] = followed.archive;
	known[1] = other.archive;
	put_renamed(&file);
	e = encode_beside(&file, known, 2);
	assert_int_equal(e.summary.records_reused, 1);
	assert_true(has_codebook_of(&e.archive.bytes, followed.archive));
	assert_false(holds_shared(&e.archive.bytes));
	assert_restores(&e.archive.bytes, file.data, file.size, 1);
	encoding_release(&e);
	buffer_release(&file);
	known_release(&followed);
	known_release(&other);
}

/* An archive without a codebook has no records that need one: that of the next one is kept. */
static void test_first_codebook(void **state)
{
	const struct brevis_archive *known[2];
	struct buffer file = BUFFER_INIT;
	struct known none, owner;
	struct encoding e;

	(void)state;
	known_init(&none, draft_opaque, NULL);
	known_init(&owner, draft_codebook, NULL);
	known[0] = none.archive;
	known[1] = owner.archive;
	put_renamed(&file);
	e = encode_beside(&file, known, 2);
	assert_int_equal(e.summary.records_reused, 2);
	assert_true(has_codebook_of(&e.archive.bytes, owner.archive));
	assert_true(holds_shared(&e.archive.bytes));
	assert_restores(&e.archive.bytes, file.data, file.size, 1);
	encoding_release(&e);
	buffer_release(&file);
	known_release(&none);
	known_release(&owner);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_same_content),   TEST(test_common_beginning), TEST(test_common_tensors),
		TEST(test_other_codebook), TEST(test_first_codebook),
	};

	seed_init("test_reuse_codebook");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
