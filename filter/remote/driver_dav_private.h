/* SPDX-License-Identifier: Apache-2.0 */
/** What the files of the WebDAV driver share; nobody else includes it. */
#ifndef FILTER_REMOTE_DRIVER_DAV_PRIVATE_H
#define FILTER_REMOTE_DRIVER_DAV_PRIVATE_H

#include "filter/remote/driver.h"
#include "filter/remote/network.h"

struct dav;

/**
 * Makes a request of the key (a collection's ends in a slash), url, user and password of which are
 * filled in here; git is asked for the latter when the server wants them. Returns 0 with an answer
 * that is no 401, else -1 with *fault.
 */
int dav_ask(struct dav *dav, const char *key, struct http_request *request,
	    struct http_response *response, struct fault *fault);

/** driver.list. */
int dav_list(void *state, bool temporaries, int (*each)(void *ctx, const struct store_entry *entry),
	     void *ctx, struct fault *fault);

#endif
