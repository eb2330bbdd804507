/* SPDX-License-Identifier: Apache-2.0 */
#include "core/compress/encode_job.h"

#include <stdlib.h>
#include <string.h>

static struct span before_of(const struct encode_job *job)
{
	return span_of(job->before.data, job->before.size);
}

/*
 * Takes the known record if it restores exactly these bytes where it is to stand: with the codebook
 * of the archive that is being written and behind these bytes, whatever its own were.
 */
static bool reuse(struct encode_job *job)
{
	const struct record_entry *entry = &job->known->records[job->known_record];
	void *restored = malloc(job->head.raw_size);
	bool equal = false;

	if (restored && buffer_extend(&job->record, entry->size) &&
	    !archive_read_record(job->known, job->known_record, job->record.data, NULL) &&
	    !record_decode(job->record.data, job->record.size, &job->head,
			   job->options->programs.codebook, before_of(job), restored, NULL))
		equal = !memcmp(restored, job->raw, job->head.raw_size);
	free(restored);
	return equal;
}

void encode_job_run(void *arg)
{
	struct encode_job *job = arg;
	struct record_options options = *job->options;

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
	options.bytes.before = before_of(job);
	job->status = record_encode(&job->head, job->raw, &job->kind.tensor, &options, &job->record,
				    &job->err);
}

void encode_job_release(struct encode_job *job)
{
	free(job->raw);
	buffer_release(&job->before);
	buffer_release(&job->record);
}
