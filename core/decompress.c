/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pipeline from an archive to the original: workers read and decode pieces, each proven by its
 * checksum; the calling thread writes them in source order and proves the whole by its SHA-256. It
 * also decodes the chained pieces, since by then it has the bytes before them.
 */
#include <stdlib.h>
#include <string.h>

#include "core/archive/reader.h"
#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/base/pool.h"

struct decode_job {
	const struct brevis_archive *archive;
	uint64_t piece;
	struct piece_buffer buffer;
	int status;
	struct brevis_error err;
};

static void run(void *arg)
{
	struct decode_job *job = arg;

	job->status = archive_fetch_piece(job->archive, job->piece, &job->buffer, &job->err);
	if (!job->status && !archive_is_chained(job->archive, job->piece))
		job->status = archive_restore_piece(job->archive, job->piece, &job->buffer, NULL,
						    &job->err);
}

struct decoding {
	const struct brevis_archive *archive;
	brevis_write_fn write;
	void *ctx;
	struct pool *pool;
	struct decode_job *jobs;
	size_t job_count;
	struct piece_buffer before; /* the piece that was written last, if one is chained to it */
	struct brevis_sha256 *sha;
	struct brevis_error *err;
};

/* Takes the oldest job back and passes its bytes on. */
static int deliver(struct decoding *d)
{
	struct decode_job *job = pool_take(d->pool);
	struct piece_buffer *piece = &job->buffer;

	if (!job->status && archive_is_chained(d->archive, job->piece))
		job->status =
			archive_restore_piece(d->archive, job->piece, piece, &d->before, &job->err);
	if (job->status) {
		if (d->err)
			*d->err = job->err;
		return job->status;
	}
	brevis_sha256_update(d->sha, piece->raw, piece->raw_size);
	if (d->write && d->write(d->ctx, piece->raw, piece->raw_size))
		return error_set(d->err, BREVIS_E_IO, "the restored bytes could not be written");
	if (archive_is_chained(d->archive, job->piece + 1))
		piece_buffer_swap(piece, &d->before);
	return BREVIS_OK;
}

static int decode_pieces(struct decoding *d)
{
	uint64_t pieces = d->archive->info.pieces;
	uint64_t i;
	int status = BREVIS_OK;

	for (i = 0; i < pieces && !status; i++) {
		struct decode_job *job = &d->jobs[i % d->job_count];

		if (pool_pending(d->pool) == d->job_count)
			status = deliver(d);
		job->piece = i;
		if (!status)
			pool_submit(d->pool, job);
	}
	while (!status && pool_pending(d->pool))
		status = deliver(d);
	return status;
}

static int prove(struct decoding *d)
{
	uint8_t digest[BREVIS_SHA256_SIZE];

	brevis_sha256_final(d->sha, digest);
	if (memcmp(digest, d->archive->info.original_sha256, sizeof(digest)))
		return error_set(d->err, BREVIS_E_CHECKSUM,
				 "restored content does not have the SHA-256 it should have");
	return BREVIS_OK;
}

int brevis_archive_decode(const struct brevis_archive *archive,
			  const struct brevis_decode_options *options, brevis_write_fn write,
			  void *ctx, struct brevis_error *err)
{
	unsigned threads = pool_threads(options ? options->threads : 0);
	struct decoding d = {.archive = archive, .write = write, .ctx = ctx, .err = err};
	size_t i;
	int status = BREVIS_OK;

	/* One piece for each worker, and one that is being written. */
	d.job_count = threads > 1 ? threads + 1 : 1;
	d.jobs = calloc(d.job_count, sizeof(*d.jobs));
	d.sha = brevis_sha256_new();
	d.pool = pool_new(threads, d.job_count, run);
	if (!d.jobs || !d.sha || !d.pool)
		status = error_nomem(err);
	for (i = 0; !status && i < d.job_count; i++)
		d.jobs[i].archive = archive;
	if (!status)
		status = decode_pieces(&d);
	if (!status)
		status = prove(&d);
	pool_free(d.pool);
	for (i = 0; d.jobs && i < d.job_count; i++)
		piece_buffer_release(&d.jobs[i].buffer);
	piece_buffer_release(&d.before);
	free(d.jobs);
	brevis_sha256_free(d.sha);
	return status;
}
