/* SPDX-License-Identifier: Apache-2.0 */
/** The encoding side of packed.h. */
#ifndef CORE_ENTROPY_PACKED_ENCODE_H
#define CORE_ENTROPY_PACKED_ENCODE_H

#include "core/entropy/packed.h"

/** Packs count words of word_bytes(width) into packed_size bytes at to. */
void packed_encode(uint8_t *to, const void *words, unsigned width, size_t count, uint64_t base,
		   unsigned bits);

#endif
