/* SPDX-License-Identifier: Apache-2.0 */
#include "core/entropy/packed_encode.h"

#include "core/base/bits.h"
#include "core/base/bytes.h"
#include "core/entropy/words.h"

/* Moves the low `bits` <= 8 bits of eight bytes together: pairs, fours, then all. */
static inline uint64_t gather(uint64_t x, unsigned bits)
{
	uint64_t eighth = low_bits(bits) * UINT64_C(0x0001000100010001);
	uint64_t quarter = low_bits(2 * bits) * UINT64_C(0x0000000100000001);

	x = (x & eighth) | (x >> 8 & eighth) << bits;
	x = (x & quarter) | (x >> 16 & quarter) << (2 * bits);
	return (x & low_bits(4 * bits)) | (x >> 32 & low_bits(4 * bits)) << (4 * bits);
}

/*
 * Packs groups of eight bytes while 8 bytes can be stored inside [to, end): what a store writes
 * past its group is overwritten by the next. Returns words done.
 */
static size_t pack_bytes(uint8_t *to, const uint8_t *end, const uint8_t *words, size_t count,
			 uint8_t base, unsigned bits)
{
	uint64_t bases = base * UINT64_C(0x0101010101010101);
	uint64_t high = UINT64_C(0x8080808080808080);
	size_t i;

	for (i = 0; i + 8 <= count && end - to >= 8; i += 8, to += bits) {
		uint64_t x = load_le64(words + i);

		/* Eight subtractions in one: the high bits are kept from borrowing. */
		x = ((x | high) - (bases & ~high)) ^ ((x ^ ~bases) & high);
		store_le64(to, gather(x, bits));
	}
	return i;
}

ALWAYS_INLINE void pack(uint8_t *to, const void *words, unsigned size, size_t first, size_t count,
			uint64_t base, unsigned bits)
{
	uint64_t pending = 0;
	unsigned filled = 0;
	size_t i;

	for (i = first; i < count; i++) {
		uint64_t v = word_get(words, size, i) - base;

		pending |= v << filled;
		filled += bits;
		if (filled < 64)
			continue;
		store_le64(to, pending);
		to += 8;
		filled -= 64;
		pending = filled ? v >> (bits - filled) : 0;
	}
	for (; filled; filled -= filled < 8 ? filled : 8) {
		*to++ = (uint8_t)pending;
		pending >>= 8;
	}
}

void packed_encode(uint8_t *to, const void *words, unsigned width, size_t count, uint64_t base,
		   unsigned bits)
{
	uint64_t size = 0;
	size_t done;

	if (!bits)
		return;
	switch (word_bytes(width)) {
	case 1:
		packed_size(count, bits, &size);
		done = pack_bytes(to, to + size, words, count, (uint8_t)base, bits);
		pack(to + done / 8 * bits, words, 1, done, count, base, bits);
		break;
	case 2:
		pack(to, words, 2, 0, count, base, bits);
		break;
	case 4:
		pack(to, words, 4, 0, count, base, bits);
		break;
	default:
		pack(to, words, 8, 0, count, base, bits);
		break;
	}
}
