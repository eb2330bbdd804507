/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A store: objects under keys, somewhere else. This is what the agent and `git brevis store` see of
 * it; each scheme is a driver (driver.h). Layout of a store:
 *
 *   brevis-store.json                  what it is, and its version; without it there is no store
 *   objects/ab/cd/<oid>                an object, by the SHA-256 that git-lfs calls it by: its
 * bytes as they are, or a brevis archive that restores them tmp/<oid>.<token> uploads that are not
 * complete (not in S3, which hides them)
 *
 * An object gets its name when it is complete, never before, and is not changed after that.
 * Transient faults are answered here, by further attempts with growing pauses.
 *
 * Functions return 0, or -1 with *fault. Only one thread may use a store at a time.
 */
#ifndef FILTER_REMOTE_STORE_H
#define FILTER_REMOTE_STORE_H

#include "core/brevis.h"
#include "filter/remote/feed.h"
#include "filter/remote/location.h"
#include "filter/remote/settings.h"

/** The version of the layout that this program reads and writes. */
#define STORE_VERSION 1

#define STORE_DESCRIPTION "brevis-store.json"

struct store;

/** Makes one of its place; nothing is asked of it yet. Both must live as long as the store. */
int store_open(const struct location *location, const struct store_settings *settings,
	       struct store **out, struct fault *fault);
void store_close(struct store *store);

/** The URL, for messages. */
const char *store_name(const struct store *store);

/** Finds out, once, whether there is a store, of a version that is known. All that follows but
 * store_create does it by itself. */
int store_check(struct store *store, struct fault *fault);

/** Makes an empty store; one that is there already and of a known version is fine. */
int store_create(struct store *store, struct fault *fault);

/** Size of an object: its stored bytes. FAULT_ABSENT if it is not there. */
int store_size(struct store *store, const char *oid, uint64_t *size, struct fault *fault);

/** Called with the number of bytes that have come or gone further. */
typedef void (*store_progress_fn)(void *ctx, uint64_t bytes);

/** Reads exactly len bytes of an object, at an offset. */
int store_read(struct store *store, const char *oid, uint64_t offset, void *buf, size_t len,
	       struct fault *fault);

/**
 * Hands bytes [offset, size) of an object to write, in order and on this thread; several ranges are
 * under way at a time, up to 64 MiB. write failing is FAULT_CANCELLED.
 */
int store_get(struct store *store, const char *oid, uint64_t offset, uint64_t size,
	      brevis_write_fn write, void *ctx, struct fault *fault);

/**
 * Opens a file without a name in which an object that is still made may grow, where the store is
 * near enough for that: store_put then need not copy it. Returns its descriptor, which the caller
 * closes, or -1: any other file will do.
 */
int store_scratch(struct store *store);

/**
 * Uploads an object, going on where an earlier attempt of this clone has stopped, and gives it its
 * name once the feed has granted its end. progress (may be NULL) is called by one thread at a time.
 * An object that is there by then is fine, and stays as it is.
 */
int store_put(struct store *store, const char *oid, struct feed *feed, store_progress_fn progress,
	      void *ctx, struct fault *fault);

/** Something in a store, as each sees it. */
struct store_entry {
	const char *oid; /* of an object; NULL: something incomplete */
	const char *key;
	uint64_t size;
	int64_t modified; /* seconds since 1970, 0 if it cannot be told */
};

/**
 * Calls each for every object, in no particular order; then, if temporaries is set, for what is
 * incomplete. A nonzero result of each ends it: FAULT_CANCELLED. Memory is needed for all of one
 * kind at a time, about 100 bytes each: 100 MB for a million objects.
 */
int store_each(struct store *store, bool temporaries,
	       int (*each)(void *ctx, const struct store_entry *entry), void *ctx,
	       struct fault *fault);

/** Removes what store_each told of; what is gone already is fine. */
int store_remove(struct store *store, const struct store_entry *entry, struct fault *fault);

#endif
