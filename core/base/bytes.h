/* SPDX-License-Identifier: Apache-2.0 */
/** Little-endian loads and stores, overflow-checked sizes. Independent of the host's byte order. */
#ifndef CORE_BASE_BYTES_H
#define CORE_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t load_le16(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

static inline uint32_t load_le32(const uint8_t *p)
{
	return (uint32_t)load_le16(p) | (uint32_t)load_le16(p + 2) << 16;
}

static inline uint64_t load_le64(const uint8_t *p)
{
	return (uint64_t)load_le32(p) | (uint64_t)load_le32(p + 4) << 32;
}

/* Compilers make one store of a copy, but not always of single bytes. */
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define TO_LE(BITS, V) __builtin_bswap##BITS(V)
#else
#define TO_LE(BITS, V) (V)
#endif

#define DEFINE_STORE(BITS)                                                                         \
	static inline void store_le##BITS(uint8_t *p, uint##BITS##_t v)                            \
	{                                                                                          \
		v = TO_LE(BITS, v);                                                                \
		memcpy(p, &v, sizeof(v));                                                          \
	}

DEFINE_STORE(16)
DEFINE_STORE(32)
DEFINE_STORE(64)

#undef DEFINE_STORE
#undef TO_LE

/** Stores a + b and returns true, or returns false if that does not fit. */
static inline bool checked_add(uint64_t a, uint64_t b, uint64_t *sum)
{
	return !__builtin_add_overflow(a, b, sum);
}

/** Stores a * b and returns true, or returns false if that does not fit. */
static inline bool checked_mul(uint64_t a, uint64_t b, uint64_t *product)
{
	return !__builtin_mul_overflow(a, b, product);
}

#endif
