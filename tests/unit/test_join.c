/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs of the shapes that are executed by kernels, and shapes that just miss them: executed so
 * and node by node they yield the same words, or both fail.
 */
#include "tests/unit/support.h"

#include <dirent.h>

#include "core/archive/reader.h"
#include "core/entropy/literal_encode.h"
#include "core/entropy/words.h"
#include "core/program/execute.h"
#include "core/program/execution.h"
#include "tests/unit/guarded.h"
#include "tests/unit/share.h"

/* ---- random programs ------------------------------------------------------------------------- */

static uint64_t random_bits(unsigned width)
{
	return random_next() >> (64 - width);
}

/* How the words of a literal are. */
enum kind { FLAT, SKEWED, NARROW, ABOVE_A_BASE, KINDS };

static void *random_words(unsigned width, size_t count, enum kind kind)
{
	void *words = must_alloc(count * word_bytes(width));
	uint64_t base = random_bits(width) / 2;
	size_t i;

	for (i = 0; i < count; i++) {
		uint64_t v = random_bits(width);

		if (kind == SKEWED)
			v >>= random_below(width);
		else if (kind == NARROW)
			v >>= width > 2 ? width - 2 : 0;
		else if (kind == ABOVE_A_BASE)
			v = base + (width > 3 ? v >> 3 : 0);
		word_set(words, word_bytes(width), i, v);
	}
	return words;
}

static void put_words(struct buffer *out, const void *words, unsigned width, size_t count)
{
	assert_int_equal(literal_encode(out, words, width, count, NULL, NULL), BREVIS_OK);
}

static void put_lit(struct buffer *out, unsigned width, size_t count)
{
	void *words = random_words(width, count, (enum kind)random_below(KINDS));

	if (random_below(12) == 0)
		program_put_const(out, width, word_get(words, word_bytes(width), 0));
	else
		put_words(out, words, width, count);
	free(words);
}

/* A grid whose columns have two classes, if the count can be cut so. */
static bool put_route(struct buffer *out, const void *words, unsigned width, size_t count)
{
	struct grid grid = {count / 12, 4, 3};
	uint8_t of_column[4] = {0, 1, 1, 0};
	struct route_classes classes = {1, 2, 2, NULL, of_column, NULL};

	if (count % 12)
		return false;
	assert_int_equal(program_put_route(out, &grid, &classes, words, width, NULL, NULL),
			 BREVIS_OK);
	return true;
}

/* One code of `rare` is the largest one. Returns how many are. */
static size_t put_codes(struct buffer *out, unsigned width, size_t count, unsigned rare)
{
	uint8_t *codes = random_words(width, count, (enum kind)random_below(KINDS));
	unsigned largest = (1u << width) - 1;
	size_t escaped = 0, i;

	for (i = 0; i < count; i++) {
		if (rare && random_below(rare) == 0)
			codes[i] = (uint8_t)largest;
		escaped += codes[i] == largest;
	}
	if (random_below(2) || !put_route(out, codes, width, count))
		put_words(out, codes, width, count);
	free(codes);
	return escaped;
}

static void put_high(struct buffer *out, unsigned width, size_t count)
{
	struct buffer codes = BUFFER_INIT;
	unsigned code = width < 8 ? width : 8;
	size_t escaped;

	if (width > 1 && random_below(2))
		program_put_map(out, MAP_ROTATE, random_below(8) ? width - 1 : 1);
	if (width <= 8 && random_below(2)) {
		put_codes(out, width, count, 0);
		return;
	}
	if (random_below(12) == 0)
		code = 1 + (unsigned)random_below(code);
	escaped = put_codes(&codes, code, count, random_below(3) ? 200 : 2);
	/* Where no code is for an escaped word, the largest one is a code as any other. */
	if (random_below(5) == 0)
		escaped = 0;
	program_put_escape(out, code,
			   code < width ? random_below((1u << width) - (1u << code) + 1) : 0,
			   escaped);
	buffer_append(out, codes.data, codes.size);
	if (escaped)
		put_lit(out, width, escaped);
	buffer_release(&codes);
}

static void put_flip(struct buffer *out, size_t count)
{
	static const uint8_t flags[6] = {1, 0, 0, 1, 1, 0};
	struct grid grid = {1, 6, count / 6};

	if (random_below(2))
		grid = (struct grid){count / 6, 6, 1};
	else if (count % 54 == 0)
		grid = (struct grid){count / 54, 6, 9};
	assert_int_equal(program_put_flip(out, &grid, flags, NULL), BREVIS_OK);
}

static void put_join(struct buffer *out, unsigned width, size_t count)
{
	unsigned low = 1 + (unsigned)random_below(width == 16 ? 8 : 24);
	unsigned widths[2];

	if (width == 32 && random_below(2))
		low = 16 + (unsigned)random_below(9);
	widths[0] = width - low;
	widths[1] = low;
	if (random_below(2))
		program_put_map(out, MAP_ROTATE,
				random_below(2) ? width - 1 : 1 + random_below(width - 1));
	program_put_merge(out, widths, 2);
	put_high(out, widths[0], count);
	put_lit(out, low, count);
}

