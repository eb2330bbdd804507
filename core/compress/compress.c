/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pipeline from a file to its archive. The calling thread cuts the stream into pieces, hashes
 * them and recognises those that are known; workers turn the others into records; the calling
 * thread writes the records in source order.
 *
 *     following:  the input equals the beginning of a known archive; pieces are only compared
 *         |  the first piece that differs, or the end of the input
 *         v
 *     writing:    that beginning is copied, then each piece becomes a repetition of an earlier
 *                 record, a record reused from a known archive, or a new record
 */
#include <stdlib.h>
#include <string.h>

#include "core/archive/record_encode.h"
#include "core/archive/record_table.h"
#include "core/archive/writer.h"
#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/base/pool.h"
#include "core/compress/pieces.h"
#include "core/compress/revisions.h"

struct encode_job {
	uint8_t *raw;
	size_t capacity;
	struct record_head head;
	bool repeats; /* an earlier record of this archive, number earlier */
	uint64_t earlier;
	const struct brevis_archive *known; /* has a record that should restore raw, or NULL */
	uint64_t known_record;
	struct buffer record;
	bool reused;
	int status;
	struct brevis_error err;
};

struct brevis_encoder {
	struct archive_writer writer;
	brevis_write_fn write;
	void *ctx;
	struct piece_cutter cutter;
	struct revisions revisions;
	bool following;
	struct record_table records; /* of this archive; value: number */
	uint64_t record_count;
	uint64_t secret;    /* of the keys */
	struct buffer keys; /* a struct content_key of each record; of each piece while following */
	uint64_t reused_count;
	struct pool *pool;
	struct encode_job *jobs;
	size_t job_count;
	struct encode_job *growing; /* the job of the growing piece */
	uint64_t submitted;
	struct brevis_sha256 *sha;
	int status; /* the first failure */
};

/* ---- the worker's side ---------------------------------------------------------------------- */

/* Takes the known record if it restores exactly these bytes. */
static bool reuse(struct encode_job *job)
{
	const struct record_entry *entry = &job->known->records[job->known_record];
	void *restored = malloc(job->head.raw_size);
	bool equal = false;

	if (restored && buffer_extend(&job->record, entry->size) &&
	    !archive_read_record(job->known, job->known_record, job->record.data, NULL) &&
	    !record_decode(job->record.data, job->record.size, &job->head, restored, NULL))
		equal = !memcmp(restored, job->raw, job->head.raw_size);
	free(restored);
	return equal;
}

static void run(void *arg)
{
	struct encode_job *job = arg;

	buffer_clear(&job->record);
	job->status = BREVIS_OK;
	job->reused = false;
	if (job->repeats)
		return;
	if (job->known)
		job->reused = reuse(job);
	if (job->reused)
		return;
	buffer_clear(&job->record);
	job->status = record_encode(&job->head, job->raw, &job->record, &job->err);
}

/* ---- the calling thread's side -------------------------------------------------------------- */

int brevis_encoder_new(const struct brevis_encode_options *options, brevis_write_fn write,
		       void *ctx, struct brevis_encoder **out, struct brevis_error *err)
{
	static const struct brevis_encode_options defaults;
	struct brevis_encoder *e = calloc(1, sizeof(*e));
	unsigned threads;
	int status;

	if (!e)
		return error_nomem(err);
	if (!options)
		options = &defaults;
	threads = pool_threads(options->threads);
	/* One piece for each worker, one that is ready for it, one that grows. */
	e->job_count = threads > 1 ? threads + 2 : 1;
	e->write = write;
	e->ctx = ctx;
	e->following = options->known_count > 0;
	e->secret = content_secret();
	e->jobs = calloc(e->job_count, sizeof(*e->jobs));
	e->sha = brevis_sha256_new();
	e->pool = pool_new(threads, e->job_count, run);
	status = e->jobs && e->sha && e->pool ? BREVIS_OK : error_nomem(err);
	if (!status)
		status = piece_cutter_init(&e->cutter, err);
	if (!status)
		status = revisions_init(&e->revisions, options->known, options->known_count, err);
	if (!status && !e->following)
		status = archive_writer_begin(&e->writer, write, ctx, err);
	if (status)
		brevis_encoder_free(e);
	else
		*out = e;
	return status;
}

