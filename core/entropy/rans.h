/* SPDX-License-Identifier: Apache-2.0 */
/**
 * rANS with 32-bit states in [2^16, 2^32), renormalised by 16-bit words, in 1, 4 or 32 interleaved
 * lanes: word i of the literal belongs to lane i mod lanes.
 */
#ifndef CORE_ENTROPY_RANS_H
#define CORE_ENTROPY_RANS_H

#include "core/entropy/frequencies.h"
#include "core/entropy/literal.h"

#define RANS_LANES_MAX 32

/** A state's lower bound, and its value before the first and after the last word. */
#define RANS_LOW (UINT32_C(1) << 16)

/**
 * A decoding table of more than 1 << FREQUENCY_BITS_MIN slots has at most this many for each word
 * of the literal: the time to make it is in proportion to what it yields.
 */
#define RANS_SLOTS_PER_WORD 2

/** Slots of a table whose entries fit 32 bits, for words of up to 8 bits. */
#define RANS_SHORT_BITS 12

struct rans_decoder {
	const uint8_t *at; /* next 16-bit word */
	const uint8_t *end;
	unsigned scale_bits;
	unsigned lanes;
	unsigned lane; /* of the next word */
	bool failed;   /* sticky: a word was wanted past the end */
	uint32_t states[RANS_LANES_MAX];
	/*
	 * An entry for each slot. Short: symbol << 24 | share << 12 | bias. Long: symbol << 32 |
	 * share << 16 | bias. The bias is the slot's place in its symbol's share.
	 */
	union {
		uint32_t short_entries[2];
		uint64_t long_entries[1];
	} table; /* as long as rans_decoder_size says */
};

/**
 * Reads the parameter byte (scale, lanes, precision) and checks it. `in` as for span_u8.
 */
int rans_parameters_read(struct span *in, struct frequency_table *table, unsigned *lanes,
			 struct brevis_error *err);

/** Bytes of a decoder for this literal. */
size_t rans_decoder_size(const struct literal *literal);

/** Fills the decoder from a literal that literal_parse has checked. */
int rans_decoder_init(struct rans_decoder *d, const struct literal *literal,
		      struct brevis_error *err);
int rans_decode(struct rans_decoder *d, void *words, unsigned width, size_t count,
		struct brevis_error *err);
int rans_decoder_finish(const struct rans_decoder *d, struct brevis_error *err);

#endif
