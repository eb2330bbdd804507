/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Fields of words: cutting them out, putting them in. Arrays are laid out as core/entropy/literal.h
 * says. These loops never allocate and never check: their callers have.
 */
#ifndef CORE_PROGRAM_FIELDS_H
#define CORE_PROGRAM_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * Places each field of field_width bits at bit shift of the word of the same index. The first field
 * of a word sets it, further ones are added; the bits must be free.
 */
void fields_insert(void *words, unsigned width, const void *fields, unsigned field_width,
		   unsigned shift, bool first, size_t count);

/** The inverse: cuts field_width bits at bit shift out of each word. */
void fields_extract(const void *words, unsigned width, void *fields, unsigned field_width,
		    unsigned shift, size_t count);

/** Makes each of count words of k successive fields of width / k bits, the first one lowest. */
void fields_pack(void *words, unsigned width, const void *fields, unsigned k, size_t count);

/** The inverse: cuts each of count words into k fields. */
void fields_unpack(const void *words, unsigned width, void *fields, unsigned k, size_t count);

/**
 * Makes each word the sum of base and its code of code_width bits; they may be in the same place if
 * base is 0 and they have the same type. Returns how many codes are the largest one there is.
 */
size_t fields_from_codes(void *words, unsigned width, const void *codes, unsigned code_width,
			 uint64_t base, size_t count);

/** Replaces the n words whose code is the largest one by those of escaped, in order; likewise. */
void fields_escape(void *words, unsigned width, const void *codes, unsigned code_width,
		   const void *escaped, size_t n, size_t count);

/** Turns words of 8, 16, 32 or 64 bits into little-endian bytes, in place; and back. */
void fields_to_bytes(void *words, unsigned width, size_t count);

#endif
