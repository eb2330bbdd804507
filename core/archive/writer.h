/* SPDX-License-Identifier: Apache-2.0 */
/** Writing an archive front to back: head, records as they come, index, tail. */
#ifndef CORE_ARCHIVE_WRITER_H
#define CORE_ARCHIVE_WRITER_H

#include "core/archive/wire.h"
#include "core/base/buffer.h"
#include "core/base/digest.h"
#include "core/base/hasher.h"

/** What is found out about an archive while it is written. */
struct archive_hash {
	bool wanted;   /* its SHA-256 */
	bool threaded; /* on a thread of its own */
	bool keyed;    /* a key of all of it, for archive_writer_check */
};

struct archive_writer {
	brevis_write_fn write;
	void *ctx;
	struct hasher *hasher;       /* NULL: it is not hashed */
	uint64_t ticket;             /* of the hasher, for what was written last */
	struct content_keyer *keyer; /* of all that is written; NULL: it has none */
	struct content_key key;      /* which it has in the end */
	uint64_t head_checksum;
	uint64_t size;    /* bytes written */
	uint64_t pieces;  /* added so far */
	uint64_t records; /* of them with a record of their own */
	struct buffer entries;
};

/** What index and tail say of the original. */
struct archive_original {
	enum brevis_layout layout;
	uint64_t size;
	uint8_t sha256[BREVIS_SHA256_SIZE];
	bool has_prior;
	uint8_t prior_sha256[BREVIS_SHA256_SIZE]; /* if it has one */
};

/**
 * Writes the head, with the bytes of a codebook or none. Release the writer whatever this returns.
 */
int archive_writer_begin(struct archive_writer *w, brevis_write_fn write, void *ctx,
			 struct archive_hash hash, struct span codebook, struct brevis_error *err);

/**
 * Adds the next piece with its record, whose bytes must stay as they are until
 * hasher_wait(w->hasher, w->ticket), with the ticket of that moment.
 */
int archive_writer_record(struct archive_writer *w, const void *record, size_t size,
			  struct brevis_error *err);

/** Adds the next piece as a repetition of an earlier record, by its number. */
int archive_writer_repeat(struct archive_writer *w, uint64_t record, struct brevis_error *err);

/** Writes index and tail; gives the archive's own digest, if there is one. w->size is the archive's
 * size then. */
int archive_writer_finish(struct archive_writer *w, const struct archive_original *original,
			  uint8_t sha256[BREVIS_SHA256_SIZE], struct brevis_error *err);

/**
 * After archive_writer_finish: reads an archive and tells whether it is, byte by byte, what was
 * written; without a key, whether it has that size. BREVIS_E_CHECKSUM if not.
 */
int archive_writer_check(struct archive_writer *w, const struct brevis_source *source,
			 struct brevis_error *err);

void archive_writer_release(struct archive_writer *w);

#endif
