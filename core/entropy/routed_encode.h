/* SPDX-License-Identifier: Apache-2.0 */
/** rANS with a table for each class of words: what a route has behind its classes. */
#ifndef CORE_ENTROPY_ROUTED_ENCODE_H
#define CORE_ENTROPY_ROUTED_ENCODE_H

#include "core/entropy/rans_encode.h"

/** Counts words by class: counts has 1 << in->width of them for each table. Words must fit. */
void routed_count(const struct rans_input *in, uint32_t *counts);

/**
 * Appends parameters, tables, payload size and payload. counts: what routed_count gives; classes of
 * no words are not allowed. Changes the counts. Failure of the buffer shows in it.
 */
int routed_encode(struct buffer *out, const struct rans_input *in, uint32_t *counts,
		  struct brevis_error *err);

/**
 * The same for codes of 8 bits, in two parts: appends parameters and tables here, and leaves
 * payload size and payload to rans_units_put. Codes that are rare in their class, and some that
 * were not counted, for not all words are, become 255, and are to be escaped: in->words are
 * changed. At least so many words that kernels code them. counts: what routed_count gives, if
 * somebody knows; they are changed; or NULL. Release the units in any case.
 */
int codes_encode(struct buffer *out, const struct rans_input *in, uint32_t *counts,
		 struct rans_units *units, struct brevis_error *err);

/** True if so many codes can be given to codes_encode. */
bool codes_suffice(size_t count);

#endif
