/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Bit streams. Bits fill each byte from its lowest bit up; a value's lowest bit comes first. The
 * last byte is padded with zero bits.
 */
#ifndef CORE_BASE_BITS_H
#define CORE_BASE_BITS_H

#include "core/base/buffer.h"

/** Number of bits in v: 0 for 0, 1 for 1, 8 for 255. */
static inline unsigned bit_length(uint64_t v)
{
	return v ? 64u - (unsigned)__builtin_clzll(v) : 0;
}

static inline uint64_t low_bits(unsigned n)
{
	return n >= 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

struct bit_writer {
	struct buffer *out;
	uint64_t pending; /* fewer than 8 bits between calls */
	unsigned count;
};

static inline void bit_writer_init(struct bit_writer *w, struct buffer *out)
{
	*w = (struct bit_writer){out, 0, 0};
}

/** Appends the lowest n <= 56 bits of value, which must have no others set. */
static inline void bit_write(struct bit_writer *w, uint64_t value, unsigned n)
{
	w->pending |= value << w->count;
	for (w->count += n; w->count >= 8; w->count -= 8) {
		buffer_u8(w->out, (uint8_t)w->pending);
		w->pending >>= 8;
	}
}

/** Pads to a whole byte. */
static inline void bit_writer_flush(struct bit_writer *w)
{
	if (w->count)
		buffer_u8(w->out, (uint8_t)w->pending);
	w->pending = 0;
	w->count = 0;
}

struct bit_reader {
	struct span in;
	uint64_t pending;
	unsigned count;
};

static inline void bit_reader_init(struct bit_reader *r, struct span in)
{
	*r = (struct bit_reader){in, 0, 0};
}

/** Reads n <= 56 bits. Past the end it yields zeros and fails the reader's span. */
static inline uint64_t bit_read(struct bit_reader *r, unsigned n)
{
	uint64_t value;

	while (r->count < n) {
		r->pending |= (uint64_t)span_u8(&r->in) << r->count;
		r->count += 8;
	}
	value = r->pending & low_bits(n);
	r->pending >>= n;
	r->count -= n;
	return value;
}

/** True if all that is left are fewer than 8 zero bits of padding. */
static inline bool bit_reader_at_end(const struct bit_reader *r)
{
	return !r->in.failed && span_left(&r->in) == 0 && r->count < 8 && r->pending == 0;
}

#endif
