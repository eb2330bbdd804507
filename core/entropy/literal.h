/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The physical codings of a literal: the leaf of a program that holds n words of a given width
 * verbatim (paper section 3.2, "Physical literal coding"). Seven codings; the encoder takes the
 * smallest complete one of those that it is told to try. Wire layout: docs/FORMAT.md, "Literals".
 *
 * Words of width 1..64 live in memory as arrays of the smallest of uint8_t, uint16_t, uint32_t,
 * uint64_t that holds them; bits above the width are zero.
 *
 * literal.h is what decoding needs; literal_encode.h is for synthesis only.
 */
#ifndef CORE_ENTROPY_LITERAL_H
#define CORE_ENTROPY_LITERAL_H

#include "core/base/buffer.h"
#include "core/brevis.h"
#include "core/entropy/codebook.h"

/** The coding is in the high 4 bits of the op byte of a lit node, above LITERAL_NODE. */
enum literal_coding {
	LITERAL_RAW = 0,     /* whole bytes, little-endian */
	LITERAL_PACKED = 1,  /* word - base in a fixed number of bits */
	LITERAL_HUFFMAN = 2, /* canonical Huffman; widths up to LITERAL_SYMBOL_BITS */
	LITERAL_RANS = 3,    /* interleaved rANS; widths up to LITERAL_SYMBOL_BITS */
	LITERAL_SHARED = 4,  /* the same with a table of the codebook */
	LITERAL_ZSTD = 5,    /* the bytes of the raw coding in a Zstandard frame */
	LITERAL_LZMA2 = 6    /* the same in an LZMA2 stream */
};

/** The low 4 bits of the op byte of a lit node. */
#define LITERAL_NODE 1

/** Widest words that have an entropy coding: an alphabet of 4096 symbols. */
#define LITERAL_SYMBOL_BITS 12

/** Bytes that all Zstandard and LZMA2 literals of a program yield, at most. */
#define LITERAL_LIBRARY_BYTES_MAX (UINT32_C(32) << 20)

/** A parsed literal. It points into the bytes it was parsed from. */
struct literal {
	enum literal_coding coding;
	unsigned width;  /* of a word, 1..64 */
	size_t count;    /* of words */
	uint64_t base;   /* packed */
	unsigned bits;   /* packed: bits of a word; rANS: log2 of the sum of the frequencies */
	unsigned lanes;  /* rANS, of any kind */
	unsigned tables; /* rANS with its own: one; routed: one for each class */
	const struct codebook *codebook; /* shared: of its table ... */
	unsigned number;                 /* ... which has this number */
	/* Huffman, rANS: the tables as stored, checked when parsed */
	struct span table;
	struct span payload;
};

/**
 * Parses and checks everything of a literal but its words: coding, parameters, tables, lengths.
 * *in stands behind the op byte that the coding comes from; exactly the literal is consumed.
 * codebook is the archive's, or NULL, and must outlive the literal. Allocates nothing.
 */
int literal_parse(struct span *in, unsigned coding, unsigned width, size_t count,
		  const struct codebook *codebook, struct literal *out, struct brevis_error *err);

/**
 * The same for what a route has behind its classes: rANS with a table for each of `classes`. Its
 * words are decoded by literal_decoder_next_routed.
 */
int literal_parse_routed(struct span *in, unsigned width, size_t count, unsigned classes,
			 struct literal *out, struct brevis_error *err);

/** Bytes that a library yields for this literal; 0 for the codings that need none. */
uint64_t literal_library_bytes(const struct literal *literal);

/** Decoding state of one literal. */
struct literal_decoder;

/**
 * Makes a decoder, with its tables. Memory is bounded by LITERAL_SYMBOL_BITS, never by the count;
 * but for literal_library_bytes(), which are decoded right here (the caller has checked that they
 * are not too many). The literal's bytes must outlive it.
 */
int literal_decoder_new(const struct literal *literal, struct literal_decoder **out,
			struct brevis_error *err);

/**
 * Yields the next count words. Never more than the literal holds in total (the caller's duty).
 * Damaged payload may yield wrong words here, never an access out of bounds;
 * literal_decoder_finish tells.
 */
int literal_decoder_next(struct literal_decoder *decoder, void *words, size_t count,
			 struct brevis_error *err);

/** The same for a routed literal; classes has the class of each of these words. */
int literal_decoder_next_routed(struct literal_decoder *decoder, const uint8_t *classes,
				void *words, size_t count, struct brevis_error *err);

struct kernel_join;

/** Whether literal_decoder_next_joined can do anything for this literal. */
bool literal_joins(const struct literal *literal);

/**
 * Yields as many of the next count codes as kernels can join in the same go, to words of 16 or 32
 * bits. classes: NULL unless the literal is routed. Returns how many that are, perhaps none: the
 * others are to be had as usual.
 */
size_t literal_decoder_next_joined(struct literal_decoder *decoder, const uint8_t *classes,
				   uint8_t *codes, size_t count, unsigned width,
				   struct kernel_join *join);

/** After the last word: checks that the payload was used up exactly and ends as it must. */
int literal_decoder_finish(const struct literal_decoder *decoder, struct brevis_error *err);

/**
 * Back to the first word, as a new decoder would be; but the tables, and what a library has
 * yielded, stay: the time does not depend on the literal.
 */
void literal_decoder_rewind(struct literal_decoder *decoder);

void literal_decoder_free(struct literal_decoder *decoder);

/** Bytes of memory that a word of this width takes: 1, 2, 4 or 8. */
static inline unsigned word_bytes(unsigned width)
{
	return width <= 8 ? 1 : width <= 16 ? 2 : width <= 32 ? 4 : 8;
}

#endif