/* With another node above it, now and then, that may read it in odd steps. */
static void put_program(struct buffer *out, unsigned width, size_t count)
{
	size_t lead = 1 + (size_t)random_below(40);

	if (count % 6 == 0 && random_below(2)) {
		put_flip(out, count);
	} else if (count > lead && random_below(3) == 0) {
		size_t counts[2] = {lead, count - lead};

		program_put_concat(out, counts, 2);
		put_lit(out, width, lead);
		count -= lead;
	} else if (count % 2 == 0 && count > 2 && random_below(4) == 0) {
		program_put_repeat(out, 2);
		count /= 2;
	}
	put_join(out, width, count);
}

/* ---- both ways ------------------------------------------------------------------------------- */

static unsigned joins, at_once, others, escapes, passed, failed;

static void count_joins(const struct program *program)
{
	unsigned i;

	for (i = 0; i < program->size; i++) {
		struct join join = join_find(program, i);

		if (program->nodes[i].op == OP_MERGE) {
			joins += join.width != 0;
			others += !join.width;
			at_once += join.at_once;
		}
		escapes += join.width && join.escape;
	}
}

/* The words of a program, its bytes at the end of what can be read. */
static int execute(const uint8_t *bytes, size_t size, unsigned width, size_t count, bool by_node,
		   uint8_t *out)
{
	struct executor executor = {.by_node = by_node};
	struct guarded guarded;
	struct program program;
	struct brevis_error err = {0};
	int status;

	guarded = guarded_new(size);
	memcpy(guarded_take(&guarded, size, GUARDED_END), bytes, size);
	status = program_parse(span_of(guarded.data, size), width, count, NULL, &program, &err);
	if (!status && by_node)
		count_joins(&program);
	if (!status)
		status = executor_run(&executor, &program, out, &err);
	assert_true(status == BREVIS_OK || status == BREVIS_E_FORMAT);
	program_release(&program);
	executor_release(&executor);
	guarded_free(&guarded);
	return status;
}

/* What an execution tells of its words, and where they should be. */
struct told {
	const uint8_t *words;
	bool differs;
};

static void tell(void *ctx, const void *bytes, size_t size)
{
	struct told *told = ctx;

	told->differs |= memcmp(told->words, bytes, size) != 0;
	told->words += size;
}

/* Without room for its words an execution tells the same. */
static void check_told(const struct buffer *bytes, unsigned width, size_t count,
		       const uint8_t *words)
{
	struct told told = {.words = words};
	struct executor executor = {.written = tell, .ctx = &told};
	struct program program;

	assert_int_equal(program_parse(span_of(bytes->data, bytes->size), width, count, NULL,
				       &program, NULL),
			 BREVIS_OK);
	assert_int_equal(executor_run(&executor, &program, NULL, NULL), BREVIS_OK);
	assert_ptr_equal(told.words, words + count * (width / 8));
	assert_false(told.differs);
	program_release(&program);
	executor_release(&executor);
}

static int check_both(const struct buffer *bytes, unsigned width, size_t count)
{
	size_t size = count * (width / 8);
	uint8_t *a = must_alloc(size), *b = must_alloc(size);
	int status = execute(bytes->data, bytes->size, width, count, true, a);

	assert_int_equal(execute(bytes->data, bytes->size, width, count, false, b), status);
	if (!status) {
		assert_memory_equal(a, b, size);
		check_told(bytes, width, count, a);
	}
	free(a);
	free(b);
	return status;
}

static size_t random_count(void)
{
	size_t count = 1 + (size_t)random_below(random_below(6) ? 700 : 30000);

	return random_below(2) && count > 108 ? count - count % 108 : count;
}

static void test_joins(void **state)
{
	unsigned round;

	(void)state;
	joins = others = escapes = 0;
	for (round = 0; round < rounds(1500); round++) {
		struct buffer bytes = BUFFER_INIT;
		unsigned width = round % 2 ? 16 : 32;
		size_t count = random_count();

		put_program(&bytes, width, count);
		assert_int_equal(check_both(&bytes, width, count), BREVIS_OK);
		buffer_release(&bytes);
	}
	assert_true(joins > rounds(600));
	assert_true(others > rounds(100));
	assert_true(escapes > rounds(200));
}

static void test_damaged_joins(void **state)
{
	unsigned round;

	(void)state;
	passed = failed = 0;
	for (round = 0; round < rounds(3000); round++) {
		struct buffer bytes = BUFFER_INIT;
		unsigned width = round % 2 ? 16 : 32;
		unsigned damage = 1 + (unsigned)random_below(3);
		size_t count = 1 + (size_t)random_below(3000);

		put_program(&bytes, width, count);
		while (damage--)
			bytes.data[random_below(bytes.size)] ^= (uint8_t)(1 + random_below(255));
		if (check_both(&bytes, width, count))
			failed++;
		else
			passed++;
		buffer_release(&bytes);
	}
	assert_true(passed > rounds(300));
	assert_true(failed > rounds(300));
}

