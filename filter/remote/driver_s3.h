/* SPDX-License-Identifier: Apache-2.0 */
/** What the files of the S3 driver share; nobody else includes it but their tests. */
#ifndef FILTER_REMOTE_DRIVER_S3_H
#define FILTER_REMOTE_DRIVER_S3_H

#include <stdatomic.h>

#include "core/base/digest.h"
#include "filter/remote/aws_credentials.h"
#include "filter/remote/driver.h"
#include "filter/remote/network.h"

/** A store in a bucket. */
struct s3 {
	struct network *network;
	struct aws_credentials credentials;
	struct fault no_credentials; /* why there are none; FAULT_NONE if there are */
	char *bucket_url;            /* no slash at its end */
	char *prefix;                /* of the store's keys: "", or ends with a slash */
	char *place;                 /* "BUCKET at ENDPOINT", for messages */
	char *sigv4;                 /* "aws:amz:REGION:s3" */
	bool part_size_given;        /* by the settings: not to be changed */
	/** The server does not know If-None-Match: it cannot be told to let objects stay. */
	atomic_bool unconditional;
};

/** A parameter of a query, as it is, not encoded. */
struct s3_parameter {
	const char *name;
	const char *value;
};

#define S3_PARAMETERS_MAX 5

/** One request. What is zero is not part of it. */
struct s3_call {
	const char *method;
	const char *key; /* of the store; NULL: the bucket itself */
	struct s3_parameter parameters[S3_PARAMETERS_MAX + 1]; /* until one without a name */
	const void *data;
	size_t data_len;
	const uint8_t *md5; /* of data, if it is known already */
	/** Fails with PreconditionFailed if the key is there already, where the server knows how.
	 */
	bool exclusive;
	uint64_t range_start;
	uint64_t range_len; /* 0: all of it */
	brevis_write_fn sink;
	void (*sent)(void *ctx, uint64_t bytes);
	void *ctx; /* of sink and sent */
};

/** What a server says about a failure: an XML document <Error>. */
struct s3_error {
	char code[64]; /* "": the answer was none */
	char message[256];
	char region[64];
};

/** An answer. Zeroed before use, released after it. */
struct s3_answer {
	struct http_response http;
	struct s3_error error;
};

void s3_answer_release(struct s3_answer *answer);

/** True if the server has named this error. */
bool s3_answer_is(const struct s3_answer *answer, const char *code);

/** Makes a signed request, once. Returns 0 if the answer's status is one of success; -1 with
 * *fault, and answer->error if there was an answer. */
int s3_perform(struct s3 *s3, const struct s3_call *call, struct s3_answer *answer,
	       struct fault *fault);

/**
 * Appends a query the way signatures want it: names and values percent-encoded but for unreserved
 * characters, sorted by name. libcurl signs queries as they are.
 */
void s3_query(struct buffer *out, const struct s3_parameter *parameters);

/** URL of a bucket at an endpoint; what makes no name of a host is part of the path in any case.
 * NULL when memory is short. */
char *s3_bucket_url(const char *endpoint, const char *bucket, bool path_style);

/** Reads an answer's body, if it is an error. Returns false, with *out zeroed, if it is not. */
bool s3_error_read(const void *body, size_t len, struct s3_error *out);

/** Turns a failure into a fault, by the server's name for it, else by its status. doing is what was
 * tried: "PUT of KEY". Returns -1. */
int s3_error_fault(const struct s3_error *error, const struct http_response *response,
		   const char *place, const char *doing, struct fault *fault);

/** The driver's size. */
int s3_size(void *state, const char *key, uint64_t *size, struct fault *fault);

/** The driver's put. */
int s3_put(void *state, const struct driver_upload *upload, struct fault *fault);

/** Writes a whole object in one request. One that is there stays, where the server can be told so.
 */
int s3_put_whole(struct s3 *s3, const char *key, const void *data, size_t len,
		 void (*sent)(void *ctx, uint64_t bytes), void *ctx, struct fault *fault);

/** Gives up a multipart upload; one that is not there is fine. */
int s3_abort(struct s3 *s3, const char *key, const char *upload_id, struct fault *fault);

/** The driver's list and remove. */
int s3_list(void *state, bool temporaries, int (*each)(void *ctx, const struct store_entry *entry),
	    void *ctx, struct fault *fault);
int s3_remove(void *state, const struct store_entry *entry, struct fault *fault);

/** What ListParts tells of one part. */
struct s3_part {
	unsigned number; /* from 1 */
	uint64_t size;
	char etag[128]; /* without its quotes */
};

/** Calls each for every part of an upload that the server has. On failure *gone tells whether it
 * knows no such upload. */
int s3_list_parts(struct s3 *s3, const char *key, const char *upload_id,
		  int (*each)(void *ctx, const struct s3_part *part), void *ctx, bool *gone,
		  struct fault *fault);

#endif
