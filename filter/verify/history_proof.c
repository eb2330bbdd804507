/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/verify/history_proof.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/pool.h"
#include "filter/cli/progress.h"
#include "filter/objects/proof.h"
#include "filter/cli/report.h"

/* Objects of so many bytes are decoded by all workers, smaller ones by a worker each. */
#define LARGE_OBJECT (8u << 20)

/* Jobs that wait for a worker, for each of them: one is never idle while the owner looks away. */
#define JOBS_EACH 4

#define PULL_AGAIN "`git brevis fsck` and then `git brevis pull` replace it"

static struct proven_object *object_at(const struct history_proof *proof, size_t i)
{
	return (struct proven_object *)(void *)proof->objects.data + i;
}

size_t history_proof_count(const struct history_proof *proof)
{
	return proof->objects.size / sizeof(struct proven_object);
}

/* ---- which objects --------------------------------------------------------------------------- */

static int take(void *ctx, const char *path, const struct pointer *pointer)
{
	struct history_proof *proof = ctx;
	struct proven_object object = {.pointer = *pointer, .files = 1};

	/* Nothing needs no object. */
	if (pointer->size == 0)
		return 0;
	object.path = strdup(path);
	if (object.path)
		buffer_append(&proof->objects, &object, sizeof(object));
	if (object.path && !buffer_failed(&proof->objects))
		return 0;
	free(object.path);
	return report_error("out of memory");
}

int history_proof_add(struct history_proof *proof, const char *revision)
{
	size_t unknown;
	int rc = repository_each_pointer(proof->ws->repository, revision, take, proof, &unknown);

	proof->unknown += unknown;
	return rc;
}

/* A pointer that gives an object another size is another question, so the size counts too. */
static int compare_objects(const void *a, const void *b)
{
	const struct proven_object *x = a;
	const struct proven_object *y = b;
	int order = strcmp(x->pointer.oid, y->pointer.oid);

	if (order == 0)
		order = (x->pointer.size > y->pointer.size) - (x->pointer.size < y->pointer.size);
	return order;
}

static int compare_paths(const void *a, const void *b)
{
	const struct proven_object *x = a;
	const struct proven_object *y = b;
	int order = strcmp(x->path, y->path);

	return order ? order : compare_objects(a, b);
}

/* Leaves each object once, in the order of paths. */
static void tidy(struct history_proof *proof)
{
	size_t count = history_proof_count(proof);
	size_t kept = 0;

	if (!count)
		return;
	qsort(proof->objects.data, count, sizeof(struct proven_object), compare_objects);
	for (size_t i = 0; i < count; i++) {
		struct proven_object *object = object_at(proof, i);

		if (!kept || compare_objects(object_at(proof, kept - 1), object) != 0) {
			*object_at(proof, kept++) = *object;
			continue;
		}
		object_at(proof, kept - 1)->files += object->files;
		free(object->path);
	}
	proof->objects.size = kept * sizeof(struct proven_object);
	qsort(proof->objects.data, kept, sizeof(struct proven_object), compare_paths);
}

/* ---- one object ------------------------------------------------------------------------------ */

static void judge(struct proven_object *object, enum verdict verdict, const char *why,
		  const char *remedy)
{
	object->verdict = verdict;
	object->why = strdup(why);
	object->remedy = remedy;
}

static void judge_unreadable(struct proven_object *object, int reason)
{
	judge(object, VERDICT_UNREADABLE, strerror(reason), "make it a file that can be read");
}

/* Its bytes are those of its name, but they do not restore: what does that mean? */
static void judge_decoding(struct proven_object *object, const struct brevis_error *err,
			   int failure)
{
	switch (err->status) {
	case BREVIS_E_UNSUPPORTED:
	case BREVIS_E_LIMIT:
		judge(object, VERDICT_UNREADABLE, err->message, "a newer git-brevis may do it");
		break;
	case BREVIS_E_NOMEM:
		judge(object, VERDICT_UNREADABLE, err->message,
		      "try again with fewer threads (brevis.threads)");
		break;
	case BREVIS_E_IO:
		judge(object, VERDICT_UNREADABLE, failure ? strerror(failure) : err->message,
		      "check the disk and try again");
		break;
	default:
		judge(object, VERDICT_DAMAGED, err->message,
		      "it was stored so: add the original file again");
	}
}

/* Bytes of the original, counted as the bytes of the object that they came from. */
struct decoding {
	struct progress *progress;
	uint64_t stored;
	uint64_t original;
	uint64_t done;
	uint64_t counted;
};

static int count_decoded(void *ctx, const void *data, size_t len)
{
	struct decoding *d = ctx;
	uint64_t due;

	(void)data;
	d->done += len;
	due = (uint64_t)((double)d->stored * ((double)d->done / (double)d->original));
	progress_add(d->progress, due - d->counted);
	d->counted = due;
	return 0;
}

static void decode(struct proven_object *object, const struct object_file *file, unsigned threads,
		   struct progress *progress)
{
	struct brevis_decode_options options = {.threads = threads};
	struct decoding decoding = {.progress = progress, .stored = file->source.size};
	struct brevis_archive *archive = NULL;
	struct brevis_error err = {.message = ""};
	int rc = brevis_archive_open(&file->source, &archive, &err);

	object->is_archive = true;
	if (rc == BREVIS_OK) {
		object->original_size = brevis_archive_info(archive)->original_size;
		decoding.original = object->original_size;
		rc = brevis_archive_decode(archive, &options, count_decoded, &decoding, &err);
	}
	if (rc != BREVIS_OK)
		judge_decoding(object, &err, file->failure);
	brevis_archive_free(archive);
}

