/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What variants have in common. Each defines TARGET as what its functions are compiled for, and
 * then uses these.
 */
#ifndef CORE_KERNELS_LOOPS_H
#define CORE_KERNELS_LOOPS_H

#include "core/base/bytes.h"
#include "core/kernels/variants.h"

/** Loops that compilers vectorise by themselves: cut16, cut32, sum8 and sum16; and pack32. */
#define DEFINE_LOOPS                                                                               \
	DEFINE_CUT(16, uint8_t)                                                                    \
	DEFINE_CUT(32, uint32_t)                                                                   \
	DEFINE_SUM(8)                                                                              \
	DEFINE_SUM(16)                                                                             \
	DEFINE_PACK32

/** The same for join16 and join32. */
#define DEFINE_JOINS                                                                               \
	DEFINE_JOIN(16, uint8_t)                                                                   \
	DEFINE_JOIN(32, uint32_t)

/* Rotations by 0 are none; shifts stay below the width. */
#define DEFINE_CUT(BITS, LOW)                                                                      \
	TARGET static size_t cut##BITS(const struct kernel_cut *cut,                               \
				       const uint##BITS##_t *restrict words,                       \
				       uint8_t *restrict codes, LOW *restrict low, size_t count)   \
	{                                                                                          \
		unsigned rotation = cut->rotation, shift = cut->low, turn = cut->turn;             \
		unsigned back = (BITS - rotation) % BITS, turn_back = BITS - shift - turn;         \
		uint##BITS##_t base = (uint##BITS##_t)cut->base;                                   \
		uint##BITS##_t low_mask = (uint##BITS##_t)((UINT32_C(1) << shift) - 1);            \
		uint##BITS##_t mask = (uint##BITS##_t)((UINT32_C(1) << (BITS - shift)) - 1);       \
		uint##BITS##_t codes_end = (uint##BITS##_t)cut->codes;                             \
		size_t escaped = 0, i;                                                             \
                                                                                                   \
		for (i = 0; i < count; i++) {                                                      \
			uint##BITS##_t w = words[i];                                               \
			uint##BITS##_t t = (uint##BITS##_t)(w << rotation | w >> back);            \
			uint##BITS##_t u = (uint##BITS##_t)(t >> shift);                           \
			uint##BITS##_t v = (uint##BITS##_t)((u << turn | u >> turn_back) & mask);  \
			uint##BITS##_t code = (uint##BITS##_t)(v - base);                          \
                                                                                                   \
			codes[i] = (uint8_t)(code < codes_end ? code : 255);                       \
			low[i] = (LOW)(t & low_mask);                                              \
		}                                                                                  \
		for (i = 0; i < count; i++)                                                        \
			escaped += codes[i] == 255;                                                \
		return escaped;                                                                    \
	}

#define DEFINE_JOIN(BITS, LOW)                                                                     \
	TARGET static size_t join##BITS(                                                           \
		const struct kernel_cut *cut, uint##BITS##_t *restrict words,                      \
		const uint8_t *restrict codes, const LOW *restrict low, size_t count)              \
	{                                                                                          \
		unsigned rotation = cut->rotation, shift = cut->low, turn = cut->turn;             \
		unsigned back = (BITS - rotation) % BITS, turn_back = BITS - shift - turn;         \
		uint##BITS##_t base = (uint##BITS##_t)cut->base;                                   \
		size_t escaped = 0, i;                                                             \
                                                                                                   \
		for (i = 0; i < count; i++) {                                                      \
			uint##BITS##_t v = (uint##BITS##_t)(codes[i] + base);                      \
			uint##BITS##_t u = (uint##BITS##_t)(v >> turn | v << turn_back);           \
			uint##BITS##_t t = (uint##BITS##_t)(u << shift | low[i]);                  \
                                                                                                   \
			words[i] = (uint##BITS##_t)(t >> rotation | t << back);                    \
		}                                                                                  \
		for (i = 0; i < count; i++)                                                        \
			escaped += codes[i] == 255;                                                \
		return escaped;                                                                    \
	}

/*
 * Two numbers at a time. Those of a group are stored from the byte on that the first bit is in,
 * with what those before have left there; no group waits for another one.
 */
#define DEFINE_PACK32                                                                              \
	TARGET static void pack32(uint8_t *out, const uint32_t *numbers, unsigned bits,            \
				  size_t groups)                                                   \
	{                                                                                          \
		unsigned at1 = 2 * bits / 8, at2 = 4 * bits / 8, at3 = 6 * bits / 8;               \
		unsigned shift1 = 2 * bits % 8, shift2 = 4 * bits % 8, shift3 = 6 * bits % 8;      \
		size_t i;                                                                          \
                                                                                                   \
		for (i = 0; i < groups; i++, numbers += 8, out += bits) {                          \
			uint64_t a = numbers[0] | (uint64_t)numbers[1] << bits;                    \
			uint64_t b = numbers[2] | (uint64_t)numbers[3] << bits;                    \
			uint64_t c = numbers[4] | (uint64_t)numbers[5] << bits;                    \
			uint64_t d = numbers[6] | (uint64_t)numbers[7] << bits;                    \
                                                                                                   \
			b = b << shift1 | a >> 8 * at1;                                            \
			c = c << shift2 | b >> 8 * (at2 - at1);                                    \
			d = d << shift3 | c >> 8 * (at3 - at2);                                    \
			store_le64(out, a);                                                        \
			store_le64(out + at1, b);                                                  \
			store_le64(out + at2, c);                                                  \
			store_le64(out + at3, d);                                                  \
		}                                                                                  \
	}

#define DEFINE_SUM(BITS)                                                                           \
	TARGET static void sum##BITS(const uint##BITS##_t *restrict words, size_t rows,            \
				     size_t length, unsigned shift, uint32_t mask,                 \
				     uint32_t *restrict row_sums, uint32_t *restrict place_sums)   \
	{                                                                                          \
		size_t r, i;                                                                       \
                                                                                                   \
		for (r = 0; r < rows; r++, words += length) {                                      \
			uint32_t sum = 0;                                                          \
                                                                                                   \
			for (i = 0; i < length; i++) {                                             \
				uint32_t v = (uint32_t)words[i] >> shift & mask;                   \
                                                                                                   \
				sum += v;                                                          \
				place_sums[i] += v;                                                \
			}                                                                          \
			row_sums[r] += sum;                                                        \
		}                                                                                  \
	}

