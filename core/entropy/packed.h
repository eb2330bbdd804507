/* SPDX-License-Identifier: Apache-2.0 */
/** The packed coding: word - base in a fixed number of bits, in the order of core/base/bits.h. */
#ifndef CORE_ENTROPY_PACKED_H
#define CORE_ENTROPY_PACKED_H

#include "core/entropy/literal.h"

/** Bytes that count words of so many bits take. False if that overflows. */
bool packed_size(size_t count, unsigned bits, uint64_t *bytes);

/**
 * Unpacks words first..first + count of the payload, which must hold them. BREVIS_E_FORMAT if one
 * is wider than the literal's width.
 */
int packed_decode(const struct literal *literal, size_t first, void *words, size_t count,
		  struct brevis_error *err);

#endif
