/* SPDX-License-Identifier: Apache-2.0 */
#include "core/program/grid.h"

#include "core/program/dispatch.h"

#define DEFINE_FLIPS(T)                                                                            \
	/* One column after another. */                                                            \
	static void flip_columns_##T(T *words, const uint8_t *flags, unsigned shift, size_t count) \
	{                                                                                          \
		size_t i;                                                                          \
                                                                                                   \
		for (i = 0; i < count; i++)                                                        \
			words[i] = (T)(words[i] ^ (T)((T)flags[i] << shift));                      \
	}                                                                                          \
                                                                                                   \
	/* Words of one column. */                                                                 \
	static void flip_run_##T(T *words, uint8_t flag, unsigned shift, size_t count)             \
	{                                                                                          \
		T bit = (T)((T)flag << shift);                                                     \
		size_t i;                                                                          \
                                                                                                   \
		for (i = 0; i < count; i++)                                                        \
			words[i] = (T)(words[i] ^ bit);                                            \
	}                                                                                          \
                                                                                                   \
	static void flip_##T(const struct grid *grid, const uint8_t *flags, size_t first,          \
			     T *words, unsigned shift, size_t count)                               \
	{                                                                                          \
		struct grid_place at = grid_place(grid, first);                                    \
		size_t i, n;                                                                       \
                                                                                                   \
		for (i = 0; i < count; i += n) {                                                   \
			size_t left = grid->inner == 1 ? grid->columns - at.column                 \
						       : grid->inner - at.within;                  \
                                                                                                   \
			n = count - i < left ? count - i : left;                                   \
			if (grid->inner == 1)                                                      \
				flip_columns_##T(words + i, flags + at.column, shift, n);          \
			else                                                                       \
				flip_run_##T(words + i, flags[at.column], shift, n);               \
			at.column = grid->inner == 1 || at.column + 1 == grid->columns             \
					    ? 0                                                    \
					    : at.column + 1;                                       \
			at.within = 0;                                                             \
		}                                                                                  \
	}

FOR_EACH_WORD(DEFINE_FLIPS)

void grid_flip(const struct grid *grid, const uint8_t *flags, size_t first, void *words,
	       unsigned width, size_t count)
{
#define CALL(T) flip_##T(grid, flags, first, words, width - 1, count)
	DISPATCH_WORD(width, CALL)
#undef CALL
}
