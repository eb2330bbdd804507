/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes to a WebDAV store. An upload is a PUT to tmp/<name>.<token>, and then a MOVE that
 * overwrites nothing: the object is there as a whole or not at all. Collections are made when a
 * server says that it misses them; many make them by themselves.
 */
#include "filter/remote/driver_dav_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/objects/token.h"

/* An upload that is whole and has no more bytes than this is sent with its length, as servers like
 * it best; a longer one in chunks, while it is still being made. */
#define SHORT_UPLOAD ((size_t)1 << 20)

/* One upload: what is sent, under which name it arrives, and under which it stays. */
struct upload {
	struct dav *dav;
	const char *key;
	const char *temporary;
	struct http_request request;
	long status; /* of the last PUT */

	void (*sent)(void *ctx, uint64_t bytes);
	void *ctx;
	uint64_t sent_now;  /* by the last PUT */
	uint64_t sent_ever; /* what the caller has been told of: a body may travel several times */
};

/* The fault of a refused change. With user and password that are good, or none asked for, a refusal
 * is about changing things there. */
static int write_fault(const struct http_response *response, const char *doing, struct fault *fault)
{
	if (response->status != 403 && response->status != 405)
		return http_status_fault(response, doing, fault);
	return fault_set(fault, FAULT_READ_ONLY,
			 "let the server allow this user to write there (PUT, MOVE, MKCOL)",
			 "%s: the server allows no changes there (status %ld)", doing,
			 response->status);
}

/* ---- collections ---------------------------------------------------------------------------- */

/* Makes one collection; *orphan says that there is none to hold it. One that is there answers 405.
 * *made is set if it was missing. */
static int make_collection(struct dav *dav, const char *key, bool *orphan, bool *made,
			   struct fault *fault)
{
	struct http_response response = {0};
	int result = dav_ask_plain(dav, "MKCOL", key, NULL, &response, fault);

	*orphan = result == 0 && (response.status == 404 || response.status == 409);
	if (result == 0 && !*orphan && response.status != 405 && !dav_done(&response))
		result = write_fault(&response, *key ? key : "the store's collection", fault);
	if (result == 0 && dav_done(&response))
		*made = true;
	http_response_release(&response);
	return result;
}

/* Makes the collection of a key ("a/b/"; "": the store's own), and those above it that are missing.
 */
static int make_collections(struct dav *dav, const char *key, bool *made, struct fault *fault)
{
	size_t len = strlen(key);
	char *parent;
	bool orphan;
	int result;

	if (make_collection(dav, key, &orphan, made, fault))
		return -1;
	if (!orphan)
		return 0;
	if (!len)
		return fault_set(fault, FAULT_NO_STORE,
				 "make the collection that is to hold the store",
				 "the server lacks the collection above %s", dav->base);
	for (len--; len && key[len - 1] != '/';)
		len--;
	parent = strndup(key, len);
	if (!parent)
		return fault_nomem(fault);
	result = make_collections(dav, parent, made, fault);
	free(parent);
	return result ? -1 : make_collection(dav, key, &orphan, made, fault);
}

/* Makes the collections that a key is in; *made says whether any was missing. */
static int make_place(struct dav *dav, const char *key, bool *made, struct fault *fault)
{
	const char *slash = strrchr(key, '/');
	char *place = strndup(key, slash ? (size_t)(slash + 1 - key) : 0);
	int result;

	*made = false;
	result = place ? make_collections(dav, place, made, fault) : fault_nomem(fault);
	free(place);
	return result;
}

/* Whether it may be for want of a collection that a server refuses. It should say 409; nginx says
 * 500, others 404. */
static bool may_lack_collection(long status)
{
	return status == 409 || status == 404 || status == 500;
}

/* ---- sending -------------------------------------------------------------------------------- */

static void count(void *ctx, uint64_t bytes)
{
	struct upload *upload = ctx;

	upload->sent_now += bytes;
	if (upload->sent_now <= upload->sent_ever)
		return;
	if (upload->sent)
		upload->sent(upload->ctx, upload->sent_now - upload->sent_ever);
	upload->sent_ever = upload->sent_now;
}

