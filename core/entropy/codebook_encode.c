/* SPDX-License-Identifier: Apache-2.0 */
#include "core/entropy/codebook_encode.h"

#include "core/base/error.h"
#include "core/entropy/frequencies_encode.h"
#include "core/entropy/log2.h"
#include "core/entropy/rans_encode.h"

/*
 * Shares of 2^12 slots suit words of every frequency that matters, and each of the 2^12 symbols of
 * the widest words gets one.
 */
#define SHARED_SCALE_BITS 12

int codebook_put_table(struct buffer *out, const uint32_t *histogram, unsigned width,
		       struct brevis_error *err)
{
	struct frequency_plan plan;
	struct bit_writer bits;
	uint64_t total = 0;
	unsigned n = 0;
	unsigned i;
	int status;

	for (i = 0; i < 1u << width; i++) {
		total += histogram[i];
		n += histogram[i] > 0;
	}
	if (n < 2)
		return error_set(err, BREVIS_E_USAGE, "codebook: a table of %u symbols", n);
	status = frequency_plan_scaled(&plan, histogram, width, total, SHARED_SCALE_BITS,
				       frequency_precision(total, n), err);
	if (!status) {
		buffer_u8(out, (uint8_t)width);
		buffer_u8(out, (uint8_t)((SHARED_SCALE_BITS - FREQUENCY_BITS_MIN) |
					 plan.table.precision << 5));
		bit_writer_init(&bits, out);
		frequency_table_write(&bits, &plan, width);
		bit_writer_flush(&bits);
		if (out->failed)
			status = error_nomem(err);
	}
	frequency_plan_release(&plan);
	return status;
}

/*
 * Bits that the words of a tally take with a table of their width, but for the lanes of a literal;
 * or at least `most`, if it is more than that. UINT64_MAX if one of them has no share.
 */
static uint64_t tally_shared_cost(const struct codebook *codebook, unsigned number,
				  const struct tally *tally, uint64_t most)
{
	const uint16_t *shares = codebook_shares(codebook, number);
	uint32_t all = codebook_scale_bits(codebook, number) << LOG2_FRACTION;
	uint64_t cost = 0;
	unsigned i;

	for (i = 0; i < tally->n && cost >> LOG2_FRACTION < most; i++) {
		unsigned share = shares[tally->symbols[i]];

		if (!share)
			return UINT64_MAX;
		cost += tally->counts[i] * (uint64_t)(all - log2_fixed(share));
	}
	return cost >> LOG2_FRACTION;
}

uint64_t codebook_cheapest(const struct codebook *codebook, const struct tally *tally,
			   unsigned *number)
{
	unsigned tables = codebook ? codebook_count(codebook) : 0, i;
	uint64_t best = UINT64_MAX;

	for (i = 0; i < tables; i++) {
		uint64_t cost;

		if (codebook_width(codebook, i) != tally->width)
			continue;
		cost = tally_shared_cost(codebook, i, tally, best);
		if (cost < best) {
			best = cost;
			*number = i;
		}
	}
	return best;
}

uint64_t codebook_tally_cost(const struct codebook *codebook, const struct tally *tally)
{
	/* Op byte, number, lanes and the payload's size. */
	uint64_t parameters = 8 * 5 + rans_lanes_cost(rans_lanes(tally->count));
	unsigned number;
	uint64_t best = codebook_cheapest(codebook, tally, &number);

	return best < UINT64_MAX - parameters ? best + parameters : UINT64_MAX;
}

uint64_t codebook_literal_cost(const struct codebook *codebook, const uint32_t *histogram,
			       unsigned width, size_t count)
{
	struct tally tally;

	tally_take(&tally, histogram, width, count);
	return codebook_tally_cost(codebook, &tally);
}
