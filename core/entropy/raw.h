/* SPDX-License-Identifier: Apache-2.0 */
/** The raw coding: each word in as few whole bytes as hold its width, little-endian. */
#ifndef CORE_ENTROPY_RAW_H
#define CORE_ENTROPY_RAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Bytes that a word of this width takes. */
static inline unsigned raw_bytes(unsigned width)
{
	return (width + 7) / 8;
}

/**
 * Turns count * raw_bytes(width) bytes into words laid out as literal.h says. False if a word has
 * bits above its width.
 */
bool raw_decode(const uint8_t *bytes, void *words, unsigned width, size_t count);

#endif
