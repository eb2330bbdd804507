/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where tensors of more than 8 MiB are cut: between slices, as docs/FORMAT.md, "What the pieces
 * are", says; and what the search is told of the shape of the parts.
 */
#include "tests/unit/support.h"

#include "core/archive/wire.h"
#include "core/compress/pieces.h"
#include "core/safetensors/dtype.h"

/* Bytes of a piece of a tensor, at most. */
#define PART (8u << 20)

struct large_tensor {
	const char *dtype;
	unsigned bits; /* of an element */
	unsigned word_bits;
	size_t rank;
	size_t shape[7];
	size_t part; /* bytes of each piece but the last */
};

static const struct large_tensor tensors[] = {
	/* The first index gives slices of 3,000,000 bytes, of which two fit. */
	{"F32", 32, 32, 3, {5, 750, 1000}, 6000000},
	/* They are too large with one index: rows of 2000 bytes. */
	{"BF16", 16, 16, 3, {3, 5000, 1000}, 8388000},
	/* A single index, or shapes with ones: elements. */
	{"F64", 64, 64, 1, {1250001}, PART},
	{"U8", 8, 8, 4, {1, 1, 10000001, 1}, PART},
	/* Exactly 8 MiB is one piece; slices of exactly that are one each. */
	{"I16", 16, 16, 2, {2048, 2048}, PART},
	{"I32", 32, 32, 2, {3, 2097152}, PART},
	/* A slice of one byte more does not fit; half of that does, once. */
	{"U8", 8, 8, 2, {3, PART + 1}, PART},
	{"F8_E4M3", 8, 8, 2, {5, PART / 2 + 1}, PART / 2 + 1},
	/* Complex numbers are two words each; a piece has whole ones. */
	{"C64", 64, 32, 2, {3, 500000}, 8000000},
	{"C64", 64, 32, 2, {2, 1048577}, PART},
	/* Slices of types that share bytes are not looked at. */
	{"F4", 4, 8, 2, {20, 2000002}, PART},
	{"F6_E2M3", 6, 8, 2, {24, 1000004}, PART},
};

#define TENSORS (sizeof(tensors) / sizeof(tensors[0]))

static size_t elements_of(const struct large_tensor *t)
{
	size_t n = 1, i;

	for (i = 0; i < t->rank; i++)
		n *= t->shape[i];
	return n;
}

/* The header of a file with this tensor. */
static void put_header(const struct large_tensor *t, struct buffer *out)
{
	char text[300];
	size_t at, i;

	at = (size_t)snprintf(text, sizeof(text), "{\"t\":{\"dtype\":\"%s\",\"shape\":[", t->dtype);
	for (i = 0; i < t->rank; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%zu", i ? "," : "",
				       t->shape[i]);
	at += (size_t)snprintf(text + at, sizeof(text) - at, "],\"data_offsets\":[0,%zu]}}",
			       elements_of(t) * t->bits / 8);
	buffer_le64(out, at);
	buffer_append(out, text, at);
}

/* ---- the archive's pieces ----------------------------------------------------------------------
 */

static void check_tensor(const struct large_tensor *t)
{
	struct brevis_encode_options options = {.preset = BREVIS_PRESET_FAST};
	size_t size = elements_of(t) * t->bits / 8, left = size;
	struct buffer file = BUFFER_INIT;
	struct brevis_archive *archive;
	struct brevis_piece_info piece;
	struct encoding e;
	uint64_t i = 1, at;
	uint8_t *data;

	put_header(t, &file);
	at = file.size;
	data = buffer_extend(&file, size);
	assert_non_null(data);
	memset(data, 0, size);
	e = encode(file.data, file.size, &options);
	archive = open_good(&e.archive.bytes);
	assert_int_equal(brevis_archive_info(archive)->layout, BREVIS_LAYOUT_SAFETENSORS);
	while (left) {
		size_t expected = left < t->part ? left : t->part;

		assert_int_equal(brevis_archive_piece(archive, i++, &piece, NULL), BREVIS_OK);
		if (piece.size != expected)
			fail_msg("%s, piece %d: %llu bytes for %zu", t->dtype, (int)i - 1,
				 (unsigned long long)piece.size, expected);
		assert_int_equal(piece.offset, at);
		assert_int_equal(piece.word_bits, t->word_bits);
		at += expected;
		left -= expected;
	}
	assert_int_equal(brevis_archive_info(archive)->pieces, i);
	assert_restores(&e.archive.bytes, file.data, file.size, 2);
	brevis_archive_free(archive);
	encoding_release(&e);
	buffer_release(&file);
}

static void test_sizes(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < TENSORS; i++)
		check_tensor(&tensors[i]);
}

/* ---- the cutter alone --------------------------------------------------------------------------
 */

