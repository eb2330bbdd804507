/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pipeline from a file to its archive. The calling thread cuts the stream into pieces and
 * recognises those that are known; workers, of which it is one, turn the others into records, and
 * prove each by decoding it; the calling thread writes the records in source order. Two hashers
 * beside all that make the SHA-256 of the original and, if anybody wants it, of the archive.
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

#include "core/base/error.h"
#include "core/compress/encoder.h"

/* Makes the jobs, and the pool that they are for. */
static int make_jobs(struct brevis_encoder *e, struct brevis_error *err)
{
	size_t i;

	if (rings_init(&e->rings, e->threads, sizeof(struct encode_job)))
		return error_nomem(err);
	for (i = 0; i < e->rings.count; i++)
		((struct encode_job *)rings_at(&e->rings, i))->frame = &e->frame;
	e->pool = pool_new(e->threads, e->rings.count, encode_job_run);
	return e->pool ? BREVIS_OK : error_nomem(err);
}

/* Makes all that has to be allocated. */
static int allocate(struct brevis_encoder *e, const struct brevis_encode_options *options,
		    struct brevis_error *err)
{
	bool hashes = !options->codec_only && !options->original_sha256;

	e->frame.decoders = calloc(e->threads, sizeof(*e->frame.decoders));
	e->keyer = content_keyer_new();
	e->checksum = checksum64_stream_new();
	e->hasher = hashes ? hasher_new(e->threads > 1) : NULL;
	if (!e->frame.decoders || !e->keyer || !e->checksum || (hashes && !e->hasher))
		return error_nomem(err);
	checksum64_stream_begin(e->checksum);
	return make_jobs(e, err);
}

