/* SPDX-License-Identifier: Apache-2.0 */
/* Programs for people: in the paper's notation, and node by node. */
#include "core/program/program.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/entropy/words.h"

/* Plain literals of at most so many words show them, as the paper does. */
#define SHOWN_WORDS 8

/* Room for the parameters of a node: those of a merge are the longest. */
#define DETAIL_SIZE 192

static const char *const operator_names[] = {
	[OP_LIT] = "lit",       [OP_CONST] = "const", [OP_CONCAT] = "concat",
	[OP_REPEAT] = "repeat", [OP_MAP] = "map",     [OP_SCAN] = "scan",
	[OP_MERGE] = "merge",   [OP_ROUTE] = "route", [OP_ESCAPE] = "escape",
	[OP_PACK] = "pack",     [OP_FLIP] = "flip",
};

static const char *const coding_names[] = {
	[LITERAL_RAW] = "raw",     [LITERAL_PACKED] = "packed", [LITERAL_HUFFMAN] = "huffman",
	[LITERAL_RANS] = "rans",   [LITERAL_SHARED] = "shared", [LITERAL_ZSTD] = "zstd",
	[LITERAL_LZMA2] = "lzma2",
};

static const char *const map_names[MAP_FUNCTIONS] = {
	[MAP_XOR] = "xor",           [MAP_ADD] = "add",       [MAP_ZIGZAG] = "zigzag",
	[MAP_UNZIGZAG] = "unzigzag", [MAP_GRAY] = "gray",     [MAP_UNGRAY] = "ungray",
	[MAP_REVERSE] = "reverse",   [MAP_ROTATE] = "rotate",
};

/* ---- parameters ------------------------------------------------------------------------------ */

/* A text of limited length; what does not fit is cut off. */
struct detail {
	char text[DETAIL_SIZE];
	size_t size;
};

static void add(struct detail *d, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct detail *d, const char *format, ...)
{
	size_t room = sizeof(d->text) - d->size;
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(d->text + d->size, room, format, args);
	va_end(args);
	if (len > 0)
		d->size += (size_t)len < room ? (size_t)len : room - 1;
}

/* The usual name of a float, or NULL. */
static const char *float_name(unsigned form, unsigned width)
{
	if (form == MERGE_FLOAT_8)
		return width == 16 ? "BF16" : width == 32 ? "FP32" : NULL;
	if (form == MERGE_FLOAT_5)
		return width == 16 ? "FP16" : width == 8 ? "E5M2" : NULL;
	if (form == MERGE_FLOAT_11)
		return width == 64 ? "FP64" : NULL;
	return width == 8 ? "E4M3" : NULL;
}

static void add_merge(struct detail *d, const struct program *program, unsigned index)
{
	const struct node *node = &program->nodes[index];
	unsigned exponent = merge_exponent(node->form);
	unsigned i, child = index + 1;

	if (node->form == MERGE_BITS || node->form == MERGE_BYTES) {
		add(d, "%s", node->form == MERGE_BITS ? "bits" : "bytes");
	} else if (exponent && float_name(node->form, node->width)) {
		add(d, "%s", float_name(node->form, node->width));
	} else if (exponent) {
		add(d, "float,1,%u,%u", exponent, node->width - 1 - exponent);
	} else {
		for (i = 0; i < node->arity; i++, child = program->nodes[child].next)
			add(d, "%s%u", i ? "," : "", program->nodes[child].width);
	}
}

static void add_map(struct detail *d, const struct node *node)
{
	add(d, "%s", map_names[node->form]);
	if (node->form == MAP_XOR || node->form == MAP_ADD || node->form == MAP_ROTATE)
		add(d, ",%" PRIu64, node->value);
}

static void add_grid(struct detail *d, const struct grid *grid)
{
	add(d, "%zux%zux%zu", grid->rows, grid->columns, grid->inner);
}

static struct detail detail_of(const struct program *program, unsigned index)
{
	const struct node *node = &program->nodes[index];
	struct detail d = {.size = 0};

