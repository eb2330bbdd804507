/* SPDX-License-Identifier: Apache-2.0 */
#include "core/synthesis/expand.h"

#include <string.h>

#include "core/base/bits.h"
#include "core/base/error.h"
#include "core/entropy/literal.h"
#include "core/entropy/words.h"
#include "core/program/dispatch.h"
#include "core/program/fields.h"
#include "core/program/map.h"
#include "core/program/scan.h"

void *words_alloc(unsigned width, size_t count, struct words *out, struct brevis_error *err)
{
	/* Never nothing, so that NULL always means failure. */
	void *data = malloc(count ? count * word_bytes(width) : 1);

	if (!data) {
		error_nomem(err);
		return NULL;
	}
	*out = (struct words){data, width, count};
	return data;
}

void *words_copy(const struct words *in, struct words *out, struct brevis_error *err)
{
	void *data = words_alloc(in->width, in->count, out, err);

	if (data)
		memcpy(data, in->data, in->count * word_bytes(in->width));
	return data;
}

/* ---- repeat ---------------------------------------------------------------------------------- */

/* The first n words are copies of their first m; m divides n. */
static bool has_period(const struct words *in, size_t n, size_t m)
{
	size_t size = word_bytes(in->width);
	const uint8_t *bytes = in->data;

	return memcmp(bytes, bytes + m * size, (n - m) * size) == 0;
}

/*
 * The periods that divide n are the multiples of the smallest one, because with two of them their
 * greatest common divisor is one too. So the prime factors of n can be taken out of the period one
 * at a time, each as often as it goes. Words behind the period that was found last need no second
 * look: the comparisons that succeed take at most n words in total, and one can fail for each
 * prime.
 */
bool expand_repeat(const struct words *in, size_t *period)
{
	size_t m = in->count, left = in->count, prime;

	for (prime = 2; left > 1; prime += 1 + prime % 2) {
		if (prime > left / prime)
			prime = left; /* what is left has no smaller factor */
		if (left % prime)
			continue;
		while (m % prime == 0 && has_period(in, m, m / prime))
			m /= prime;
		while (left % prime == 0)
			left /= prime;
	}
	*period = m;
	return m < in->count;
}

/* ---- map, scan ------------------------------------------------------------------------------- */

int expand_map(const struct words *in, enum map_function f, uint64_t argument, struct words *out,
	       struct brevis_error *err)
{
	void *words = words_copy(in, out, err);

	if (!words)
		return BREVIS_E_NOMEM;
	map_invert(f, argument, words, in->width, in->count);
	return BREVIS_OK;
}

int expand_scan(const struct words *in, enum scan_function f, uint64_t *first, struct words *out,
		struct brevis_error *err)
{
	void *words = words_copy(in, out, err);

	if (!words)
		return BREVIS_E_NOMEM;
	*first = word_get(in->data, word_bytes(in->width), 0);
	scan_invert(f, words, in->width, in->count);
	out->count--;
	return BREVIS_OK;
}

/* ---- merge, pack ----------------------------------------------------------------------------- */

int expand_fields(const struct words *in, unsigned shift, unsigned width, struct words *out,
		  struct brevis_error *err)
{
	void *words = words_alloc(width, in->count, out, err);

	if (!words)
		return BREVIS_E_NOMEM;
	fields_extract(in->data, in->width, words, width, shift, in->count);
	return BREVIS_OK;
}

/* The parts of each byte; with a constant width the compiler vectorises the loop. */
ALWAYS_INLINE void split_bytes(const uint8_t *in, unsigned width, uint8_t *out, size_t size)
{
	unsigned j, k = 8 / width;
	size_t i;

	for (i = 0; i < size; i++)
		for (j = 0; j < k; j++)
			out[i * k + j] = (uint8_t)(in[i] >> (j * width) & (0xff >> (8 - width)));
}

/*
 * Words that fill their bytes, in little-endian order: the parts are those of one byte after the
 * other. Returns false if they do not, or if the parts are not cut that way.
 */
