/* SPDX-License-Identifier: Apache-2.0 */
/** Execution of a parsed program (paper Equation 6), in blocks that stay in cache. */
#ifndef CORE_PROGRAM_EXECUTE_H
#define CORE_PROGRAM_EXECUTE_H

#include "core/program/program.h"

/** Memory that one execution after another makes use of. Zero-initialise. */
struct executor {
	uint8_t *scratch; /* 768 KiB, once there was an execution */
	bool by_node;     /* never by what usual shapes have instead: for tests of that */

	/* NULL, or what is told of all bytes, in order, as they are written. */
	void (*written)(void *ctx, const void *bytes, size_t size);
	void *ctx;
};

/**
 * Writes the words that the program yields to out, as a tensor's bytes (little-endian). The root's
 * width must be 8, 16, 32 or 64; out holds count * width / 8 bytes, aligned for such words, or is
 * NULL if nobody but executor->written wants them. Memory, beside the executor's: the decoders of
 * the literals that are being read, or that a repeat reads several times; a row of classes for each
 * class of rows of a route, a row of flags for a flip; and 64 KiB for each repeat at most.
 * BREVIS_E_FORMAT if the payload of a literal is damaged, or does not hold as many codes of escaped
 * words as its program says.
 */
int executor_run(struct executor *executor, const struct program *program, void *out,
		 struct brevis_error *err);
void executor_release(struct executor *executor);

#endif
