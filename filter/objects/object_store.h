/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The content-addressed files that git-lfs keeps: <lfs dir>/objects/ab/cd/<oid>. An object is
 * immutable once it is placed (git-lfs hard-links them). New objects grow in <lfs dir>/tmp, and
 * only when they are complete get their name.
 */
#ifndef FILTER_OBJECT_STORE_H
#define FILTER_OBJECT_STORE_H

#include <stdbool.h>

#include "filter/objects/pointer.h"
#include "filter/objects/sync_policy.h"

struct object_store;

/** lfs_dir is copied. Creates nothing. Returns NULL when memory is short (reported). */
struct object_store *object_store_new(const char *lfs_dir);
void object_store_free(struct object_store *store);

/** Says how long placing an object waits for the disk; SYNC_BEGIN if nothing is said. */
void object_store_sync(struct object_store *store, enum sync_policy policy);

/** Path of an object, whether it exists or not. Caller frees; NULL when memory is short. */
char *object_store_path(const struct object_store *store, const char *oid);

/** True if an object of this name and size is there. Of size 0 there is nothing to have: true. */
bool object_store_has(const struct object_store *store, const struct pointer *pointer);

/**
 * Tells whether an object of this name, or with oid NULL a temporary file, could be put here, by
 * the permissions of the directories that it takes; creates nothing. Returns 0; or the errno that
 * stands against it and in *where the directory, which the caller frees (NULL when memory is
 * short).
 */
int object_store_refuses(const struct object_store *store, const char *oid, char **where);

/** An object, or any other file, opened for reading at any offset from several threads. */
struct object_file {
	int fd;
	struct brevis_source source; /* its ctx is this object_file: keep it where it is */
	_Atomic int failure;         /* errno of a read that failed, or 0 */
	bool is_archive;             /* it begins as one */
};

/** Opens an object. Returns -1 with errno set, without reporting. */
int object_file_open(struct object_file *file, const struct object_store *store, const char *oid);
/** Makes an object_file of a descriptor that stays the caller's. Returns -1 with errno set. */
int object_file_from_fd(struct object_file *file, int fd);
void object_file_close(struct object_file *file);

/** An object that is being written. */
struct new_object;

/**
 * Starts one in <lfs dir>/tmp, creating directories as needed. what names the file it is made for
 * in messages, and must live as long as the object. Reports and returns NULL if it cannot.
 */
struct new_object *new_object_create(struct object_store *store, const char *what);

/**
 * A brevis_write_fn. Whatever reaches the file is read back and compared. The first error sticks
 * and is reported by new_object_place.
 */
int new_object_write(void *new_object, const void *data, size_t len);

/** Hands what was written to the system, so that reading the descriptor sees it. Errors stick. */
int new_object_flush(struct new_object *object);

/** The descriptor, open for reading and writing: for proving what was written. */
int new_object_fd(const struct new_object *object);

/** The errno of the first error of writing, or 0. */
int new_object_failure(const struct new_object *object);

/**
 * Reports that error: for what, where, why, and that up to needed bytes are wanted there. Returns
 * -1.
 */
int new_object_report(const struct new_object *object, uint64_t needed);

/**
 * Gives the object its name: flush, what the store's policy wants of the disk, rename. An object
 * of that name that is already there is replaced, never changed. Reports
 * (disk full with path and bytes needed) and returns -1 if that fails; then nothing is left.
 */
int new_object_place(struct new_object *object, const struct pointer *pointer);

/** Frees it; removes its file if it was not placed. NULL is allowed. */
void new_object_free(struct new_object *object);

/**
 * Opens a file without a name in <lfs dir>/tmp, creating directories as needed: for bytes that have
 * to wait. Returns its descriptor, which the caller closes, or -1 with errno set.
 */
int object_store_scratch(const struct object_store *store);

#endif
