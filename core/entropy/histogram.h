/* SPDX-License-Identifier: Apache-2.0 */
/** Counting words, and their range. */
#ifndef CORE_ENTROPY_HISTOGRAM_H
#define CORE_ENTROPY_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * Counts words of width <= LITERAL_SYMBOL_BITS into a histogram of 1 << width counts. False if a
 * word has bits above its width; the histogram is then of no use.
 */
bool histogram_of(uint32_t *histogram, const void *words, unsigned width, size_t count);

/** Smallest and largest of count >= 1 words of any width. */
void word_range(const void *words, unsigned width, size_t count, uint64_t *smallest,
		uint64_t *largest);

#endif
