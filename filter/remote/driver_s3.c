/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Stores in buckets of S3 and of the many servers that speak like it. Objects appear there whole or
 * not at all, by one PUT or by the completion of a multipart upload; what is incomplete the server
 * keeps apart by itself.
 */
#include "filter/remote/driver_s3.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/remote/s3_place.h"
#include "filter/remote/store.h"

/* ---- life ------------------------------------------------------------------------------------ */

static void s3_close(void *state)
{
	struct s3 *s3 = state;

	if (!s3)
		return;
	network_free(s3->network);
	aws_credentials_release(&s3->credentials);
	free(s3->bucket_url);
	free(s3->prefix);
	free(s3->place);
	free(s3->sigv4);
	free(s3);
}

/* Returns false when memory is short. */
static bool describe(struct s3 *s3, const struct location *location, const struct s3_place *place)
{
	const char *slash = *location->path ? "/" : "";

	s3->bucket_url = s3_bucket_url(place->endpoint, location->bucket, place->path_style);
	if (!s3->bucket_url || asprintf(&s3->prefix, "%s%s", location->path, slash) < 0)
		s3->prefix = NULL;
	if (!s3->prefix || asprintf(&s3->place, "%s at %s", location->bucket, place->endpoint) < 0)
		s3->place = NULL;
	if (!s3->place || asprintf(&s3->sigv4, "aws:amz:%s:s3", place->region) < 0)
		s3->sigv4 = NULL;
	return s3->sigv4 != NULL;
}

static int s3_open(const struct location *location, const struct store_settings *settings,
		   void **state, struct fault *fault)
{
	struct s3_place place = {0};
	struct s3 *s3 = calloc(1, sizeof(*s3));

	if (!s3)
		return fault_nomem(fault);
	if (s3_place_find(location, settings, &place, fault) != 0)
		goto failed;
	/* Nothing is asked for yet: whoever asks is told. */
	aws_credentials_read(&s3->credentials, &s3->no_credentials);
	s3->network = network_new(settings);
	if (!s3->network || !describe(s3, location, &place)) {
		fault_nomem(fault);
		goto failed;
	}
	s3->part_size_given = settings->part_size > 0;
	s3_place_release(&place);
	*state = s3;
	return 0;
failed:
	s3_place_release(&place);
	s3_close(s3);
	return -1;
}

/* ---- reading --------------------------------------------------------------------------------- */

static int drop(void *ctx, const void *data, size_t len)
{
	(void)ctx;
	(void)data;
	(void)len;
	return 0;
}

/* Answers to HEAD are without a body, and so do not tell why it failed: a GET does. A fault that a
 * GET cannot explain stays as it is. */
static void explain(struct s3 *s3, const char *key, struct fault *fault)
{
	struct s3_call call = {.method = "GET", .key = key, .range_len = 1, .sink = drop};
	struct s3_answer answer = {0};
	struct fault cause = {0};

	if (!key) {
		call.range_len = 0;
		call.sink = NULL;
		call.parameters[0] = (struct s3_parameter){"list-type", "2"};
		call.parameters[1] = (struct s3_parameter){"max-keys", "1"};
	}
	if (s3_perform(s3, &call, &answer, &cause) != 0 && *answer.error.code)
		*fault = cause;
	s3_answer_release(&answer);
}

/* That an object is absent is what is asked most often, and needs no reason; that the store's
 * description is may be for want of a bucket. */
static bool needs_reason(const struct fault *fault, const char *key)
{
	return fault->kind != FAULT_TRANSIENT &&
	       (fault->kind != FAULT_ABSENT || strcmp(key, STORE_DESCRIPTION) == 0);
}

int s3_size(void *state, const char *key, uint64_t *size, struct fault *fault)
{
	const struct s3_call call = {.method = "HEAD", .key = key};
	struct s3_answer answer = {0};
	int result = s3_perform(state, &call, &answer, fault);

	if (result == 0 && answer.http.length < 0)
		result = fault_set(fault, FAULT_UNSUPPORTED, NULL,
				   "HEAD of %s: the server does not tell its size", key);
	else if (result == 0)
		*size = (uint64_t)answer.http.length;
	else if (answer.http.status && needs_reason(fault, key))
		explain(state, key, fault);
	s3_answer_release(&answer);
	return result;
}

struct reading {
	brevis_write_fn write;
	void *ctx;
	uint64_t got;
};

static int pass_on(void *ctx, const void *data, size_t len)
{
	struct reading *reading = ctx;

	reading->got += len;
	return reading->write(reading->ctx, data, len);
}

static int s3_read(void *state, const char *key, uint64_t offset, uint64_t len,
		   brevis_write_fn write, void *ctx, struct fault *fault)
{
	struct reading reading = {write, ctx, 0};
	const struct s3_call call = {.method = "GET",
				     .key = key,
				     .range_start = offset,
				     .range_len = len,
				     .sink = pass_on,
				     .ctx = &reading};
	struct s3_answer answer = {0};
	int result;

	if (!len)
		return 0;
	result = s3_perform(state, &call, &answer, fault);
	if (result == 0 && reading.got < len)
		result = fault_set(fault, FAULT_DAMAGED, NULL,
				   "GET of %s: it is shorter than it was said to be", key);
	s3_answer_release(&answer);
	return result;
}

/* ---- small things ---------------------------------------------------------------------------- */

int s3_put_whole(struct s3 *s3, const char *key, const void *data, size_t len,
		 void (*sent)(void *ctx, uint64_t bytes), void *ctx, struct fault *fault)
{
	const struct s3_call call = {.method = "PUT",
				     .key = key,
				     .data = len ? data : "",
				     .data_len = len,
				     .exclusive = true,
				     .sent = sent,
				     .ctx = ctx};
	struct s3_answer answer = {0};
	int result = s3_perform(s3, &call, &answer, fault);

	if (result != 0 && s3_answer_is(&answer, "PreconditionFailed"))
		result = 0;
	s3_answer_release(&answer);
	return result;
}

static int s3_put_bytes(void *state, const char *key, const void *data, size_t len,
			struct fault *fault)
{
	uint64_t size;

	/* Not every server can be told to let stay what is there. */
	if (s3_size(state, key, &size, fault) == 0)
		return 0;
	return fault->kind == FAULT_ABSENT ? s3_put_whole(state, key, data, len, NULL, NULL, fault)
					   : -1;
}

/* Whether there is a bucket that we may ask. */
static int s3_create(void *state, struct fault *fault)
{
	const struct s3_call call = {.method = "HEAD"};
	struct s3 *s3 = state;
	struct s3_answer answer = {0};
	int result = s3_perform(s3, &call, &answer, fault);

	if (result != 0 && fault->kind == FAULT_ABSENT)
		fault_set(fault, FAULT_NO_STORE, "create the bucket, or correct the URL",
			  "no bucket %s", s3->place);
	else if (result != 0 && answer.http.status && fault->kind != FAULT_TRANSIENT)
		explain(s3, NULL, fault);
	s3_answer_release(&answer);
	return result;
}

const struct driver driver_s3 = {
	.name = "s3",
	.open = s3_open,
	.close = s3_close,
	.size = s3_size,
	.read = s3_read,
	.put = s3_put,
	.put_bytes = s3_put_bytes,
	.create = s3_create,
	.list = s3_list,
	.remove = s3_remove,
};
