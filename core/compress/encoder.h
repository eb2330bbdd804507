/* SPDX-License-Identifier: Apache-2.0 */
/** What the files of the encoder share: compress.c takes the input, records.c writes records. */
#ifndef CORE_COMPRESS_ENCODER_H
#define CORE_COMPRESS_ENCODER_H

#include "core/archive/record_table.h"
#include "core/archive/writer.h"
#include "core/base/digest.h"
#include "core/base/hasher.h"
#include "core/base/pool.h"
#include "core/base/rings.h"
#include "core/compress/encode_job.h"
#include "core/compress/guide.h"
#include "core/compress/revisions.h"
#include "core/compress/window.h"

enum encoder_phase { FOLLOWING, GATHERING, WRITING };

struct brevis_encoder {
	struct archive_writer writer;
	brevis_write_fn write;
	void *ctx;
	unsigned threads;
	struct piece_cutter cutter;
	struct revisions revisions;
	enum encoder_phase phase;
	struct window window;
	struct guide guide;
	struct encode_frame frame;
	struct record_table records; /* of this archive, by key; value: number */
	uint64_t record_count;
	struct content_keyer *keyer;        /* of the growing piece */
	struct checksum64_stream *checksum; /* of it, too */
	struct buffer keys; /* a struct content_key of each record; of each piece while following */
	struct buffer kinds;  /* a byte for each record that was written */
	struct buffer before; /* what a chained record of the next piece would refer to */
	uint64_t reused_count;
	struct pool *pool;
	struct rings rings;         /* of struct encode_job */
	struct encode_job *growing; /* the job of the growing piece */
	struct hasher *hasher;      /* of the original; NULL: nobody wants its digest */
	const uint8_t *original_sha256;
	bool write_checks;
	bool unnamed;
	bool codec_only;
	uint64_t pieces; /* so far, if there is only the codec */
	bool input_stays;
	bool is_written;           /* all of it: it can be checked */
	struct brevis_error doubt; /* why what was followed cannot be copied; status OK: it can */
	int status;                /* the first failure */
};

/** A piece whose bytes are complete: what it equals, but for kind and size. */
struct record_head records_name(const struct record_head *piece, const struct content_key *key);

/** Keeps the bytes that a record behind the job's piece may refer to. Returns -1 when memory is
 * short. */
int records_remember(struct brevis_encoder *e, const struct encode_job *job);

/** Takes the oldest job back and writes its piece. */
int records_deliver(struct brevis_encoder *e, struct brevis_error *err);

/** Makes the next job the growing one, for a piece that may grow to so many bytes. */
int records_begin(struct brevis_encoder *e, size_t expected, struct brevis_error *err);

/** Gives the growing piece, now complete, to the workers, or finds that it needs no work. */
int records_submit(struct brevis_encoder *e, const struct content_key *key,
		   struct brevis_error *err);

/**
 * Writes the pieces that the input has in common with the archive that was followed. Each of its
 * records is decoded, and its bytes compared with the input's by their keys. Where they differ
 * e->doubt says so, and nothing more can be written.
 */
int records_copy_followed(struct brevis_encoder *e, struct brevis_error *err);

#endif
