/* SPDX-License-Identifier: Apache-2.0 */
/** The encoder's output: which record each piece gets, in source order. */
#include <string.h>

#include "core/base/error.h"
#include "core/compress/encoder.h"
#include "core/decompress.h"

static struct content_key *key_at(const struct brevis_encoder *e, uint64_t i)
{
	return (struct content_key *)(void *)e->keys.data + i;
}

struct record_head records_name(const struct record_head *piece, const struct content_key *key)
{
	/* Keys are as evenly spread as checksums are, but cannot be forged to be alike. */
	return (struct record_head){piece->kind, piece->raw_size, key->low};
}

/* Writes the next record. */
static int put_record(struct brevis_encoder *e, struct span record, struct brevis_error *err)
{
	buffer_u8(&e->kinds, record.at[0]);
	if (buffer_failed(&e->kinds))
		return error_nomem(err);
	return archive_writer_record(&e->writer, record.at, span_left(&record), err);
}

int records_deliver(struct brevis_encoder *e, struct brevis_error *err)
{
	struct encode_job *job = pool_take(e->pool);
	int status;

	job->submitted = false;
	if (job->status) {
		if (err)
			*err = job->err;
		return job->status;
	}
	if (job->repeats)
		return archive_writer_repeat(&e->writer, job->earlier, err);
	e->reused_count += job->reused;
	status = put_record(e, span_of(job->record.data, job->record.size), err);
	job->written = e->writer.ticket;
	return status;
}

int records_begin(struct brevis_encoder *e, size_t expected, struct brevis_error *err)
{
	struct encode_job *job = rings_next(&e->rings, expected);
	int status = BREVIS_OK;

	while (job->submitted && !status)
		status = records_deliver(e, err);
	if (status)
		return status;
	/* Its buffers are free once both hashers have read them. */
	hasher_wait(e->hasher, job->hashed);
	hasher_wait(e->writer.hasher, job->written);
	e->growing = job;
	job->head.raw_size = 0;
	return BREVIS_OK;
}

/* ---- repetitions and chains ----------------------------------------------------------------- */

/* Looks for an earlier record that restores the job's piece. A chained record cannot be repeated.
 */
static int find_earlier(struct brevis_encoder *e, struct encode_job *job,
			const struct record_head *name, const struct content_key *key,
			struct brevis_error *err)
{
	int status = BREVIS_OK;

	job->repeats = record_table_find(&e->records, name, &job->earlier) &&
		       content_key_equal(*key_at(e, job->earlier), *key);
	if (!job->repeats || !record_is_bytes(&job->head))
		return BREVIS_OK;
	while (!status && job->earlier >= e->kinds.size)
		status = records_deliver(e, err);
	job->repeats = !status && e->kinds.data[job->earlier] != RECORD_CHAINED;
	return status;
}

int records_remember(struct brevis_encoder *e, const struct encode_job *job)
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
	return records_remember(e, job);
}

int records_submit(struct brevis_encoder *e, const struct content_key *key,
		   struct brevis_error *err)
{
	struct encode_job *job = e->growing;
	struct record_head name = records_name(&job->head, key);
	int status = find_earlier(e, job, &name, key, err);

	if (!status && link_pieces(e, job))
		status = error_nomem(err);
	if (status)
		return status;
	if (!job->repeats) {
		buffer_append(&e->keys, key, sizeof(*key));
		if (buffer_failed(&e->keys) ||
		    record_table_add(&e->records, &name, e->record_count))
			return error_nomem(err);
		e->record_count++;
	}
	e->growing = NULL;
	job->submitted = true;
	pool_submit(e->pool, job);
	while (!status && pool_ready(e->pool))
		status = records_deliver(e, err);
	return status;
}

/* ---- what was followed ---------------------------------------------------------------------- */

/* A copy of what was followed. */
struct copy {
	struct brevis_encoder *e;
	bool failed; /* in writing, not in reading */
};

static int copy_record(struct brevis_encoder *e, const struct record_entry *entry,
		       const struct content_key *key, struct span stored, struct brevis_error *err)
{
	struct record_head name = records_name(&entry->head, key);
	int status;

	if (record_table_add(&e->records, &name, e->record_count))
		return error_nomem(err);
	*key_at(e, e->record_count++) = *key;
	status = put_record(e, stored, err);
	e->reused_count++;
	hasher_wait(e->writer.hasher, e->writer.ticket);
	return status;
}

static int copy_piece(void *ctx, uint64_t i, const struct piece_buffer *restored,
		      struct brevis_error *err)
{
	struct copy *copy = ctx;
	struct brevis_encoder *e = copy->e;
	const struct brevis_archive *known = e->revisions.followed;
	const struct piece_entry *piece = &known->pieces[i];
	struct content_key wanted = *key_at(e, i), key;
	int status;

	content_keyer_update(e->keyer, restored->raw, restored->raw_size);
	key = content_keyer_end(e->keyer);
	if (!content_key_equal(key, wanted))
		return error_set(err, BREVIS_E_CHECKSUM,
				 "record %u restores something else, of the same checksum",
				 piece->record + 1);
	status = piece->repeats ? archive_writer_repeat(&e->writer, piece->record, err)
				: copy_record(e, &known->records[piece->record], &key,
					      restored->record, err);
	copy->failed = status != BREVIS_OK;
	return status;
}

int records_copy_followed(struct brevis_encoder *e, struct brevis_error *err)
{
	struct copy copy = {.e = e};
	struct piece_taker taker = {.take = copy_piece, .ctx = &copy};
	struct brevis_error why;
	int status = BREVIS_OK;

	if (e->revisions.pieces)
		status = decompress_pieces(e->revisions.followed, 0, e->revisions.pieces, e->threads,
					   &taker, &why);
	e->keys.size = e->record_count * sizeof(struct content_key);
	if (!status)
		return BREVIS_OK;
	if (!copy.failed && status != BREVIS_E_NOMEM) {
		e->doubt = why;
		return BREVIS_OK;
	}
	if (err)
		*err = why;
	return status;
}
