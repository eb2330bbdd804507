/* SPDX-License-Identifier: Apache-2.0 */
/** The encoding side of raw.h. */
#ifndef CORE_ENTROPY_RAW_ENCODE_H
#define CORE_ENTROPY_RAW_ENCODE_H

#include "core/entropy/raw.h"

/** True if words of this width have in memory the bytes that the raw coding gives them. */
bool raw_is_memory(unsigned width);

/** Writes the count * raw_bytes(width) bytes of words laid out as literal.h says. */
void raw_encode(uint8_t *to, const void *words, unsigned width, size_t count);

#endif
