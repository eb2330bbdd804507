/* SPDX-License-Identifier: Apache-2.0 */
/** What the files of the WebDAV driver share; nobody else includes it. */
#ifndef FILTER_REMOTE_DRIVER_DAV_PRIVATE_H
#define FILTER_REMOTE_DRIVER_DAV_PRIVATE_H

#include <stdatomic.h>

#include "filter/remote/driver.h"
#include "filter/remote/network.h"

struct dav {
	struct network *network;
	struct credential *credential;
	char *base; /* URL of the store, without a slash at its end */
	size_t path_at;
	atomic_bool whole; /* the server takes no chunks: it must be told lengths */
};

/**
 * Makes a request of the key (a collection's ends in a slash), url, user and password of which are
 * filled in here; git is asked for the latter when the server wants them. Returns 0 with an answer
 * that is no 401, else -1 with *fault.
 */
int dav_ask(struct dav *dav, const char *key, struct http_request *request,
	    struct http_response *response, struct fault *fault);

/** The same of a request without a body. headers may be NULL. */
int dav_ask_plain(struct dav *dav, const char *method, const char *key, const char *const *headers,
		  struct http_response *response, struct fault *fault);

/** Whether what was asked for has been done: 207 tells of several things, one of which has failed.
 */
bool dav_done(const struct http_response *response);

/* Functions of the driver. */
int dav_size(void *state, const char *key, uint64_t *size, struct fault *fault);
int dav_put(void *state, const struct driver_upload *upload, struct fault *fault);
int dav_put_bytes(void *state, const char *key, const void *data, size_t len, struct fault *fault);
int dav_create(void *state, struct fault *fault);
int dav_list(void *state, bool temporaries, int (*each)(void *ctx, const struct store_entry *entry),
	     void *ctx, struct fault *fault);
int dav_remove(void *state, const struct store_entry *entry, struct fault *fault);

#endif
