/* SPDX-License-Identifier: Apache-2.0 */
#include "core/entropy/histogram.h"

#include "core/entropy/literal.h"
#include "core/entropy/words.h"

#include <string.h>

/* Count tables in turn, so that a run of equal words waits less for its own increments. */
#define TABLES 2

static void count_bytes(uint32_t tables[TABLES][256], const uint8_t *words, size_t count)
{
	size_t i;

	for (i = 0; i + 2 <= count; i += 2) {
		tables[0][words[i]]++;
		tables[1][words[i + 1]]++;
	}
	if (i < count)
		tables[0][words[i]]++;
}

static bool histogram_of_bytes(uint32_t *histogram, const uint8_t *words, unsigned width,
			       size_t count)
{
	uint32_t tables[TABLES][256] = {0};
	uint32_t beyond = 0;
	unsigned i;

	count_bytes(tables, words, count);
	for (i = 0; i < 256; i++) {
		uint32_t sum = tables[0][i] + tables[1][i];

		if (i < 1u << width)
			histogram[i] = sum;
		else
			beyond += sum;
	}
	return beyond == 0;
}

static bool histogram_of_shorts(uint32_t *histogram, const uint16_t *words, unsigned width,
				size_t count)
{
	uint32_t second[1 << LITERAL_SYMBOL_BITS];
	uint16_t mask = (uint16_t)((1u << width) - 1);
	unsigned all = 0;
	unsigned j;
	size_t i;

	memset(histogram, 0, sizeof(*histogram) << width);
	memset(second, 0, sizeof(*second) << width);
	for (i = 0; i + 2 <= count; i += 2) {
		all |= (unsigned)words[i] | words[i + 1];
		histogram[words[i] & mask]++;
		second[words[i + 1] & mask]++;
	}
	if (i < count) {
		all |= words[i];
		histogram[words[i] & mask]++;
	}
	for (j = 0; j <= mask; j++)
		histogram[j] += second[j];
	return all <= mask;
}

bool histogram_of(uint32_t *histogram, const void *words, unsigned width, size_t count)
{
	if (word_bytes(width) == 1)
		return histogram_of_bytes(histogram, words, width, count);
	return histogram_of_shorts(histogram, words, width, count);
}

/* One loop for each type of words, so that the compiler vectorises it. */
#define DEFINE_RANGE(T)                                                                            \
	static void range_##T(const T *words, size_t count, uint64_t *smallest, uint64_t *largest) \
	{                                                                                          \
		T low = words[0];                                                                  \
		T high = words[0];                                                                 \
		size_t i;                                                                          \
                                                                                                   \
		for (i = 1; i < count; i++) {                                                      \
			low = words[i] < low ? words[i] : low;                                     \
			high = words[i] > high ? words[i] : high;                                  \
		}                                                                                  \
		*smallest = low;                                                                   \
		*largest = high;                                                                   \
	}

DEFINE_RANGE(uint8_t)
DEFINE_RANGE(uint16_t)
DEFINE_RANGE(uint32_t)
DEFINE_RANGE(uint64_t)

void word_range(const void *words, unsigned width, size_t count, uint64_t *smallest,
		uint64_t *largest)
{
	switch (word_bytes(width)) {
	case 1:
		range_uint8_t(words, count, smallest, largest);
		break;
	case 2:
		range_uint16_t(words, count, smallest, largest);
		break;
	case 4:
		range_uint32_t(words, count, smallest, largest);
		break;
	default:
		range_uint64_t(words, count, smallest, largest);
		break;
	}
}
