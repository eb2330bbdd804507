/* SPDX-License-Identifier: Apache-2.0 */
/** Smudge: from a pointer to the bytes of the work file. */
#include "filter/convert/convert.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "filter/cli/progress.h"
#include "filter/cli/report.h"
#include "filter/objects/judgement.h"
#include "filter/stream.h"

/* Keeps apart whose fault a failed decode is: the object's, or that of who takes the bytes. */
struct outlet {
	brevis_write_fn write;
	void *ctx;
	int failure; /* errno when the taker failed */
	struct progress progress;
};

static int pass_on(void *ctx, const void *data, size_t len)
{
	struct outlet *outlet = ctx;

	progress_add(&outlet->progress, len);
	errno = 0;
	if (outlet->write(outlet->ctx, data, len) == 0)
		return 0;
	outlet->failure = errno ? errno : EIO;
	return -1;
}

/* Everything about one smudge that its messages need. */
struct job {
	struct workspace *ws;
	const char *path;
	const struct pointer *pointer;
	struct object_file file;
	struct outlet outlet;
};

static enum smudge_result fail_outlet(const struct job *job)
{
	report_error("%s: cannot pass on its content: %s", job->path,
		     strerror(job->outlet.failure));
	return SMUDGE_FAILED;
}

static enum smudge_result fail_object(const struct job *job, const struct brevis_error *err)
{
	struct judgement judgement;

	object_judge_failure(&job->file, job->pointer, err, &judgement);
	judgement_report(&judgement, job->ws->store, job->path, job->pointer);
	return SMUDGE_FAILED;
}

static enum smudge_result fail_archive(const struct job *job, const struct brevis_error *err)
{
	return job->outlet.failure ? fail_outlet(job) : fail_object(job, err);
}

static enum smudge_result decode(struct job *job)
{
	struct brevis_decode_options options = {0};
	const struct brevis_archive_info *info;
	struct brevis_archive *archive = NULL;
	struct brevis_error err = {.message = ""};
	enum smudge_result result = SMUDGE_DONE;

	if (brevis_archive_open(&job->file.source, &archive, &err) != BREVIS_OK)
		return fail_archive(job, &err);
	info = brevis_archive_info(archive);
	thread_share_take(&job->ws->share, job->ws->threads);
	options.threads = job->ws->share.threads;
	progress_begin(&job->outlet.progress, "restoring", job->path, info->original_size);
	progress_share(&job->outlet.progress, info->original_size, info->archive_size);
	if (brevis_archive_decode(archive, &options, pass_on, &job->outlet, &err) != BREVIS_OK) {
		result = fail_archive(job, &err);
		goto out;
	}
	report_trace("smudge %s: archive %" PRIu64 " -> %" PRIu64 " bytes", job->path,
		     info->archive_size, info->original_size);
	known_add(job->ws->known, info->original_size, info->original_sha256, job->pointer);
out:
	progress_end(&job->outlet.progress);
	thread_share_return(&job->ws->share);
	brevis_archive_free(archive);
	return result;
}

/* A plain object on its way out. */
struct passage {
	struct outlet *outlet;
	struct brevis_sha256 *sha;
};

static int pass_and_hash(void *ctx, const void *data, size_t len)
{
	struct passage *passage = ctx;

	brevis_sha256_update(passage->sha, data, len);
	return pass_on(passage->outlet, data, len);
}

/* Passes a plain object through. Whether it is what its name says shows at the end. */
static enum smudge_result pass_through(struct job *job)
{
	const struct brevis_source *source = &job->file.source;
	struct passage passage = {&job->outlet, brevis_sha256_new()};
	struct brevis_error err = {BREVIS_E_CHECKSUM, "its SHA-256 is not its name"};
	enum smudge_result result = SMUDGE_FAILED;
	uint8_t digest[BREVIS_SHA256_SIZE];
	char hex[OID_HEX_SIZE + 1];

	if (!passage.sha) {
		report_error("%s: out of memory", job->path);
		return SMUDGE_FAILED;
	}
	progress_begin(&job->outlet.progress, "restoring", job->path, source->size);
	switch (source_copy(source, source->size, pass_and_hash, &passage)) {
	case 0:
		break;
	case 1:
		fail_outlet(job);
		goto out;
	default:
		err = (struct brevis_error){job->file.failure ? BREVIS_E_IO : BREVIS_E_NOMEM,
					    "out of memory"};
		fail_object(job, &err);
		goto out;
	}
	brevis_sha256_final(passage.sha, digest);
	digest_to_hex(digest, hex);
	if (strcmp(hex, job->pointer->oid) != 0) {
		fail_object(job, &err);
		goto out;
	}
	report_trace("smudge %s: plain object, %" PRIu64 " bytes", job->path, source->size);
	result = SMUDGE_DONE;
out:
	progress_end(&job->outlet.progress);
	brevis_sha256_free(passage.sha);
	return result;
}

enum smudge_result smudge_pointer(struct workspace *ws, const char *path,
				  const struct pointer *pointer, brevis_write_fn write, void *ctx)
{
	struct job job = {
		.ws = ws, .path = path, .pointer = pointer, .outlet = {.write = write, .ctx = ctx}};
	struct judgement judgement;
	enum smudge_result result;

	if (pointer->size == 0) {
		report_trace("smudge %s: empty", path);
		return SMUDGE_DONE;
	}
	if (object_open(&job.file, ws->store, pointer, &judgement) < 0) {
		if (judgement.verdict == VERDICT_MISSING)
			return SMUDGE_MISSING;
		judgement_report(&judgement, ws->store, path, pointer);
		return SMUDGE_FAILED;
	}
	result = job.file.is_archive ? decode(&job) : pass_through(&job);
	object_file_close(&job.file);
	return result;
}

static bool is_true(const char *text)
{
	return text && (strcmp(text, "1") == 0 || strcasecmp(text, "true") == 0 ||
			strcasecmp(text, "yes") == 0 || strcasecmp(text, "on") == 0 ||
			strcasecmp(text, "t") == 0);
}

bool smudge_is_skipped(const struct workspace *ws)
{
	const char *own = getenv("GIT_BREVIS_SKIP_SMUDGE");

	/* Ours decides if it is set, whatever git-lfs is told. */
	if (own && *own)
		return is_true(own);
	return is_true(getenv("GIT_LFS_SKIP_SMUDGE")) ||
	       repository_config_bool(ws->repository, "brevis.skipSmudge", false);
}
