/* SPDX-License-Identifier: Apache-2.0 */
/** The archive decoder: everything that a reader does with an archive from a stranger. */
#include <string.h>

#include "core/brevis.h"
#include "tests/fuzz/fuzz.h"

/* Larger originals are opened, looked at and not restored: that would only cost time. */
#define RESTORED_MAX ((uint64_t)4 << 20)

struct input {
	const uint8_t *data;
	size_t size;
};

static int read_at(void *ctx, void *buf, size_t len, uint64_t offset)
{
	const struct input *input = ctx;

	PROPERTY(offset <= input->size && len <= input->size - offset);
	memcpy(buf, input->data + offset, len);
	return 0;
}

static int count_bytes(void *ctx, const void *data, size_t len)
{
	(void)data;
	*(uint64_t *)ctx += len;
	return 0;
}

static void look_at_tensors(struct brevis_archive *archive)
{
	struct brevis_tensor_info tensor;
	uint64_t count = 0;
	uint64_t i;

	if (brevis_archive_load_tensors(archive, &count, NULL) != BREVIS_OK)
		return;
	for (i = 0; i < count; i++) {
		PROPERTY(brevis_archive_tensor(archive, i, &tensor, NULL) == BREVIS_OK);
		PROPERTY(strlen(tensor.name) + strlen(tensor.dtype) < SIZE_MAX);
	}
}

static void look_at_pieces(const struct brevis_archive *archive)
{
	const struct brevis_archive_info *info = brevis_archive_info(archive);
	struct brevis_piece_info piece;
	struct brevis_node_info *nodes;
	uint64_t end = 0;
	size_t count;
	uint64_t i;
	char *text;

	for (i = 0; i < info->pieces; i++) {
		PROPERTY(brevis_archive_piece(archive, i, &piece, NULL) == BREVIS_OK);
		PROPERTY(piece.offset == end && piece.record < info->records);
		end += piece.size;
		if (i >= 64)
			continue;
		if (brevis_archive_program(archive, i, &text, NULL) == BREVIS_OK)
			free(text);
		if (brevis_archive_nodes(archive, i, &nodes, &count, NULL) == BREVIS_OK)
			free(nodes);
	}
	PROPERTY(end == info->original_size);
}

/* Decoding to a stream and decoding into memory are different code that must agree. */
static void restore(const struct brevis_archive *archive)
{
	uint64_t size = brevis_archive_info(archive)->original_size;
	struct brevis_decode_options options = {.threads = 1, .codec_only = true};
	uint64_t written = 0;
	int status;

	status = brevis_archive_decode(archive, &options, count_bytes, &written, NULL);
	PROPERTY(status != BREVIS_OK || written == size);
	options.memory = malloc((size_t)size + 1);
	PROPERTY(options.memory);
	PROPERTY((brevis_archive_decode(archive, &options, NULL, NULL, NULL) == BREVIS_OK) ==
		 (status == BREVIS_OK));
	free(options.memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = {data, size};
	struct brevis_source source = {.read_at = read_at, .ctx = &input, .size = size};
	struct brevis_archive_info peeked;
	struct brevis_archive *archive;
	struct brevis_error err;
	int peek = brevis_archive_peek(&source, &peeked, NULL);

	if (brevis_archive_open(&source, &archive, &err) != BREVIS_OK) {
		PROPERTY(err.message[0] && memchr(err.message, 0, sizeof(err.message)));
		return 0;
	}
	PROPERTY(peek == BREVIS_OK);
	PROPERTY(peeked.original_size == brevis_archive_info(archive)->original_size);
	look_at_tensors(archive);
	look_at_pieces(archive);
	if (brevis_archive_info(archive)->original_size <= RESTORED_MAX)
		restore(archive);
	brevis_archive_free(archive);
	return 0;
}
