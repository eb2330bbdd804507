/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pipeline from a file to its archive. The calling thread cuts the stream into pieces, hashes
 * them and recognises those that are known; workers turn the others into records; the calling
 * thread writes the records in source order.
 *
 *     following:  the input equals the beginning of a known archive; pieces are only compared
 *         |  the first piece that differs, or the end of the input
 *         v
 *     gathering:  pieces are held back until there is a prior: from the store, or learned from them
 *         |  a prior, or reason for none
 *         v
 *     writing:    the beginning that was followed is copied; then each piece, those that were held
 *                 back first, becomes a repetition of an earlier
 *                 record, a record reused from a known archive, or a new record
 *
 * Bytes behind other bytes become chained records, which refer to what is before them: every job
 * has a copy of that. Whether a record is chained is known when it is written, not before.
 */
#include <stdlib.h>
#include <string.h>

#include "core/archive/record_table.h"
#include "core/archive/writer.h"
#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/base/pool.h"
#include "core/compress/encode_job.h"
#include "core/compress/guide.h"
#include "core/compress/revisions.h"
#include "core/compress/window.h"

enum encoder_phase { FOLLOWING, GATHERING, WRITING };

struct brevis_encoder {
	struct archive_writer writer;
	brevis_write_fn write;
	void *ctx;
	struct piece_cutter cutter;
	struct revisions revisions;
	enum encoder_phase phase;
	struct window window;
	struct guide guide;
	struct record_options record_options;
	struct record_table records; /* of this archive; value: number */
	uint64_t record_count;
	uint64_t secret;    /* of the keys */
	struct buffer keys; /* a struct content_key of each record; of each piece while following */
	struct buffer kinds;  /* a byte for each record that was written */
	struct buffer before; /* what a chained record of the next piece would refer to */
	uint64_t reused_count;
	struct pool *pool;
	struct encode_job *jobs;
	size_t job_count;
	struct encode_job *growing; /* the job of the growing piece */
	uint64_t submitted;
	struct brevis_sha256 *sha;
	int status; /* the first failure */
};

int brevis_encoder_new(const struct brevis_encode_options *options, brevis_write_fn write,
		       void *ctx, struct brevis_encoder **out, struct brevis_error *err)
{
	static const struct brevis_encode_options defaults;
	struct brevis_encoder *e = calloc(1, sizeof(*e));
	unsigned threads;
	size_t i;
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
	e->phase = options->known_count > 0 ? FOLLOWING : GATHERING;
	guide_init(&e->guide, options);
	e->record_options.programs.preset = options->preset;
	e->record_options.bytes = bytes_options_of(options->preset);
	e->secret = content_secret();
	e->jobs = calloc(e->job_count, sizeof(*e->jobs));
	e->sha = brevis_sha256_new();
	e->pool = pool_new(threads, e->job_count, encode_job_run);
	status = e->jobs && e->sha && e->pool ? BREVIS_OK : error_nomem(err);
	for (i = 0; !status && i < e->job_count; i++)
		e->jobs[i].options = &e->record_options;
	if (!status)
		status = piece_cutter_init(&e->cutter, err);
	if (!status)
		status = revisions_init(&e->revisions, options->known, options->known_count, err);
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
	for (i = 0; e->jobs && i < e->job_count; i++)
		encode_job_release(&e->jobs[i]);
	free(e->jobs);
	brevis_sha256_free(e->sha);
	window_release(&e->window);
	guide_release(&e->guide);
	piece_cutter_release(&e->cutter);
	revisions_release(&e->revisions);
	record_table_release(&e->records);
	buffer_release(&e->keys);
	buffer_release(&e->kinds);
	buffer_release(&e->before);
	archive_writer_release(&e->writer);
	free(e);
}

