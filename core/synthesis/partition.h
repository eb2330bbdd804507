/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Where to cut a word into fields. One exact histogram of the upper 16 bits (all bits of narrower
 * words) is a sufficient statistic: the histogram of each of their fields, and so its order-0 cost,
 * follows from it by folding. The lower bits of wide words are taken as bytes.
 */
#ifndef CORE_SYNTHESIS_PARTITION_H
#define CORE_SYNTHESIS_PARTITION_H

#include "core/brevis.h"

#define PARTITION_MAX_FIELDS 24

struct partition {
	unsigned count;
	unsigned widths[PARTITION_MAX_FIELDS]; /* from the highest bits down */
};

/**
 * Finds the cut with the least estimated cost for count words of 8, 16, 32 or 64 bits in the
 * machine's own order. One field means: do not cut.
 */
int partition_find(const void *words, unsigned width, size_t count, struct partition *out,
		   struct brevis_error *err);

#endif
