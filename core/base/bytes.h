/* SPDX-License-Identifier: Apache-2.0 */
/** Little-endian loads and stores, overflow-checked sizes. Independent of the host's byte order. */
#ifndef CORE_BASE_BYTES_H
#define CORE_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

static inline void store_le16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)v;
	p[1] = (uint8_t)(v >> 8);
}

static inline void store_le32(uint8_t *p, uint32_t v)
{
	store_le16(p, (uint16_t)v);
	store_le16(p + 2, (uint16_t)(v >> 16));
}

static inline void store_le64(uint8_t *p, uint64_t v)
{
	store_le32(p, (uint32_t)v);
	store_le32(p + 4, (uint32_t)(v >> 32));
}

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
