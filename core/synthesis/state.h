/* SPDX-License-Identifier: Apache-2.0 */
/**
 * States of the search: partial programs. Because a program's bytes are those of its nodes in
 * prefix order, one after another, a state is a row of items: bytes of finished nodes, leaves that
 * are known by their stream, and holes.
 */
#ifndef CORE_SYNTHESIS_STATE_H
#define CORE_SYNTHESIS_STATE_H

#include "core/program/program.h"
#include "core/synthesis/prior.h"
#include "core/synthesis/rules.h"

enum item_kind { ITEM_NODE, ITEM_LEAF, ITEM_HOLE };

struct item {
	enum item_kind kind;
	struct node_bytes *node; /* ITEM_NODE */
	struct stream *stream;   /* the others */
	struct place place;      /* ITEM_HOLE */
};

/** The bytes of a node without its children, shared by states. */
struct node_bytes {
	unsigned references;
	size_t size;
	uint8_t data[];
};

/** A production that was used: for the prior. */
struct choice {
	struct prior_context context;
	enum rule rule;
};

struct state {
	unsigned references;
	unsigned items;      /* one for each node */
	unsigned hole;       /* the leftmost one; items: none, the program is complete */
	uint64_t cost;       /* g: of its productions */
	uint64_t estimate;   /* of the program with leaves for holes, in bytes */
	uint64_t order;      /* of making */
	uint64_t side_words; /* of its nodes' parameters that are literals */
	unsigned choices;
	struct choice *chosen;
	struct proposals *proposals;  /* for the leftmost hole */
	struct prior_context context; /* of the leftmost hole */
	struct item item[PROGRAM_MAX_NODES];
};

/** A state of one hole. Shares the stream. NULL: no memory. */
struct state *state_new(struct stream *root, unsigned dtype);
void state_free(struct state *state); /* gives up one reference */

/** A copy without proposals. NULL: no memory. */
struct state *state_copy(const struct state *state);

/** Makes the leftmost hole a leaf. */
int state_close(struct state *state, struct brevis_error *err);

/**
 * Puts a node and holes for its children in the place of the leftmost hole. Takes over the
 * children, also when it fails.
 */
int state_fill(struct state *state, const struct proposal *proposal, const struct buffer *node,
	       struct stream *const *children, unsigned arity, struct brevis_error *err);

/** Bytes that no completion of the state goes below. */
uint64_t state_bound(const struct state *state);

/** Bytes that its streams keep, as stream_memory counts them. */
size_t state_memory(const struct state *state, uint64_t round);

/** A number that two complete states share if they are the same program. */
uint64_t state_signature(const struct state *state);

#endif
