/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The typed tensor language (paper section 3.2, Figure 3, and beyond it route, escape, pack and
 * flip): programs, their bytes, their typing rules. A program P : b[n] yields n words of b bits.
 * Wire layout: docs/FORMAT.md, "Programs".
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
#include "core/program/grid.h"
#include "core/program/map.h"
#include "core/program/route.h"
#include "core/program/scan.h"

struct codebook;

enum operation {
	OP_LIT = 1,    /* a literal: the universal fallback */
	OP_CONST = 2,  /* one word, repeated */
	OP_CONCAT = 3, /* adjacent regions */
	OP_REPEAT = 4, /* a sequence again and again */
	OP_MAP = 5,    /* a bijection of each word */
	OP_SCAN = 6,   /* the first word and steps from each word to the next */
	OP_MERGE = 7,  /* fields of words, each a stream of its own; the highest bits first */
	OP_ROUTE = 8,  /* words with a table for each class of rows and columns */
	OP_ESCAPE = 9, /* narrow codes, and wide words where they do not suffice */
	OP_PACK = 10,  /* words made of several narrower ones */
	OP_FLIP = 11   /* the highest bit, inverted in some columns */
};

#define PROGRAM_MAX_NODES         64 /* literals that are parameters do not count */
#define PROGRAM_MAX_DEPTH         6  /* the root has depth 1 */
#define PROGRAM_MAX_ARITY         63
#define PROGRAM_MAX_WIDTH         64
#define PROGRAM_MAX_SIDE_WORDS    4194304  /* of all classes, maps and flags together */
#define PROGRAM_MAX_LIBRARY_BYTES 33554432 /* that all Zstandard and LZMA2 literals yield */
#define PROGRAM_MAX_SLOTS         1048576  /* of the tables of all routes and rANS literals */

/**
 * Of all nodes together, each as often as repeats read it: bounds the time of an execution. What a
 * writer cuts into pieces of at most 8 MiB stays below it: without packs, 64 nodes of 8 Mi words
 * have as many; without escapes, each of the 6 levels has a word for each bit at most.
 */
#define PROGRAM_MAX_WORDS 536870912

/** How the wire names the cuts of a merge. */
enum merge_form {
	MERGE_FIELDS = 0,   /* the width of each child but the last is stored */
	MERGE_BITS = 1,     /* bit planes: as many children as bits */
	MERGE_BYTES = 2,    /* byte planes */
	MERGE_FLOAT_8 = 3,  /* sign, exponent of 8 bits, fraction: BF16, FP32 */
	MERGE_FLOAT_5 = 4,  /* FP16, E5M2 */
	MERGE_FLOAT_11 = 5, /* FP64 */
	MERGE_FLOAT_4 = 6   /* E4M3 */
};

struct node {
	enum operation op;
	unsigned width; /* b of its type b[n] */
	size_t count;   /* n */
	unsigned depth; /* 1 for the root */
	unsigned arity; /* children; the first one is the next node of the program */
	unsigned next;  /* the next child of the same parent, if there is one */
	unsigned end;   /* the first node that is no descendant */
	size_t bytes;   /* that it takes, without its children */
	size_t reads;   /* how often repeats above read all of its words */

	unsigned form;  /* merge: enum merge_form; map, scan: the function */
	uint64_t value; /* const: the word; map: the argument; scan: the first word; escape: base */
	size_t times;   /* repeat, pack: k; escape: the number of escaped words */
	struct literal literal;       /* lit, route */
	struct grid grid;             /* route, flip */
	struct route_classes classes; /* route */
	const uint8_t *flags;         /* flip: one for each column */
	uint8_t *decoded[3];          /* what classes and flags point to; the program owns it */
};

/** A parsed program: its nodes in the order of the wire, parents before children. */
struct program {
	unsigned size;
	struct node nodes[PROGRAM_MAX_NODES];
};

/**
 * Parses and validates the program of type width[count] that fills *in exactly. It keeps pointing
 * into the bytes it was parsed from, and to the codebook (NULL: there is none). Names the broken
 * rule in *err. Whatever it returns, program_release is to be called. Memory: a byte for each word
 * of PROGRAM_MAX_SIDE_WORDS at most.
 */
int program_parse(struct span in, unsigned width, size_t count, const struct codebook *codebook,
		  struct program *out, struct brevis_error *err);
void program_release(struct program *program);

/** The form that is canonical for these widths of a merge's children. */
enum merge_form merge_form_of(const unsigned *widths, unsigned arity);

/** Bits of the exponent that a form stands for; 0 for forms that are no floats. */
unsigned merge_exponent(unsigned form);

/** Appends the program in the paper's notation, with the coding and bytes of each literal. */
void program_print(const struct program *program, struct buffer *out);

/** Describes each node of the program; nodes has room for program->size of them. */
void program_describe(const struct program *program, struct brevis_node_info *nodes);

/* ---- the bytes of each node, for the synthesis ----------------------------------------------- */

/*
 * Each function appends a node's own bytes; its children are to follow. literal_encode writes the
 * whole of a lit node.
 */

void program_put_const(struct buffer *out, unsigned width, uint64_t value);

/** A concat of arity children, of counts[i] words each. */
void program_put_concat(struct buffer *out, const size_t *counts, unsigned arity);

void program_put_repeat(struct buffer *out, size_t times);

/** The argument is ignored for functions that have none. */
void program_put_map(struct buffer *out, enum map_function f, uint64_t argument);
void program_put_scan(struct buffer *out, enum scan_function f, uint64_t first);

/** A merge of arity children of these widths, in its canonical form. */
void program_put_merge(struct buffer *out, const unsigned *widths, unsigned arity);

/**
 * The whole of a route, which has no children: words as core/entropy/literal.h lays them out, of at
 * most LITERAL_SYMBOL_BITS bits, as many as the grid has; each class must have some. counts: of
 * each word in each class, if somebody knows; they are changed; or NULL.
 */
int program_put_route(struct buffer *out, const struct grid *grid,
		      const struct route_classes *classes, const void *words, unsigned width,
		      uint32_t *counts, struct brevis_error *err);

/** The first part of a route: up to its classes. Parameters, tables and payload are to follow. */
int program_put_classes(struct buffer *out, const struct grid *grid,
			const struct route_classes *classes, struct brevis_error *err);

/** An escape with codes of width bits for words from base on, and this many escaped words. */
void program_put_escape(struct buffer *out, unsigned width, uint64_t base, size_t escaped);
void program_put_pack(struct buffer *out, unsigned k);

/** A flip; flags has a byte for each column, 0 or 1. */
int program_put_flip(struct buffer *out, const struct grid *grid, const uint8_t *flags,
		     struct brevis_error *err);

#endif
