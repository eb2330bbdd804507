/* SPDX-License-Identifier: Apache-2.0 */
/** Names that nobody else has. */
#ifndef FILTER_TOKEN_H
#define FILTER_TOKEN_H

/** Hex digits of one. */
#define TOKEN_SIZE 16

/** Makes one, with a NUL behind it. Returns 0, or -1 with errno: there is no randomness. */
int token_make(char token[TOKEN_SIZE + 1]);

#endif
