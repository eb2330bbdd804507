/* SPDX-License-Identifier: Apache-2.0 */
/** Execution of a parsed program (paper Equation 6), in blocks that stay in cache. */
#ifndef CORE_PROGRAM_EXECUTE_H
#define CORE_PROGRAM_EXECUTE_H

#include "core/program/program.h"

/**
 * Writes the words that the program yields to out, as a tensor's bytes (little-endian). The root's
 * width must be 8, 16, 32 or 64; out holds count * width / 8 bytes, aligned for such words. Memory:
 * the decoders of the literals that are being read, or that a repeat reads several times; 640 KiB;
 * and 64 KiB for each repeat at most.
 * BREVIS_E_FORMAT if the payload of a literal is damaged, or does not hold as many codes of escaped
 * words as its program says.
 */
int program_execute(const struct program *program, void *out, struct brevis_error *err);

#endif
