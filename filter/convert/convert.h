/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The two conversions of the filter: clean (work file to pointer, clean.c) and smudge (pointer to
 * work file, smudge.c), whatever transports the bytes: git's pipes, pkt-lines, or a file.
 */
#ifndef FILTER_CONVERT_H
#define FILTER_CONVERT_H

#include <stdbool.h>

#include "core/brevis.h"
#include "filter/objects/known.h"
#include "filter/objects/object_store.h"
#include "filter/convert/priors.h"
#include "filter/git/repository.h"
#include "filter/objects/sync_policy.h"
#include "filter/convert/thread_share.h"

/** All that a conversion needs to know of where it happens. */
struct workspace {
	struct repository *repository;
	struct object_store *store;
	struct known *known;
	struct priors *priors;
	unsigned threads; /* brevis.threads, or GIT_BREVIS_THREADS; 0 = one for each processor */
	struct thread_share share; /* of that, what the file at hand is converted with */
	enum brevis_preset preset; /* brevis.preset, or GIT_BREVIS_PRESET */
	bool reuse;                /* brevis.reuse: follow and reuse earlier archives */
	bool no_plain; /* clean makes an archive of what index or HEAD hold as a plain object, too
			*/
	bool dry_run;  /* clean computes the pointer, but stores and remembers nothing */
	bool stored;   /* set by clean when it has stored an object */
};

/** Opens the repository around us and its stores. Reports and returns -1 if that fails. */
int workspace_open(struct workspace *ws);

/**
 * The same for verbs that also work without git: where there is no repository, its four members
 * are NULL. Cleaning there is possible as a dry run only.
 */
int workspace_open_if_any(struct workspace *ws);
void workspace_close(struct workspace *ws);

/**
 * Path of a file relative to the top of the work tree, as git writes it; the file itself may be
 * missing, or a symlink. NULL if it lies elsewhere, or there is no work tree. Caller frees.
 */
char *workspace_path(const struct workspace *ws, const char *file);

/** One file on its way from the work tree to a pointer. */
struct cleaning;

/** path is relative to the top of the work tree, or NULL if unknown. Reports and returns NULL if
 * not. */
struct cleaning *cleaning_begin(struct workspace *ws, const char *path);

/**
 * A brevis_write_fn: takes the next bytes of the work file. Nonzero: it failed, and that was
 * reported; what is left of the input is of no use, and cleaning_finish only returns -1.
 */
int cleaning_write(void *cleaning, const void *data, size_t len);

/**
 * Ends the input. The result is in *text and *len and lives until cleaning_free: the pointer, or
 * the input itself where it stays as it is (a pointer, nothing; for nothing, if git holds
 * it so, a pointer of size 0). By then the object is placed, and
 * proven: it was decoded and equals the input. Reports and returns -1 on failure, leaving nothing.
 */
int cleaning_finish(struct cleaning *cleaning, const void **text, size_t *len);
void cleaning_free(struct cleaning *cleaning);

enum smudge_result {
	SMUDGE_DONE = 0,
	SMUDGE_MISSING = 1, /* the object is not here; nothing was written or reported */
	SMUDGE_FAILED = -1  /* reported; what was written is not a whole file */
};

/**
 * Restores the content behind a pointer, that of its object: archives are decoded and checked,
 * plain objects checked against their name and passed through. path is for messages only.
 */
enum smudge_result smudge_pointer(struct workspace *ws, const char *path,
				  const struct pointer *pointer, brevis_write_fn write, void *ctx);

/** True if the user asked for pointers in the work tree: GIT_BREVIS_SKIP_SMUDGE,
 * GIT_LFS_SKIP_SMUDGE, brevis.skipSmudge. */
bool smudge_is_skipped(const struct workspace *ws);

#endif
