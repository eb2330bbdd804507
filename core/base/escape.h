/* SPDX-License-Identifier: Apache-2.0 */
/** Text of strangers (names of tensors, paths) made safe to show on a terminal. */
#ifndef CORE_BASE_ESCAPE_H
#define CORE_BASE_ESCAPE_H

#include <stddef.h>

/** Bytes that one byte of text takes at most. */
#define ESCAPE_GROWTH 4

/**
 * Copies text to out, which has room for size >= 1 bytes. What is not printable UTF-8, or moves the
 * cursor or turns the direction of writing (C0, C1 and bidirectional controls), becomes \xNN, byte
 * by byte. What does not fit is left out, whole characters at a time. Returns the length; out ends
 * with NUL.
 */
size_t escape_text(char *out, size_t size, const char *text);

#endif
