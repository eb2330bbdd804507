/* SPDX-License-Identifier: Apache-2.0 */
/**
 * rANS with states in [2^15, 2^31), renormalised by 16-bit units, in 1, 4, 16 or 64 interleaved
 * lanes: word i of the literal belongs to lane i mod lanes. A routed literal has several tables,
 * and each of its words a class that says which one is its own.
 *
 * The last words of each lane, as many of all as the payload says, are its tail. The last one is
 * the state that encoding begins with, which has room for the others without giving off units; then
 * RANS_LOW is added. So a lane does not cost the bits that it would begin with otherwise.
 */
#ifndef CORE_ENTROPY_RANS_H
#define CORE_ENTROPY_RANS_H

#include "core/entropy/frequencies.h"
#include "core/entropy/literal.h"
#include "core/kernels/kernels.h"

#define RANS_LANES_MAX KERNEL_LANES_MAX

/** Bounds of a state, but within the tail: there it is less than their difference. */
#define RANS_LOW_BITS 15
#define RANS_LOW      KERNEL_STATE_LOW
#define RANS_HIGH     (UINT32_C(1) << 31)
_Static_assert(RANS_LOW == UINT32_C(1) << RANS_LOW_BITS, "states of kernels");

/** Bits of the number of words of a lane's tail, and the most that there can be. */
#define RANS_TAIL_BITS 4
#define RANS_TAIL_MAX  ((1u << RANS_TAIL_BITS) - 1)

/** Bits of the number by which a state's bits exceed those of RANS_LOW. */
#define RANS_EXCESS_BITS 4

/**
 * A decoding table of more than 1 << FREQUENCY_BITS_MIN slots has at most this many for each word
 * of the literal: the time to make it is in proportion to what it yields.
 */
#define RANS_SLOTS_PER_WORD 2

/** Words that kernels code: of at most so many bits, with tables of at most 1 << KERNEL_SCALE_MAX
 * slots. */
#define RANS_CODE_BITS 8

static inline bool rans_is_short(unsigned width, unsigned scale_bits)
{
	return width <= RANS_CODE_BITS && scale_bits <= KERNEL_SCALE_MAX;
}

/** From this many lanes on, words that kernels code are coded by kernels. */
#define RANS_KERNEL_LANES 16

struct rans_decoder {
	const uint8_t *at; /* next unit */
	const uint8_t *end;
	unsigned width; /* of a word */
	unsigned scale_bits;
	unsigned lanes;
	unsigned lane; /* of the next word */
	size_t main;   /* words left before the tail */
	size_t tail;   /* words left in it, of all lanes */
	bool in_tail;
	bool failed; /* sticky: a unit was wanted past the end */
	uint32_t states[RANS_LANES_MAX];
	const void *slots; /* those below, or the codebook's */
	uint64_t own_slots[];
};

/*
 * A table of slots has an entry for each. Short: that of kernel_slot(). Long: symbol <<
 * 32 | share << 16 | bias. The bias is the slot's place in its symbol's share.
 */

/** Bytes of the slots for words of this width and shares of this scale. */
size_t rans_slots_size(unsigned width, unsigned scale_bits);

/** Gives each of the 1 << width symbols its slots, in the order of symbols. */
void rans_slots_fill(void *slots, unsigned width, unsigned scale_bits, const uint16_t *shares);

/** The lanes that a number in the bytes stands for; 0 if it stands for none. */
unsigned rans_lanes_of(unsigned code);

/**
 * Reads the parameter byte (scale, lanes, precision) and checks it. `in` as for span_u8.
 */
int rans_parameters_read(struct span *in, struct frequency_table *table, unsigned *lanes,
			 struct brevis_error *err);

/**
 * Reads what a payload begins with: of how many words the tail of a lane is, and the initial
 * states. *payload then has the units left.
 */
int rans_payload_read(struct span *payload, unsigned lanes, unsigned *tail,
		      uint32_t states[RANS_LANES_MAX], struct brevis_error *err);

/** Bytes of a decoder for this literal. */
size_t rans_decoder_size(const struct literal *literal);

/** Fills the decoder from a literal of either rANS coding that literal_parse has checked. */
int rans_decoder_init(struct rans_decoder *d, const struct literal *literal,
		      struct brevis_error *err);

/** Yields the next count words. classes: of each of them, less than the literal's tables; NULL: 0.
 */
int rans_decode(struct rans_decoder *d, void *words, const uint8_t *classes, size_t count,
		struct brevis_error *err);

/**
 * Decodes as many of the next count codes as kernels can join in the same go, to words of 16 or 32
 * bits: of 64 lanes, and short. Returns how many that are, perhaps none; rans_decode has the
 * others.
 */
size_t rans_decode_join(struct rans_decoder *d, const uint8_t *classes, uint8_t *codes,
			size_t count, unsigned width, struct kernel_join *join);

/** Back to the first word. The literal is that of rans_decoder_init. */
void rans_decoder_rewind(struct rans_decoder *d, const struct literal *literal);
int rans_decoder_finish(const struct rans_decoder *d, struct brevis_error *err);

#endif
