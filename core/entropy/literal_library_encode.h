/* SPDX-License-Identifier: Apache-2.0 */
/** Literals in the codings of other libraries. */
#ifndef CORE_ENTROPY_LITERAL_LIBRARY_ENCODE_H
#define CORE_ENTROPY_LITERAL_LIBRARY_ENCODE_H

#include "core/entropy/literal_encode.h"

/**
 * Tries the libraries that the options ask for. If one of them makes a lit node of less than *best
 * bytes it takes the place of everything in *out from `start` on, and *best is its size.
 */
int literal_library_encode(struct buffer *out, size_t start, const void *words, unsigned width,
			   size_t count, const struct literal_options *options, uint64_t *best,
			   bool *found, struct brevis_error *err);

#endif