void brevis_encoder_free(struct brevis_encoder *e)
{
	size_t i;

	if (!e)
		return;
	pool_free(e->pool);
	for (i = 0; e->jobs && i < e->job_count; i++) {
		free(e->jobs[i].raw);
		buffer_release(&e->jobs[i].record);
	}
	free(e->jobs);
	brevis_sha256_free(e->sha);
	piece_cutter_release(&e->cutter);
	revisions_release(&e->revisions);
	record_table_release(&e->records);
	buffer_release(&e->keys);
	archive_writer_release(&e->writer);
	free(e);
}

/* Writes the oldest job's piece. */
static int deliver(struct brevis_encoder *e, struct brevis_error *err)
{
	struct encode_job *job = pool_take(e->pool);

	if (job->status) {
		if (err)
			*err = job->err;
		return job->status;
	}
	if (job->repeats)
		return archive_writer_repeat(&e->writer, job->earlier, err);
	e->reused_count += job->reused;
	return archive_writer_record(&e->writer, job->record.data, job->record.size, err);
}

static struct content_key *key_at(const struct brevis_encoder *e, uint64_t i)
{
	return (struct content_key *)(void *)e->keys.data + i;
}

/* Copies the pieces that the input has in common with the archive that was followed. */
static int copy_followed(struct brevis_encoder *e, struct brevis_error *err)
{
	const struct brevis_archive *known = e->revisions.followed;
	struct buffer record = BUFFER_INIT;
	uint64_t i;
	int status = archive_writer_begin(&e->writer, e->write, e->ctx, err);

	for (i = 0; i < e->revisions.pieces && !status; i++) {
		const struct piece_entry *piece = &known->pieces[i];
		const struct record_entry *entry = &known->records[piece->record];

		if (piece->repeats) {
			status = archive_writer_repeat(&e->writer, piece->record, err);
			continue;
		}
		buffer_clear(&record);
		if (!buffer_extend(&record, entry->size) ||
		    record_table_add(&e->records, &entry->head, e->record_count))
			status = error_nomem(err);
		if (!status)
			status = archive_read_record(known, piece->record, record.data, err);
		if (!status)
			status = archive_writer_record(&e->writer, record.data, record.size, err);
		*key_at(e, e->record_count++) = *key_at(e, i);
		e->reused_count++;
	}
	e->keys.size = e->record_count * sizeof(struct content_key);
	buffer_release(&record);
	e->following = false;
	return status;
}

/*
 * Gives the piece that has just ended to the workers, or finds that it needs no work. Checksums can
 * be forged to be alike: only the key tells that a piece repeats an earlier one.
 */
static int submit(struct brevis_encoder *e, const struct content_key *key, struct brevis_error *err)
{
	struct encode_job *job = e->growing;

	job->repeats = record_table_find(&e->records, &job->head, &job->earlier) &&
		       content_key_equal(*key_at(e, job->earlier), *key);
	job->known = NULL;
	if (!job->repeats) {
		revisions_find(&e->revisions, &job->head, &job->known, &job->known_record);
		buffer_append(&e->keys, key, sizeof(*key));
		if (buffer_failed(&e->keys) ||
		    record_table_add(&e->records, &job->head, e->record_count))
			return error_nomem(err);
		e->record_count++;
	}
	e->growing = NULL;
	e->submitted++;
	pool_submit(e->pool, job);
	return BREVIS_OK;
}

static int end_piece(struct brevis_encoder *e, uint8_t kind, struct brevis_error *err)
{
	struct encode_job *job = e->growing;
	struct content_key key = content_key_of(job->raw, job->head.raw_size, e->secret);
	int status = BREVIS_OK;

	job->head.kind = kind;
	job->head.checksum = checksum64(job->raw, job->head.raw_size);
	if (e->following) {
		if (revisions_follow(&e->revisions, &job->head)) {
			buffer_append(&e->keys, &key, sizeof(key));
			job->head.raw_size = 0;
			return buffer_failed(&e->keys) ? error_nomem(err) : BREVIS_OK;
		}
		status = copy_followed(e, err);
	}
	return status ? status : submit(e, &key, err);
}

