/* SPDX-License-Identifier: Apache-2.0 */
#include "core/program/program.h"

void program_put_const(struct buffer *out, unsigned width, uint64_t value)
{
	unsigned i;

	buffer_u8(out, OP_CONST);
	for (i = 0; i < (width + 7) / 8; i++)
		buffer_u8(out, (uint8_t)(value >> (8 * i)));
}

void program_put_lit(struct buffer *out)
{
	buffer_u8(out, OP_LIT);
}

void program_put_concat(struct buffer *out, const size_t *counts, unsigned count)
{
	unsigned i;

	buffer_u8(out, OP_CONCAT);
	buffer_u8(out, (uint8_t)count);
	for (i = 0; i + 1 < count; i++)
		buffer_varint(out, counts[i]);
}

void program_put_merge(struct buffer *out, const unsigned *widths, unsigned count)
{
	unsigned i, ones = 0, eights = 0;

	for (i = 0; i < count; i++) {
		ones += widths[i] == 1;
		eights += widths[i] == 8;
	}
	buffer_u8(out, OP_MERGE);
	if (ones == count || eights == count) {
		buffer_u8(out, ones == count ? MERGE_BITS : MERGE_BYTES);
		return;
	}
	buffer_u8(out, MERGE_FIELDS);
	buffer_u8(out, (uint8_t)count);
	for (i = 0; i < count; i++)
		buffer_u8(out, (uint8_t)widths[i]);
}
