/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What a scheme has to know: the operations of one kind of store, each a single attempt. Retries,
 * the store's description, parallel ranges and the choice of part sizes are store.c's.
 *
 * Keys are relative names like "objects/ab/cd/<oid>" or "brevis-store.json", of [a-z0-9./-] only.
 * All functions return 0, or -1 with *fault (kind FAULT_TRANSIENT where another attempt may help),
 * unless said otherwise. Functions may be called by several threads at once, with the same driver.
 */
#ifndef FILTER_REMOTE_DRIVER_H
#define FILTER_REMOTE_DRIVER_H

#include "filter/remote/journal.h"
#include "filter/remote/store.h"

/** One upload. */
struct driver_upload {
	const char *key;
	struct feed *feed;
	struct journal *journal;
	uint64_t part_size; /* by the feed's limit: at most 10,000 parts */
	unsigned parallel;  /* parts at a time, where the scheme has parts */
	/** Counts bytes that arrived, or were found to be there already. Any thread may call it. */
	void (*sent)(void *ctx, uint64_t bytes);
	void *ctx;
};

struct driver {
	const char *name;

	/** Makes the driver's own state; asks nothing of the network. */
	int (*open)(const struct location *location, const struct store_settings *settings,
		    void **state, struct fault *fault);
	void (*close)(void *state);

	/** FAULT_ABSENT if the key is not there. */
	int (*size)(void *state, const char *key, uint64_t *size, struct fault *fault);

	/**
	 * Hands bytes [offset, offset + len) to write, as they come. An object that is shorter is
	 * FAULT_DAMAGED; write failing is FAULT_CANCELLED. After a transient fault the caller knows
	 * how much has come, and asks for the rest.
	 */
	int (*read)(void *state, const char *key, uint64_t offset, uint64_t len,
		    brevis_write_fn write, void *ctx, struct fault *fault);

	/**
	 * Uploads what the feed yields under the key, going on where the journal says that an
	 * earlier attempt has stopped. Nothing is to be seen under the key before the feed has
	 * granted its end; if something is there by then, that stays, and the upload is done. A
	 * failed feed is FAULT_CANCELLED. Parts that were sent are remembered in the journal as
	 * they arrive; on success the caller ends the journal.
	 */
	int (*put)(void *state, const struct driver_upload *upload, struct fault *fault);

	/**
	 * Opens a file without a name, to write and to read, in which an upload may grow and that
	 * put then merely gives its name. Returns its descriptor, or -1 if there is no such thing.
	 * NULL: never.
	 */
	int (*scratch)(void *state);

	/** Writes a small thing (a description) at once; one that is there stays (done == success).
	 */
	int (*put_bytes)(void *state, const char *key, const void *data, size_t len,
			 struct fault *fault);

	/** What store_create needs before put_bytes: directories. Buckets are not made. */
	int (*create)(void *state, struct fault *fault);

	/** Calls each for every key below objects/ (temporaries: every incomplete upload instead).
	 */
	int (*list)(void *state, bool temporaries,
		    int (*each)(void *ctx, const struct store_entry *entry), void *ctx,
		    struct fault *fault);

	/** Removes a key that list told of. What is not there is fine. */
	int (*remove)(void *state, const struct store_entry *entry, struct fault *fault);
};

extern const struct driver driver_directory;
extern const struct driver driver_sftp;
extern const struct driver driver_dav;
extern const struct driver driver_s3;

#endif
