/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/verify/history_proof.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/pool.h"
#include "filter/cli/progress.h"
#include "filter/cli/report.h"

/* Objects of so many bytes are decoded by all workers, smaller ones by a worker each. */
#define LARGE_OBJECT (8u << 20)

/* Jobs that wait for a worker, for each of them: one is never idle while the owner looks away. */
#define JOBS_EACH 4

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

/* ---- all of them ----------------------------------------------------------------------------- */

static void count_object(struct history_proof *proof, const struct proven_object *object,
			 const struct judgement *judgement)
{
	switch (judgement->verdict) {
	case VERDICT_GOOD:
		proof->files += object->files;
		proof->archives += judgement->is_archive;
		proof->plain += !judgement->is_archive;
		proof->stored += object->pointer.size;
		proof->original += judgement->original_size;
		return;
	case VERDICT_MISSING:
		proof->missing++;
		break;
	case VERDICT_UNREADABLE:
		proof->unreadable++;
		break;
	default:
		proof->damaged++;
		break;
	}
	proof->found(proof->ctx, object, judgement);
}

/* What a run is made of. */
struct run {
	struct history_proof *proof;
	struct progress progress;
	size_t begun; /* objects whose turn has come */
};

struct job {
	struct run *run;
	const struct proven_object *object;
	struct judgement judgement;
};

static void run_job(void *job, unsigned worker)
{
	struct job *j = job;

	(void)worker;
	object_judge_stored(j->run->proof->ws->store, &j->object->pointer, 1, &j->run->progress,
			    &j->judgement);
}

static void name_progress(struct run *run, const struct proven_object *object)
{
	progress_file(&run->progress, object->path[0] ? object->path : object->pointer.oid,
		      ++run->begun, history_proof_count(run->proof));
}

static void take_back(struct run *run, struct pool *pool)
{
	const struct job *job = pool_take(pool);

	count_object(run->proof, job->object, &job->judgement);
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
		*job = (struct job){.run = run, .object = object};
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
		const struct proven_object *object = object_at(run->proof, i);
		struct judgement judgement;

		if (object->pointer.size < LARGE_OBJECT)
			continue;
		name_progress(run, object);
		object_judge_stored(run->proof->ws->store, &object->pointer, threads,
				    &run->progress, &judgement);
		count_object(run->proof, object, &judgement);
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
	for (size_t i = 0; i < history_proof_count(proof); i++)
		free(object_at(proof, i)->path);
	buffer_release(&proof->objects);
}
