/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Proves the objects that revisions name: each is hashed, and what is an archive is decoded. Many
 * small ones are proven side by side, a large one by all workers at once. Nothing is downloaded,
 * written, or moved.
 */
#ifndef FILTER_HISTORY_PROOF_H
#define FILTER_HISTORY_PROOF_H

#include "core/base/buffer.h"
#include "filter/convert/convert.h"
#include "filter/objects/judgement.h"

/** An object, and what names it. */
struct proven_object {
	struct pointer pointer;
	char *path;   /* one of those that it has; "" if none is known */
	size_t files; /* versions of files that are this object */
};

/** What is to be proven. ws, found and ctx are set, the rest begins as zeros. */
struct history_proof {
	const struct workspace *ws;
	/* Called by the thread that runs the proof, for each object that is not good. */
	void (*found)(void *ctx, const struct proven_object *object,
		      const struct judgement *judgement);
	void *ctx;

	struct buffer objects; /* of struct proven_object, by path; each object once */
	size_t unknown;        /* objects of git that could not be looked at: may name some, too */

	size_t files; /* sums of what is good */
	size_t archives;
	size_t plain;
	uint64_t stored;
	uint64_t original;

	size_t missing; /* and of what is not */
	size_t damaged; /* in any way */
	size_t unreadable;
};

/**
 * Adds what a commit's files name, or what is new in a range "A..B", or with revision NULL all
 * that the repository keeps (see repository_each_pointer). Reports and returns -1 on failure.
 */
int history_proof_add(struct history_proof *proof, const char *revision);

/**
 * Proves all of it. Reports and returns -1 only if memory is short. Memory: that of decoding one
 * archive with all workers, or one with each, whatever the number and size of the objects.
 */
int history_proof_run(struct history_proof *proof);

size_t history_proof_count(const struct history_proof *proof);
void history_proof_release(struct history_proof *proof);

#endif
