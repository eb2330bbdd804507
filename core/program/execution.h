/* SPDX-License-Identifier: Apache-2.0 */
/** What the files that execute programs share. */
#ifndef CORE_PROGRAM_EXECUTION_H
#define CORE_PROGRAM_EXECUTION_H

#include "core/kernels/kernels.h"
#include "core/program/program.h"

/** Words that pass through the whole tree at a time. A multiple of the lanes of every coding. */
#define BLOCK_WORDS 8192

/** Blocks of scratch memory: no node needs more than two, leaves need one, and the root may need
 * one for what it yields. */
#define SCRATCH_BLOCKS (2 * (PROGRAM_MAX_DEPTH - 1) + 2)

/**
 * A merge of codes and low bits, with what usually is around it, done by kernels in one go:
 *
 *   [map_rotate] merge([map_rotate] [escape] codes, low bits)
 */
struct join {
	unsigned width; /* of the words; 0: this node is none */
	struct kernel_cut cut;
	unsigned codes;  /* the node that yields them */
	unsigned escape; /* the node whose escaped words replace codes of 255; 0: none */
	unsigned low;    /* the node of the low bits */
	struct literal
		bits; /* them, as packed words of the size that kernels want; no bits: not so */
	bool at_once; /* kernels join codes as they decode them */
};

/** Where the execution of a node stands. */
struct cursor {
	size_t done;                     /* words it has yielded */
	struct literal_decoder *decoder; /* lit, route: from its first word on */
	struct route_lines lines;        /* route */
	uint8_t *flags;                  /* flip: of the words of a row, once they are wanted */
	bool again;                      /* lit, route: a repeat will want its words once more */
	unsigned child;                  /* concat: the child that is being read */
	size_t child_left;               /* concat: words it still has */
	uint8_t *copies;                 /* repeat of few words: some copies of them */
	uint64_t last;                   /* scan: the latest word */
	size_t escaped;                  /* escape: escaped words so far */
	struct join join;                /* map, merge */
};

struct execution {
	const struct program *program;
	uint8_t *scratch; /* SCRATCH_BLOCKS blocks of 64-bit words */
	struct brevis_error *err;
	struct cursor cursors[PROGRAM_MAX_NODES];
};

/** Block `level` of the scratch memory. */
static inline uint8_t *execution_block(const struct execution *x, unsigned level)
{
	return x->scratch + (size_t)level * BLOCK_WORDS * 8;
}

/**
 * Yields the next count <= BLOCK_WORDS words of a node. Blocks of scratch memory from number level
 * on are free.
 */
int execution_next(struct execution *x, unsigned index, unsigned level, void *out, size_t count);

/**
 * The same for codes that literal_joins() says are joined as they are decoded. *count becomes how
 * many of them were.
 */
int execution_next_joined(struct execution *x, unsigned index, unsigned level, uint8_t *codes,
			  size_t *count, unsigned width, struct kernel_join *join);

/** Counts n more words of an escape as escaped, if it has so many. */
int execution_count_escaped(struct execution *x, unsigned index, size_t n);

/** Recognises a join at this node. */
struct join join_find(const struct program *program, unsigned index);

/** execution_next for a node that is a join. */
int join_next(struct execution *x, unsigned index, unsigned level, void *out, size_t count);

#endif
