/* SPDX-License-Identifier: Apache-2.0 */
#include "core/synthesis/shortened.h"

#include <stdlib.h>

#include "core/base/bits.h"
#include "core/base/error.h"
#include "core/entropy/literal_encode.h"
#include "core/program/program.h"

/* Halves of words, in bits. */
#define HALF 16

/* Fewer zeros may be chance, or not worth a node. */
#define ZEROS_MIN 4

/* Words that show whether it is worth looking at all of them. */
#define GLANCE_WORDS 64

static uint32_t any_bits(const uint32_t *words, size_t count)
{
	uint32_t any = 0;
	size_t i;

	for (i = 0; i < count; i++)
		any |= words[i];
	return any;
}

/* The lowest bits that are zeros in all words, at most HALF; 0 if the words are none of these. */
static unsigned zeros_of(const struct words *in, const struct tensor_kind *kind)
{
	uint32_t few = (UINT32_C(1) << ZEROS_MIN) - 1, any;

	if (!kind->is_float || in->width != 2 * HALF || in->count < GLANCE_WORDS ||
	    any_bits(in->data, GLANCE_WORDS) & few)
		return 0;
	any = any_bits(in->data, in->count);
	/* If there are more than HALF, the upper half is not usual, either. */
	if (any & few || !(any & ((UINT32_C(2) << HALF) - 1)))
		return 0;
	return bit_length(any & -any) - 1;
}

static void take_upper(const uint32_t *words, uint16_t *to, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		to[i] = (uint16_t)(words[i] >> HALF);
}

/* The bits of the lower half that are no zeros: bytes, if they are so few. */
static void take_middle(const uint32_t *words, uint16_t *to, size_t count, unsigned zeros)
{
	uint8_t *bytes = (uint8_t *)to;
	size_t i;

	if (HALF - zeros > 8)
		for (i = 0; i < count; i++)
			to[i] = (uint16_t)((uint16_t)words[i] >> zeros);
	else
		for (i = 0; i < count; i++)
			bytes[i] = (uint8_t)((uint16_t)words[i] >> zeros);
}

/* Puts the parts of words with so many zeros at their end. */
static int put_halves(const struct words *in, unsigned zeros, const struct tensor_kind *kind,
		      const struct synthesis_options *options, struct buffer *out,
		      enum usual *usual, struct brevis_error *err)
{
	unsigned widths[] = {HALF, HALF - zeros, zeros}, whole[] = {HALF, HALF};
	bool halves = zeros == HALF;
	uint16_t *part = malloc(in->count * sizeof(*part));
	struct words upper = {part, HALF, in->count};
	size_t before = out->size;
	int status;

	if (!part)
		return error_nomem(err);
	program_put_merge(out, halves ? whole : widths, halves ? 2 : 3);
	take_upper(in->data, part, in->count);
	/* With a flip it would be nested too deeply. */
	status = usual_program(&upper, kind, options, false, out, usual, err);
	if (!status && *usual && !halves) {
		take_middle(in->data, part, in->count, zeros);
		status = literal_encode(out, part, HALF - zeros, in->count, NULL, err);
	}
	if (!status && *usual)
		program_put_const(out, zeros, 0);
	else
		out->size = before;
	if (!status && buffer_failed(out))
		status = error_nomem(err);
	free(part);
	return status;
}

int shortened_program(const struct words *in, const struct tensor_kind *kind,
		      const struct synthesis_options *options, struct buffer *out,
		      enum usual *usual, struct brevis_error *err)
{
	unsigned zeros = zeros_of(in, kind);

	if (!zeros)
		return usual_program(in, kind, options, true, out, usual, err);
	return put_halves(in, zeros, kind, options, out, usual, err);
}

bool shortened_applies(const struct words *in, const struct tensor_kind *kind)
{
	unsigned zeros = zeros_of(in, kind);
	uint16_t *part;
	struct words upper;
	bool applies;

	if (!zeros)
		return usual_applies(in, kind);
	part = malloc(in->count * sizeof(*part));
	if (!part)
		return false;
	take_upper(in->data, part, in->count);
	upper = (struct words){part, HALF, in->count};
	applies = usual_applies(&upper, kind);
	free(part);
	return applies;
}
