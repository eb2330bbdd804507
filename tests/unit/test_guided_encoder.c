/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What guides an encoder: where its prior and codebook come from, what becomes of them, and that
 * the bytes depend on nothing else.
 */
#include "tests/unit/support.h"

#include "core/archive/reader.h"
#include "core/compress/window.h"
#include "core/entropy/codebook.h"

/* ---- a store in memory -------------------------------------------------------------------------
 */

struct kept {
	uint8_t family[BREVIS_SHA256_SIZE];
	uint8_t sha256[BREVIS_SHA256_SIZE];
	struct buffer bytes;
};

struct store {
	struct kept kept[8];
	unsigned count, loads, saves;
	uint8_t preferred[BREVIS_SHA256_SIZE];
	bool has_preferred;
	struct brevis_prior_store functions;
};

static int store_load(void *ctx, const uint8_t family[BREVIS_SHA256_SIZE],
		      const uint8_t preferred[BREVIS_SHA256_SIZE], void **data, size_t *size)
{
	struct store *s = ctx;
	const struct kept *found = NULL;
	unsigned i;

	s->loads++;
	s->has_preferred = preferred != NULL;
	if (preferred)
		memcpy(s->preferred, preferred, BREVIS_SHA256_SIZE);
	for (i = 0; i < s->count; i++)
		if (!memcmp(s->kept[i].family, family, BREVIS_SHA256_SIZE))
			found = &s->kept[i];
	for (i = 0; preferred && i < s->count; i++)
		if (!memcmp(s->kept[i].sha256, preferred, BREVIS_SHA256_SIZE))
			found = &s->kept[i];
	if (!found)
		return -1;
	*data = must_alloc(found->bytes.size);
	memcpy(*data, found->bytes.data, found->bytes.size);
	*size = found->bytes.size;
	return 0;
}

static void store_save(void *ctx, const uint8_t family[BREVIS_SHA256_SIZE],
		       const uint8_t sha256[BREVIS_SHA256_SIZE], const void *data, size_t size)
{
	struct store *s = ctx;
	struct kept *k = &s->kept[s->count++];

	assert_true(s->count <= 8);
	s->saves++;
	*k = (struct kept){.bytes = BUFFER_INIT};
	memcpy(k->family, family, BREVIS_SHA256_SIZE);
	memcpy(k->sha256, sha256, BREVIS_SHA256_SIZE);
	buffer_append(&k->bytes, data, size);
}

static void store_init(struct store *s)
{
	*s = (struct store){.functions = {store_load, store_save, s}};
}

static void store_release(struct store *s)
{
	while (s->count)
		buffer_release(&s->kept[--s->count].bytes);
}

/* ---- checkpoints -------------------------------------------------------------------------------
 */

/* So many words that are searched make a prior worth its calibration. */
enum { SMALL_TENSORS = 40, SMALL = 700, LARGE = 30000, SEARCHED = 300000 };

/* Small and large tensors of weights; number is in the names, kind in one of them. */
static void put_checkpoint(struct buffer *out, unsigned number, const char *kind)
{
	static uint8_t small[SMALL_TENSORS][SMALL * 2], large[LARGE * 2];
	static uint8_t f32[SEARCHED * 4];
	static char names[SMALL_TENSORS + 2][32];
	struct tensor_spec tensors[SMALL_TENSORS + 2];
	size_t i;

	random_bf16(large, LARGE, 0.02f);
	random_f32(f32, SEARCHED, 0.5f);
	for (i = 0; i < SMALL_TENSORS; i++) {
		random_bf16(small[i], SMALL, 0.02f);
		snprintf(names[i], sizeof(names[i]), "layer.%zu.weight", i + number);
		tensors[i] = (struct tensor_spec){names[i], "BF16", SMALL, SMALL * 2, small[i]};
	}
	snprintf(names[i], sizeof(names[i]), "%s.0", kind);
	tensors[i] = (struct tensor_spec){names[i], "F32", SEARCHED, SEARCHED * 4, f32};
	i++;
	snprintf(names[i], sizeof(names[i]), "head");
	tensors[i] = (struct tensor_spec){names[i], "BF16", LARGE, LARGE * 2, large};
	put_safetensors(out, tensors, SMALL_TENSORS + 2);
}

static struct encoding encode_guided(const struct buffer *file, const struct store *store,
				     enum brevis_preset preset,
				     const struct brevis_archive *const *known)
{
	struct brevis_encode_options options = {
		.threads = 2,
		.preset = preset,
		.priors = store ? &store->functions : NULL,
		.known = known,
		.known_count = known ? 1 : 0,
	};

	return encode(file->data, file->size, &options);
}

