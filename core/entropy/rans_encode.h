/* SPDX-License-Identifier: Apache-2.0 */
/** The encoding side of rans.h. */
#ifndef CORE_ENTROPY_RANS_ENCODE_H
#define CORE_ENTROPY_RANS_ENCODE_H

#include "core/entropy/frequencies_encode.h"
#include "core/entropy/rans.h"

/** Lanes that suit this many words. */
unsigned rans_lanes(size_t count);

/** Bits that lanes take beside those of the words: of each, those that say how long its state is,
 * and about as many that the words of its tail waste. */
static inline uint64_t rans_lanes_cost(unsigned lanes)
{
	return RANS_TAIL_BITS + 2 * RANS_EXCESS_BITS * (uint64_t)lanes;
}

/** The number that stands for so many lanes in the bytes. */
unsigned rans_lanes_code(unsigned lanes);

/**
 * A bound in bytes of payload size and payload for words that cost so many bits. Fewer suffice only
 * if a lane's tail ends with several words that are the first symbol: those cost nothing.
 */
uint64_t rans_payload_bound(uint64_t bits, unsigned lanes);

/** The same of parameters, table, payload size and payload. */
uint64_t rans_size_bound(const struct frequency_plan *plan, unsigned lanes);

/** Words that classes are asked for at a time, at most: so many stay in the nearest cache. */
#define RANS_BLOCK_WORDS 4096

/**
 * Words to encode. They stay as they are, but for codes (of 8 bits, in enough lanes for kernels)
 * that have no share: these become 255, which then must have one.
 */
struct rans_input {
	void *words;
	unsigned width;
	size_t count;
	unsigned tables;
	/* Gives the classes of the words first to first + count; NULL: there is one table. */
	void (*classify)(void *ctx, size_t first, uint8_t *classes, size_t count);
	void *ctx;
};

/** A payload that is still to be put in its place. Release with rans_units_release. */
struct rans_units {
	unsigned lanes;
	unsigned tail; /* words of each lane */
	uint32_t states[RANS_LANES_MAX];
	uint8_t *memory;
	struct span units;
};

/** Appends payload size and payload. */
void rans_units_put(struct buffer *out, const struct rans_units *units);
void rans_units_release(struct rans_units *units);

/**
 * Appends payload size and payload if they take less than `limit` bytes. shares: 1 << width of them
 * for each table, which sum to 1 << scale_bits, none of them being all of it, one table behind the
 * other; each word has one. *fits tells; if not, *out is as before. Failure of the buffer shows in
 * it.
 */
int rans_payload_encode(struct buffer *out, const uint16_t *shares, unsigned scale_bits,
			unsigned lanes, const struct rans_input *in, uint64_t limit, bool *fits,
			struct brevis_error *err);

/**
 * Appends parameters and tables; payload size and payload are left to rans_units_put. plans: of
 * each table; they agree in scale and precision.
 */
int rans_tables_encode(struct buffer *out, const struct frequency_plan *plans, unsigned lanes,
		       const struct rans_input *in, struct rans_units *units,
		       struct brevis_error *err);

/**
 * Appends parameters, tables, payload size and payload if they take less than `limit` bytes in all.
 * plans: of each table; they agree in scale and precision. *fits tells; if not, *out is as before.
 * Failure of the buffer shows in it.
 */
int rans_encode(struct buffer *out, const struct frequency_plan *plans, unsigned lanes,
		const struct rans_input *in, uint64_t limit, bool *fits, struct brevis_error *err);

#endif
