/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Bit streams. Bits fill each byte from its lowest bit up; a value's lowest bit comes first. The
 * last byte is padded with zero bits.
 */
#ifndef CORE_BASE_BITS_H
#define CORE_BASE_BITS_H

#include "core/base/buffer.h"
#include "core/base/bytes.h"

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
	uint64_t pending; /* until it is flushed */
	unsigned count;   /* fewer than 64 */
};

static inline void bit_writer_init(struct bit_writer *w, struct buffer *out)
{
	*w = (struct bit_writer){out, 0, 0};
}

static inline void bit_writer_put(struct bit_writer *w, unsigned bytes)
{
	uint8_t pending[8];

	store_le64(pending, w->pending);
	buffer_append(w->out, pending, bytes);
}

/** Appends the lowest n <= 56 bits of value, which must have no others set. */
static inline void bit_write(struct bit_writer *w, uint64_t value, unsigned n)
{
	if (w->count + n >= 64) {
		bit_writer_put(w, w->count / 8);
		w->pending >>= w->count & ~7u;
		w->count %= 8;
	}
	w->pending |= value << w->count;
	w->count += n;
}

/** Pads to a whole byte. */
static inline void bit_writer_flush(struct bit_writer *w)
{
	bit_writer_put(w, (w->count + 7) / 8);
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

/** Makes at least n <= 56 bits pending, zeros where there are none: then the span fails. */
static inline void bit_reader_refill(struct bit_reader *r, unsigned n)
{
	unsigned bytes = (63 - r->count) / 8;

	/* As many at once as there is room for. */
	if (span_left(&r->in) >= 8) {
		uint64_t next = load_le64(r->in.at) & low_bits(8 * bytes);

		r->pending |= next << r->count;
		r->in.at += bytes;
		r->count += 8 * bytes;
		return;
	}
	for (; r->count < n; r->count += 8) {
		if (span_left(&r->in))
			r->pending |= (uint64_t)*r->in.at++ << r->count;
		else
			r->in.failed = true;
	}
}

/** Leaves out n <= 56 bits, which are pending. */
static inline void bit_skip(struct bit_reader *r, unsigned n)
{
	r->pending >>= n;
	r->count -= n;
}

/** Reads n <= 56 bits. Past the end it yields zeros and fails the reader's span. */
static inline uint64_t bit_read(struct bit_reader *r, unsigned n)
{
	uint64_t value;

	if (r->count < n)
		bit_reader_refill(r, n);
	value = r->pending & low_bits(n);
	bit_skip(r, n);
	return value;
}

/**
 * Leaves *in behind the byte that the last bit read is in. False if padding bits of that are set.
 * Not after a failure.
 */
static inline bool bit_reader_end(const struct bit_reader *r, struct span *in)
{
	*in = r->in;
	in->at -= r->count / 8;
	return (r->pending & low_bits(r->count % 8)) == 0;
}

/** True if all that is left are fewer than 8 zero bits of padding. */
static inline bool bit_reader_at_end(const struct bit_reader *r)
{
	return !r->in.failed && span_left(&r->in) == 0 && r->count < 8 && r->pending == 0;
}

#endif