/* The archive says which prior guided its encoder, as the summary does. */
static void assert_names_prior(struct encoding *e, const uint8_t *sha256)
{
	struct brevis_archive *archive = open_good(&e->archive.bytes);
	const struct brevis_archive_info *info = brevis_archive_info(archive);

	assert_int_equal(info->has_prior, sha256 != NULL);
	assert_int_equal(e->summary.prior != BREVIS_PRIOR_NONE, sha256 != NULL);
	if (sha256) {
		assert_memory_equal(info->prior_sha256, sha256, BREVIS_SHA256_SIZE);
		assert_memory_equal(e->summary.prior_sha256, sha256, BREVIS_SHA256_SIZE);
	}
	brevis_archive_free(archive);
}

static void assert_equal_archives(const struct encoding *a, const struct encoding *b)
{
	assert_int_equal(a->archive.bytes.size, b->archive.bytes.size);
	assert_true(!memcmp(a->archive.bytes.data, b->archive.bytes.data, a->archive.bytes.size));
}

/* ---- where priors come from --------------------------------------------------------------------
 */

static void test_first_and_second(void **state)
{
	struct store store;
	struct buffer first = BUFFER_INIT, second = BUFFER_INIT, stranger = BUFFER_INIT;
	struct encoding e;

	(void)state;
	store_init(&store);
	put_checkpoint(&first, 0, "body");
	put_checkpoint(&second, 100, "body");
	put_checkpoint(&stranger, 0, "arm");
	e = encode_guided(&first, &store, BREVIS_PRESET_DEFAULT, NULL);
	assert_int_equal(e.summary.prior, BREVIS_PRIOR_CALIBRATED);
	assert_int_equal(store.saves, 1);
	assert_names_prior(&e, store.kept[0].sha256);
	assert_restores(&e.archive.bytes, first.data, first.size, 1);
	encoding_release(&e);
	/* Of the same family: names but for numbers, types, shapes. Nothing is learned any more. */
	e = encode_guided(&second, &store, BREVIS_PRESET_DEFAULT, NULL);
	assert_int_equal(e.summary.prior, BREVIS_PRIOR_LOADED);
	assert_int_equal(store.saves, 1);
	assert_int_equal(store.loads, 2);
	assert_names_prior(&e, store.kept[0].sha256);
	assert_restores(&e.archive.bytes, second.data, second.size, 1);
	encoding_release(&e);
	e = encode_guided(&stranger, &store, BREVIS_PRESET_BEST, NULL);
	assert_int_equal(e.summary.prior, BREVIS_PRIOR_CALIBRATED);
	assert_int_equal(store.saves, 2);
	assert_names_prior(&e, store.kept[1].sha256);
	assert_restores(&e.archive.bytes, stranger.data, stranger.size, 1);
	encoding_release(&e);
	buffer_release(&first);
	buffer_release(&second);
	buffer_release(&stranger);
	store_release(&store);
}

/* Truncated, longer, of another version, of other content: each is replaced. */
static void test_damaged_priors(void **state)
{
	struct store store;
	struct buffer file = BUFFER_INIT;
	struct encoding first, e;
	unsigned i;

	(void)state;
	store_init(&store);
	put_checkpoint(&file, 0, "body");
	first = encode_guided(&file, &store, BREVIS_PRESET_DEFAULT, NULL);
	for (i = 0; i < 5; i++) {
		struct buffer *bytes = &store.kept[store.count - 1].bytes;

		if (i == 0)
			bytes->size /= 2;
		else if (i == 1)
			buffer_u8(bytes, 0);
		else if (i == 2)
			bytes->data[8]++;
		else if (i == 3)
			memset(bytes->data, 0xff, bytes->size);
		else
			bytes->size = 0;
		e = encode_guided(&file, &store, BREVIS_PRESET_DEFAULT, NULL);
		assert_int_equal(e.summary.prior, BREVIS_PRIOR_REPLACED);
		assert_int_equal(store.saves, i + 2);
		assert_names_prior(&e, store.kept[i + 1].sha256);
		/* The tensors are the same, and so is what is learned of them. */
		assert_memory_equal(store.kept[i + 1].sha256, store.kept[0].sha256,
				    BREVIS_SHA256_SIZE);
		assert_equal_archives(&first, &e);
		encoding_release(&e);
	}
	encoding_release(&first);
	buffer_release(&file);
	store_release(&store);
}

