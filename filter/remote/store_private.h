/* SPDX-License-Identifier: Apache-2.0 */
/** What the store*.c files share; nobody else but tests includes it. */
#ifndef FILTER_REMOTE_STORE_PRIVATE_H
#define FILTER_REMOTE_STORE_PRIVATE_H

#include <stdatomic.h>

#include "filter/remote/driver.h"
#include "filter/remote/retry.h"

struct store {
	const struct location *location;
	const struct store_settings *settings;
	const struct driver *driver;
	void *state; /* the driver's */
	bool checked;
	struct fault check; /* why it is none to be used, once that is known */
	/* Something was given up, though it might have gone well: until something does, all is
	 * tried once. A thousand objects must not wait for a dead server one after the other. */
	bool weary;
};

/** As store_open, with a given driver. */
int store_open_driver(const struct driver *driver, const struct location *location,
		      const struct store_settings *settings, struct store **out,
		      struct fault *fault);

/** Begins attempts at something. */
void store_retry(const struct store *store, struct retry *retry, const atomic_bool *stop);

/** Hands [offset, offset + len) of a key to write, in one request after another until all has come.
 * By any thread. stop may be NULL. */
int store_read_range(const struct store *store, const char *key, uint64_t offset, uint64_t len,
		     brevis_write_fn write, void *ctx, const atomic_bool *stop,
		     struct fault *fault);

/** Bytes of a range. */
#define RANGE_SIZE ((size_t)8 << 20)

/** The same with ranges that travel at once, handed out in order on this thread. */
int store_read_ranges(const struct store *store, const char *key, uint64_t offset, uint64_t len,
		      brevis_write_fn write, void *ctx, struct fault *fault);

#endif
