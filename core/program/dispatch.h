/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Choosing among loops that exist once for each type of words, so that compilers vectorise them.
 * The word types are uint8_t, uint16_t, uint32_t and uint64_t (core/entropy/literal.h).
 */
#ifndef CORE_PROGRAM_DISPATCH_H
#define CORE_PROGRAM_DISPATCH_H

#include <stdint.h>

#include "core/entropy/literal.h"

/** X(T) for each word type. */
#define FOR_EACH_WORD(X) X(uint8_t) X(uint16_t) X(uint32_t) X(uint64_t)

/** X(W, F) for each pair of word types of which the second is not wider. */
#define FOR_EACH_PAIR(X)                                                                           \
	X(uint8_t, uint8_t)                                                                        \
	X(uint16_t, uint8_t)                                                                       \
	X(uint16_t, uint16_t)                                                                      \
	X(uint32_t, uint8_t)                                                                       \
	X(uint32_t, uint16_t)                                                                      \
	X(uint32_t, uint32_t)                                                                      \
	X(uint64_t, uint8_t)                                                                       \
	X(uint64_t, uint16_t)                                                                      \
	X(uint64_t, uint32_t)                                                                      \
	X(uint64_t, uint64_t)

/** The statement CALL(T) for the type of words of this width. */
#define DISPATCH_WORD(width, CALL)                                                                 \
	switch (word_bytes(width)) {                                                               \
	case 1:                                                                                    \
		CALL(uint8_t);                                                                     \
		break;                                                                             \
	case 2:                                                                                    \
		CALL(uint16_t);                                                                    \
		break;                                                                             \
	case 4:                                                                                    \
		CALL(uint32_t);                                                                    \
		break;                                                                             \
	default:                                                                                   \
		CALL(uint64_t);                                                                    \
	}

#define DISPATCH_CASE(W, F, CALL)                                                                  \
	case sizeof(W) * 16 + sizeof(F):                                                           \
		CALL(W, F);                                                                        \
		break

/** The statement CALL(W, F) for words of these two widths, the second not above the first. */
#define DISPATCH_PAIR(width, field_width, CALL)                                                    \
	switch (word_bytes(width) * 16 + word_bytes(field_width)) {                                \
		DISPATCH_CASE(uint8_t, uint8_t, CALL);                                             \
		DISPATCH_CASE(uint16_t, uint8_t, CALL);                                            \
		DISPATCH_CASE(uint16_t, uint16_t, CALL);                                           \
		DISPATCH_CASE(uint32_t, uint8_t, CALL);                                            \
		DISPATCH_CASE(uint32_t, uint16_t, CALL);                                           \
		DISPATCH_CASE(uint32_t, uint32_t, CALL);                                           \
		DISPATCH_CASE(uint64_t, uint8_t, CALL);                                            \
		DISPATCH_CASE(uint64_t, uint16_t, CALL);                                           \
		DISPATCH_CASE(uint64_t, uint32_t, CALL);                                           \
		DISPATCH_CASE(uint64_t, uint64_t, CALL);                                           \
	}

#endif
