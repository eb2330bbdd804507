/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where memory is short: each allocation of the core, or of many some, fails once, or from there on
 * all do. A call then either does without, and what it gives is as good as ever, or says
 * BREVIS_E_NOMEM: nothing is called damaged for it, nothing is lost of what was allocated.
 */
#include "tests/unit/support.h"

#include "tests/unit/decoding.h"
#include "tests/unit/failing_memory.h"
#include "tests/unit/random_tree.h"
#include "tests/unit/share.h"

/* ---- what is done ---------------------------------------------------------------------------- */

/* Room for what a call writes, without allocations. */
#define ROOM_SIZE (1u << 20)

struct room {
	size_t size;
	uint8_t data[ROOM_SIZE];
};

static int room_write(void *ctx, const void *data, size_t len)
{
	struct room *room = ctx;

	if (len > ROOM_SIZE - room->size)
		return -1;
	if (len)
		memcpy(room->data + room->size, data, len);
	room->size += len;
	return 0;
}

struct work {
	struct buffer archive;  /* to be read; or a program */
	struct buffer original; /* of the archive, or to be encoded; or the program's words */
	unsigned width;         /* of these */
	struct brevis_encode_options options;
	unsigned threads;
	bool in_memory; /* the archive is decoded where it is */
};

static struct room restored, written;

static int read_program(const struct brevis_archive *archive, uint64_t i, struct brevis_error *err)
{
	struct brevis_node_info *nodes = NULL;
	char *text = NULL;
	size_t count;
	int status = brevis_archive_program(archive, i, &text, err);

	if (!status) {
		assert_true(strlen(text) > 0);
		status = brevis_archive_nodes(archive, i, &nodes, &count, err);
	}
	free(text);
	free(nodes);
	return status;
}

static int read_opened(const struct work *work, struct brevis_archive *archive,
		       struct brevis_error *err)
{
	struct brevis_decode_options options = {.threads = work->threads};
	uint64_t i, tensors;
	int status;

	restored.size = 0;
	status = brevis_archive_decode(archive, &options, room_write, &restored, err);
	if (status)
		return status;
	assert_int_equal(restored.size, work->original.size);
	assert_true(!restored.size || !memcmp(restored.data, work->original.data, restored.size));
	status = brevis_archive_load_tensors(archive, &tensors, err);
	for (i = 0; i < brevis_archive_info(archive)->pieces && !status; i++)
		status = read_program(archive, i, err);
	return status;
}

static int read_archive(const struct work *work, struct brevis_error *err)
{
	struct buffer bytes = work->archive;
	struct brevis_source source = memory_source(&bytes);
	struct brevis_archive_info info;
	struct brevis_archive *archive = NULL;
	int status;

	if (work->in_memory)
		source.bytes = bytes.data;
	status = brevis_archive_peek(&source, &info, err);
	if (!status)
		status = brevis_archive_open(&source, &archive, err);
	if (!status)
		status = read_opened(work, archive, err);
	brevis_archive_free(archive);
	return status;
}

static int execute_program(const struct work *work, struct brevis_error *err)
{
	const struct buffer *words = &work->original;
	struct program program;
	int status;

	status = program_parse(span_of(work->archive.data, work->archive.size), work->width,
			       words->size / (work->width / 8), NULL, &program, err);
	if (!status)
		status = program_execute(&program, restored.data, err);
	program_release(&program);
	if (!status)
		assert_memory_equal(restored.data, words->data, words->size);
	return status;
}

static int read_header(const struct work *work, struct brevis_error *err)
{
	struct buffer bytes = work->original;
	struct brevis_source source = memory_source(&bytes);
	struct brevis_header *header = NULL;
	int status = brevis_header_read(&source, &header, err);

	if (!status)
		assert_int_equal(brevis_header_layout(header), BREVIS_LAYOUT_SAFETENSORS);
	brevis_header_free(header);
	return status;
}

static int encode_parts(const struct work *work, struct brevis_encoder *encoder,
			struct brevis_encode_summary *summary, struct brevis_error *err)
{
	struct buffer bytes;
	struct brevis_source source;
	size_t at, n;
	int status = BREVIS_OK;