/** decode as decode_lanes, compiled once for each number of lanes, with classes and without. */
#define DEFINE_DECODE                                                                              \
	TARGET static size_t decode(const uint32_t *slots, unsigned scale_bits, unsigned lanes,    \
				    uint32_t *states, const uint8_t **at, const uint8_t *end,      \
				    const uint8_t *classes, uint8_t *codes, size_t groups)         \
	{                                                                                          \
		if (lanes == 64 && classes)                                                        \
			return decode_lanes(slots, scale_bits, 64, states, at, end, classes,       \
					    codes, groups);                                        \
		if (lanes == 64)                                                                   \
			return decode_lanes(slots, scale_bits, 64, states, at, end, NULL, codes,   \
					    groups);                                               \
		if (classes)                                                                       \
			return decode_lanes(slots, scale_bits, 16, states, at, end, classes,       \
					    codes, groups);                                        \
		return decode_lanes(slots, scale_bits, 16, states, at, end, NULL, codes, groups);  \
	}

/** decode16 and decode32 as decode, then the variant's unpack8, UNPACK8, or unpack32, and join. */
#define DEFINE_DECODE_JOINED(UNPACK8)                                                              \
	DEFINE_DECODE_AND_JOIN(16, uint8_t, UNPACK8)                                               \
	DEFINE_DECODE_AND_JOIN(32, uint32_t, unpack32)

/* In turns that stay in cache. */
#define DEFINE_DECODE_AND_JOIN(BITS, LOW, UNPACK)                                                  \
	TARGET static size_t decode##BITS(const uint32_t *slots, unsigned scale_bits,              \
					  uint32_t *states, const uint8_t **at,                    \
					  const uint8_t *end, const uint8_t *classes,              \
					  uint8_t *codes, size_t groups, struct kernel_join *join) \
	{                                                                                          \
		LOW low[2048];                                                                     \
		uint##BITS##_t *words = join->words;                                               \
		size_t n = decode(slots, scale_bits, 64, states, at, end, classes, codes, groups); \
		size_t count = 64 * n, turn, i;                                                    \
                                                                                                   \
		for (i = 0; i < count; i += turn) {                                                \
			turn = count - i < 2048 ? count - i : 2048;                                \
			UNPACK(low, join->low + i / 8 * join->bits, join->bits, turn / 8);         \
			join->escaped += join##BITS(&join->cut, words + i, codes + i, low, turn);  \
		}                                                                                  \
		return n;                                                                          \
	}

/** Changes those of n codes that have no share to 255; entries: what was looked up for them. */
static inline void kernels_mend(const uint32_t *shares, const uint8_t *classes, uint8_t *codes,
				uint32_t *entries, unsigned n)
{
	unsigned i;

	for (i = 0; i < n; i++) {
		if (entries[i] & 0xffff)
			continue;
		codes[i] = 255;
		entries[i] = shares[(classes ? (size_t)classes[i] << 8 : 0) | 255];
	}
}

/** encode as encode_lanes, likewise; scales of fewer bits are left to the scalar variant. */
#define DEFINE_ENCODE(SCALE_MIN)                                                                   \
	TARGET static uint8_t *encode(const uint32_t *shares, unsigned scale_bits, unsigned lanes, \
				      uint32_t *states, uint8_t *to, const uint8_t *classes,       \
				      uint8_t *codes, size_t groups)                               \
	{                                                                                          \
		if (scale_bits < SCALE_MIN)                                                        \
			return kernels_scalar.encode(shares, scale_bits, lanes, states, to,        \
						     classes, codes, groups);                      \
		if (lanes == 64 && classes)                                                        \
			return encode_lanes(shares, scale_bits, 64, states, to, classes, codes,    \
					    groups);                                               \
		if (lanes == 64)                                                                   \
			return encode_lanes(shares, scale_bits, 64, states, to, NULL, codes,       \
					    groups);                                               \
		if (classes)                                                                       \
			return encode_lanes(shares, scale_bits, 16, states, to, classes, codes,    \
					    groups);                                               \
		return encode_lanes(shares, scale_bits, 16, states, to, NULL, codes, groups);      \
	}

#endif
