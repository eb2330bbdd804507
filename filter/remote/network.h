/* SPDX-License-Identifier: Apache-2.0 */
/**
 * libcurl: network.c and network_*.c alone know it. Handles are kept with their connections, so
 * that one request after another travels over the same ones; any number of threads may make
 * requests at once, each waiting for its own.
 */
#ifndef FILTER_REMOTE_NETWORK_H
#define FILTER_REMOTE_NETWORK_H

#include <stdbool.h>

#include "core/base/buffer.h"
#include "core/brevis.h"
#include "filter/remote/fault.h"
#include "filter/remote/feed.h"
#include "filter/remote/settings.h"

struct network;

/** settings must live as long. NULL when memory is short, or libcurl cannot be set up. */
struct network *network_new(const struct store_settings *settings);
void network_free(struct network *network);

/** Version of libcurl, e.g. "7.88.1". */
const char *network_library_version(void);

/** Part of an answer to keep when it is an error, at most. */
#define NETWORK_ANSWER_LIMIT ((size_t)1 << 20)

struct http_request {
	const char *method; /* "GET", "HEAD", "PUT", "POST", "DELETE", "MKCOL", "MOVE", ... */
	const char *url;    /* without user and password */
	const char *const *headers; /* "Name: value", ends with NULL; may be NULL */
	const char *user;           /* Basic, or the AWS key; NULL: none */
	const char *password;
	const char *sigv4; /* "aws:amz:REGION:s3" signs the request (CURLOPT_AWS_SIGV4); or NULL */
	bool follow; /* go where answers send to, over http(s) and at most 5 times: of requests
			without a body. Other servers get no headers but Range, and no user */

	const void *data; /* the body, or NULL */
	size_t data_len;
	struct feed
		*feed; /* or a body that is read from a feed: feed_len bytes from feed_offset; */
	uint64_t feed_offset;
	int64_t feed_len;                        /* -1: to its end, wherever that is (chunked) */
	void (*sent)(void *ctx, uint64_t bytes); /* counts bytes of the body; may be NULL */

	/** Takes the body of an answer with status 2xx; NULL: it goes to the response's body. What
	 * is larger than sink_limit (0: no limit) is FAULT_DAMAGED. */
	brevis_write_fn sink;
	uint64_t sink_limit;
	void *ctx; /* of sent and sink */
};

/** Zeroed before use, released after it. */
struct http_response {
	long status;
	int64_t length; /* Content-Length, or -1 */
	bool ranged; /* 206 with the Content-Range that was asked for, or a status other than 206 */
	uint64_t range_start;
	char etag[128]; /* without its quotes */
	unsigned retry_after_ms;
	struct buffer body; /* of an error, or if there was no sink; at most NETWORK_ANSWER_LIMIT */
};

void http_response_release(struct http_response *response);

/**
 * Makes a request, once; a redirect is followed only if it says so. Returns 0 whenever there was a
 * whole answer, whatever its status (of an error's body the beginning is enough); else -1 with
 * *fault. A success that comes before all of the request's body was sent is FAULT_TRANSIENT.
 * Time-outs are those of the settings.
 */
int http_perform(struct network *network, const struct http_request *request,
		 struct http_response *response, struct fault *fault);

/**
 * Turns a status that is no success into a fault: 401 and 403 FAULT_DENIED, 404 and 410
 * FAULT_ABSENT, 405 and 501 FAULT_UNSUPPORTED, 408, 423, 429, 5xx FAULT_TRANSIENT (with
 * Retry-After), 507 FAULT_NO_SPACE, others FAULT_LOCAL. doing is what was tried, for the cause:
 * "PUT of KEY". Returns -1.
 */
int http_status_fault(const struct http_response *response, const char *doing, struct fault *fault);

/** Appends text, percent-encoded but for unreserved characters (RFC 3986) and those of keep. */
void url_encode(struct buffer *out, const char *text, const char *keep);

/** The reverse, in place. Returns false if a % is followed by no two digits, or means NUL. */
bool url_decode(char *text);

#endif
