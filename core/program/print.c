/* SPDX-License-Identifier: Apache-2.0 */
#include "core/program/program.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

static void put(struct buffer *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(struct buffer *out, const char *format, ...)
{
	char text[96];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	buffer_append(out, text, (size_t)len);
}

static const char *coding_name(enum literal_coding coding)
{
	static const char *const names[] = {"raw", "packed", "huffman", "rans"};

	return names[coding];
}

static void print_node(const struct program *program, unsigned index, struct buffer *out)
{
	const struct node *node = &program->nodes[index];
	unsigned i, child = index + 1;

	switch (node->op) {
	case OP_LIT:
		put(out, "lit%u{%s %zu B}", node->width, coding_name(node->literal.coding),
		    span_left(&node->literal.table) + span_left(&node->literal.payload));
		return;
	case OP_CONST:
		put(out, "const%u,%zu(%" PRIu64 ")", node->width, node->count, node->value);
		return;
	case OP_CONCAT:
		put(out, "concat(");
		break;
	case OP_MERGE:
		put(out, "merge(");
		break;
	}
	for (i = 0; i < node->arity; i++) {
		if (i)
			put(out, ", ");
		print_node(program, child, out);
		child = program->nodes[child].next;
	}
	put(out, ")");
}

void program_print(const struct program *program, struct buffer *out)
{
	print_node(program, 0, out);
}
