/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The inverse expansions of the operators (paper section 3.3): each takes the stream that a node
 * must yield apart into the streams that the node's children must yield, so that
 *
 *     D(x) = (x1, ..., xk)  implies  G(x1, ..., xk) = x            (paper Equation 8)
 *
 * with G as docs/FORMAT.md, "Programs", has it. lit and const have no children; concat's are parts
 * of the stream, of which expand_runs says where to cut.
 *
 * What is here never checks: the parameters must be ones that the format's rules allow for the type
 * of the stream, and the stream must have a word at least. Streams that an expansion makes are
 * allocated by it and belong to the caller, who ends them with words_free; on failure there are
 * none. Each takes time linear in the number of words.
 */
#ifndef CORE_SYNTHESIS_EXPAND_H
#define CORE_SYNTHESIS_EXPAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "core/brevis.h"
#include "core/program/program.h"

/** A target stream: words as core/entropy/literal.h lays them out, in the machine's order. */
struct words {
	const void *data;
	unsigned width; /* of a word, in bits */
	size_t count;
};

/** Memory for count words (0 is allowed), to be filled through the pointer. NULL: none, see *err.
 */
void *words_alloc(unsigned width, size_t count, struct words *out, struct brevis_error *err);

/** words_alloc, filled with what is in another stream. */
void *words_copy(const struct words *in, struct words *out, struct brevis_error *err);

static inline void words_free(struct words *words)
{
	free((void *)words->data);
	words->data = NULL;
}

/**
 * The smallest period m < n that divides n, such that the stream is n / m copies of its first m
 * words, which are the child's. Returns false if there is none.
 */
bool expand_repeat(const struct words *in, size_t *period);

/** Each word's preimage under the function. */
int expand_map(const struct words *in, enum map_function f, uint64_t argument, struct words *out,
	       struct brevis_error *err);

/** The first word, and the count - 1 updates that lead to the others. At least 2 words. */
int expand_scan(const struct words *in, enum scan_function f, uint64_t *first, struct words *out,
		struct brevis_error *err);

/** One child of a merge: the field of so many bits whose lowest one is `shift`. */
int expand_fields(const struct words *in, unsigned shift, unsigned width, struct words *out,
		  struct brevis_error *err);

/** The children of a pack, k to a word: count * k words of width / k bits, the lowest one first. */
int expand_pack(const struct words *in, unsigned k, struct words *out, struct brevis_error *err);

/**
 * The children of an escape. Words from base to base + 2^width - 2 become the codes 0 to
 * 2^width - 2. If all others are base + 2^width - 1, they get the code 2^width - 1, and
 * escaped->count is 0; otherwise that code stands for each of them, and *escaped holds them.
 * base + 2^width - 1 must be a word.
 */
int expand_escape(const struct words *in, unsigned width, uint64_t base, struct words *codes,
		  struct words *escaped, struct brevis_error *err);

/** The child of a flip: the highest bits flipped in the columns whose flag is 1. */
int expand_flip(const struct words *in, const struct grid *grid, const uint8_t *flags,
		struct words *out, struct brevis_error *err);

/** Some of the places that are looked at: every parts-th, from `number` on. */
struct flip_part {
	unsigned number, parts;
};

/**
 * Counts the highest bits of the words of each column, of a part of about `words` of them, which
 * are evenly spread: *seen says of how many. words is less than 2^14.
 */
int flip_count(const struct words *in, const struct grid *grid, size_t words,
	       const struct flip_part *part, uint32_t *counts, size_t *seen,
	       struct brevis_error *err);

/**
 * Flags of a flip, one for each column: 1 where more than half of the words have their highest bit
 * set, of some hundred of them. *flags is for free(). *flipped is the number of flags that are 1;
 * *saved: bits that the signs seem to take less then, the flags not counted.
 */
int flip_majority(const struct words *in, const struct grid *grid, uint8_t **flags, size_t *flipped,
		  uint64_t *saved, struct brevis_error *err);

/** A run of equal words is worth a node of its own from this length on. */
#define RUN_MIN 64

#define RUNS_MAX_CUTS 8

/** Where to cut a stream into parts for concat. */
struct runs {
	size_t head;                /* words of the run at its start; 0 if fewer than RUN_MIN */
	size_t tail;                /* the same at its end; 0 if that is the run at its start */
	unsigned count;             /* of cuts between the two */
	size_t cuts[RUNS_MAX_CUTS]; /* words before each, ascending */
};

/**
 * Finds the runs of at least RUN_MIN equal words: those at both ends, and the places where the
 * longest of the others begin and end (of equally long ones the first).
 */
void expand_runs(const struct words *in, struct runs *out);

#endif
