/* SPDX-License-Identifier: Apache-2.0 */
/** What uploads to and downloads from hubs share: the action of an event, and requests that it asks
 * for. A hub's URLs are signed: whoever has their queries may do what they are for. */
#ifndef FILTER_AGENT_MULTIPART_ACTION_H
#define FILTER_AGENT_MULTIPART_ACTION_H

#include "filter/agent/protocol.h"
#include "filter/remote/network.h"

#define LFS_MEDIA "application/vnd.git-lfs+json"

/** Reads a number of decimal digits, zeros before it included; 0 if text is none, or NULL. */
uint64_t action_number(const char *text);

/** Refuses a URL that is NULL, has another scheme than http and https, or names a user. */
int action_check_url(const char *url, struct fault *fault);

/** The action's own headers (not those that describe parts) and more (ends with NULL) as the lines
 * of a request, ends with NULL. Caller frees. NULL when memory is short. */
char **action_headers(const struct agent_event *event, const char *const *more);
void action_headers_free(char **headers);

/**
 * Makes a request, once. Anything but a success becomes a fault, whose cause begins with what was
 * tried; the response is to be released all the same. refused is the remedy for an answer that no
 * further attempt would change: a signed URL that has expired is one.
 */
int action_perform(struct network *network, const struct http_request *request,
		   struct http_response *response, const char *doing, const char *refused,
		   struct fault *fault);

#endif
