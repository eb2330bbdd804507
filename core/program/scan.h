/* SPDX-License-Identifier: Apache-2.0 */
/** The updates of scan. Arrays are laid out as core/entropy/literal.h says. */
#ifndef CORE_PROGRAM_SCAN_H
#define CORE_PROGRAM_SCAN_H

#include <stddef.h>
#include <stdint.h>

/** The numbers are those of the wire. */
enum scan_function { SCAN_XOR = 0, SCAN_ADD = 1 };

#define SCAN_FUNCTIONS 2

/** Turns steps into words, in place. *last is the word before them and becomes the last of them. */
void scan_apply(enum scan_function f, uint64_t *last, void *words, unsigned width, size_t count);

/** Turns count >= 1 words into the count - 1 steps from each of them to the next, in place. */
void scan_invert(enum scan_function f, void *words, unsigned width, size_t count);

#endif
