/* SPDX-License-Identifier: Apache-2.0 */
/** One piece on its way to its record: what a worker needs, and what it makes of it. */
#ifndef CORE_COMPRESS_ENCODE_JOB_H
#define CORE_COMPRESS_ENCODE_JOB_H

#include "core/archive/reader.h"
#include "core/archive/record_encode.h"
#include "core/compress/pieces.h"

struct encode_job {
	const struct record_options *options; /* but for what is before the piece */
	uint8_t *raw;
	size_t capacity;
	struct record_head head;
	struct piece_kind kind;
	struct buffer before; /* what the record may refer to, of the piece before; or nothing */
	bool repeats;         /* an earlier record of this archive, number earlier */
	uint64_t earlier;
	const struct brevis_archive *known; /* has a record that should restore raw, or NULL */
	uint64_t known_record;
	struct buffer record;
	bool reused;
	int status;
	struct brevis_error err;
};

/** Makes the record of a struct encode_job, unless it repeats one. A pool's run function. */
void encode_job_run(void *arg);

void encode_job_release(struct encode_job *job);

#endif