/* Writes the next record. */
static int put_record(struct brevis_encoder *e, const struct buffer *record,
		      struct brevis_error *err)
{
	buffer_u8(&e->kinds, record->data[0]);
	if (buffer_failed(&e->kinds))
		return error_nomem(err);
	return archive_writer_record(&e->writer, record->data, record->size, err);
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
	return put_record(e, &job->record, err);
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
	int status = BREVIS_OK;

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
			status = put_record(e, &record, err);
		*key_at(e, e->record_count++) = *key_at(e, i);
		e->reused_count++;
	}
	e->keys.size = e->record_count * sizeof(struct content_key);
	buffer_release(&record);
	return status;
}

/*
 * Looks for an earlier record that restores the job's piece. Checksums can be forged to be alike:
 * only the key tells that a piece repeats an earlier one. A chained record cannot be repeated.
 */
static int find_earlier(struct brevis_encoder *e, struct encode_job *job,
			const struct content_key *key, struct brevis_error *err)
{
	int status = BREVIS_OK;

	job->repeats = record_table_find(&e->records, &job->head, &job->earlier) &&
		       content_key_equal(*key_at(e, job->earlier), *key);
	if (!job->repeats || !record_is_bytes(&job->head))
		return BREVIS_OK;
	while (!status && job->earlier >= e->kinds.size)
		status = deliver(e, err);
	job->repeats = !status && e->kinds.data[job->earlier] != RECORD_CHAINED;
	return status;
}

/* Keeps what a record behind this piece may refer to. Returns -1 when memory is short. */
static int remember(struct brevis_encoder *e, const struct encode_job *job)
{
	struct span reach = record_reach(job->raw, job->head.raw_size);

	buffer_clear(&e->before);
	if (record_is_bytes(&job->head))
		buffer_append(&e->before, reach.at, span_left(&reach));
	return buffer_failed(&e->before) ? -1 : 0;
}

/* Gives the job what is before its piece, and keeps what is before the next one. */
static int link_pieces(struct brevis_encoder *e, struct encode_job *job)
{
	struct buffer spare = job->before;

	job->before = e->before;
	e->before = spare;
	if (!record_is_bytes(&job->head))
		buffer_clear(&job->before);
	return remember(e, job);
}