	for (at = 0; at < work->original.size && !status; at += n) {
		n = work->original.size - at < 5000 ? work->original.size - at : 5000;
		status = brevis_encoder_write(encoder, work->original.data + at, n, err);
	}
	if (!status)
		status = brevis_encoder_finish(encoder, summary, err);
	if (status || summary->same_as)
		return status;
	bytes = (struct buffer){.data = written.data, .size = written.size};
	source = memory_source(&bytes);
	return brevis_encoder_check(encoder, &source, err);
}

/* What was written restores the original, whatever the encoder had to do without. */
static int encode_original(const struct work *work, struct brevis_error *err)
{
	struct work again = {.original = work->original, .threads = 1};
	struct brevis_encode_summary summary = {0};
	struct brevis_encoder *encoder = NULL;
	int status;

	written.size = 0;
	status = brevis_encoder_new(&work->options, room_write, &written, &encoder, err);
	if (!status)
		status = encode_parts(work, encoder, &summary, err);
	brevis_encoder_free(encoder);
	if (status || summary.same_as)
		return status;
	is_plenty = true;
	again.archive = (struct buffer){.data = written.data, .size = written.size};
	status = read_archive(&again, err);
	is_plenty = false;
	return status;
}

/* ---- how memory is short --------------------------------------------------------------------- */

typedef int (*action)(const struct work *work, struct brevis_error *err);

/* Lets allocation number n fail. */
static int run_without(action act, const struct work *work, long n, const char *name)
{
	struct brevis_error err = {0};
	long before = atomic_load(&in_use);
	int status;

	atomic_store(&allowed, n);
	status = act(work, &err);
	atomic_store(&allowed, LONG_MAX);
	if (status && status != BREVIS_E_NOMEM)
		fail_msg("%s, allocation %ld: %d %s", name, n, status, err.message);
	if (status)
		assert_int_equal(err.status, BREVIS_E_NOMEM);
	if (atomic_load(&in_use) != before)
		fail_msg("%s, allocation %ld: %ld were not freed", name, n,
			 atomic_load(&in_use) - before);
	return status;
}

/* All allocations fail, one run for each, or `most` of them. Constant programs need none. */
static void run_all(action act, const struct work *work, long most, const char *name)
{
	long total, n, step = 1, failures = 0;

	for_good = false;
	assert_int_equal(run_without(act, work, LONG_MAX, name), BREVIS_OK);
	atomic_store(&allowed, LONG_MAX);
	assert_int_equal(act(work, NULL), BREVIS_OK);
	total = LONG_MAX - atomic_load(&allowed);
	if (total > most)
		step = 2 * (total / most);
	for (n = 0; n < total; n += 1 + (long)random_below((uint64_t)step)) {
		for_good = random_below(4) == 0;
		failures += run_without(act, work, n, name) != BREVIS_OK;
	}
	assert_true(failures > 0 || !total);
}

/* ---- archives of the corpus ------------------------------------------------------------------ */

static void load(const char *name, struct buffer *out)
{
	char path[300];
	FILE *file;
	int c;

	snprintf(path, sizeof(path), "tests/corpus/%s", name);
	file = fopen(path, "rb");
	assert_non_null(file);
	while ((c = getc(file)) != EOF)
		buffer_u8(out, (uint8_t)c);
	fclose(file);
}

static void test_reading(void **state)
{
	static const char *const names[] = {
		"good-chained",        "good-codebook",  "good-codings",      "good-empty",
		"good-irregular-long", "good-libraries", "good-opaque-lzma2", "good-opaque-stored",
		"good-opaque-zstd",    "good-operators", "good-prior",        "good-tensors",
	};
	char name[64];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct work work = {0};
		struct sink out = {0};

		snprintf(name, sizeof(name), "%s.brevis", names[i]);
		load(name, &work.archive);
		assert_int_equal(open_and_decode(&work.archive, 1, &out, NULL), BREVIS_OK);
		work.original = out.bytes;
		for (work.threads = 1; work.threads <= 2; work.threads++) {
			work.in_memory = work.threads == 2;
			run_all(read_archive, &work, rounds(400), name);
		}
		buffer_release(&work.archive);
		buffer_release(&work.original);
	}
}