static int put_once(struct upload *upload, struct fault *fault)
{
	struct http_response response = {0};
	int result;

	upload->sent_now = 0;
	result = dav_ask(upload->dav, upload->temporary, &upload->request, &response, fault);
	upload->status = response.status;
	if (result == 0 && !dav_done(&response))
		result = write_fault(&response, upload->key, fault);
	http_response_release(&response);
	return result;
}

/* Writes the temporary: again, if it failed for want of a collection. */
static int put_temporary(struct upload *upload, struct fault *fault)
{
	struct fault first;
	bool made;

	if (put_once(upload, fault) == 0)
		return 0;
	if (!may_lack_collection(upload->status))
		return -1;
	first = *fault;
	if (make_place(upload->dav, upload->temporary, &made, fault))
		return -1;
	if (made)
		return put_once(upload, fault);
	*fault = first;
	return -1;
}

/* Waits for the end of the feed. */
static int whole_size(const struct upload *upload, uint64_t *size, struct fault *fault)
{
	if (feed_size(upload->request.feed, size) == 0)
		return 0;
	return fault_set(fault, FAULT_CANCELLED, NULL, "%s: what was to be sent has failed",
			 upload->key);
}

static int gone(const struct upload *upload, struct fault *fault)
{
	return fault_set(fault, FAULT_TRANSIENT, "check the server, then try again",
			 "%s: what was uploaded has gone from %s", upload->key, upload->temporary);
}

/* Asks the server whether it has all of the temporary. Returns 0 if so, else -1 with the fault;
 * *all is cleared if the server has said that it has less. */
static int has_all(const struct upload *upload, bool *all, struct fault *fault)
{
	uint64_t size;
	uint64_t kept;

	*all = true;
	if (whole_size(upload, &size, fault))
		return -1;
	if (dav_size(upload->dav, upload->temporary, &kept, fault))
		return fault->kind == FAULT_ABSENT ? gone(upload, fault) : -1;
	*all = kept == size;
	if (*all)
		return 0;
	return fault_set(fault, FAULT_TRANSIENT, "check the server, its disk above all",
			 "%s: the server has kept %" PRIu64 " of %" PRIu64 " bytes", upload->key,
			 kept, size);
}

/* Sends in chunks, while the feed grows. *refused is set if the server turns out not to take them:
 * some say so, some keep nothing of the body. */
static int put_chunks(struct upload *upload, bool *refused, struct fault *fault)
{
	bool all;
	int result;

	upload->request.feed_len = -1;
	result = put_temporary(upload, fault);
	*refused = result && (upload->status == 411 || upload->status == 501);
	if (result)
		return -1;
	result = has_all(upload, &all, fault);
	*refused = !all;
	return result;
}

static int put_whole(struct upload *upload, struct fault *fault)
{
	uint64_t size;

	if (whole_size(upload, &size, fault))
		return -1;
	upload->request.feed_len = (int64_t)size;
	return put_temporary(upload, fault);
}

static int put_long(struct upload *upload, struct fault *fault)
{
	bool refused;
	bool all;

	if (!atomic_load(&upload->dav->whole)) {
		if (put_chunks(upload, &refused, fault) == 0)
			return 0;
		if (!refused)
			return -1;
		atomic_store(&upload->dav->whole, true);
	}
	return put_whole(upload, fault) ? -1 : has_all(upload, &all, fault);
}

static int put_feed(struct upload *upload, struct fault *fault)
{
	if (feed_wait(upload->request.feed, 0, SHORT_UPLOAD) == (int64_t)SHORT_UPLOAD)
		return put_long(upload, fault);
	return put_whole(upload, fault);
}

/* ---- naming --------------------------------------------------------------------------------- */

/* base: the URL of the store, or only its path. */
static int move_to(const struct upload *upload, const char *base, struct http_response *response,
		   struct fault *fault)
{
	const char *headers[] = {NULL, "Overwrite: F", NULL};
	char *destination;
	int result;