/* The fast preset, little data, and content without tensors need none, and ask for none. */
static void test_no_prior(void **state)
{
	struct store store;
	struct buffer file = BUFFER_INIT, little = BUFFER_INIT, opaque = BUFFER_INIT;
	static uint8_t words[60000];
	const struct tensor_spec tensor = {"a", "BF16", 30000, 60000, words};
	struct encoding e;
	unsigned i;

	(void)state;
	store_init(&store);
	put_checkpoint(&file, 0, "body");
	random_bf16(words, 30000, 1);
	put_safetensors(&little, &tensor, 1);
	buffer_append(&opaque, file.data + 100, file.size - 100);
	for (i = 0; i < 4; i++) {
		const struct buffer *of = i == 0 ? &file : i == 1 ? &little : &opaque;

		e = encode_guided(of, &store, i == 0 ? BREVIS_PRESET_FAST : BREVIS_PRESET_DEFAULT,
				  NULL);
		assert_int_equal(e.summary.prior, BREVIS_PRIOR_NONE);
		assert_names_prior(&e, NULL);
		assert_restores(&e.archive.bytes, of->data, of->size, 1);
		assert_int_equal(store.saves, 0);
		assert_int_equal(store.loads, i == 0 ? 0 : 1);
		encoding_release(&e);
	}
	/* Without a store a prior is learned for this archive alone. */
	e = encode_guided(&file, NULL, BREVIS_PRESET_DEFAULT, NULL);
	assert_int_equal(e.summary.prior, BREVIS_PRIOR_CALIBRATED);
	encoding_release(&e);
	buffer_release(&file);
	buffer_release(&little);
	buffer_release(&opaque);
	store_release(&store);
}

/* The store is asked for the prior that the earlier revision names. */
static void test_preferred_prior(void **state)
{
	struct store store;
	struct buffer file = BUFFER_INIT;
	struct encoding first, e;
	struct brevis_archive *archive;
	const struct brevis_archive *known[1];

	(void)state;
	store_init(&store);
	put_checkpoint(&file, 0, "body");
	first = encode_guided(&file, &store, BREVIS_PRESET_DEFAULT, NULL);
	assert_false(store.has_preferred);
	archive = open_good(&first.archive.bytes);
	known[0] = archive;
	file.data[file.size - 1] ^= 1;
	/* A later one of the family, which is not it. */
	store_save(&store, store.kept[0].family, (const uint8_t[BREVIS_SHA256_SIZE]){1}, "x", 1);
	e = encode_guided(&file, &store, BREVIS_PRESET_DEFAULT, known);
	assert_true(store.has_preferred);
	assert_memory_equal(store.preferred, store.kept[0].sha256, BREVIS_SHA256_SIZE);
	assert_int_equal(e.summary.prior, BREVIS_PRIOR_LOADED);
	assert_names_prior(&e, store.kept[0].sha256);
	encoding_release(&e);
	encoding_release(&first);
	brevis_archive_free(archive);
	buffer_release(&file);
	store_release(&store);
}

/* ---- the bytes ---------------------------------------------------------------------------------
 */

/* The same for every number of threads, every way to arrive, and with the same prior from a store.
 */
static void test_same_bytes(void **state)
{
	static const unsigned threads[] = {1, 2, 8, 2, 8};
	static const enum brevis_preset presets[] = {BREVIS_PRESET_FAST, BREVIS_PRESET_DEFAULT,
						     BREVIS_PRESET_BEST};
	struct buffer file = BUFFER_INIT;
	struct store store;
	size_t i, p;

	(void)state;
	put_checkpoint(&file, 0, "body");
	for (p = 0; p < 3; p++) {
		struct brevis_encode_options options = {.threads = 1, .preset = presets[p]};
		struct encoding first = encode(file.data, file.size, &options), e;

		store_init(&store);
		for (i = 0; i < 5; i++) {
			options.threads = threads[i];
			options.priors = i > 2 ? &store.functions : NULL;
			e = encode_with(file.data, file.size, i ? CHUNK_RANDOM : 4096, &options, 0);
			assert_int_equal(e.status, BREVIS_OK);
			assert_equal_archives(&first, &e);
			if (p)
				assert_int_equal(e.summary.prior, i == 4 ? BREVIS_PRIOR_LOADED
									 : BREVIS_PRIOR_CALIBRATED);
			encoding_release(&e);
		}
		store_release(&store);
		encoding_release(&first);
	}
	buffer_release(&file);
}

