/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Where an S3 store is. Its URL may say so in a query:
 *
 *   s3://bucket/prefix?endpoint=https://host[:port][/path]&region=REGION&addressing=path|virtual
 *
 * The environment and git's own configuration (settings.h) go before that, each value for itself.
 */
#ifndef FILTER_REMOTE_S3_PLACE_H
#define FILTER_REMOTE_S3_PLACE_H

#include <stdbool.h>

#include "core/base/buffer.h"
#include "filter/remote/location.h"
#include "filter/remote/settings.h"

struct s3_place {
	char *endpoint; /* without a slash at its end */
	char *region;
	bool path_style; /* the bucket is part of the path, not of the host's name */
};

/** Finds out what is in force. Returns 0; -1 with *fault, and nothing to release. */
int s3_place_find(const struct location *location, const struct store_settings *settings,
		  struct s3_place *out, struct fault *fault);
void s3_place_release(struct s3_place *place);

/**
 * Reads a query, which is cut up, into the s3_* of a location. It may be a stranger's: an endpoint
 * without TLS is taken on this machine only. shown is the URL, as messages may name it. Returns 0,
 * or -1 with *fault.
 */
int s3_place_read_query(char *query, const char *shown, struct location *out, struct fault *fault);

/** Appends the query that says the same, if there is any need for one. whole: with all of it; else
 * with what tells one store from another. */
void s3_place_write_query(struct buffer *out, const struct location *location, bool whole);

#endif
