/* SPDX-License-Identifier: Apache-2.0 */
/** Decoding of one record or program, with memory of its own. */
#ifndef TESTS_UNIT_DECODING_H
#define TESTS_UNIT_DECODING_H

#include "core/archive/record.h"
#include "core/program/execute.h"

static inline int record_decode(const void *record, size_t size, const struct record_head *head,
				const struct codebook *codebook, struct span before, void *raw,
				struct brevis_error *err)
{
	struct record_decoder d = {0};
	int status =
		record_decoder_run(&d, span_of(record, size), head, codebook, before, raw, err);

	record_decoder_release(&d);
	return status;
}

static inline int program_execute(const struct program *program, void *out,
				  struct brevis_error *err)
{
	struct executor executor = {0};
	int status = executor_run(&executor, program, out, err);

	executor_release(&executor);
	return status;
}

#endif
