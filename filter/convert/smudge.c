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

/* Names the object's file: it is to be looked at. */
static enum smudge_result fail_file(const struct job *job, const char *what, const char *cause,
				    const char *remedy)
{
	char *object = object_store_path(job->ws->store, job->pointer->oid);

	report_error("%s: its object %s %s: %s; %s", job->path, object ? object : job->pointer->oid,
		     what, cause, remedy);
	free(object);
	return SMUDGE_FAILED;
}

static enum smudge_result fail_object(const struct job *job, const char *cause)
{
	return fail_file(job, "is damaged", cause,
			 "see `git brevis fsck`, or move that file away and run `git brevis pull` "
			 "to download it again");
}

/* Of an object of the wrong size git-lfs knows that it has to come again. */
static enum smudge_result fail_size(const struct job *job)
{
	char cause[80];

	snprintf(cause, sizeof(cause), "wrong size, %" PRIu64 " bytes instead of %" PRIu64,
		 job->file.source.size, job->pointer->size);
	return fail_file(job, "is damaged", cause, "`git brevis pull` downloads it again");
}

/* The object is here, but the system does not hand out its bytes. What they are, nobody knows. */
static enum smudge_result fail_reading(const struct job *job, int failure)
{
	return fail_file(
		job, "cannot be read", strerror(failure),
		failure == EIO
			? "check the disk, then move that file away and run `git brevis pull`"
			: "make that a file that can be read");
}

static enum smudge_result fail_archive(const struct job *job, const struct brevis_error *err)
{
	if (job->outlet.failure)
		return fail_outlet(job);
	switch (err->status) {
	case BREVIS_E_UNSUPPORTED:
	case BREVIS_E_LIMIT:
		report_error("%s: %s; a newer git-brevis may restore it", job->path, err->message);
		return SMUDGE_FAILED;
	case BREVIS_E_NOMEM:
		report_error("%s: out of memory", job->path);
		return SMUDGE_FAILED;
	case BREVIS_E_IO:
		/* Not ENODATA: a file that became shorter is damage. */
		if (job->file.failure && job->file.failure != ENODATA)
			return fail_reading(job, job->file.failure);
		return fail_object(job, err->message);
	default:
		return fail_object(job, err->message);
	}
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
		if (job->file.failure == ENODATA)
			fail_object(job, "it became shorter while it was read");
		else if (job->file.failure)
			fail_reading(job, job->file.failure);
		else
			report_error("%s: out of memory", job->path);
		goto out;
	}
	brevis_sha256_final(passage.sha, digest);
	digest_to_hex(digest, hex);
	if (strcmp(hex, job->pointer->oid) != 0) {
		fail_object(job, "its SHA-256 is not its name");
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
	enum smudge_result result;

	if (pointer->size == 0) {
		report_trace("smudge %s: empty", path);
		return SMUDGE_DONE;
	}
	if (object_file_open(&job.file, ws->store, pointer->oid) != 0)
		return errno == ENOENT || errno == ENOTDIR ? SMUDGE_MISSING
							   : fail_reading(&job, errno);
	if (job.file.source.size != pointer->size) {
		result = fail_size(&job);
	} else if (job.file.is_archive) {
		result = decode(&job);
	} else {
		result = pass_through(&job);
	}
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
