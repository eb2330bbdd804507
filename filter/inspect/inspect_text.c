/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/inspect/inspect_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/inspect/inspect_pieces.h"
#include "filter/objects/pointer.h"
#include "filter/cli/text.h"

/* How much smaller stored is than size, in tenths of a percent, in seven columns. */
static void print_saved(uint64_t size, uint64_t stored)
{
	bool smaller = stored <= size;
	uint64_t tenths = per_mille(smaller ? size - stored : stored - size, size);
	char text[SIZE_TEXT];

	snprintf(text, sizeof(text), "%s%" PRIu64 ".%" PRIu64 "%%", smaller ? "" : "-", tenths / 10,
		 tenths % 10);
	printf("%7s", size ? text : "-");
}

static void print_sizes(uint64_t size, uint64_t stored)
{
	printf("%12" PRIu64 " %12" PRIu64 " ", size, stored);
	print_saved(size, stored);
	printf("  ");
}

struct sum {
	uint64_t size;
	uint64_t stored;
};

static int add_piece(void *ctx, uint64_t number, const struct brevis_piece_info *piece,
		     struct brevis_error *err)
{
	struct sum *sum = ctx;

	(void)number;
	(void)err;
	sum->size += piece->size;
	sum->stored += piece->stored_size;
	return BREVIS_OK;
}

static int print_summary(const struct brevis_archive *archive, const char *name, uint64_t tensors,
			 struct brevis_error *err)
{
	static const char *const layouts[] = {"opaque bytes", "safetensors",
					      "safetensors header, irregular data"};
	const struct brevis_archive_info *info = brevis_archive_info(archive);
	struct sum other = {0, 0};
	char hex[OID_HEX_SIZE + 1];
	char saved[SIZE_TEXT];
	uint64_t frame;
	int status = inspect_frame_size(archive, &frame, err);

	if (status == BREVIS_OK)
		status = inspect_other_pieces(archive, tensors, add_piece, &other, err);
	if (status != BREVIS_OK)
		return status;
	print_path(stdout, name);
	digest_to_hex(info->original_sha256, hex);
	printf("\n  format    %u, %s\n", info->format_version, layouts[info->layout]);
	printf("  original  %" PRIu64 " bytes, SHA-256 %s\n", info->original_size, hex);
	printf("  archive   %" PRIu64 " bytes, %s; %" PRIu64
	       " of them are head, codebook, index and tail\n",
	       info->archive_size, saved_text(info->original_size, info->archive_size, saved),
	       frame);
	if (info->has_prior) {
		digest_to_hex(info->prior_sha256, hex);
		printf("  prior     SHA-256 %s\n", hex);
	}
	printf("  content   %" PRIu64 " pieces in %" PRIu64 " records", info->pieces,
	       info->records);
	printf("; %" PRIu64 " bytes of no tensor are stored in %" PRIu64 "\n", other.size,
	       other.stored);
	return BREVIS_OK;
}

static void print_shape(const struct brevis_tensor_info *tensor)
{
	putchar('[');
	for (size_t i = 0; i < tensor->rank; i++)
		printf("%s%" PRIu64, i ? ", " : "", tensor->shape[i]);
	putchar(']');
}

/* Prints a line for each node, its bytes below the stored bytes of its tensor. */
static int print_nodes(const struct brevis_archive *archive, uint64_t piece,
		       struct brevis_error *err)
{
	struct brevis_node_info *nodes;
	size_t count;
	int status = brevis_archive_nodes(archive, piece, &nodes, &count, err);

	if (status != BREVIS_OK)
		return status;
	for (size_t i = 0; i < count; i++) {
		const struct brevis_node_info *node = &nodes[i];

		printf("%25" PRIu64 "          %*s%s", node->bytes, (int)node->depth * 2, "",
		       node->op);
		if (*node->detail) {
			putchar('(');
			print_path(stdout, node->detail);
			putchar(')');
		}
		printf("  %u bit%s x %" PRIu64 "\n", node->width, node->width == 1 ? "" : "s",
		       node->count);
	}
	free(nodes);
	return BREVIS_OK;
}