/* Hands over the first bytes one by one, then all others. */
static struct encoding encode_slowly_first(const struct buffer *file, size_t slow)
{
	struct encoding e = {0};
	struct brevis_encoder *encoder = NULL;
	size_t i;

	assert_int_equal(brevis_encoder_new(NULL, sink_write, &e.archive, &encoder, NULL),
			 BREVIS_OK);
	for (i = 0; i < slow; i++)
		assert_int_equal(brevis_encoder_write(encoder, file->data + i, 1, NULL), BREVIS_OK);
	assert_int_equal(brevis_encoder_write(encoder, file->data + i, file->size - i, NULL),
			 BREVIS_OK);
	assert_int_equal(brevis_encoder_finish(encoder, &e.summary, NULL), BREVIS_OK);
	brevis_encoder_free(encoder);
	return e;
}

/*
 * Almost as much as is held back before it is decided what guides the encoder, and then a tensor of
 * another type. Whether that one is in the sample must not depend on how the input arrives, nor on
 * what memory that took.
 */
static void test_same_bytes_of_much(void **state)
{
	enum { FIRST = 10000, PART = 8 << 20, LAST = 1 << 20, COUNT = 48 };
	uint8_t *zeros = calloc(1, PART), *weights = must_alloc(LAST);
	struct tensor_spec tensors[COUNT];
	struct buffer file = BUFFER_INIT;
	struct encoding whole, slowly;
	char names[COUNT][16];
	size_t left = WINDOW_BYTES - FIRST - 6500, header, n = 0, part;

	(void)state;
	assert_non_null(zeros);
	random_f32(weights, LAST / 4, 1);
	tensors[n++] = (struct tensor_spec){"first", "U8", FIRST, FIRST, weights};
	for (; left; left -= part, n++) {
		part = left < PART ? left : PART;
		snprintf(names[n], sizeof(names[n]), "zeros.%zu", n);
		tensors[n] = (struct tensor_spec){names[n], "U8", part, part, zeros};
	}
	tensors[n++] = (struct tensor_spec){"last", "F32", LAST / 4, LAST, weights};
	/* Empty ones, for a header that is not much smaller than the first tensor. */
	for (; n < COUNT; n++) {
		snprintf(names[n], sizeof(names[n]), "empty.%zu", n);
		tensors[n] = (struct tensor_spec){names[n], "F32", 0, 0, ""};
	}
	put_safetensors(&file, tensors, COUNT);
	header = (size_t)load_le64(file.data) + 8;
	whole = encode(file.data, file.size, NULL);
	assert_int_equal(whole.summary.prior, BREVIS_PRIOR_CALIBRATED);
	for (left = 1; left <= header; left = left * 3 / 2 + 1) {
		slowly = encode_slowly_first(&file, left);
		assert_memory_equal(slowly.summary.prior_sha256, whole.summary.prior_sha256,
				    BREVIS_SHA256_SIZE);
		assert_equal_archives(&whole, &slowly);
		encoding_release(&slowly);
	}
	encoding_release(&whole);
	buffer_release(&file);
	free(zeros);
	free(weights);
}

/* ---- the codebook ------------------------------------------------------------------------------
 */

/* Many small tensors and nothing else. */
static void put_small_tensors(struct buffer *out, const uint8_t *words, size_t tensors)
{
	static char names[400][32];
	static struct tensor_spec specs[400];
	size_t i;

	assert_true(tensors <= 400);
	for (i = 0; i < tensors; i++) {
		snprintf(names[i], sizeof(names[i]), "layer.%zu", i);
		specs[i] = (struct tensor_spec){names[i], "BF16", SMALL, SMALL * 2,
						words + i * SMALL * 2};
	}
	put_safetensors(out, specs, tensors);
}

static uint8_t *small_words(size_t tensors)
{
	uint8_t *words = must_alloc(tensors * SMALL * 2);
	size_t i;

	for (i = 0; i < tensors; i++)
		random_bf16(words + i * SMALL * 2, SMALL, i % 3 ? 0.02f : 0.3f);
	return words;
}

