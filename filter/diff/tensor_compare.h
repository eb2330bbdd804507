/* SPDX-License-Identifier: Apache-2.0 */
/** How the elements of two tensors of the same type and shape differ. */
#ifndef FILTER_TENSOR_COMPARE_H
#define FILTER_TENSOR_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * What was found. An element has changed if its bits have: -0 that becomes 0 has, by nothing. A
 * change has a difference if that is a finite number; one from or to NaN or an infinity has none,
 * nor has one that is beyond the largest double. largest and mean are of the changes that have a
 * difference, absolute, and 0 if there is none.
 */
struct tensor_difference {
	uint64_t elements; /* compared; of types that are no whole bytes: bytes */
	uint64_t changed;
	bool has_values; /* the type's elements are numbers that we know; else nothing below counts
			  */
	bool is_integer; /* largest_integer is exact */
	uint64_t finite; /* changes that have a difference */
	double largest;
	double mean;
	uint64_t largest_integer;
	uint64_t nan[2];      /* changed elements that were NaN, and that are NaN now */
	uint64_t infinite[2]; /* the same of infinities */
};

struct element_type;

/** A comparison under way. */
struct tensor_compare {
	const struct element_type *type;
	struct tensor_difference found; /* without mean */
	double sum;                     /* of differences, of floats */
	uint64_t sum_low, sum_high;     /* the same of integers */
	double values[256];             /* of the codes of an 8-bit float */
};

/** Begins to compare tensors of a type, as safetensors names it. BOOL is 0 or 1. */
void tensor_compare_begin(struct tensor_compare *compare, const char *dtype);

/** Bytes of an element: what is added comes in multiples of it. */
size_t tensor_compare_width(const struct tensor_compare *compare);

/** Adds the next len bytes of both. Neither need be aligned. */
void tensor_compare_add(struct tensor_compare *compare, const void *before, const void *after,
			size_t len);

/** Tells what was found so far. */
void tensor_compare_end(const struct tensor_compare *compare, struct tensor_difference *out);

#endif
