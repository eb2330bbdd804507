/* SPDX-License-Identifier: Apache-2.0 */
#include "core/program/scan.h"

#include "core/base/bits.h"
#include "core/program/dispatch.h"

#define DEFINE_SCANS(T)                                                                            \
	static T apply_##T(enum scan_function f, T last, T *words, T mask, size_t count)           \
	{                                                                                          \
		size_t i;                                                                          \
                                                                                                   \
		if (f == SCAN_XOR)                                                                 \
			for (i = 0; i < count; i++)                                                \
				words[i] = last = (T)(last ^ words[i]);                            \
		else                                                                               \
			for (i = 0; i < count; i++)                                                \
				words[i] = last = (T)((last + words[i]) & mask);                   \
		return last;                                                                       \
	}                                                                                          \
                                                                                                   \
	static void invert_##T(enum scan_function f, T *words, T mask, size_t count)               \
	{                                                                                          \
		size_t i;                                                                          \
                                                                                                   \
		if (f == SCAN_XOR)                                                                 \
			for (i = 0; i + 1 < count; i++)                                            \
				words[i] = (T)(words[i + 1] ^ words[i]);                           \
		else                                                                               \
			for (i = 0; i + 1 < count; i++)                                            \
				words[i] = (T)((words[i + 1] - words[i]) & mask);                  \
	}

FOR_EACH_WORD(DEFINE_SCANS)

void scan_apply(enum scan_function f, uint64_t *last, void *words, unsigned width, size_t count)
{
#define CALL(T) *last = apply_##T(f, (T)*last, words, (T)low_bits(width), count)
	DISPATCH_WORD(width, CALL)
#undef CALL
}

void scan_invert(enum scan_function f, void *words, unsigned width, size_t count)
{
#define CALL(T) invert_##T(f, words, (T)low_bits(width), count)
	DISPATCH_WORD(width, CALL)
#undef CALL
}
