/* SPDX-License-Identifier: Apache-2.0 */
/* Looking into archives: the nodes of the programs that an encoder wrote, and what they take. */
#include "tests/unit/support.h"

#include "core/program/program.h"

/* Bytes of a record before its body: kind, size, checksum. */
static uint64_t head_size(uint64_t raw_size)
{
	return 1 + varint_size(raw_size) + 8;
}

/* An archive of three tensors: weights, one that is constant, and one of few bytes. */
static struct encoding encode_sample(struct buffer *file)
{
	uint16_t weights[5000];
	uint8_t ones[4 * 300];
	uint8_t bytes[7] = "abcabc";
	struct tensor_spec tensors[] = {
		{"weights", "BF16", 5000, sizeof(weights), weights},
		{"ones", "F32", 300, sizeof(ones), ones},
		{"bytes", "U8", sizeof(bytes), sizeof(bytes), bytes},
	};
	size_t i;

	random_bf16(weights, 5000, 0.02f);
	for (i = 0; i < 300; i++)
		store_le32(ones + 4 * i, 0x3f800000); /* 1.0 */
	put_safetensors(file, tensors, 3);
	return encode(file->data, file->size, NULL);
}

/* The nodes of a piece: a tree in prefix order, whose bytes are those of the record's body. */
static void check_piece(const struct brevis_archive *archive, uint64_t i)
{
	struct brevis_node_info *nodes = NULL;
	struct brevis_piece_info piece;
	unsigned open[PROGRAM_MAX_DEPTH + 2] = {0};
	uint64_t sum = 0;
	size_t count = 99, j;

	assert_int_equal(brevis_archive_piece(archive, i, &piece, NULL), BREVIS_OK);
	assert_int_equal(brevis_archive_nodes(archive, i, &nodes, &count, NULL), BREVIS_OK);
	if (!piece.word_bits) {
		assert_int_equal(count, 0);
		assert_null(nodes);
		return;
	}
	assert_true(count >= 1);
	assert_int_equal(nodes[0].width, piece.word_bits);
	assert_int_equal(nodes[0].count, piece.size / (piece.word_bits / 8));
	open[1] = 1;
	for (j = 0; j < count; j++) {
		assert_in_range(nodes[j].depth, 1, PROGRAM_MAX_DEPTH);
		assert_true(open[nodes[j].depth] > 0);
		assert_int_equal(open[nodes[j].depth + 1], 0);
		open[nodes[j].depth]--;
		open[nodes[j].depth + 1] = nodes[j].arity;
		sum += nodes[j].bytes;
	}
	for (j = 0; j <= PROGRAM_MAX_DEPTH + 1; j++)
		assert_int_equal(open[j], 0);
	assert_int_equal(sum, piece.stored_size - head_size(piece.size));
	free(nodes);
}

static void test_nodes(void **state)
{
	struct buffer file = BUFFER_INIT;
	struct encoding e = encode_sample(&file);
	struct brevis_archive *archive = open_good(&e.archive.bytes);
	struct brevis_node_info *nodes;
	size_t count;
	uint64_t i;

	(void)state;
	assert_int_equal(brevis_archive_info(archive)->pieces, 4);
	for (i = 0; i < 4; i++)
		check_piece(archive, i);
	assert_int_equal(brevis_archive_nodes(archive, 2, &nodes, &count, NULL), BREVIS_OK);
	assert_int_equal(count, 1);
	assert_string_equal(nodes[0].op, "const");
	assert_string_equal(nodes[0].detail, "1065353216");
	free(nodes);
	brevis_archive_free(archive);
	encoding_release(&e);
	buffer_release(&file);
}

static void test_no_such_piece(void **state)
{
	struct buffer file = BUFFER_INIT;
	struct encoding e = encode_sample(&file);
	struct brevis_archive *archive = open_good(&e.archive.bytes);
	struct brevis_node_info *nodes = NULL;
	struct brevis_error err = {0};
	size_t count = 99;

	(void)state;
	assert_int_equal(brevis_archive_nodes(archive, 4, &nodes, &count, &err), BREVIS_E_USAGE);
	assert_non_null(strstr(err.message, "no such piece"));
	assert_null(nodes);
	assert_int_equal(count, 99);
	brevis_archive_free(archive);
	encoding_release(&e);
	buffer_release(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_nodes),
		TEST(test_no_such_piece),
	};

	seed_init("test_inspect");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