static bool split_in_order(const struct words *in, unsigned width, void *out)
{
	size_t size = in->count * word_bytes(in->width);

	if (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__ || in->width != 8 * word_bytes(in->width))
		return false;
	switch (width) {
	case 1:
		split_bytes(in->data, 1, out, size);
		return true;
	case 2:
		split_bytes(in->data, 2, out, size);
		return true;
	case 4:
		split_bytes(in->data, 4, out, size);
		return true;
	case 8:
	case 16:
	case 32:
		memcpy(out, in->data, size);
		return true;
	}
	return false;
}

int expand_pack(const struct words *in, unsigned k, struct words *out, struct brevis_error *err)
{
	unsigned width = in->width / k;
	void *words = words_alloc(width, in->count * k, out, err);

	if (!words)
		return BREVIS_E_NOMEM;
	if (!split_in_order(in, width, words))
		fields_unpack(in->data, in->width, words, k, in->count);
	return BREVIS_OK;
}

/* ---- escape ---------------------------------------------------------------------------------- */

/* What a word is above the base, modulo 2^b. */
#define ABOVE(T, word, base, mask) ((T)((T)((word) - (base)) & (mask)))

#define DEFINE_ESCAPED(T)                                                                          \
	/* Counts the words from `last` above the base; in *higher those that lie higher. */       \
	static size_t count_escaped_##T(const T *words, T base, T mask, T last, size_t *higher,    \
					size_t count)                                              \
	{                                                                                          \
		size_t i, from = 0, above = 0;                                                     \
                                                                                                   \
		for (i = 0; i < count; i++) {                                                      \
			from += ABOVE(T, words[i], base, mask) >= last;                            \
			above += ABOVE(T, words[i], base, mask) > last;                            \
		}                                                                                  \
		*higher = above;                                                                   \
		return from;                                                                       \
	}                                                                                          \
                                                                                                   \
	/* Copies them, one after another; what is behind the last one is written to as well. */   \
	static void copy_escaped_##T(const T *words, T base, T mask, T last, T *escaped,           \
				     size_t count)                                                 \
	{                                                                                          \
		size_t i;                                                                          \
                                                                                                   \
		for (i = 0; i < count; i++) {                                                      \
			*escaped = words[i];                                                       \
			escaped += ABOVE(T, words[i], base, mask) >= last;                         \
		}                                                                                  \
	}

FOR_EACH_WORD(DEFINE_ESCAPED)

#define DEFINE_CODES(W, F)                                                                         \
	static void put_codes_##W##_##F(const W *words, W base, W mask, W last, F *codes,          \
					size_t count)                                              \
	{                                                                                          \
		size_t i;                                                                          \
                                                                                                   \
		for (i = 0; i < count; i++) {                                                      \
			W code = ABOVE(W, words[i], base, mask);                                   \
                                                                                                   \
			codes[i] = (F)(code < last ? code : last);                                 \
		}                                                                                  \
	}

FOR_EACH_PAIR(DEFINE_CODES)

/*
 * Counted from the base, modulo 2^b, a word below the base is above all codes: at least at
 * 2^b - base, and base + 2^width - 1 is a word.
 */
int expand_escape(const struct words *in, unsigned width, uint64_t base, struct words *codes,
		  struct words *escaped, struct brevis_error *err)
{
	uint64_t mask = low_bits(in->width), last = low_bits(width);
	size_t count, higher;
	void *words, *escaped_words;

#define CALL(T) count = count_escaped_##T(in->data, (T)base, (T)mask, (T)last, &higher, in->count)
	DISPATCH_WORD(in->width, CALL)
#undef CALL
	if (!higher)
		count = 0; /* all words have codes */
	words = words_alloc(width, in->count, codes, err);
	if (!words)
		return BREVIS_E_NOMEM;
	escaped_words = words_alloc(in->width, count + 1, escaped, err);
	if (!escaped_words) {
		words_free(codes);
		return BREVIS_E_NOMEM;
	}
	escaped->count = count;
#define CALL(W, F) put_codes_##W##_##F(in->data, (W)base, (W)mask, (W)last, words, in->count)
	DISPATCH_PAIR(in->width, width, CALL)
#undef CALL
	if (!count)
		return BREVIS_OK;
#define CALL(T) copy_escaped_##T(in->data, (T)base, (T)mask, (T)last, escaped_words, in->count)
	DISPATCH_WORD(in->width, CALL)
#undef CALL
	return BREVIS_OK;
}