int brevis_encoder_new(const struct brevis_encode_options *options, brevis_write_fn write,
		       void *ctx, struct brevis_encoder **out, struct brevis_error *err)
{
	static const struct brevis_encode_options defaults;
	struct brevis_encoder *e = calloc(1, sizeof(*e));
	int status;

	if (!e)
		return error_nomem(err);
	if (!options)
		options = &defaults;
	e->threads = pool_threads(options->threads);
	e->write = write;
	e->ctx = ctx;
	e->phase = options->known_count > 0 ? FOLLOWING : GATHERING;
	e->write_checks = options->write_checks;
	e->unnamed = options->unnamed;
	e->codec_only = options->codec_only;
	e->input_stays = options->input_stays;
	e->original_sha256 = options->original_sha256;
	guide_init(&e->guide, options);
	e->frame.options.programs.preset = options->preset;
	e->frame.options.bytes = bytes_options_of(options->preset);
	e->frame.revisions = &e->revisions;
	e->frame.prove = !options->codec_only;
	status = allocate(e, options, err);
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
	/* First whoever reads what is freed then. */
	pool_free(e->pool);
	hasher_free(e->hasher);
	archive_writer_release(&e->writer);
	for (i = 0; i < e->rings.count; i++)
		encode_job_release(rings_at(&e->rings, i));
	rings_release(&e->rings);
	for (i = 0; e->frame.decoders && i < e->threads; i++)
		record_decoder_release(&e->frame.decoders[i]);
	free(e->frame.decoders);
	window_release(&e->window);
	guide_release(&e->guide);
	piece_cutter_release(&e->cutter);
	revisions_release(&e->revisions);
	record_table_release(&e->records);
	content_keyer_free(e->keyer);
	checksum64_stream_free(e->checksum);
	buffer_release(&e->keys);
	buffer_release(&e->kinds);
	buffer_release(&e->before);
	free(e);
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

/* Gives what was held back to the workers. */
static int submit_window(struct brevis_encoder *e, struct brevis_error *err)
{
	size_t i;
	int status = BREVIS_OK;

	for (i = 0; i < e->window.count && !status; i++) {
		struct held_piece *held = &e->window.pieces[i];

		status = records_begin(e, held->head.raw_size, err);
		if (status)
			break;
		free(e->growing->memory);
		e->growing->raw = held->raw;
		e->growing->memory = held->memory;
		e->growing->capacity = held->capacity;
		e->growing->head = held->head;
		e->growing->kind = held->kind;
		e->growing->hashed = held->hashed;
		e->growing->summed = held->summed;
		held->memory = NULL;
		status = records_submit(e, &held->key, err);
	}
	/* If that failed there may be pieces that are still being hashed. */
	if (!status)
		window_release(&e->window);
	return status;
}

static struct archive_hash hash_of(const struct brevis_encoder *e)
{
	return (struct archive_hash){
		.wanted = !e->codec_only && !e->unnamed,
		.threaded = e->threads > 1,
		.keyed = !e->codec_only && !e->write_checks,
	};
}

/* Writes what was followed, and begins to write what is new. */
static int start_writing(struct brevis_encoder *e, struct brevis_error *err)
{
	struct span none = {0};
	const struct model *model = &e->guide.model;
	int status = guide_decide(&e->guide, family_of(e), &e->revisions, &e->window, err);

	e->frame.options.programs.prior = model->prior;
	e->frame.options.programs.codebook = model->codebook;
	if (!status)
		status = archive_writer_begin(
			&e->writer, e->write, e->ctx, hash_of(e),
			model->codebook ? codebook_bytes(model->codebook) : none, err);
	if (!status)
		status = records_copy_followed(e, err);
	e->phase = WRITING;
	return status ? status : submit_window(e, err);
}

/* Holds the growing piece back. */
static int hold(struct brevis_encoder *e, const struct content_key *key, struct brevis_error *err)
{
	struct encode_job *job = e->growing;
	struct held_piece piece = {
		.raw = job->raw,
		.memory = job->memory,
		.capacity = job->capacity,
		.head = job->head,
		.kind = job->kind,
		.key = *key,
		.hashed = job->hashed,
		.summed = job->summed,
	};

	/* Pieces must not hold buffers that are much larger. */
	if (job->raw != job->memory) {
		piece.memory = NULL;
		piece.capacity = 0;
	} else if (job->capacity > job->head.raw_size + (size_t)job->head.raw_size / 4) {
		piece.memory = malloc(job->head.raw_size);
		if (!piece.memory)
			return error_nomem(err);
		piece.raw = memcpy(piece.memory, job->raw, job->head.raw_size);
		piece.capacity = job->head.raw_size;
		piece.hashed = 0;
	}
	if (window_add(&e->window, &piece)) {
		if (piece.memory != job->memory)
			free(piece.memory);
		return error_nomem(err);
	}
	if (piece.memory == job->memory) {
		job->memory = NULL;
		job->capacity = 0;
	}
	e->growing = NULL;
	return BREVIS_OK;
}

/* Adds the growing piece to what is followed. *follows: an archive goes on with it. */
static int follow(struct brevis_encoder *e, const struct content_key *key, bool *follows,
		  struct brevis_error *err)
{
	struct encode_job *job = e->growing;

	encode_job_sum(job);
	*follows = revisions_follow(&e->revisions, &job->head);
	if (!*follows) {
		e->phase = GATHERING;
		return BREVIS_OK;
	}
	e->growing = NULL;
	buffer_append(&e->keys, key, sizeof(*key));
	return records_remember(e, job) || buffer_failed(&e->keys) ? error_nomem(err) : BREVIS_OK;
}

/* What the growing piece equals; if nobody wants to know, something that nothing else equals. */
static struct content_key key_of_piece(struct brevis_encoder *e)
{
	if (e->codec_only)
		return (struct content_key){.low = ++e->pieces};
	return content_keyer_end(e->keyer);
}

/* Takes the checksum of what was appended; that of what stayed in place is still to be found. */
static void take_checksum(struct brevis_encoder *e, struct encode_job *job)
{
	job->summed = !e->codec_only && job->raw == job->memory;
	if (job->summed)
		job->head.checksum = checksum64_stream_end(e->checksum);
	checksum64_stream_begin(e->checksum);
}

static int end_piece(struct brevis_encoder *e, const struct piece_kind *kind,
		     struct brevis_error *err)
{
	struct encode_job *job = e->growing;
	struct content_key key = key_of_piece(e);
	bool follows = false;
	int status = BREVIS_OK;

	job->kind = *kind;
	job->head.kind = kind->record;
	take_checksum(e, job);
	job->hashed = e->hasher ? hasher_add(e->hasher, job->raw, job->head.raw_size) : 0;
	if (e->doubt.status) {
		e->growing = NULL;
		return BREVIS_OK;
	}
	if (e->phase == FOLLOWING)
		status = follow(e, &key, &follows, err);
	if (status || follows)
		return status;
	if (e->phase == WRITING)
		return records_submit(e, &key, err);
	status = hold(e, &key, err);
	if (!status && is_decided(e))
		status = start_writing(e, err);
	return status;
}

/* ---- input ---------------------------------------------------------------------------------- */

/* Appends to the growing piece, whose memory grows with it up to what it can reach. */
static int append(struct brevis_encoder *e, const void *data, size_t len, size_t expected,
		  struct brevis_error *err)
{
	struct encode_job *job = e->growing;
	size_t size = job->head.raw_size;

	if (size + len > job->capacity) {
		size_t capacity = size + len < expected / 4 ? 4 * (size + len) : expected;
		uint8_t *memory = realloc(job->memory, capacity);

		if (!memory)
			return error_nomem(err);
		job->memory = memory;
		job->capacity = capacity;
	}
	memcpy(job->memory + size, data, len);
	job->raw = job->memory;
	/* While they are in the cache. */
	if (!e->codec_only) {
		content_keyer_update(e->keyer, data, len);
		checksum64_stream_update(e->checksum, data, len);
	}
	job->head.raw_size = (uint32_t)(size + len);
	return BREVIS_OK;
}

/* True if a piece that begins and ends here need not be copied: words are to be aligned. */
static bool can_stay(const struct brevis_encoder *e, const uint8_t *data, unsigned kind)
{
	size_t alignment = kind == RECORD_BYTES ? 1 : kind / 8;

	return e->input_stays && !e->growing->head.raw_size && (uintptr_t)data % alignment == 0;
}

static void stay(struct brevis_encoder *e, const uint8_t *data, size_t len)
{
	e->growing->raw = data;
	e->growing->head.raw_size = (uint32_t)len;
	if (!e->codec_only)
		content_keyer_update(e->keyer, data, len);
}

static int take(struct brevis_encoder *e, const uint8_t *data, size_t len, struct brevis_error *err)
{
	int status = BREVIS_OK;

	while (len && !status) {
		size_t expected = piece_cutter_expect(&e->cutter);
		size_t used;
		bool ends;
		struct piece_kind kind;

		if (!e->growing)
			status = records_begin(e, expected, err);
		if (!status)
			status = piece_cutter_feed(&e->cutter, data, len, &used, &ends, &kind, err);
		if (!status && ends && can_stay(e, data, kind.record))
			stay(e, data, used);
		else if (!status)
			status = append(e, data, used, expected, err);
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

/* ---- the end -------------------------------------------------------------------------------- */

/* Writes what is left of the archive. */
static int finish_archive(struct brevis_encoder *e, struct brevis_encode_summary *s,
			  struct brevis_error *err)
{
	const struct model *model = &e->guide.model;
	struct archive_original original = {
		.layout = s->layout, .size = s->original_size, .has_prior = model->named};
	int status = BREVIS_OK;

	while (!status && pool_pending(e->pool))
		status = records_deliver(e, err);
	memcpy(original.sha256, s->original_sha256, sizeof(original.sha256));
	memcpy(original.prior_sha256, model->sha256, sizeof(original.prior_sha256));
	s->prior = e->guide.origin;
	memcpy(s->prior_sha256, model->sha256, sizeof(s->prior_sha256));
	if (!status)
		status = archive_writer_finish(&e->writer, &original, s->archive_sha256, err);
	s->archive_size = e->writer.size;
	s->records = e->writer.records;
	s->records_reused = e->reused_count;
	return status;
}

static int finish(struct brevis_encoder *e, struct brevis_encode_summary *s,
		  struct brevis_error *err)
{
	static const struct piece_kind rest = {.record = RECORD_BYTES};
	int status = BREVIS_OK;

	s->layout = piece_cutter_finish(&e->cutter, s->note, sizeof(s->note));
	s->original_size = e->cutter.size;
	if (e->growing && e->growing->head.raw_size)
		status = end_piece(e, &rest, err);
	if (status)
		return status;
	if (e->hasher)
		hasher_final(e->hasher, s->original_sha256);
	else if (e->original_sha256)
		memcpy(s->original_sha256, e->original_sha256, BREVIS_SHA256_SIZE);
	if (e->phase == FOLLOWING)
		s->same_as = revisions_same(&e->revisions, s->layout, s->original_sha256);
	if (s->same_as)
		return BREVIS_OK;
	if (e->phase != WRITING)
		status = start_writing(e, err);
	if (!status && !e->doubt.status)
		return finish_archive(e, s, err);
	s->unproven = e->doubt.status != BREVIS_OK;
	memcpy(s->why_unproven, e->doubt.message, sizeof(s->why_unproven));
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
	e->is_written = !s.same_as && !s.unproven && !e->codec_only;
	*summary = s;
	return BREVIS_OK;
}

/* True if the index says of the whole what the encoder knows. */
static bool index_agrees(const struct brevis_encoder *e, const struct brevis_archive_info *info)
{
	return info->original_size == e->cutter.size && info->pieces == e->writer.pieces &&
	       info->records == e->writer.records;
}

int brevis_encoder_check(struct brevis_encoder *e, const struct brevis_source *written,
			 struct brevis_error *err)
{
	struct brevis_archive *archive = NULL;
	int status;

	if (!e->is_written)
		return error_set(err, BREVIS_E_USAGE, "there is no archive to check");
	status = archive_writer_check(&e->writer, written, err);
	if (!status)
		status = brevis_archive_open(written, &archive, err);
	if (!status && !index_agrees(e, brevis_archive_info(archive)))
		status = error_set(err, BREVIS_E_CHECKSUM, "its index is not what was written");
	brevis_archive_free(archive);
	return status;
}
