/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The typed tensor language (paper section 3.2, Figure 3): programs, their bytes, their typing
 * rules. A program P : b[n] yields n words of b bits. Wire layout: docs/FORMAT.md, "Programs".
 *
 * The type of the root is given from outside (the record); the types of all other nodes follow from
 * it and from the parameters of their parents. program_parse checks every rule before anything is
 * executed, so execution (execute.h) meets well-formed programs only.
 */
#ifndef CORE_PROGRAM_PROGRAM_H
#define CORE_PROGRAM_PROGRAM_H

#include "core/base/buffer.h"
#include "core/brevis.h"
#include "core/entropy/literal.h"

/* The numbers of the paper's other operators (repeat 4, map 5, scan 6) are reserved for them. */
enum operation {
	OP_LIT = 1,    /* a literal: the universal fallback */
	OP_CONST = 2,  /* one word, repeated */
	OP_CONCAT = 3, /* adjacent regions */
	OP_MERGE = 7   /* fields of words, each a stream of its own; the highest bits first */
};

#define PROGRAM_MAX_NODES 64
#define PROGRAM_MAX_DEPTH 4 /* the root has depth 1 */
#define PROGRAM_MAX_WIDTH 64

/** How the wire names the cuts of a merge. */
enum merge_form {
	MERGE_FIELDS = 0, /* the width of each child is stored */
	MERGE_BITS = 1,   /* bit planes: as many children as bits */
	MERGE_BYTES = 2   /* byte planes */
};

struct node {
	enum operation op;
	unsigned width; /* b of its type b[n] */
	size_t count;   /* n */
	unsigned arity; /* children; the first one is the next node of the program */
	unsigned next;  /* the next child of the same parent, if there is one */
	uint64_t value; /* const */
	struct literal literal;
};

/** A parsed program: its nodes in the order of the wire, parents before children. */
struct program {
	unsigned size;
	struct node nodes[PROGRAM_MAX_NODES];
};

/**
 * Parses and validates the program of type width[count] that fills *in exactly. It keeps pointing
 * into the bytes it was parsed from. Names the broken rule in *err.
 */
int program_parse(struct span in, unsigned width, size_t count, struct program *out,
		  struct brevis_error *err);

/** Appends the program in the paper's notation, with the coding and bytes of each literal. */
void program_print(const struct program *program, struct buffer *out);

/* ---- the bytes of each node, for the synthesis ---------------------------------------------- */

/** A const node: the value in as many bytes as the width needs. */
void program_put_const(struct buffer *out, unsigned width, uint64_t value);

/** The head of a lit node; literal_encode's bytes follow. */
void program_put_lit(struct buffer *out);

/** The head of a concat node of count children, of counts[i] words each; the children follow. */
void program_put_concat(struct buffer *out, const size_t *counts, unsigned count);

/** The head of a merge node; widths are those of the children, which follow. */
void program_put_merge(struct buffer *out, const unsigned *widths, unsigned count);

#endif
