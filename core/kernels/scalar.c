/* SPDX-License-Identifier: Apache-2.0 */
/* The variant that runs everywhere, and that the others are held to. */
#include "core/base/bytes.h"
#include "core/kernels/loops.h"

#define TARGET

DEFINE_LOOPS
DEFINE_JOINS

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* Decodes the next code of a lane where 2 bytes can be read at *at in any case. */
ALWAYS_INLINE uint8_t decode_code(const uint32_t *slots, unsigned scale_bits, uint32_t *state,
				  const uint8_t **at)
{
	uint32_t entry = slots[*state & ((1u << scale_bits) - 1)];
	uint32_t x = (entry >> 20) * (*state >> scale_bits) + (entry & 0xfff);
	uint32_t low = x < KERNEL_STATE_LOW;

	/* Keeps gcc from moving lanes into vectors and back between their table lookups. */
	__asm__("" : "+r"(low));
	/* Without a branch: which states refill is as good as random. */
	*state = x ^ ((x ^ (x << 16 | load_le16(*at))) & (0 - low));
	*at += 2 * (size_t)low;
	return (uint8_t)(entry >> 12);
}

ALWAYS_INLINE size_t decode_lanes(const uint32_t *slots, unsigned scale_bits, unsigned lanes,
				  uint32_t *states, const uint8_t **at, const uint8_t *end,
				  const uint8_t *classes, uint8_t *codes, size_t groups)
{
	const uint8_t *from = *at;
	size_t g, i = 0;
	unsigned j;

	for (g = 0; g < groups && (size_t)(end - from) >= KERNEL_GROUP_BYTES; g++) {
		for (j = 0; j < lanes; j++, i++)
			codes[i] = decode_code(classes ? slots + ((size_t)classes[i] << scale_bits)
						       : slots,
					       scale_bits, &states[j], &from);
	}
	*at = from;
	return g;
}

static size_t decode(const uint32_t *slots, unsigned scale_bits, unsigned lanes, uint32_t *states,
		     const uint8_t **at, const uint8_t *end, const uint8_t *classes, uint8_t *codes,
		     size_t groups)
{
	if (classes)
		return decode_lanes(slots, scale_bits, lanes, states, at, end, classes, codes,
				    groups);
	return decode_lanes(slots, scale_bits, lanes, states, at, end, NULL, codes, groups);
}

/* Encodes a code, backwards from *to. */
ALWAYS_INLINE void encode_code(uint32_t entry, unsigned scale_bits, uint32_t *state, uint8_t **to)
{
	uint32_t share = entry & 0xffff;
	uint32_t x = *state;
	uint32_t full = x >= share << (31 - scale_bits);
	uint32_t quotient;

	store_le16(*to - 2, (uint16_t)x);
	*to -= 2 * (size_t)full;
	x ^= (x ^ x >> 16) & (0 - full);
	quotient = x / share;
	*state = x + (entry >> 16) + quotient * ((1u << scale_bits) - share);
}

static uint8_t *encode(const uint32_t *shares, unsigned scale_bits, unsigned lanes,
		       uint32_t *states, uint8_t *to, const uint8_t *classes, uint8_t *codes,
		       size_t groups)
{
	size_t i = groups * lanes;

	while (i) {
		unsigned j = lanes;

		while (j-- > 0) {
			uint32_t entry;

			i--;
			entry = shares[(classes ? (size_t)classes[i] << 8 : 0) | codes[i]];
			kernels_mend(shares, classes ? classes + i : NULL, codes + i, &entry, 1);
			encode_code(entry, scale_bits, &states[j], &to);
		}
	}
	return to;
}

/* Joins neighbours: fields of `bits` bits in lanes of twice `lane` bits. */
ALWAYS_INLINE uint64_t fold(uint64_t v, uint64_t mask, unsigned lane, unsigned bits)
{
	return (v & mask) | (v >> lane & mask) << bits;
}

ALWAYS_INLINE uint64_t spread(uint64_t v, uint64_t mask, unsigned lane, unsigned bits)
{
	return (v & mask) | (v >> bits & mask) << lane;
}

static void pack8(uint8_t *out, const uint8_t *numbers, unsigned bits, size_t groups)
{
	size_t g;

	for (g = 0; g < groups; g++, out += bits) {
		uint64_t v = load_le64(numbers + 8 * g);

		v = fold(v, UINT64_C(0x00ff00ff00ff00ff), 8, bits);
		v = fold(v, UINT64_C(0x0000ffff0000ffff), 16, 2 * bits);
		store_le64(out, fold(v, UINT64_C(0x00000000ffffffff), 32, 4 * bits));
	}
}

static void unpack8(uint8_t *numbers, const uint8_t *in, unsigned bits, size_t groups)
{
	uint64_t one = ((UINT64_C(1) << bits) - 1) * UINT64_C(0x0101010101010101);
	uint64_t two = ((UINT64_C(1) << 2 * bits) - 1) * UINT64_C(0x0001000100010001);
	uint64_t four = bits < 8 ? ((UINT64_C(1) << 4 * bits) - 1) * UINT64_C(0x0000000100000001)
				 : UINT64_MAX;
	size_t g;

	for (g = 0; g < groups; g++, in += bits) {
		uint64_t v = load_le64(in);

		v = spread(v, four & UINT64_C(0x00000000ffffffff), 32, 4 * bits);
		v = spread(v, two & UINT64_C(0x0000ffff0000ffff), 16, 2 * bits);
		v = spread(v, one & UINT64_C(0x00ff00ff00ff00ff), 8, bits);
		store_le64(numbers + 8 * g, v);
	}
}

static void unpack32(uint32_t *numbers, const uint8_t *in, unsigned bits, size_t groups)
{
	uint32_t mask = (UINT32_C(1) << bits) - 1;
	size_t g;
	unsigned i;

	for (g = 0; g < groups; g++, in += bits) {
		for (i = 0; i < 8; i++)
			*numbers++ = load_le32(in + i * bits / 8) >> i * bits % 8 & mask;
	}
}

DEFINE_DECODE_JOINED(unpack8)

const struct kernels kernels_scalar = {
	.name = "scalar",
	.decode = decode,
	.decode16 = decode16,
	.decode32 = decode32,
	.encode = encode,
	.cut16 = cut16,
	.cut32 = cut32,
	.join16 = join16,
	.join32 = join32,
	.pack8 = pack8,
	.unpack8 = unpack8,
	.pack32 = pack32,
	.unpack32 = unpack32,
	.sum8 = sum8,
	.sum16 = sum16,
};
