/* SPDX-License-Identifier: Apache-2.0 */
/** The bijections of map. Arrays are laid out as core/entropy/literal.h says. */
#ifndef CORE_PROGRAM_MAP_H
#define CORE_PROGRAM_MAP_H

#include <stddef.h>
#include <stdint.h>

/** The numbers are those of the wire. */
enum map_function {
	MAP_XOR = 0,  /* argument: the word to combine with */
	MAP_ADD,      /* argument: the word to add */
	MAP_ZIGZAG,   /* small negative and positive numbers become small words */
	MAP_UNZIGZAG, /* and back */
	MAP_GRAY,
	MAP_UNGRAY,
	MAP_REVERSE, /* the bits */
	MAP_ROTATE   /* argument: bits to rotate left by, 1 to width - 1 */
};

#define MAP_FUNCTIONS 8

/**
 * Applies the function to each word, in place. The argument must fit the width; functions that have
 * none ignore it.
 */
void map_apply(enum map_function f, uint64_t argument, void *words, unsigned width, size_t count);

/** The inverse of map_apply with the same argument. */
void map_invert(enum map_function f, uint64_t argument, void *words, unsigned width, size_t count);

#endif