static int print_piece(const struct brevis_archive *archive, uint64_t number,
		       const struct brevis_piece_info *piece, struct brevis_error *err)
{
	char *program;
	int status = brevis_archive_program(archive, number, &program, err);

	if (status != BREVIS_OK)
		return status;
	print_sizes(piece->size, piece->stored_size);
	printf("piece at %" PRIu64 ", record %" PRIu64 "%s  ", piece->offset, piece->record,
	       piece->stored_size ? "" : " again");
	print_path(stdout, program);
	putchar('\n');
	free(program);
	return BREVIS_OK;
}

/* Prints the program of a tensor's first piece, and how many others differ from it. */
static int print_programs(const struct brevis_archive *archive,
			  const struct brevis_tensor_info *tensor, uint64_t *next, uint64_t *pieces,
			  struct brevis_error *err)
{
	char *first = NULL;
	uint64_t others = 0;
	bool found = true;
	int status = BREVIS_OK;

	for (*pieces = 0; found; *pieces += found) {
		struct brevis_piece_info info;
		uint64_t number;
		char *text;

		status = inspect_next_piece(archive, tensor->offset, tensor->offset + tensor->size,
					    next, &info, &number, &found, err);
		if (status == BREVIS_OK && found)
			status = brevis_archive_program(archive, number, &text, err);
		if (status != BREVIS_OK)
			goto out;
		if (!found)
			continue;
		others += first && strcmp(first, text) != 0;
		if (first)
			free(text);
		else
			first = text;
	}
	print_path(stdout, first ? first : "-");
	if (others)
		printf("  (and %" PRIu64 " more)", others);
out:
	putchar('\n');
	free(first);
	return status;
}

/* Prints the pieces of a tensor, unless it has but one, and their nodes. */
static int print_pieces(const struct brevis_archive *archive,
			const struct brevis_tensor_info *tensor, uint64_t next, uint64_t pieces,
			struct brevis_error *err)
{
	int status = BREVIS_OK;

	for (uint64_t i = 0; i < pieces && status == BREVIS_OK; i++) {
		struct brevis_piece_info info;
		uint64_t number = 0;
		bool found;

		status = inspect_next_piece(archive, tensor->offset, tensor->offset + tensor->size,
					    &next, &info, &number, &found, err);
		if (status == BREVIS_OK && pieces > 1)
			status = print_piece(archive, number, &info, err);
		if (status == BREVIS_OK)
			status = print_nodes(archive, number, err);
	}
	return status;
}

static int print_tensor(const struct brevis_archive *archive, uint64_t i, uint64_t *next,
			bool nodes, struct brevis_error *err)
{
	struct brevis_tensor_info tensor;
	uint64_t first = *next;
	uint64_t pieces;
	int status = brevis_archive_tensor(archive, i, &tensor, err);

	if (status != BREVIS_OK)
		return status;
	print_sizes(tensor.size, tensor.stored_size);
	printf("%-8s ", tensor.dtype);
	print_shape(&tensor);
	putchar(' ');
	print_path(stdout, tensor.name);
	printf("  ");
	status = print_programs(archive, &tensor, next, &pieces, err);
	if (status == BREVIS_OK && nodes)
		status = print_pieces(archive, &tensor, first, pieces, err);
	return status;
}

int inspect_text(struct brevis_archive *archive, const char *name, bool nodes,
		 struct brevis_error *err)
{
	uint64_t next = 0;
	uint64_t count;
	int status = brevis_archive_load_tensors(archive, &count, err);

	if (status == BREVIS_OK)
		status = print_summary(archive, name, count, err);
	if (status != BREVIS_OK || !count)
		return status;
	printf("  tensors   %" PRIu64 ": bytes, stored bytes, saved, type, shape, name, program\n",
	       count);
	for (uint64_t i = 0; i < count && status == BREVIS_OK; i++)
		status = print_tensor(archive, i, &next, nodes, err);
	return status;
}
