/* SPDX-License-Identifier: Apache-2.0 */
#include "core/program/map.h"

#include "core/base/bits.h"
#include "core/program/dispatch.h"

/* Loops for words of type T, of which only the bits of mask are used. */
#define DEFINE_MAPS(T)                                                                             \
	static void xor_##T(T *words, T argument, size_t count)                                    \
	{                                                                                          \
		size_t i;                                                                          \
                                                                                                   \
		for (i = 0; i < count; i++)                                                        \
			words[i] = (T)(words[i] ^ argument);                                       \
	}                                                                                          \
                                                                                                   \
	static void add_##T(T *words, T argument, T mask, size_t count)                            \
	{                                                                                          \
		size_t i;                                                                          \
                                                                                                   \
		for (i = 0; i < count; i++)                                                        \
			words[i] = (T)((words[i] + argument) & mask);                              \
	}                                                                                          \
                                                                                                   \
	/* Twice the word; all its bits inverted if its highest one is set. */                     \
	static void zigzag_##T(T *words, unsigned width, T mask, size_t count)                     \
	{                                                                                          \
		size_t i;                                                                          \
                                                                                                   \
		for (i = 0; i < count; i++) {                                                      \
			T sign = (T)(0 - (T)(words[i] >> (width - 1)));                            \
                                                                                                   \
			words[i] = (T)(((T)(words[i] << 1) ^ sign) & mask);                        \
		}                                                                                  \
	}                                                                                          \
                                                                                                   \
	static void unzigzag_##T(T *words, T mask, size_t count)                                   \
	{                                                                                          \
		size_t i;                                                                          \
                                                                                                   \
		for (i = 0; i < count; i++) {                                                      \
			T sign = (T)(0 - (T)(words[i] & 1));                                       \
                                                                                                   \
			words[i] = (T)((T)(words[i] >> 1) ^ (T)(sign & mask));                     \
		}                                                                                  \
	}                                                                                          \
                                                                                                   \
	static void gray_##T(T *words, size_t count)                                               \
	{                                                                                          \
		size_t i;                                                                          \
                                                                                                   \
		for (i = 0; i < count; i++)                                                        \
			words[i] = (T)(words[i] ^ (words[i] >> 1));                                \
	}                                                                                          \
                                                                                                   \
	/* Each bit is the XOR of all bits from it up, gathered from twice as far each time. */    \
	static void ungray_##T(T *words, size_t count)                                             \
	{                                                                                          \
		unsigned shift;                                                                    \
		size_t i;                                                                          \
                                                                                                   \
		for (shift = 1; shift < 8 * sizeof(T); shift *= 2)                                 \
			for (i = 0; i < count; i++)                                                \
				words[i] = (T)(words[i] ^ (words[i] >> shift));                    \
	}                                                                                          \
                                                                                                   \
	/* Swaps neighbouring bits, pairs, ...; then the unused bits are the lowest ones. */       \
	static void reverse_##T(T *words, unsigned width, size_t count)                            \
	{                                                                                          \
		unsigned unused = 8 * (unsigned)sizeof(T) - width;                                 \
		unsigned shift;                                                                    \
		size_t i;                                                                          \
                                                                                                   \
		for (shift = 1; shift < 8 * sizeof(T); shift *= 2) {                               \
			T lower = (T)((T)-1 / (T)(((T)1 << shift) + 1));                           \
                                                                                                   \
			for (i = 0; i < count; i++)                                                \
				words[i] = (T)((T)(words[i] >> shift & lower) |                    \
					       (T)((T)(words[i] & lower) << shift));               \
		}                                                                                  \
		for (i = 0; i < count; i++)                                                        \
			words[i] = (T)(words[i] >> unused);                                        \
	}                                                                                          \
                                                                                                   \
	static void rotate_##T(T *words, unsigned left, unsigned width, T mask, size_t count)      \
	{                                                                                          \
		size_t i;                                                                          \
                                                                                                   \
		for (i = 0; i < count; i++)                                                        \
			words[i] = (T)(((T)(words[i] << left) | (T)(words[i] >> (width - left))) & \
				       mask);                                                      \
	}                                                                                          \
                                                                                                   \
	static void map_##T(enum map_function f, uint64_t argument, T *words, unsigned width,      \
			    size_t count)                                                          \
	{                                                                                          \
		T mask = (T)low_bits(width);                                                       \
                                                                                                   \
		switch (f) {                                                                       \
		case MAP_XOR:                                                                      \
			xor_##T(words, (T)argument, count);                                        \
			break;                                                                     \
		case MAP_ADD:                                                                      \
			add_##T(words, (T)argument, mask, count);                                  \
			break;                                                                     \
		case MAP_ZIGZAG:                                                                   \
			zigzag_##T(words, width, mask, count);                                     \
			break;                                                                     \
		case MAP_UNZIGZAG:                                                                 \
			unzigzag_##T(words, mask, count);                                          \
			break;                                                                     \
		case MAP_GRAY:                                                                     \
			gray_##T(words, count);                                                    \
			break;                                                                     \
		case MAP_UNGRAY:                                                                   \
			ungray_##T(words, count);                                                  \
			break;                                                                     \
		case MAP_REVERSE:                                                                  \
			reverse_##T(words, width, count);                                          \
			break;                                                                     \
		case MAP_ROTATE:                                                                   \
			rotate_##T(words, (unsigned)argument, width, mask, count);                 \
			break;                                                                     \
		}                                                                                  \
	}

FOR_EACH_WORD(DEFINE_MAPS)

void map_apply(enum map_function f, uint64_t argument, void *words, unsigned width, size_t count)
{
#define CALL(T) map_##T(f, argument, words, width, count)
	DISPATCH_WORD(width, CALL)
#undef CALL
}

void map_invert(enum map_function f, uint64_t argument, void *words, unsigned width, size_t count)
{
	static const enum map_function inverse[MAP_FUNCTIONS] = {
		[MAP_XOR] = MAP_XOR,         [MAP_ADD] = MAP_ADD,       [MAP_ZIGZAG] = MAP_UNZIGZAG,
		[MAP_UNZIGZAG] = MAP_ZIGZAG, [MAP_GRAY] = MAP_UNGRAY,   [MAP_UNGRAY] = MAP_GRAY,
		[MAP_REVERSE] = MAP_REVERSE, [MAP_ROTATE] = MAP_ROTATE,
	};

	if (f == MAP_ADD)
		argument = (0 - argument) & low_bits(width);
	else if (f == MAP_ROTATE)
		argument = width - argument;
	map_apply(inverse[f], argument, words, width, count);
}