static void check_bytes(struct proven_object *object, const struct object_file *file,
			unsigned threads, struct progress *progress)
{
	bool is_archive = file->is_archive;
	struct progress_source counted = {progress, &file->source};
	struct brevis_source source = is_archive ? file->source : progress_source(&counted);
	struct brevis_error err = {.message = ""};
	char why[120];

	if (file->source.size != object->pointer.size) {
		snprintf(why, sizeof(why), "wrong size, %" PRIu64 " bytes instead of %" PRIu64,
			 file->source.size, object->pointer.size);
		judge(object, VERDICT_DAMAGED, why, PULL_AGAIN);
	} else if (!source_is_object(&source, &object->pointer, &err)) {
		if (err.status == BREVIS_E_IO)
			judge_unreadable(object, file->failure ? file->failure : EIO);
		else
			judge(object, VERDICT_DAMAGED, err.message, PULL_AGAIN);
	} else if (is_archive) {
		decode(object, file, threads, progress);
	} else {
		object->original_size = object->pointer.size;
	}
}

static void prove(struct proven_object *object, const struct workspace *ws, unsigned threads,
		  struct progress *progress)
{
	struct object_file file;

	if (object_file_open(&file, ws->store, object->pointer.oid) == 0) {
		check_bytes(object, &file, threads, progress);
		object_file_close(&file);
	} else if (errno == ENOENT || errno == ENOTDIR) {
		object->verdict = VERDICT_MISSING;
		object->remedy = "`git brevis pull` or `git lfs fetch --all` downloads it";
	} else {
		judge_unreadable(object, errno);
	}
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void count_object(struct history_proof *proof, const struct proven_object *object)
{
	switch (object->verdict) {
	case VERDICT_GOOD:
		proof->files += object->files;
		proof->archives += object->is_archive;
		proof->plain += !object->is_archive;
		proof->stored += object->pointer.size;
		proof->original += object->original_size;
		return;
	case VERDICT_MISSING:
		proof->missing++;
		break;
	case VERDICT_DAMAGED:
		proof->damaged++;
		break;
	case VERDICT_UNREADABLE:
		proof->unreadable++;
		break;
	}
	proof->found(proof->ctx, object);
}

/* What a run is made of. */
struct run {
	struct history_proof *proof;
	struct progress progress;
	size_t begun; /* objects whose turn has come */
};

struct job {
	struct run *run;
	struct proven_object *object;
};

static void run_job(void *job, unsigned worker)
{
	struct job *j = job;

	(void)worker;
	prove(j->object, j->run->proof->ws, 1, &j->run->progress);
}

static void name_progress(struct run *run, const struct proven_object *object)
{
	progress_file(&run->progress, object->path[0] ? object->path : object->pointer.oid,
		      ++run->begun, history_proof_count(run->proof));
}

static void take_back(struct run *run, struct pool *pool)
{
	const struct job *job = pool_take(pool);

	count_object(run->proof, job->object);
}

/* The small ones, a worker for each. */
static int prove_small(struct run *run, unsigned threads)
{
	size_t count = history_proof_count(run->proof);
	size_t capacity = (size_t)threads * JOBS_EACH;
	struct job *jobs = calloc(capacity, sizeof(*jobs));
	struct pool *pool = jobs ? pool_new(threads, capacity, run_job) : NULL;
	size_t submitted = 0;

	if (!pool) {
		free(jobs);
		return report_error("out of memory");
	}
	for (size_t i = 0; i < count; i++) {
		struct proven_object *object = object_at(run->proof, i);
		struct job *job = &jobs[submitted % capacity];

		if (object->pointer.size >= LARGE_OBJECT)
			continue;
		/* Jobs come back in order: the one whose place this is was the first to go. */
		if (pool_pending(pool) == capacity)
			take_back(run, pool);
		name_progress(run, object);
		*job = (struct job){run, object};
		submitted++;
		pool_submit(pool, job);
	}
	while (pool_pending(pool))
		take_back(run, pool);
	pool_free(pool);
	free(jobs);
	return 0;
}

/* The large ones, all workers for each. */
static void prove_large(struct run *run, unsigned threads)
{
	size_t count = history_proof_count(run->proof);

	for (size_t i = 0; i < count; i++) {
		struct proven_object *object = object_at(run->proof, i);

		if (object->pointer.size < LARGE_OBJECT)
			continue;
		name_progress(run, object);
		prove(object, run->proof->ws, threads, &run->progress);
		count_object(run->proof, object);
	}
}

int history_proof_run(struct history_proof *proof)
{
	unsigned threads = pool_threads(proof->ws->threads);
	struct run run = {.proof = proof};
	uint64_t total = 0;
	int rc;

	tidy(proof);
	for (size_t i = 0; i < history_proof_count(proof); i++)
		total += object_at(proof, i)->pointer.size;
	progress_begin(&run.progress, "proving", "", total);
	rc = prove_small(&run, threads);
	if (rc == 0)
		prove_large(&run, threads);
	progress_end(&run.progress);
	return rc;
}

void history_proof_release(struct history_proof *proof)
{
	for (size_t i = 0; i < history_proof_count(proof); i++) {
		free(object_at(proof, i)->path);
		free(object_at(proof, i)->why);
	}
	buffer_release(&proof->objects);
}
