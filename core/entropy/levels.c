/* SPDX-License-Identifier: Apache-2.0 */
#include "core/entropy/levels.h"

#include "core/entropy/literal.h"

void level_reader_init(struct level_reader *r, struct bit_reader *bits, unsigned max)
{
	*r = (struct level_reader){.bits = bits, .max = max, .previous = 1};
}

/* No number in a table has more than LITERAL_SYMBOL_BITS bits; 0 stands for one that would. */
static unsigned read_gamma(struct bit_reader *bits)
{
	unsigned n = 0;

	while (!bit_read(bits, 1))
		if (++n >= LITERAL_SYMBOL_BITS)
			return 0;
	return 1u << n | (unsigned)bit_read(bits, n);
}

static unsigned read_run(struct level_reader *r)
{
	unsigned count = read_gamma(r->bits);

	if (!count || r->after_run) {
		r->failed = true;
		return 0;
	}
	r->after_run = true;
	r->zeros = count - 1;
	return 0;
}

unsigned level_read(struct level_reader *r)
{
	unsigned step = 0;
	bool lower = false;

	if (r->failed)
		return 0;
	if (r->zeros) {
		r->zeros--;
		return 0;
	}
	if (!bit_read(r->bits, 1)) {
		bool near = bit_read(r->bits, 1);

		if (!near && !bit_read(r->bits, 1))
			return read_run(r);
		lower = bit_read(r->bits, 1);
		step = 1;
		if (!near) {
			unsigned more = read_gamma(r->bits);

			/* Without a number, a step that fits no table. */
			step = more ? 1 + more : 1u << LITERAL_SYMBOL_BITS;
		}
	}
	if (lower ? step >= r->previous : step > r->max - r->previous) {
		r->failed = true;
		return 0;
	}
	r->previous = lower ? r->previous - step : r->previous + step;
	r->after_run = false;
	return r->previous;
}