static size_t words_of(const struct shape *shape)
{
	size_t n = 1;
	unsigned i;

	for (i = 0; i < shape->rank; i++) {
		assert_true(shape->extents[i] >= 2);
		n *= shape->extents[i];
	}
	return n;
}

/* Feeds the cutter with chunks of random sizes; each piece's shape is that of its words. */
static void check_shapes(const struct large_tensor *t)
{
	static const uint8_t zeros[1 << 16];
	struct buffer header = BUFFER_INIT;
	struct piece_cutter cutter;
	struct piece_kind kind;
	size_t size = elements_of(t) * t->bits / 8, fed = 0, piece = 0, used, chunk;
	bool ends;

	put_header(t, &header);
	assert_int_equal(piece_cutter_init(&cutter, NULL), BREVIS_OK);
	assert_int_equal(
		piece_cutter_feed(&cutter, header.data, header.size, &used, &ends, &kind, NULL),
		BREVIS_OK);
	assert_int_equal(used, header.size);
	assert_true(ends);
	assert_int_equal(kind.record, RECORD_BYTES);
	while (fed < size) {
		chunk = 1 + (size_t)random_below(sizeof(zeros));
		chunk = chunk < size - fed ? chunk : size - fed;
		assert_true(piece < piece_cutter_expect(&cutter));
		assert_int_equal(
			piece_cutter_feed(&cutter, zeros, chunk, &used, &ends, &kind, NULL),
			BREVIS_OK);
		assert_true(used > 0);
		fed += used;
		piece += used;
		if (!ends)
			continue;
		assert_int_equal(piece, fed == size && size % t->part ? size % t->part : t->part);
		assert_int_equal(kind.record, t->word_bits);
		assert_int_equal(kind.tensor.dtype, dtype_find(t->dtype, strlen(t->dtype)));
		assert_int_equal(kind.tensor.is_float,
				 t->dtype[0] == 'F' || t->dtype[0] == 'C' || t->dtype[0] == 'B');
		assert_int_equal(words_of(&kind.tensor.shape), piece / (t->word_bits / 8));
		piece = 0;
	}
	assert_int_equal(piece, 0);
	piece_cutter_release(&cutter);
	buffer_release(&header);
}

/* The kinds of small tensors: shape and type as in the header. */
static void check_small(const char *dtype, unsigned bits, size_t rank, const size_t *shape,
			unsigned expected_rank, const size_t *expected)
{
	static const uint8_t zeros[4096];
	struct large_tensor t = {dtype, bits, 0, rank, {0}, 0};
	struct buffer header = BUFFER_INIT;
	struct piece_cutter cutter;
	struct piece_kind kind;
	size_t used;
	bool ends;

	memcpy(t.shape, shape, rank * sizeof(*shape));
	put_header(&t, &header);
	assert_int_equal(piece_cutter_init(&cutter, NULL), BREVIS_OK);
	assert_int_equal(
		piece_cutter_feed(&cutter, header.data, header.size, &used, &ends, &kind, NULL),
		BREVIS_OK);
	assert_int_equal(piece_cutter_feed(&cutter, zeros, elements_of(&t) * bits / 8, &used, &ends,
					   &kind, NULL),
			 BREVIS_OK);
	assert_true(ends);
	assert_int_equal(kind.tensor.shape.rank, expected_rank);
	assert_memory_equal(kind.tensor.shape.extents, expected, expected_rank * sizeof(*expected));
	piece_cutter_release(&cutter);
	buffer_release(&header);
}

static void test_shapes(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < TENSORS; i++)
		if (strcmp(tensors[i].dtype, "F4") && strncmp(tensors[i].dtype, "F6", 2))
			check_shapes(&tensors[i]);
	check_small("BF16", 16, 2, (size_t[]){20, 30}, 2, (size_t[]){20, 30});
	check_small("F32", 32, 5, (size_t[]){1, 4, 1, 8, 1}, 2, (size_t[]){4, 8});
	check_small("F32", 32, 0, (size_t[]){0}, 0, (size_t[]){0});
	check_small("F32", 32, 1, (size_t[]){9}, 1, (size_t[]){9});
	/* Of more indices than the search looks at, the outer ones are one. */
	check_small("BF16", 16, 7, (size_t[]){2, 3, 4, 5, 2, 3, 2}, 5, (size_t[]){24, 5, 2, 3, 2});
	/* Shapes of elements that are no words say nothing of the words. */
	check_small("F4", 4, 2, (size_t[]){20, 30}, 1, (size_t[]){300});
	check_small("C64", 64, 2, (size_t[]){4, 5}, 1, (size_t[]){40});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_sizes),
		TEST(test_shapes),
	};

	seed_init("test_pieces");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
