/* SPDX-License-Identifier: Apache-2.0 */
#include "core/program/program.h"

/* An operator and its small number. */
static void put_op(struct buffer *out, enum operation op, unsigned s)
{
	buffer_u8(out, (uint8_t)((unsigned)op | s << 4));
}

/* An operator whose small number is a small count, at least 2. */
static void put_counted(struct buffer *out, enum operation op, size_t count)
{
	if (count < 17) {
		put_op(out, op, (unsigned)count - 2);
		return;
	}
	put_op(out, op, 15);
	buffer_varint(out, count);
}

void program_put_const(struct buffer *out, unsigned width, uint64_t value)
{
	(void)width; /* a varint takes what it takes, whatever the type */
	put_op(out, OP_CONST, 0);
	buffer_varint(out, value);
}

void program_put_concat(struct buffer *out, const size_t *counts, unsigned arity)
{
	unsigned i;

	put_counted(out, OP_CONCAT, arity);
	for (i = 0; i + 1 < arity; i++)
		buffer_varint(out, counts[i]);
}

void program_put_repeat(struct buffer *out, size_t times)
{
	put_counted(out, OP_REPEAT, times);
}

void program_put_map(struct buffer *out, enum map_function f, uint64_t argument)
{
	put_op(out, OP_MAP, 0);
	buffer_u8(out, (uint8_t)f);
	if (f == MAP_XOR || f == MAP_ADD)
		buffer_varint(out, argument);
	else if (f == MAP_ROTATE)
		buffer_u8(out, (uint8_t)argument);
}

void program_put_scan(struct buffer *out, enum scan_function f, uint64_t first)
{
	put_op(out, OP_SCAN, 0);
	buffer_u8(out, (uint8_t)f);
	buffer_varint(out, first);
}

void program_put_merge(struct buffer *out, const unsigned *widths, unsigned arity)
{
	enum merge_form form = merge_form_of(widths, arity);
	unsigned i;

	put_op(out, OP_MERGE, form);
	if (form != MERGE_FIELDS)
		return;
	buffer_u8(out, (uint8_t)arity);
	for (i = 0; i + 1 < arity; i++)
		buffer_u8(out, (uint8_t)widths[i]);
}

void program_put_escape(struct buffer *out, unsigned width, uint64_t base, size_t escaped)
{
	put_op(out, OP_ESCAPE, 0);
	buffer_u8(out, (uint8_t)width);
	buffer_varint(out, base);
	buffer_varint(out, escaped);
}

void program_put_pack(struct buffer *out, unsigned k)
{
	put_op(out, OP_PACK, 0);
	buffer_u8(out, (uint8_t)k);
}
