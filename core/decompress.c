/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pipeline from an archive to the original: workers read and decode pieces, each proven by its
 * checksum; the calling thread, which is one of them, passes them on in source order, and a hasher
 * beside it proves the whole by its SHA-256. The calling thread also decodes the chained pieces,
 * since by then it has the bytes before them.
 */
#include "core/decompress.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/pool.h"
#include "core/base/rings.h"

struct decoding {
	const struct brevis_archive *archive;
	const struct piece_taker *taker;
	unsigned threads;
	struct pool *pool;
	struct record_decoder *decoders; /* of each thread, the calling one's last */
	struct rings rings;              /* of struct decode_job */
	struct piece_buffer before; /* the piece that was taken last, if one is chained to it */
	uint64_t before_ticket;     /* as that of a job */
	struct brevis_error *err;
};

struct decode_job {
	const struct decoding *decoding;
	uint64_t piece;
	struct piece_buffer buffer;
	uint64_t ticket; /* of the hasher: when it has read the buffer */
	bool submitted;  /* and not taken back yet */
	int status;
	struct brevis_error err;
};

static void run(void *arg, unsigned worker)
{
	struct decode_job *job = arg;
	const struct decoding *d = job->decoding;

	job->status = archive_fetch_piece(d->archive, job->piece, &job->buffer, &job->err);
	if (!job->status && !archive_is_chained(d->archive, job->piece))
		job->status = archive_restore_piece(d->archive, job->piece, &job->buffer, NULL,
						    &d->decoders[worker], &job->err);
}

/* Keeps the piece for the one that is chained to it, in exchange for the one before. Whoever uses a
 * buffer next must know until when the hasher reads it. */
static void keep_before(struct decoding *d, struct decode_job *job)
{
	uint64_t ticket = job->ticket;

	piece_buffer_swap(&job->buffer, &d->before);
	job->ticket = d->before_ticket;
	d->before_ticket = ticket;
}

/* Takes the oldest job back and passes its bytes on. */
static int deliver(struct decoding *d)
{
	struct decode_job *job = pool_take(d->pool);
	struct piece_buffer *piece = &job->buffer;
	int status;

	job->submitted = false;
	if (!job->status && archive_is_chained(d->archive, job->piece))
		job->status = archive_restore_piece(d->archive, job->piece, piece, &d->before,
						    &d->decoders[d->threads - 1], &job->err);
	if (job->status) {
		if (d->err)
			*d->err = job->err;
		return job->status;
	}
	if (d->taker->hasher)
		job->ticket = hasher_add(d->taker->hasher, piece->raw, piece->raw_size);
	status = d->taker->take(d->taker->ctx, job->piece, piece, d->err);
	if (!status && archive_is_chained(d->archive, job->piece + 1))
		keep_before(d, job);
	return status;
}

/* Where the caller wants piece i, if its words are aligned there; or NULL. */
static uint8_t *place_of(const struct decoding *d, uint64_t i)
{
	const struct piece_entry *piece = &d->archive->pieces[i];
	const struct record_head *head = &d->archive->records[piece->record].head;
	size_t alignment = record_is_bytes(head) ? 1 : head->kind / 8;
	uint8_t *place = d->taker->memory ? d->taker->memory + piece->offset : NULL;

	return (uintptr_t)place % alignment == 0 ? place : NULL;
}

/* Bytes count as large as they can be: their buffers are exchanged with those of what is before
 * them. */
static size_t size_of(const struct decoding *d, uint64_t i)
{
	const struct record_head *head = &d->archive->records[d->archive->pieces[i].record].head;

	return record_is_bytes(head) ? RECORD_RAW_MAX : head->raw_size;
}

static int decode_pieces(struct decoding *d, uint64_t first, uint64_t end)
{
	uint64_t i;
	int status = BREVIS_OK;

	for (i = first; i < end && !status; i++) {
		struct decode_job *job = rings_next(&d->rings, size_of(d, i));

		while (job->submitted && !status)
			status = deliver(d);
		if (status)
			break;
		hasher_wait(d->taker->hasher, job->ticket);
		job->piece = i;
		job->buffer.place = place_of(d, i);
		job->submitted = true;
		pool_submit(d->pool, job);
		while (!status && pool_ready(d->pool))
			status = deliver(d);
	}
	while (!status && pool_pending(d->pool))
		status = deliver(d);
	return status;
}

static int init(struct decoding *d)
{
	size_t i;

	d->decoders = calloc(d->threads, sizeof(*d->decoders));
	if (!d->decoders || rings_init(&d->rings, d->threads, sizeof(struct decode_job)))
		return error_nomem(d->err);
	for (i = 0; i < d->rings.count; i++)
		((struct decode_job *)rings_at(&d->rings, i))->decoding = d;
	d->pool = pool_new(d->threads, d->rings.count, run);
	return d->pool ? BREVIS_OK : error_nomem(d->err);
}

