/* SPDX-License-Identifier: Apache-2.0 */
/** What the driver_directory*.c files share; nobody else includes it. */
#ifndef FILTER_REMOTE_DRIVER_DIRECTORY_H
#define FILTER_REMOTE_DRIVER_DIRECTORY_H

#include "filter/remote/driver.h"

#define TEMPORARY "tmp"
#define OBJECTS   "objects"

/** A store that is a directory. */
struct directory {
	char *root; /* "" for "/" */
	enum sync_policy sync;
};

/** The path of a key. NULL when memory is short; the caller frees it. */
char *directory_path(const struct directory *directory, const char *key);

/**
 * Opens the directory that a key is in, as a place (O_PATH). No link below the store's own
 * directory is followed: whoever may write there could lead what lists or removes files to those of
 * others. Returns -1 with errno, ENOTDIR for a link.
 */
int directory_open_above(const struct directory *directory, const char *key);

/** True if the store's own directory is there. */
bool directory_is_there(const struct directory *directory);

/* Describe the errno of an operation on a key. Return -1. */
int directory_read_fault(const struct directory *directory, const char *key, int error,
			 struct fault *fault);
int directory_write_fault(const struct directory *directory, const char *key, int error,
			  struct fault *fault);

/* Operations of the driver. */
int directory_scratch(void *state);
int directory_put(void *state, const struct driver_upload *upload, struct fault *fault);
int directory_put_bytes(void *state, const char *key, const void *data, size_t len,
			struct fault *fault);
int directory_create(void *state, struct fault *fault);
int directory_list(void *state, bool temporaries,
		   int (*each)(void *ctx, const struct store_entry *entry), void *ctx,
		   struct fault *fault);

#endif