/* So many words that their codes have 64 lanes, whole and damaged. */
static void test_large_joins(void **state)
{
	unsigned round;

	(void)state;
	at_once = passed = failed = 0;
	for (round = 0; round < rounds(300); round++) {
		struct buffer bytes = BUFFER_INIT;
		unsigned width = random_below(2) ? 16 : 32;
		size_t count = 65536 + (size_t)random_below(9000);

		count -= random_below(2) ? count % 108 : 0;
		put_program(&bytes, width, count);
		/* The tables are at the front. */
		if (round % 2)
			bytes.data[bytes.size - 1 - random_below(bytes.size / 2)] ^= 0x55;
		if (!check_both(&bytes, width, count))
			passed++;
		else if (round % 2)
			failed++;
		else
			fail_msg("round %u", round);
		buffer_release(&bytes);
	}
	assert_true(at_once > rounds(10) / 2);
	assert_true(passed > rounds(50));
	assert_true(failed > rounds(10) / 2);
}

/* ---- archives -------------------------------------------------------------------------------- */

#define CORPUS "tests/corpus"

static int read_buffer(void *ctx, void *to, size_t size, uint64_t offset)
{
	const struct buffer *file = ctx;

	if (offset > file->size || size > file->size - offset)
		return 1;
	memcpy(to, file->data + offset, size);
	return 0;
}

static void load(const char *name, struct buffer *out)
{
	char path[300];
	FILE *file;
	int c;

	snprintf(path, sizeof(path), CORPUS "/%s", name);
	file = fopen(path, "rb");
	assert_non_null(file);
	while ((c = getc(file)) != EOF)
		buffer_u8(out, (uint8_t)c);
	fclose(file);
}

/* Restores piece i both ways. True: and it can be restored. */
static bool check_piece(const struct brevis_archive *archive, uint64_t i)
{
	struct record_decoder by_node = {.executor.by_node = true}, joined = {0};
	struct piece_buffer a = {0}, b = {0};
	int status;

	assert_int_equal(archive_fetch_piece(archive, i, &a, NULL), BREVIS_OK);
	assert_int_equal(archive_fetch_piece(archive, i, &b, NULL), BREVIS_OK);
	status = archive_restore_piece(archive, i, &a, NULL, &by_node, NULL);
	assert_int_equal(archive_restore_piece(archive, i, &b, NULL, &joined, NULL), status);
	if (!status) {
		assert_int_equal(a.raw_size, b.raw_size);
		assert_memory_equal(a.raw, b.raw, a.raw_size);
	}
	piece_buffer_release(&a);
	piece_buffer_release(&b);
	record_decoder_release(&by_node);
	record_decoder_release(&joined);
	return !status;
}

/* All archives of the corpus that can be opened, good or bad; chained pieces are no programs. */
static void test_corpus(void **state)
{
	DIR *folder = opendir(CORPUS);
	struct dirent *entry;
	unsigned restored = 0;

	(void)state;
	assert_non_null(folder);
	while ((entry = readdir(folder))) {
		struct buffer file = BUFFER_INIT;
		struct brevis_source source = {.read_at = read_buffer, .ctx = &file};
		struct brevis_archive *archive = NULL;
		uint64_t i;

		if (!strstr(entry->d_name, ".brevis"))
			continue;
		load(entry->d_name, &file);
		source.size = file.size;
		if (!brevis_archive_open(&source, &archive, NULL)) {
			for (i = 0; i < archive->info.pieces; i++)
				if (!archive_is_chained(archive, i))
					restored += check_piece(archive, i);
		}
		brevis_archive_free(archive);
		buffer_release(&file);
	}
	closedir(folder);
	assert_true(restored > 20);
}

/* What is told of the bytes as they are written is all of them, in order. */
static void take_written(void *ctx, const void *bytes, size_t size)
{
	buffer_append(ctx, bytes, size);
}

static void test_written(void **state)
{
	enum { COUNT = 30000 };
	struct buffer bytes = BUFFER_INIT, written = BUFFER_INIT;
	struct executor executor = {.written = take_written, .ctx = &written};
	struct program program;
	uint8_t *out = must_alloc(2 * COUNT);

	(void)state;
	put_join(&bytes, 16, COUNT);
	assert_int_equal(
		program_parse(span_of(bytes.data, bytes.size), 16, COUNT, NULL, &program, NULL),
		BREVIS_OK);
	assert_int_equal(executor_run(&executor, &program, out, NULL), BREVIS_OK);
	assert_int_equal(written.size, 2 * COUNT);
	assert_memory_equal(written.data, out, 2 * COUNT);
	program_release(&program);
	executor_release(&executor);
	buffer_release(&bytes);
	buffer_release(&written);
	free(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_joins),  TEST(test_damaged_joins), TEST(test_large_joins),
		TEST(test_corpus), TEST(test_written),
	};

	seed_init("test_join");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