/* Small tensors share tables: not only is that used, it makes the archive smaller. */
static void test_codebook_pays(void **state)
{
	enum { TENSORS = 400 };
	uint8_t *words = small_words(TENSORS);
	struct buffer file = BUFFER_INIT;
	struct brevis_archive *archive;
	struct encoding fast, e;
	unsigned shared = 0;
	uint64_t i;

	(void)state;
	put_small_tensors(&file, words, TENSORS);
	fast = encode_guided(&file, NULL, BREVIS_PRESET_FAST, NULL);
	e = encode_guided(&file, NULL, BREVIS_PRESET_DEFAULT, NULL);
	archive = open_good(&fast.archive.bytes);
	assert_null(archive->codebook);
	brevis_archive_free(archive);
	archive = open_good(&e.archive.bytes);
	assert_non_null(archive->codebook);
	for (i = 1; i < brevis_archive_info(archive)->pieces; i++) {
		char *text = NULL;

		assert_int_equal(brevis_archive_program(archive, i, &text, NULL), BREVIS_OK);
		shared += strstr(text, "shared") != NULL;
		free(text);
	}
	assert_true(shared > TENSORS * 3 / 4);
	/* A code of lengths takes some 10 bytes; half of them are saved. */
	assert_true(e.archive.bytes.size + TENSORS * 4 < fast.archive.bytes.size);
	assert_restores(&e.archive.bytes, file.data, file.size, 2);
	brevis_archive_free(archive);
	encoding_release(&fast);
	encoding_release(&e);
	buffer_release(&file);
	free(words);
}

/* The bytes of the record of piece i. */
static void read_record(const struct brevis_archive *archive, uint64_t i, struct buffer *out)
{
	uint64_t record = archive->pieces[i].record;

	buffer_clear(out);
	assert_true(buffer_extend(out, archive->records[record].size) != NULL);
	assert_int_equal(archive_read_record(archive, record, out->data, NULL), BREVIS_OK);
}

/*
 * What tensors share does not undo the reuse of records: the records of those that did not change
 * stay the same, with the earlier archive at hand, whether or not the prior still is.
 */
static void check_unchanged(bool keep_store, bool change_first)
{
	enum { TENSORS = 200 };
	uint8_t *words = small_words(TENSORS);
	struct buffer before = BUFFER_INIT, after = BUFFER_INIT, a = BUFFER_INIT, b = BUFFER_INIT;
	struct brevis_archive *old_archive, *new_archive;
	const struct brevis_archive *known[1];
	struct encoding first, second;
	struct store store;
	uint64_t i, different = 0;

	store_init(&store);
	put_small_tensors(&before, words, TENSORS);
	first = encode_guided(&before, &store, BREVIS_PRESET_DEFAULT, NULL);
	assert_int_equal(first.summary.prior, BREVIS_PRIOR_CALIBRATED);
	for (i = change_first ? 0 : 5; i < TENSORS; i += 10)
		random_bf16(words + i * SMALL * 2, SMALL, 5);
	put_small_tensors(&after, words, TENSORS);
	old_archive = open_good(&first.archive.bytes);
	known[0] = old_archive;
	if (!keep_store) {
		store_release(&store);
		store_init(&store);
	}
	second = encode_guided(&after, &store, BREVIS_PRESET_DEFAULT, known);
	assert_int_equal(second.summary.prior,
			 keep_store ? BREVIS_PRIOR_LOADED : BREVIS_PRIOR_CALIBRATED);
	assert_int_equal(second.summary.records_reused, TENSORS * 9 / 10 + 1);
	new_archive = open_good(&second.archive.bytes);
	for (i = 0; i <= TENSORS; i++) {
		read_record(old_archive, i, &a);
		read_record(new_archive, i, &b);
		different += a.size != b.size || memcmp(a.data, b.data, a.size);
	}
	assert_int_equal(different, TENSORS / 10);
	assert_restores(&second.archive.bytes, after.data, after.size, 2);
	brevis_archive_free(old_archive);
	brevis_archive_free(new_archive);
	encoding_release(&first);
	encoding_release(&second);
	store_release(&store);
	buffer_release(&before);
	buffer_release(&after);
	buffer_release(&a);
	buffer_release(&b);
	free(words);
}

static void test_unchanged_records(void **state)
{
	(void)state;
	check_unchanged(true, true);
	check_unchanged(true, false);
	check_unchanged(false, true);
	check_unchanged(false, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_first_and_second), TEST(test_damaged_priors),
		TEST(test_no_prior),         TEST(test_preferred_prior),
		TEST(test_same_bytes),       TEST(test_same_bytes_of_much),
		TEST(test_codebook_pays),    TEST(test_unchanged_records),
	};

	seed_init("test_guided_encoder");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
