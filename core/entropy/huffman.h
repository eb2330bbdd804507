/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Canonical Huffman codes. A code's length is stored as the level (levels.h) longest + 1 - length.
 */
#ifndef CORE_ENTROPY_HUFFMAN_H
#define CORE_ENTROPY_HUFFMAN_H

#include "core/base/bits.h"
#include "core/entropy/literal.h"

/** Longest code on the wire. */
#define HUFFMAN_LONGEST 15

/** Codes for the symbols first .. first + range - 1. */
/** Slots of a decoding table for each word, at most; no optimal code of so few words needs more. */
#define HUFFMAN_SLOTS_PER_WORD 32

struct huffman_table {
	unsigned longest;
	unsigned first;
	unsigned range;
};

/**
 * Reads and checks a table, leaves *in behind it. lengths, of 1 << width entries and zeroed before,
 * may be NULL: then the table is only checked.
 */
int huffman_table_read(struct span *in, unsigned width, struct huffman_table *table,
		       uint8_t *lengths, struct brevis_error *err);

/**
 * Assigns the canonical codes: shorter ones first, then lower symbols first. next[length] is the
 * code of the next symbol of that length.
 */
void huffman_first_codes(const uint8_t *lengths, const struct huffman_table *table,
			 uint32_t next[HUFFMAN_LONGEST + 1]);

/** The code's highest bit goes first onto a stream that is filled from the lowest bit. */
uint32_t huffman_reverse(uint32_t code, unsigned length);

struct huffman_decoder {
	const uint8_t *data;
	uint64_t size;     /* bytes */
	uint64_t position; /* bits */
	unsigned longest;
	uint32_t entries[]; /* symbol << 4 | length, by the next `longest` bits */
};

/** Bytes of a decoder for this literal. */
size_t huffman_decoder_size(const struct literal *literal);
int huffman_decoder_init(struct huffman_decoder *d, const struct literal *literal,
			 struct brevis_error *err);
int huffman_decode(struct huffman_decoder *d, void *words, unsigned width, size_t count,
		   struct brevis_error *err);
void huffman_decoder_rewind(struct huffman_decoder *d);
int huffman_decoder_finish(const struct huffman_decoder *d, struct brevis_error *err);

#endif
