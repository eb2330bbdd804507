/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Where to cut a word into fields. One exact histogram of the upper 16 bits (all bits of narrower
 * words) is a sufficient statistic: the histogram of each of their fields, and so its order-0 cost,
 * follows from it by folding. The lower bits of wide words are taken as bytes.
 */
#ifndef CORE_SYNTHESIS_PARTITION_H
#define CORE_SYNTHESIS_PARTITION_H

#include "core/brevis.h"
#include "core/entropy/codebook.h"

#define PARTITION_MAX_FIELDS 24

/** Bits of the upper part of a word, whose fields can be cut anywhere. */
#define PARTITION_UPPER 16

struct partition {
	unsigned count;
	unsigned widths[PARTITION_MAX_FIELDS]; /* from the highest bits down */
	uint64_t cost;                         /* of the fields, in bits */
	uint64_t bound;                        /* bits that they do not go below as leaves */
};

/** What every field of the words costs as a leaf. */
struct partition_prices {
	unsigned upper; /* bits of the upper part: 16, or all of narrower words */
	/* In bits, by the bits above the field and those of the field. */
	uint64_t fields[PARTITION_UPPER][PARTITION_UPPER + 1];
	uint64_t bounds[PARTITION_UPPER][PARTITION_UPPER + 1]; /* that no leaf goes below */
	uint64_t varying;       /* bits that are not the same in all words */
	struct partition lower; /* the bits below the upper part, as fields */
};

/**
 * Prices the fields of count words of 1 to 64 bits in the machine's own order. If there are very
 * many, *upper gets the counts of the upper part for partition_fold, to be freed with free(); else
 * it becomes NULL. A codebook (or NULL) matters to few words only.
 */
int partition_price(const void *words, unsigned width, size_t count,
		    const struct codebook *codebook, struct partition_prices *out, uint32_t **upper,
		    struct brevis_error *err);

/** The counts of the field of `width` bits below `above` others, from those of all bits. */
int partition_fold(const uint32_t *upper, unsigned bits, unsigned above, unsigned width,
		   uint32_t *out, struct brevis_error *err);

/** The cheapest cut of bits begin to end (counted from the highest) of the upper part. */
void partition_best(const struct partition_prices *prices, unsigned begin, unsigned end,
		    struct partition *out);

/** Appends the fields of one partition to another. */
void partition_append(struct partition *to, const struct partition *more);

#endif
