/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Bounded A* (paper section 3.3, Algorithm 1): from one hole to the smallest program for it.
 *
 * The search works backwards from the target. A state is a program with holes; expanding its
 * leftmost hole by a rule takes the hole's stream apart into those of its children. States wait in
 * the order of g + h, the cost of their productions under the prior and an admissible bound for
 * those still to come; among equals the smaller program goes first, as histograms price it. States
 * that cannot get smaller than the best program are cut off by a bound in bytes. Complete programs
 * are judged by nothing but their exact serialised size.
 */
#ifndef CORE_SYNTHESIS_SEARCH_H
#define CORE_SYNTHESIS_SEARCH_H

#include "core/base/buffer.h"
#include "core/brevis.h"
#include "core/synthesis/prior.h"
#include "core/synthesis/rules.h"

struct search_options {
	const struct prior *prior; /* or NULL: all rules are equally probable */
	unsigned dtype;            /* of the tensor, for the prior */
	bool first_come;           /* without A*: states wait in the order of their making */
	bool counts;               /* search_finish will be asked for them */
	uint64_t limit;            /* programs of so many bytes are not wanted; 0: all are */
};

struct search;

/** Begins with a hole for the stream. Give up with search_free. NULL: no memory. */
struct search *search_new(struct stream *root, const struct search_options *options);
void search_free(struct search *search);

/** Computes up to budget expansions with the rules of an effort. May be called again. */
int search_explore(struct search *search, enum effort effort, unsigned budget,
		   struct brevis_error *err);

/**
 * Appends the smallest program of all that the search came upon, if it is below the limit; it is
 * never larger than the literal one. counts, if it is not NULL, gets the productions of that
 * program.
 */
int search_finish(struct search *search, struct buffer *out, struct prior *counts,
		  struct brevis_error *err);

#endif
