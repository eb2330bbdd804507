/* SPDX-License-Identifier: Apache-2.0 */
#include "core/synthesis/alphabet.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"

static void fill_scales(struct alphabet *a, const uint32_t *counts, enum symbol_scale scale)
{
	unsigned all = 1u << a->width, middle = 0, s;

	a->mask = scale == SCALE_MAGNITUDE ? all - 1 : scale == SCALE_SIGNED ? all / 2 - 1 : 0;
	for (s = 0; s < all; s++)
		if (counts[s] > counts[middle])
			middle = s;
	for (s = 0; s < all; s++) {
		unsigned distance = (s - middle) & (all - 1);

		if (scale == SCALE_MAGNITUDE)
			a->scales[s] = (uint16_t)s;
		else if (scale == SCALE_SIGNED)
			a->scales[s] = (uint16_t)(s & (all / 2 - 1));
		else
			a->scales[s] = (uint16_t)(distance < all / 2 ? distance : all - distance);
	}
}

static void count_symbols(const struct words *in, uint32_t *counts)
{
	size_t i;

	if (in->width <= 8)
		for (i = 0; i < in->count; i++)
			counts[((const uint8_t *)in->data)[i]]++;
	else
		for (i = 0; i < in->count; i++)
			counts[((const uint16_t *)in->data)[i]]++;
}

int alphabet_init(struct alphabet *a, const struct words *in, const uint32_t *histogram,
		  enum symbol_scale scale, unsigned fold, struct brevis_error *err)
{
	size_t all = (size_t)1 << in->width;
	uint32_t *counts = calloc(all, sizeof(*counts));
	unsigned s;

	*a = (struct alphabet){.width = in->width, .fold = fold};
	a->of_symbol = calloc(3 * all, sizeof(*a->of_symbol));
	if (!counts || !a->of_symbol) {
		free(counts);
		free(a->of_symbol);
		return error_nomem(err);
	}
	a->symbols = a->of_symbol + all;
	a->scales = a->symbols + all;
	if (histogram)
		memcpy(counts, histogram, sizeof(*counts) * all);
	else
		count_symbols(in, counts);
	a->is_plain = in->width == 8 && fold == ALPHABET_FOLD;
	for (s = 0; s < all; s++) {
		bool known = a->count && (unsigned)a->symbols[a->count - 1] >> fold == s >> fold;

		if ((counts[s] || a->is_plain) && !known)
			a->symbols[a->count++] = (uint16_t)s;
		a->of_symbol[s] = (uint16_t)(a->count ? a->count - 1 : 0);
	}
	fill_scales(a, counts, scale);
	free(counts);
	return BREVIS_OK;
}

void alphabet_release(struct alphabet *a)
{
	free(a->of_symbol);
	a->of_symbol = NULL;
}