/* Finds a free job for the next piece. */
static int begin_piece(struct brevis_encoder *e, struct brevis_error *err)
{
	int status = BREVIS_OK;

	if (pool_pending(e->pool) == e->job_count)
		status = deliver(e, err);
	e->growing = &e->jobs[e->submitted % e->job_count];
	e->growing->head.raw_size = 0;
	return status;
}

/* Appends to the growing piece, whose memory grows with it up to what it can reach. */
static int append(struct encode_job *job, const void *data, size_t len, size_t expected,
		  struct brevis_error *err)
{
	size_t size = job->head.raw_size;

	if (size + len > job->capacity) {
		size_t capacity = size + len < expected / 4 ? 4 * (size + len) : expected;
		uint8_t *raw = realloc(job->raw, capacity);

		if (!raw)
			return error_nomem(err);
		job->raw = raw;
		job->capacity = capacity;
	}
	memcpy(job->raw + size, data, len);
	job->head.raw_size = (uint32_t)(size + len);
	return BREVIS_OK;
}

static int take(struct brevis_encoder *e, const uint8_t *data, size_t len, struct brevis_error *err)
{
	int status = BREVIS_OK;

	brevis_sha256_update(e->sha, data, len);
	while (len && !status) {
		size_t expected = piece_cutter_expect(&e->cutter);
		size_t used;
		bool ends;
		uint8_t kind;

		if (!e->growing)
			status = begin_piece(e, err);
		if (!status)
			status = piece_cutter_feed(&e->cutter, data, len, &used, &ends, &kind, err);
		if (!status)
			status = append(e->growing, data, used, expected, err);
		if (!status && ends)
			status = end_piece(e, kind, err);
		if (!status) {
			data += used;
			len -= used;
		}
	}
	return status;
}

int brevis_encoder_write(struct brevis_encoder *e, const void *data, size_t len,
			 struct brevis_error *err)
{
	if (e->status)
		return error_set(err, BREVIS_E_USAGE, "the encoder has failed before");
	e->status = take(e, data, len, err);
	return e->status;
}

static int finish(struct brevis_encoder *e, struct brevis_encode_summary *s,
		  struct brevis_error *err)
{
	struct archive_original original;
	int status = BREVIS_OK;

	s->layout = piece_cutter_finish(&e->cutter, s->note, sizeof(s->note));
	s->original_size = e->cutter.size;
	brevis_sha256_final(e->sha, s->original_sha256);
	if (e->growing && e->growing->head.raw_size)
		status = end_piece(e, RECORD_BYTES, err);
	if (!status && e->following) {
		s->same_as = revisions_same(&e->revisions, s->layout, s->original_sha256);
		if (s->same_as)
			return BREVIS_OK;
		status = copy_followed(e, err);
	}
	while (!status && pool_pending(e->pool))
		status = deliver(e, err);
	original.layout = s->layout;
	original.size = s->original_size;
	memcpy(original.sha256, s->original_sha256, sizeof(original.sha256));
	if (!status)
		status = archive_writer_finish(&e->writer, &original, s->archive_sha256, err);
	s->archive_size = e->writer.size;
	s->records = e->writer.records;
	s->records_reused = e->reused_count;
	return status;
}

int brevis_encoder_finish(struct brevis_encoder *e, struct brevis_encode_summary *summary,
			  struct brevis_error *err)
{
	struct brevis_encode_summary s = {0};

	if (e->status)
		return error_set(err, BREVIS_E_USAGE, "the encoder has failed before");
	e->status = finish(e, &s, err);
	if (e->status)
		return e->status;
	e->status = BREVIS_E_USAGE; /* nothing may follow */
	*summary = s;
	return BREVIS_OK;
}
