/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Words of 32 bits that were narrower floats once: their lowest bits are zeros. The program is the
 * usual one for the upper half of each word, beside what is left of the lower one:
 *
 *     merge(usual, lit, const)
 */
#ifndef CORE_SYNTHESIS_SHORTENED_H
#define CORE_SYNTHESIS_SHORTENED_H

#include "core/synthesis/usual.h"

/** As usual_program, for all words: those that are not like that have the usual program. */
int shortened_program(const struct words *in, const struct tensor_kind *kind,
		      const struct synthesis_options *options, struct buffer *out,
		      enum usual *usual, struct brevis_error *err);

/** As usual_applies. */
bool shortened_applies(const struct words *in, const struct tensor_kind *kind);

#endif
