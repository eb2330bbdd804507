/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The production prior (paper section 3.3, Equation 9): how often each rule was part of the
 * smallest programs of a sample, by the context of the hole. It orders the search and decides
 * nothing else: every rule keeps a probability above 0.
 */
#ifndef CORE_SYNTHESIS_PRIOR_H
#define CORE_SYNTHESIS_PRIOR_H

#include "core/base/buffer.h"
#include "core/brevis.h"
#include "core/synthesis/rules.h"

/** Contexts from the most detailed to the coarsest; a seldom seen one backs off to the next. */
#define PRIOR_LEVELS 3

/** The context of a hole: a key for each level of detail. */
struct prior_context {
	uint64_t keys[PRIOR_LEVELS];
	unsigned admissible; /* rules that the types allow */
};

/** Costs are in bits with LOG2_FRACTION fraction bits. */
struct prior;

/** An empty prior, under which all rules are equally probable. NULL: no memory. */
struct prior *prior_new(void);
void prior_free(struct prior *prior);

/** The context of a stream at a place: types and features of its words, of a sample if many. */
struct prior_context prior_context_of(const struct words *words, const struct place *place);

/** Counts a rule of a smallest program. */
int prior_count(struct prior *prior, const struct prior_context *context, enum rule rule,
		struct brevis_error *err);

/** -log2 of the rule's probability (Equation 10); of a uniform one if prior is NULL. */
uint64_t prior_cost(const struct prior *prior, const struct prior_context *context, enum rule rule);

/**
 * A cost that completing any hole takes at least, whatever its context: the relaxed grammar has one
 * production for every hole, the one that is cheapest anywhere. (Not a leaf's: a cheap operator may
 * have children that allow nothing but leaves, which cost nothing.) 0 for holes of which the types
 * allow nothing but a leaf.
 */
uint64_t prior_floor(const struct prior *prior, unsigned admissible);

/** Appends it as bytes, which depend on the counts only. */
void prior_write(const struct prior *prior, struct buffer *out);

/** Reads what prior_write wrote. BREVIS_E_FORMAT if it is damaged. */
int prior_parse(struct span *in, struct prior **out, struct brevis_error *err);

#endif
