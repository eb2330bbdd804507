/* SPDX-License-Identifier: Apache-2.0 */
#include "core/compress/encode_job.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/digest.h"
#include "core/base/error.h"

static struct span before_of(const struct encode_job *job)
{
	return span_of(job->before.data, job->before.size);
}

/*
 * Whether job->record restores exactly the piece where it is to stand: with the codebook of the
 * archive that is being written, and behind these bytes. Or else why it could not be seen that it
 * does.
 */
static int prove(struct encode_job *job, struct record_decoder *decoder)
{
	return record_decoder_compare(decoder, span_of(job->record.data, job->record.size),
				      &job->head, job->frame->options.programs.codebook,
				      before_of(job), job->raw, NULL);
}

/* Takes the record of an earlier archive, if there is one of that checksum and it is the same. */
static bool reuse(struct encode_job *job, struct record_decoder *decoder)
{
	const struct brevis_archive *known;
	uint64_t number;

	if (!revisions_find(job->frame->revisions, &job->head, &known, &number))
		return false;
	return buffer_extend(&job->record, known->records[number].size) &&
	       !archive_read_record(known, number, job->record.data, NULL) &&
	       !prove(job, decoder);
}

/* The plainest record: the bytes as they are. */
static int store(struct encode_job *job)
{
	struct buffer *record = &job->record;

	buffer_clear(record);
	buffer_u8(record, RECORD_BYTES);
	buffer_varint(record, job->head.raw_size);
	buffer_le64(record, job->head.checksum);
	buffer_u8(record, BYTES_STORED);
	buffer_append(record, job->raw, job->head.raw_size);
	job->head.kind = RECORD_BYTES;
	return buffer_failed(record) ? error_nomem(&job->err) : BREVIS_OK;
}

void encode_job_sum(struct encode_job *job)
{
	if (!job->summed)
		job->head.checksum = checksum64(job->raw, job->head.raw_size);
	job->summed = true;
}

static int make_record(struct encode_job *job, struct record_decoder *decoder)
{
	struct record_options options = job->frame->options;
	int status;

	encode_job_sum(job);
	job->reused = reuse(job, decoder);
	if (job->reused)
		return BREVIS_OK;
	buffer_clear(&job->record);
	options.bytes.before = before_of(job);
	status = record_encode(&job->head, job->raw, &job->kind.tensor, &options, &job->record,
			       &job->err);
	if (status || !job->frame->prove || !prove(job, decoder))
		return status;
	status = store(job);
	if (status)
		return status;
	status = prove(job, decoder);
	if (status == BREVIS_E_NOMEM)
		return error_nomem(&job->err);
	if (status)
		return error_set(&job->err, BREVIS_E_CHECKSUM,
				 "a record does not restore what it was made of");
	return BREVIS_OK;
}

void encode_job_run(void *arg, unsigned worker)
{
	struct encode_job *job = arg;

	buffer_clear(&job->record);
	job->reused = false;
	job->status = job->repeats ? BREVIS_OK : make_record(job, &job->frame->decoders[worker]);
}

void encode_job_release(struct encode_job *job)
{
	free(job->memory);
	buffer_release(&job->before);
	buffer_release(&job->record);
}
