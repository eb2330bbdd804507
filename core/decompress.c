/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pipeline from an archive to the original: workers read and decode pieces, each proven by its
 * checksum; the calling thread passes them on in source order, and a hasher beside it proves the
 * whole by its SHA-256. The calling thread also decodes the chained pieces, since by then it has
 * the bytes before them.
 */
#include "core/decompress.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/pool.h"

struct decode_job {
	const struct brevis_archive *archive;
	uint64_t piece;
	struct piece_buffer buffer;
	uint64_t ticket; /* of the hasher: when it has read the buffer */
	int status;
	struct brevis_error err;
};

static void run(void *arg, unsigned worker)
{
	struct decode_job *job = arg;

	(void)worker;
	job->status = archive_fetch_piece(job->archive, job->piece, &job->buffer, &job->err);
	if (!job->status && !archive_is_chained(job->archive, job->piece))
		job->status = archive_restore_piece(job->archive, job->piece, &job->buffer, NULL,
						    &job->err);
}

struct decoding {
	const struct brevis_archive *archive;
	const struct piece_taker *taker;
	struct pool *pool;
	struct decode_job *jobs;
	size_t job_count;
	struct piece_buffer before; /* the piece that was taken last, if one is chained to it */
	struct brevis_error *err;
};

/* Takes the oldest job back and passes its bytes on. */
static int deliver(struct decoding *d)
{
	struct decode_job *job = pool_take(d->pool);
	struct piece_buffer *piece = &job->buffer;
	int status;

	if (!job->status && archive_is_chained(d->archive, job->piece))
		job->status =
			archive_restore_piece(d->archive, job->piece, piece, &d->before, &job->err);
	if (job->status) {
		if (d->err)
			*d->err = job->err;
		return job->status;
	}
	if (d->taker->hasher)
		job->ticket = hasher_add(d->taker->hasher, piece->raw, piece->raw_size);
	status = d->taker->take(d->taker->ctx, job->piece, piece, d->err);
	/* The buffer that comes back in exchange was given to the hasher before. */
	if (!status && archive_is_chained(d->archive, job->piece + 1))
		piece_buffer_swap(piece, &d->before);
	return status;
}

static int decode_pieces(struct decoding *d, uint64_t count)
{
	uint64_t i;
	int status = BREVIS_OK;

	for (i = 0; i < count && !status; i++) {
		struct decode_job *job = &d->jobs[i % d->job_count];

		if (pool_pending(d->pool) == d->job_count)
			status = deliver(d);
		if (status)
			break;
		if (d->taker->hasher)
			hasher_wait(d->taker->hasher, job->ticket);
		job->piece = i;
		pool_submit(d->pool, job);
		while (!status && pool_ready(d->pool))
			status = deliver(d);
	}
	while (!status && pool_pending(d->pool))
		status = deliver(d);
	return status;
}

int decompress_pieces(const struct brevis_archive *archive, uint64_t count, unsigned threads,
		      const struct piece_taker *taker, struct brevis_error *err)
{
	struct decoding d = {.archive = archive, .taker = taker, .err = err};
	size_t i;
	int status = BREVIS_OK;

	/* A piece for each worker, one that is being written, and one that is being hashed. */
	d.job_count = threads > 1 ? threads + 2 : 1;
	d.jobs = calloc(d.job_count, sizeof(*d.jobs));
	d.pool = pool_new(threads, d.job_count, run);
	if (!d.jobs || !d.pool)
		status = error_nomem(err);
	for (i = 0; !status && i < d.job_count; i++)
		d.jobs[i].archive = archive;
	if (!status)
		status = decode_pieces(&d, count);
	pool_free(d.pool);
	for (i = 0; d.jobs && i < d.job_count; i++) {
		if (taker->hasher)
			hasher_wait(taker->hasher, d.jobs[i].ticket);
		piece_buffer_release(&d.jobs[i].buffer);
	}
	piece_buffer_release(&d.before);
	free(d.jobs);
	return status;
}

/* ---- all of an archive ----------------------------------------------------------------------- */

struct outlet {
	brevis_write_fn write; /* NULL: nobody wants the bytes */
	void *ctx;
};

static int write_piece(void *ctx, uint64_t i, const struct piece_buffer *piece,
		       struct brevis_error *err)
{
	const struct outlet *outlet = ctx;

	(void)i;
	if (outlet->write && outlet->write(outlet->ctx, piece->raw, piece->raw_size))
		return error_set(err, BREVIS_E_IO, "the restored bytes could not be written");
	return BREVIS_OK;
}

static int prove(const struct brevis_archive *archive, struct hasher *hasher,
		 struct brevis_error *err)
{
	uint8_t digest[BREVIS_SHA256_SIZE];

	hasher_final(hasher, digest);
	if (memcmp(digest, archive->info.original_sha256, sizeof(digest)))
		return error_set(err, BREVIS_E_CHECKSUM,
				 "restored content does not have the SHA-256 it should have");
	return BREVIS_OK;
}

int brevis_archive_decode(const struct brevis_archive *archive,
			  const struct brevis_decode_options *options, brevis_write_fn write,
			  void *ctx, struct brevis_error *err)
{
	unsigned threads = pool_threads(options ? options->threads : 0);
	struct outlet outlet = {write, ctx};
	struct piece_taker taker = {.take = write_piece, .ctx = &outlet};
	int status;

	if (!options || !options->codec_only) {
		taker.hasher = hasher_new(threads > 1);
		if (!taker.hasher)
			return error_nomem(err);
	}
	status = decompress_pieces(archive, archive->info.pieces, threads, &taker, err);
	if (!status && taker.hasher)
		status = prove(archive, taker.hasher, err);
	hasher_free(taker.hasher);
	return status;
}