static void test_programs(void **state)
{
	static const unsigned widths[] = {8, 16, 32, 64};
	unsigned round;

	(void)state;
	for (round = 0; round < rounds(150); round++) {
		struct work work = {.width = widths[round % 4]};
		size_t count = 96 * (1 + (size_t)random_below(round % 10 ? 4 : 100));
		unsigned nodes = PROGRAM_MAX_NODES - 3;
		struct tree *t = random_tree(work.width, count, 1, &nodes);
		uint8_t *words = buffer_extend(&work.original, count * (work.width / 8));
		struct program program;

		put_tree(t, &work.archive);
		assert_int_equal(program_parse(span_of(work.archive.data, work.archive.size),
					       work.width, count, NULL, &program, NULL),
				 BREVIS_OK);
		assert_int_equal(program_execute(&program, words, NULL), BREVIS_OK);
		program_release(&program);
		run_all(execute_program, &work, rounds(100), "program");
		free_tree(t);
		buffer_release(&work.archive);
		buffer_release(&work.original);
	}
}

/* ---- encoding -------------------------------------------------------------------------------- */

enum { WORDS = 1200 };

/* Words of each kind that the search has rules for; some tensors are there twice. */
static void put_checkpoint(struct buffer *out, float scale)
{
	static uint8_t bf16[2 * WORDS], f32[4 * WORDS], ternary[WORDS], ramp[8 * WORDS],
		ones[4 * WORDS];
	struct tensor_spec tensors[] = {
		{"bf16", "BF16", WORDS, sizeof(bf16), bf16},
		{"f32", "F32", WORDS, sizeof(f32), f32},
		{"i8", "I8", WORDS, sizeof(ternary), ternary},
		{"ramp", "I64", WORDS, sizeof(ramp), ramp},
		{"ones", "F32", WORDS, sizeof(ones), ones},
		{"again", "BF16", WORDS, sizeof(bf16), bf16},
	};
	size_t i;

	random_bf16(bf16, WORDS, scale);
	random_f32(f32, WORDS, 0.5f);
	for (i = 0; i < WORDS; i++) {
		ternary[i] = (uint8_t)(random_below(3) - 1);
		store_le64(ramp + 8 * i, 1000 + 3 * i);
		store_le32(ones + 4 * i, 0x3f800000); /* 1.0 */
	}
	put_safetensors(out, tensors, sizeof(tensors) / sizeof(tensors[0]));
}

static void test_header(void **state)
{
	struct work work = {0};

	(void)state;
	put_checkpoint(&work.original, 0.02f);
	run_all(read_header, &work, rounds(400), "header");
	buffer_release(&work.original);
}

static void test_encoding(void **state)
{
	static const char *const names[] = {"default", "fast", "best"};
	struct work work = {0};
	unsigned preset;

	(void)state;
	put_checkpoint(&work.original, 0.02f);
	for (preset = 0; preset < 3; preset++)
		for (work.options.threads = 1; work.options.threads <= 2; work.options.threads++) {
			work.options.preset = (enum brevis_preset)preset;
			run_all(encode_original, &work, rounds(40), names[preset]);
		}
	/* No safetensors file. */
	work.original.data[8] = '[';
	run_all(encode_original, &work, rounds(40), "opaque");
	buffer_release(&work.original);
}

/* Beside an archive of the same file, and of one in which a tensor was another. */
static void test_known(void **state)
{
	struct work work = {.options.threads = 1};
	struct buffer before = BUFFER_INIT;
	struct brevis_archive *known;
	struct encoding e;

	(void)state;
	put_checkpoint(&before, 0.02f);
	e = encode(before.data, before.size, NULL);
	known = open_good(&e.archive.bytes);
	work.options.known = (const struct brevis_archive *const *)&known;
	work.options.known_count = 1;
	buffer_append(&work.original, before.data, before.size);
	run_all(encode_original, &work, rounds(40), "same");
	random_fill(work.original.data + work.original.size - 2 * WORDS, 2 * WORDS);
	run_all(encode_original, &work, rounds(40), "revision");
	brevis_archive_free(known);
	encoding_release(&e);
	buffer_release(&before);
	buffer_release(&work.original);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_reading),  TEST(test_programs), TEST(test_header),
		TEST(test_encoding), TEST(test_known),
	};

	seed_init("test_no_memory");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
