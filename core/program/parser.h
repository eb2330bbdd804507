/* SPDX-License-Identifier: Apache-2.0 */
/** What the files that parse programs share. */
#ifndef CORE_PROGRAM_PARSER_H
#define CORE_PROGRAM_PARSER_H

#include "core/program/program.h"

struct parser {
	struct span in;
	const struct codebook *codebook;
	struct program *program;
	uint64_t side_words;    /* of all literals so far that are parameters */
	uint64_t library_bytes; /* that all literals so far need libraries for */
	uint64_t slots;         /* of all tables so far */
	uint64_t words;         /* that all nodes so far yield */
	struct brevis_error *err;
};

/** The types of a node's children. */
struct children {
	unsigned width[PROGRAM_MAX_ARITY];
	size_t count[PROGRAM_MAX_ARITY];
};

/** Reports a broken rule. */
int parse_broken(struct parser *p, const char *rule);

/** Reports that the bytes end too early, or hold a varint that is none. */
int parse_truncated(struct parser *p);

/** Reads a literal behind its op byte, and counts what it costs. */
int parse_literal(struct parser *p, unsigned coding, unsigned width, size_t count,
		  struct literal *out);

/** Counts the slots of a literal's own tables; parse_literal has done so. */
int parse_count_slots(struct parser *p, const struct literal *literal);

/*
 * Each reads the parameters of a node from behind its op byte and s, the small number there; checks
 * them against the node's type, and gives arity and types of its children.
 */
int parse_route(struct parser *p, struct node *node, unsigned s, struct children *children);
int parse_flip(struct parser *p, struct node *node, unsigned s, struct children *children);
int parse_merge(struct parser *p, struct node *node, unsigned s, struct children *children);

#endif
