/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The productions of the search: each rule is an operator (with the kind of its parameters) and
 * says, for a target stream, which parameters are worth a try, what the program would then take,
 * and what its children must yield (paper section 3.3, "Target-directed expansion").
 */
#ifndef CORE_SYNTHESIS_RULES_H
#define CORE_SYNTHESIS_RULES_H

#include "core/synthesis/stream.h"

/** Stored in priors by number: append only, or change MODEL_VERSION (core/compress/model.c). */
enum rule {
	RULE_LEAF = 0, /* const or lit */
	RULE_MATCH,    /* lit with a coding that looks for repeated strings */
	RULE_MERGE,    /* the cheapest cut into fields */
	RULE_MERGE_ROUTED,
	RULE_MERGE_FLOAT,
	RULE_MERGE_BITS,
	RULE_MERGE_BYTES,
	RULE_ROUTE,
	RULE_FLIP,
	RULE_MASK, /* escape of 1-bit codes: one word, and all others */
	RULE_ESCAPE,
	RULE_PACK,
	RULE_CONCAT,
	RULE_REPEAT,
	RULE_SCAN_XOR,
	RULE_SCAN_ADD,
	RULE_MAP, /* and the functions of map after it */
	RULES = RULE_MAP + 8
};

/** How many rules are tried, and how hard. */
enum effort { EFFORT_FAST, EFFORT_DEFAULT, EFFORT_BEST };

/** Where a hole stands in a program. */
struct place {
	enum rule parent;  /* RULES: none, the hole is the root */
	unsigned position; /* among its siblings */
	unsigned depth;    /* 1 for the root */
	unsigned dtype;    /* of the tensor */
};

/** A rule with its parameters. */
struct proposal {
	enum rule rule;
	uint64_t estimate; /* of the hole's whole program, its other holes being leaves, in bytes */
	struct partition cut; /* merges */
	struct runs runs;     /* concat */
	struct grid grid;     /* flip */
	uint64_t number;      /* repeat: times; map: argument; escape: base; pack: k */
	unsigned width;       /* escape: of the codes; match: the level of Zstandard */
	unsigned routed;      /* merge: number of the field that has the plan */
};

#define PROPOSALS_MAX 32

struct proposals {
	unsigned count;
	struct proposal list[PROPOSALS_MAX];
};

/**
 * Lists what is worth a try at a hole, without RULE_LEAF, which always is. room: nodes that the
 * program may still get, the hole's own included; below that depth nothing is proposed.
 */
int rules_propose(struct stream *stream, const struct place *place, enum effort effort,
		  unsigned room, struct proposals *out, struct brevis_error *err);

/**
 * Takes the stream apart as proposed (Equation 8): appends the node's own bytes to *head and makes
 * the children's streams (RULE_MATCH has none). *applies is false if that turns out not to be
 * possible.
 */
int rules_expand(struct stream *stream, const struct proposal *proposal, struct buffer *head,
		 struct stream **children, unsigned *arity, bool *applies,
		 struct brevis_error *err);

/** The most words that the literals among the parameters of the proposed node have. */
size_t rules_side_words(const struct stream *stream, const struct proposal *proposal);

/** The number of rules that the types allow at such a hole, RULE_LEAF included. */
unsigned rules_admissible(const struct words *words, const struct place *place);

#endif
