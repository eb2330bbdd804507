/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Frequency tables of rANS: every symbol that occurs has a share of 2^scale_bits slots.
 *
 * A share is stored as its level (levels.h), the number of its bits, followed by the next
 * `precision` bits after the highest; bits after those are 0. Small literals afford no more: a
 * share off by a few per cent costs less than the bits that say it exactly. What is left of the
 * slots belongs to one symbol that is named and not listed, normally the most frequent one.
 */
#ifndef CORE_ENTROPY_FREQUENCIES_H
#define CORE_ENTROPY_FREQUENCIES_H

#include "core/base/bits.h"
#include "core/entropy/literal.h"

#define FREQUENCY_BITS_MIN      8
#define FREQUENCY_BITS_MAX      14
#define FREQUENCY_PRECISION_MAX 7

/** Shares of the symbols first .. first + range - 1. */
struct frequency_table {
	unsigned scale_bits;
	unsigned precision;
	unsigned first;
	unsigned range;
	unsigned rest; /* the symbol, counted from first, that has what the others leave */
};

/**
 * Reads and checks a table whose scale_bits and precision are set, and leaves *bits behind it.
 * shares, of 1 << width entries and zeroed before, may be NULL: then the table is only checked.
 */
int frequency_table_read(struct bit_reader *bits, unsigned width, struct frequency_table *table,
			 uint16_t *shares, struct brevis_error *err);

/** Checks the padding behind the last table of a bit stream, and leaves *in behind it. */
int frequency_tables_end(const struct bit_reader *bits, struct span *in, struct brevis_error *err);

#endif
