/* SPDX-License-Identifier: Apache-2.0 */
/** One piece on its way to its record: what a worker needs, and what it makes of it. */
#ifndef CORE_COMPRESS_ENCODE_JOB_H
#define CORE_COMPRESS_ENCODE_JOB_H

#include "core/archive/reader.h"
#include "core/archive/record_encode.h"
#include "core/compress/pieces.h"
#include "core/compress/revisions.h"

/** What all jobs of an encoder have in common. */
struct encode_frame {
	struct record_options options; /* but for what is before a piece */
	const struct revisions *revisions;
	struct record_decoder *decoders; /* one for each worker */
	bool prove;                      /* each new record */
};

struct encode_job {
	const struct encode_frame *frame;
	const uint8_t *raw; /* memory, or a part of the input */
	uint8_t *memory;
	size_t capacity;
	struct record_head head;
	bool summed; /* head has the checksum */
	struct piece_kind kind;
	struct buffer before; /* what the record may refer to, of the piece before; or nothing */
	uint64_t hashed;      /* ticket: when the hasher of the original has read raw */
	bool submitted;       /* and not taken back yet */
	bool repeats;         /* an earlier record of this archive, number earlier */
	uint64_t earlier;
	struct buffer record;
	uint64_t written; /* ticket: when the hasher of the archive has read the record */
	bool reused;
	int status;
	struct brevis_error err;
};

/** Completes the head by the piece's checksum. */
void encode_job_sum(struct encode_job *job);

/**
 * Makes the record of a struct encode_job, unless it repeats one: one reused from an earlier
 * archive, a new one, or, should that one not restore the piece, one that holds the bytes as they
 * are. Whichever it is, it was decoded and compared. A pool's run function.
 */
void encode_job_run(void *job, unsigned worker);

void encode_job_release(struct encode_job *job);

#endif