	if (asprintf(&destination, "Destination: %s/%s", base, upload->key) < 0)
		return fault_nomem(fault);
	headers[0] = destination;
	http_response_release(response);
	result = dav_ask_plain(upload->dav, "MOVE", upload->temporary, headers, response, fault);
	free(destination);
	return result;
}

/*
 * The destination is a path at first: that also holds behind a proxy that speaks TLS for the
 * server. Servers that know only whole URLs answer 400.
 */
static int move(const struct upload *upload, struct http_response *response, struct fault *fault)
{
	struct dav *dav = upload->dav;
	const char *base = dav->base + dav->path_at;
	bool made;

	if (move_to(upload, base, response, fault))
		return -1;
	if (response->status == 400) {
		base = dav->base;
		if (move_to(upload, base, response, fault))
			return -1;
	}
	/* 403 is not always meant as it says, either. */
	if (!may_lack_collection(response->status) && response->status != 403)
		return 0;
	if (make_place(dav, upload->key, &made, fault))
		return -1;
	return made ? move_to(upload, base, response, fault) : 0;
}

/* Removes the temporary. If that fails, it is left over, like one of an upload that was killed. */
static void forget(const struct upload *upload)
{
	struct http_response response = {0};
	struct fault ignored = {0};

	dav_ask_plain(upload->dav, "DELETE", upload->temporary, NULL, &response, &ignored);
	http_response_release(&response);
}

/* Gives the temporary its name; what has that name already stays. 404 or 409 while all collections
 * are there: the temporary is not. */
static int finish(const struct upload *upload, struct fault *fault)
{
	struct http_response response = {0};
	int result = move(upload, &response, fault);

	if (result == 0 && response.status == 412)
		forget(upload);
	else if (result == 0 && (response.status == 404 || response.status == 409))
		result = gone(upload, fault);
	else if (result == 0 && !dav_done(&response))
		result = write_fault(&response, upload->key, fault);
	http_response_release(&response);
	return result;
}

/* ---- the driver's functions ----------------------------------------------------------------- */

int dav_put(void *state, const struct driver_upload *wanted, struct fault *fault)
{
	const char *slash = strrchr(wanted->key, '/');
	struct upload upload = {
		.dav = state,
		.key = wanted->key,
		.request = {.method = "PUT", .feed = wanted->feed, .sent = count, .ctx = &upload},
		.sent = wanted->sent,
		.ctx = wanted->ctx};
	char *temporary;
	int result;

	if (asprintf(&temporary, "tmp/%s.%s", slash ? slash + 1 : wanted->key,
		     journal_token(wanted->journal)) < 0)
		return fault_nomem(fault);
	upload.temporary = temporary;
	result = put_feed(&upload, fault);
	if (result == 0)
		result = finish(&upload, fault);
	free(temporary);
	return result;
}

int dav_put_bytes(void *state, const char *key, const void *data, size_t len, struct fault *fault)
{
	struct upload upload = {.dav = state,
				.key = key,
				.request = {.method = "PUT", .data = data, .data_len = len}};
	char temporary[128];
	char token[TOKEN_SIZE + 1];

	if (token_make(token) != 0)
		return fault_set(fault, FAULT_LOCAL, NULL, "there are no random numbers");
	snprintf(temporary, sizeof(temporary), "tmp/%s.%s", key, token);
	upload.temporary = temporary;
	return put_temporary(&upload, fault) ? -1 : finish(&upload, fault);
}

int dav_create(void *state, struct fault *fault)
{
	bool made;

	if (make_collections(state, "tmp/", &made, fault))
		return -1;
	return make_collections(state, "objects/", &made, fault);
}

int dav_remove(void *state, const struct store_entry *entry, struct fault *fault)
{
	struct http_response response = {0};
	int result = dav_ask_plain(state, "DELETE", entry->key, NULL, &response, fault);

	if (result == 0 && response.status != 404 && response.status != 410 && !dav_done(&response))
		result = write_fault(&response, entry->key, fault);
	http_response_release(&response);
	return result;
}