	switch (node->op) {
	case OP_LIT:
		add(&d, "%s", coding_names[node->literal.coding]);
		break;
	case OP_CONST:
		add(&d, "%" PRIu64, node->value);
		break;
	case OP_CONCAT:
		break;
	case OP_REPEAT:
	case OP_PACK:
		add(&d, "%zu", node->times);
		break;
	case OP_MAP:
		add_map(&d, node);
		break;
	case OP_SCAN:
		add(&d, "%s,%" PRIu64, node->form == SCAN_XOR ? "xor" : "add", node->value);
		break;
	case OP_MERGE:
		add_merge(&d, program, index);
		break;
	case OP_ROUTE:
		add_grid(&d, &node->grid);
		add(&d, ";%u,%u;%u", node->classes.row_classes, node->classes.column_classes,
		    node->classes.classes);
		break;
	case OP_ESCAPE:
		add(&d, "%u,%" PRIu64 ",%zu", program->nodes[index + 1].width, node->value,
		    node->times);
		break;
	case OP_FLIP:
		add_grid(&d, &node->grid);
		break;
	}
	return d;
}

void program_describe(const struct program *program, struct brevis_node_info *nodes)
{
	unsigned i;

	for (i = 0; i < program->size; i++) {
		const struct node *node = &program->nodes[i];
		struct detail d = detail_of(program, i);
		struct brevis_node_info *info = &nodes[i];

		*info = (struct brevis_node_info){
			.op = operator_names[node->op],
			.depth = node->depth,
			.arity = node->arity,
			.width = node->width,
			.count = node->count,
			.bytes = node->bytes,
		};
		if (d.size >= sizeof(info->detail))
			strcpy(d.text + sizeof(info->detail) - 4, "...");
		strcpy(info->detail, d.text);
	}
}

/* ---- the whole program ----------------------------------------------------------------------- */

static void put(struct buffer *out, const char *text)
{
	buffer_append(out, text, strlen(text));
}

/* Appends the words of a small plain literal. False if it is none, or damaged. */
static bool print_words(const struct node *node, struct buffer *out)
{
	uint64_t words[SHOWN_WORDS];
	struct literal_decoder *decoder = NULL;
	size_t i;
	int status;

	if (node->count > SHOWN_WORDS || node->literal.coding > LITERAL_PACKED)
		return false;
	status = literal_decoder_new(&node->literal, &decoder, NULL);
	if (!status)
		status = literal_decoder_next(decoder, words, node->count, NULL);
	for (i = 0; i < node->count && !status; i++) {
		struct detail d = {.size = 0};

		add(&d, "%s%" PRIu64, i ? ", " : "(", word_get(words, word_bytes(node->width), i));
		put(out, d.text);
	}
	literal_decoder_free(decoder);
	return !status;
}

/* Numbers stand behind a single underscore, everything else in braces. */
static void print_detail(const char *detail, struct buffer *out)
{
	bool plain = detail[strspn(detail, "0123456789")] == '\0';

	if (!*detail)
		return;
	put(out, plain ? "_" : "_{");
	put(out, detail);
	if (!plain)
		put(out, "}");
}

static void print_leaf(const struct program *program, unsigned index, struct buffer *out)
{
	const struct node *node = &program->nodes[index];
	struct detail d = {.size = 0};

	if (node->op == OP_CONST) {
		add(&d, "const%u,%zu(%" PRIu64 ")", node->width, node->count, node->value);
		put(out, d.text);
		return;
	}
	if (node->op == OP_ROUTE) {
		d = detail_of(program, index);
		put(out, "route");
		print_detail(d.text, out);
		d.size = 0;
		add(&d, "(%u-bit {%zu B})", node->width, node->bytes);
		put(out, d.text);
		return;
	}
	add(&d, "lit%u", node->width);
	put(out, d.text);
	if (print_words(node, out)) {
		put(out, ")");
		return;
	}
	d.size = 0;
	add(&d, "{%s %zu B}", coding_names[node->literal.coding], node->bytes);
	put(out, d.text);
}

static void print_node(const struct program *program, unsigned index, struct buffer *out)
{
	const struct node *node = &program->nodes[index];
	struct detail d;
	unsigned i, child = index + 1;

	if (!node->arity) {
		print_leaf(program, index, out);
		return;
	}
	d = detail_of(program, index);
	put(out, operator_names[node->op]);
	print_detail(d.text, out);
	for (i = 0; i < node->arity; i++, child = program->nodes[child].next) {
		put(out, i ? ", " : "(");
		print_node(program, child, out);
	}
	put(out, ")");
}

void program_print(const struct program *program, struct buffer *out)
{
	print_node(program, 0, out);
}
