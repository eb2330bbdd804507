/* SPDX-License-Identifier: Apache-2.0 */
/** The encoding side of rans.h. */
#ifndef CORE_ENTROPY_RANS_ENCODE_H
#define CORE_ENTROPY_RANS_ENCODE_H

#include "core/entropy/frequencies_encode.h"
#include "core/entropy/rans.h"

/** Lanes that suit this many words. */
unsigned rans_lanes(size_t count);

/** The number that stands for so many lanes in the bytes. */
unsigned rans_lanes_code(unsigned lanes);

/** A bound in bytes of payload size and payload for words that cost so many bits. */
uint64_t rans_payload_bound(uint64_t bits, unsigned lanes);

/** A bound in bytes of parameters, table, payload size and payload: no encoding is smaller. */
uint64_t rans_size_bound(const struct frequency_plan *plan, unsigned lanes);

/**
 * Appends payload size and payload if they take less than `limit` bytes. Each word must have a
 * share; there are 1 << width of them, which sum to 1 << scale_bits, and none is all of it. *fits
 * tells; if not, *out is as before. Failure of the buffer shows in it.
 */
int rans_payload_encode(struct buffer *out, const uint16_t *shares, unsigned scale_bits,
			unsigned lanes, const void *words, unsigned width, size_t count,
			uint64_t limit, bool *fits, struct brevis_error *err);

/**
 * Appends parameters, table, payload size and payload if they take less than `limit` bytes in all.
 * *fits tells; if not, *out is as before. Failure of the buffer shows in it.
 */
int rans_encode(struct buffer *out, const struct frequency_plan *plan, unsigned lanes,
		const void *words, unsigned width, size_t count, uint64_t limit, bool *fits,
		struct brevis_error *err);

#endif