static void release(struct decoding *d)
{
	size_t i;

	/* First whoever reads what is freed then. */
	pool_free(d->pool);
	for (i = 0; i < d->rings.count; i++) {
		struct decode_job *job = rings_at(&d->rings, i);

		hasher_wait(d->taker->hasher, job->ticket);
		piece_buffer_release(&job->buffer);
	}
	rings_release(&d->rings);
	hasher_wait(d->taker->hasher, d->before_ticket);
	piece_buffer_release(&d->before);
	for (i = 0; d->decoders && i < d->threads; i++)
		record_decoder_release(&d->decoders[i]);
	free(d->decoders);
}

int decompress_pieces(const struct brevis_archive *archive, uint64_t first, uint64_t end,
		      unsigned threads, const struct piece_taker *taker, struct brevis_error *err)
{
	struct decoding d = {.archive = archive, .taker = taker, .threads = threads, .err = err};
	int status = init(&d);

	if (!status)
		status = decode_pieces(&d, first, end);
	release(&d);
	return status;
}

/* ---- all of an archive ----------------------------------------------------------------------- */

struct outlet {
	const struct brevis_archive *archive;
	uint8_t *memory;       /* NULL: the bytes are for write */
	brevis_write_fn write; /* NULL: nobody wants the bytes */
	void *ctx;
};

static int write_piece(void *ctx, uint64_t i, const struct piece_buffer *piece,
		       struct brevis_error *err)
{
	const struct outlet *outlet = ctx;
	uint8_t *place = outlet->memory ? outlet->memory + outlet->archive->pieces[i].offset : NULL;

	if (place && place != piece->raw)
		memcpy(place, piece->raw, piece->raw_size);
	else if (!place && outlet->write && outlet->write(outlet->ctx, piece->raw, piece->raw_size))
		return error_set(err, BREVIS_E_IO, "the restored bytes could not be written");
	return BREVIS_OK;
}

static int prove(const struct brevis_archive *archive, struct hasher *hasher,
		 struct brevis_error *err)
{
	uint8_t digest[BREVIS_SHA256_SIZE];

	hasher_final(hasher, digest);
	if (memcmp(digest, archive->info.original_sha256, sizeof(digest)) != 0)
		return error_set(err, BREVIS_E_CHECKSUM,
				 "restored content does not have the SHA-256 it should have");
	return BREVIS_OK;
}

int brevis_archive_decode(const struct brevis_archive *archive,
			  const struct brevis_decode_options *options, brevis_write_fn write,
			  void *ctx, struct brevis_error *err)
{
	unsigned threads = pool_threads(options ? options->threads : 0);
	struct outlet outlet = {archive, options ? options->memory : NULL, write, ctx};
	struct piece_taker taker = {.take = write_piece, .ctx = &outlet, .memory = outlet.memory};
	int status;

	if (!options || !options->codec_only) {
		taker.hasher = hasher_new(threads > 1);
		if (!taker.hasher)
			return error_nomem(err);
	}
	status = decompress_pieces(archive, 0, archive->info.pieces, threads, &taker, err);
	if (!status && taker.hasher)
		status = prove(archive, taker.hasher, err);
	hasher_free(taker.hasher);
	return status;
}

/* ---- a span of it ---------------------------------------------------------------------------- */

struct excerpt {
	const struct brevis_archive *archive;
	uint64_t begin; /* in the original */
	uint64_t end;
	brevis_write_fn write;
	void *ctx;
};

/* Passes on what of the piece lies in the span; nothing of those that others are chained to. */
static int write_part(void *ctx, uint64_t i, const struct piece_buffer *piece,
		      struct brevis_error *err)
{
	const struct excerpt *excerpt = ctx;
	uint64_t at = excerpt->archive->pieces[i].offset;
	size_t from = excerpt->begin > at ? (size_t)(excerpt->begin - at) : 0;
	size_t to = piece->raw_size;

	if (excerpt->end - at < to)
		to = (size_t)(excerpt->end - at);
	if (from < to && excerpt->write(excerpt->ctx, piece->raw + from, to - from))
		return error_set(err, BREVIS_E_IO, "the restored bytes could not be written");
	return BREVIS_OK;
}

int brevis_archive_read(const struct brevis_archive *archive, uint64_t offset, uint64_t size,
			const struct brevis_decode_options *options, brevis_write_fn write,
			void *ctx, struct brevis_error *err)
{
	struct excerpt excerpt = {archive, offset, offset + size, write, ctx};
	struct piece_taker taker = {.take = write_part, .ctx = &excerpt};
	uint64_t first, end;

	if (offset > archive->info.original_size || size > archive->info.original_size - offset)
		return error_set(err, BREVIS_E_USAGE, "the original has no such bytes");
	if (!size)
		return BREVIS_OK;
	first = brevis_archive_piece_at(archive, offset + 1) - 1;
	end = brevis_archive_piece_at(archive, offset + size);
	while (archive_is_chained(archive, first))
		first--;
	return decompress_pieces(archive, first, end, pool_threads(options ? options->threads : 0),
				 &taker, err);
}