/* Gives the piece that has just ended to the workers, or finds that it needs no work. */
static int submit(struct brevis_encoder *e, const struct content_key *key, struct brevis_error *err)
{
	struct encode_job *job = e->growing;
	int status = find_earlier(e, job, key, err);

	if (!status && link_pieces(e, job))
		status = error_nomem(err);
	if (status)
		return status;
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

/* ---- from gathering to writing -------------------------------------------------------------- */

/* Names the family of the file, as soon as it is known that it has one. */
static const uint8_t *family_of(const struct brevis_encoder *e)
{
	return e->cutter.described ? safetensors_family(e->cutter.parser) : NULL;
}

/* True if there is nothing to wait for: opaque bytes have no tensors to learn from. */
static bool is_decided(struct brevis_encoder *e)
{
	return guide_load(&e->guide, family_of(e), &e->revisions) ||
	       e->window.bytes >= WINDOW_BYTES ||
	       (e->cutter.phase == PIECES_REST && !e->cutter.described);
}

static int begin_piece(struct brevis_encoder *e, struct brevis_error *err);

/* Writes what was followed, and gives what was held back to the workers. */
static int start_writing(struct brevis_encoder *e, struct brevis_error *err)
{
	struct span none = {0};
	size_t i;
	const struct model *model = &e->guide.model;
	int status = guide_decide(&e->guide, family_of(e), &e->revisions, &e->window, err);

	e->record_options.programs.prior = model->prior;
	e->record_options.programs.codebook = model->codebook;
	if (!status)
		status = archive_writer_begin(
			&e->writer, e->write, e->ctx,
			model->codebook ? codebook_bytes(model->codebook) : none, err);
	if (!status)
		status = copy_followed(e, err);
	e->phase = WRITING;
	for (i = 0; i < e->window.count && !status; i++) {
		struct held_piece *held = &e->window.pieces[i];

		status = begin_piece(e, err);
		if (status)
			break;
		free(e->growing->raw);
		e->growing->raw = held->raw;
		e->growing->capacity = held->capacity;
		e->growing->head = held->head;
		e->growing->kind = held->kind;
		held->raw = NULL;
		status = submit(e, &held->key, err);
	}
	window_release(&e->window);
	return status;
}

/* Holds the growing piece back. */
static int hold(struct brevis_encoder *e, const struct content_key *key, struct brevis_error *err)
{
	struct encode_job *job = e->growing;
	struct held_piece piece = {job->raw, job->capacity, job->head, job->kind, *key};

	/* Pieces must not hold buffers that are much larger. */
	if (job->capacity > job->head.raw_size + (size_t)job->head.raw_size / 4) {
		piece.raw = malloc(job->head.raw_size);
		if (!piece.raw)
			return error_nomem(err);
		memcpy(piece.raw, job->raw, job->head.raw_size);
		piece.capacity = job->head.raw_size;
	}
	if (window_add(&e->window, &piece)) {
		if (piece.raw != job->raw)
			free(piece.raw);
		return error_nomem(err);
	}
	if (piece.raw == job->raw) {
		job->raw = NULL;
		job->capacity = 0;
	}
	job->head.raw_size = 0;
	e->growing = NULL;
	return BREVIS_OK;
}

static int end_piece(struct brevis_encoder *e, const struct piece_kind *kind,
		     struct brevis_error *err)
{
	struct encode_job *job = e->growing;
	struct content_key key = content_key_of(job->raw, job->head.raw_size, e->secret);
	int status;

	job->kind = *kind;
	job->head.kind = kind->record;
	job->head.checksum = checksum64(job->raw, job->head.raw_size);
	if (e->phase == FOLLOWING && revisions_follow(&e->revisions, &job->head)) {
		buffer_append(&e->keys, &key, sizeof(key));
		status = remember(e, job) || buffer_failed(&e->keys) ? error_nomem(err) : BREVIS_OK;
		job->head.raw_size = 0;
		return status;
	}
	if (e->phase == WRITING)
		return submit(e, &key, err);
	e->phase = GATHERING;
	status = hold(e, &key, err);
	if (!status && is_decided(e))
		status = start_writing(e, err);
	return status;
}

/* ---- input ---------------------------------------------------------------------------------- */

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
		struct piece_kind kind;

		if (!e->growing)
			status = begin_piece(e, err);
		if (!status)
			status = piece_cutter_feed(&e->cutter, data, len, &used, &ends, &kind, err);
		if (!status)
			status = append(e->growing, data, used, expected, err);
		if (!status && ends)
			status = end_piece(e, &kind, err);
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
	static const struct piece_kind rest = {.record = RECORD_BYTES};
	struct archive_original original = {0};
	int status = BREVIS_OK;

	s->layout = piece_cutter_finish(&e->cutter, s->note, sizeof(s->note));
	s->original_size = e->cutter.size;
	brevis_sha256_final(e->sha, s->original_sha256);
	if (e->growing && e->growing->head.raw_size)
		status = end_piece(e, &rest, err);
	if (!status && e->phase == FOLLOWING) {
		s->same_as = revisions_same(&e->revisions, s->layout, s->original_sha256);
		if (s->same_as)
			return BREVIS_OK;
	}
	if (!status && e->phase != WRITING)
		status = start_writing(e, err);
	while (!status && pool_pending(e->pool))
		status = deliver(e, err);
	original.layout = s->layout;
	original.size = s->original_size;
	memcpy(original.sha256, s->original_sha256, sizeof(original.sha256));
	original.has_prior = e->guide.model.named;
	memcpy(original.prior_sha256, e->guide.model.sha256, sizeof(original.prior_sha256));
	s->prior = e->guide.origin;
	memcpy(s->prior_sha256, e->guide.model.sha256, sizeof(s->prior_sha256));
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
