/* SPDX-License-Identifier: Apache-2.0 */
/** Numbers and paths as people read them. */
#ifndef FILTER_TEXT_H
#define FILTER_TEXT_H

#include <stdint.h>
#include <stdio.h>

/** Bytes that size_text needs. */
#define SIZE_TEXT 32

/** Writes a size for people, in decimal units: "934 B", "12.3 MB". Returns text. */
const char *size_text(uint64_t size, char text[SIZE_TEXT]);

/** Tenths of a percent that part is of whole, rounded down; of nothing it is 0. Does not overflow
 * unless part is more than a million times whole. */
uint64_t per_mille(uint64_t part, uint64_t whole);

/** Writes how much smaller stored is than original, in tenths of a percent: "34.2 % saved", or
 * "1.0 % more". Returns text. */
const char *saved_text(uint64_t original, uint64_t stored, char text[SIZE_TEXT]);

/** Writes a path or a name, escaped as escape.h says: what is in it must not rule a terminal. */
void print_path(FILE *out, const char *path);

/**
 * The path as a word of a shell's command that people may copy out of a message: in quotes unless
 * it needs none. Caller frees. Returns NULL when memory is short.
 */
char *shell_word(const char *path);

#endif
