/* SPDX-License-Identifier: Apache-2.0 */
#include "core/entropy/frequencies.h"

#include "core/base/error.h"
#include "core/entropy/levels.h"

/* The rest of a share whose level has been read: its highest bits, then zeros. */
static unsigned read_share(struct bit_reader *bits, unsigned level, unsigned precision)
{
	unsigned below = level - 1;
	unsigned stored = below < precision ? below : precision;

	return (1u << stored | (unsigned)bit_read(bits, stored)) << (below - stored);
}

/* Reads the shares of all symbols of the range but one; *sum is what they add up to. */
static int read_shares(struct bit_reader *in, const struct frequency_table *table, uint16_t *shares,
		       uint32_t *sum, struct brevis_error *err)
{
	struct bit_reader bits = *in; /* nobody else has it: it stays in registers */
	struct level_reader levels;
	unsigned level = 0;
	unsigned i;

	level_reader_init(&levels, &bits, table->scale_bits);
	for (i = 0; i < table->range; i++) {
		unsigned share;

		if (i == table->rest)
			continue;
		level = level_read(&levels);
		if (!level && (i == 0 || i == table->range - 1))
			break;
		if (!level)
			continue;
		share = read_share(&bits, level, table->precision);
		*sum += share;
		if (shares)
			shares[table->first + i] = (uint16_t)share;
	}
	*in = bits;
	if (levels.failed || level_reader_in_run(&levels))
		return error_set(err, BREVIS_E_FORMAT,
				 "rANS table: the size of a frequency is out of range");
	if (i < table->range)
		return error_set(err, BREVIS_E_FORMAT,
				 "rANS table: it begins or ends with a symbol of frequency 0");
	return BREVIS_OK;
}

int frequency_table_read(struct bit_reader *bits, unsigned width, struct frequency_table *table,
			 uint16_t *shares, struct brevis_error *err)
{
	unsigned last;
	uint32_t sum = 0;
	int status;

	table->first = (unsigned)bit_read(bits, width);
	last = table->first + 1 + (unsigned)bit_read(bits, width);
	if (last >= 1u << width)
		return error_set(err, BREVIS_E_FORMAT,
				 "rANS table: symbol %u is outside the alphabet of %u bits", last,
				 width);
	table->range = last - table->first + 1;
	table->rest = (unsigned)bit_read(bits, bit_length(table->range - 1));
	if (table->rest >= table->range)
		return error_set(err, BREVIS_E_FORMAT,
				 "rANS table: the symbol of the rest is outside the table");
	status = read_shares(bits, table, shares, &sum, err);
	if (bits->in.failed)
		return error_set(err, BREVIS_E_FORMAT, "rANS table: cut short");
	if (status)
		return status;
	if (sum >= 1u << table->scale_bits)
		return error_set(err, BREVIS_E_FORMAT, "rANS table: frequencies sum to over 2^%u",
				 table->scale_bits);
	if (shares)
		shares[table->first + table->rest] = (uint16_t)((1u << table->scale_bits) - sum);
	return BREVIS_OK;
}

int frequency_tables_end(const struct bit_reader *bits, struct span *in, struct brevis_error *err)
{
	if (!bit_reader_end(bits, in))
		return error_set(err, BREVIS_E_FORMAT, "rANS table: padding bits are set");
	return BREVIS_OK;
}
