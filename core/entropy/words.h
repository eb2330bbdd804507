/* SPDX-License-Identifier: Apache-2.0 */
/** Access to arrays of words of 1, 2, 4 or 8 bytes. With a constant size the switch folds away. */
#ifndef CORE_ENTROPY_WORDS_H
#define CORE_ENTROPY_WORDS_H

#include <stddef.h>
#include <stdint.h>

#define ALWAYS_INLINE static inline __attribute__((always_inline))

ALWAYS_INLINE uint64_t word_get(const void *words, unsigned size, size_t i)
{
	switch (size) {
	case 1:
		return ((const uint8_t *)words)[i];
	case 2:
		return ((const uint16_t *)words)[i];
	case 4:
		return ((const uint32_t *)words)[i];
	default:
		return ((const uint64_t *)words)[i];
	}
}

ALWAYS_INLINE void word_set(void *words, unsigned size, size_t i, uint64_t v)
{
	switch (size) {
	case 1:
		((uint8_t *)words)[i] = (uint8_t)v;
		break;
	case 2:
		((uint16_t *)words)[i] = (uint16_t)v;
		break;
	case 4:
		((uint32_t *)words)[i] = (uint32_t)v;
		break;
	default:
		((uint64_t *)words)[i] = v;
		break;
	}
}

#endif
