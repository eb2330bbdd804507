/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Where a store is, as its URL says:
 *
 *   file:///abs/path, or a plain path     a directory, NFS shares too
 *   sftp://[user@]host[:port]/abs/path    /~/path is below the user's home
 *   dav+http://, dav+https://...          a WebDAV collection
 *   s3://bucket[/prefix][?endpoint=...]   with a query as in s3_place.h
 *
 * All may follow "brevis::", by which git-lfs knows that they are for its agent git-brevis. A URL
 * with a password is refused: it would end up in files that are committed.
 */
#ifndef FILTER_REMOTE_LOCATION_H
#define FILTER_REMOTE_LOCATION_H

#include <stdbool.h>

#include "filter/remote/fault.h"

/** What git-lfs passes through to its agent. */
#define LOCATION_MARK "brevis::"

enum location_scheme { LOCATION_DIRECTORY, LOCATION_SFTP, LOCATION_DAV, LOCATION_S3 };

/** All strings are decoded (no %41), and belong to the location. */
struct location {
	enum location_scheme scheme;
	char *text; /* the canonical URL, without "brevis::": for messages, and as a store's name;
		       it says nothing of region and addressing */
	char *user; /* SFTP, DAV: from the URL, or NULL */
	char *host; /* SFTP, DAV; an IPv6 address without its brackets */
	unsigned port; /* SFTP, DAV: 0 means the scheme's own */
	bool tls;      /* DAV: https */
	char *bucket;  /* S3 */
	char *path; /* DIRECTORY, SFTP, DAV: absolute, no slash at its end but for "/"; SFTP below
		       the home: "~" or "~/path". S3: the prefix, without slashes at its ends, "" if
		       none */
	char *s3_endpoint, *s3_region, *s3_addressing; /* as the URL says; NULL: it does not */
};

/** Reads a URL. A relative plain path counts from base (absolute), or is refused if that is NULL.
 * Returns 0; -1 with *fault, and nothing to free. */
int location_parse(const char *url, const char *base, struct location *out, struct fault *fault);

/** The whole URL, without "brevis::", to be kept. Caller frees; NULL when memory is short. */
char *location_url(const struct location *location);

void location_release(struct location *location);

#endif
