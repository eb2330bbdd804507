/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WebDAV. An upload is a PUT to tmp/<name>.<token>, and then a MOVE that overwrites nothing: the
 * object is there as a whole or not at all. Collections are made when a server says that it misses
 * them; many make them by themselves.
 */
#include "filter/remote/driver_dav_private.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "core/base/buffer.h"
#include "filter/remote/credential.h"

/* An upload whose end comes within so many bytes is sent with its length, as servers like it best;
 * a longer one in chunks, while it is still being made. */
#define SHORT_UPLOAD ((size_t)1 << 20)

struct dav {
	struct network *network;
	struct credential *credential;
	char *base; /* URL of the store, without a slash at its end */
	size_t path_at;
	atomic_bool whole; /* the server takes no chunks: it must be told lengths */
};

/* ---- requests ---------------------------------------------------------------------------------
 */

/* Appends "scheme://host[:port]" and, in path_at, says where the path begins. */
static char *make_base(const struct location *location, size_t *path_at)
{
	const char *scheme = location->tls ? "https://" : "http://";
	bool brackets = strchr(location->host, ':');
	struct buffer url = BUFFER_INIT;
	char port[16];

	buffer_append(&url, scheme, strlen(scheme));
	if (brackets)
		buffer_u8(&url, '[');
	buffer_append(&url, location->host, strlen(location->host));
	if (brackets)
		buffer_u8(&url, ']');
	if (location->port) {
		snprintf(port, sizeof(port), ":%u", location->port);
		buffer_append(&url, port, strlen(port));
	}
	*path_at = url.size;
	if (strcmp(location->path, "/") != 0)
		url_encode(&url, location->path, "/");
	buffer_u8(&url, '\0');
	if (buffer_failed(&url))
		buffer_release(&url);
	return (char *)url.data;
}

static void dav_close(void *state)
{
	struct dav *dav = state;

	network_free(dav->network);
	credential_free(dav->credential);
	free(dav->base);
	free(dav);
}

static int dav_open(const struct location *location, const struct store_settings *settings,
		    void **state, struct fault *fault)
{
	struct dav *dav = calloc(1, sizeof(*dav));
	char *host = NULL;
	const char *protocol = location->tls ? "https" : "http";

	if (!dav)
		return fault_nomem(fault);
	atomic_init(&dav->whole, false);
	dav->network = network_new(settings);
	dav->base = make_base(location, &dav->path_at);
	if (dav->base)
		host = strndup(dav->base + strlen(protocol) + 3,
			       dav->path_at - strlen(protocol) - 3);
	if (host)
		dav->credential =
			credential_new(protocol, host, location->path + strspn(location->path, "/"),
				       location->user);
	free(host);
	if (dav->network && dav->credential) {
		*state = dav;
		return 0;
	}
	dav_close(dav);
	return fault_nomem(fault);
}

int dav_ask(struct dav *dav, const char *key, struct http_request *request,
	    struct http_response *response, struct fault *fault)
{
	bool known = credential_get(dav->credential, &request->user, &request->password);
	char *url;
	int result;

	if (asprintf(&url, "%s/%s", dav->base, key) < 0)
		return fault_nomem(fault);
	request->url = url;
	result = http_perform(dav->network, request, response, fault);
	if (result == 0 && response->status == 401 && !known) {
		http_response_release(response);
		known = true;
		result = credential_ask(dav->credential, fault);
		if (result == 0) {
			credential_get(dav->credential, &request->user, &request->password);
			result = http_perform(dav->network, request, response, fault);
		}
	}
	if (result == 0 && response->status == 401)
		result = credential_reject(dav->credential, fault);
	else if (result == 0 && known && response->status != 403 && response->status < 500)
		credential_approve(dav->credential);
	request->url = NULL;
	free(url);
	return result;
}

/* A request without a body, of whose answer only the status and the length count. */
static int ask_status(struct dav *dav, const char *method, const char *key,
		      const char *const *headers, struct http_response *response,
		      struct fault *fault)
{
	struct http_request request = {.method = method, .headers = headers};

	return dav_ask(dav, key, &request, response, fault);
}

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

static bool is_success(long status)
{
	return status >= 200 && status < 300;
}

/* ---- reading ----------------------------------------------------------------------------------
 */

static int dav_size(void *state, const char *key, uint64_t *size, struct fault *fault)
{
	struct http_response response = {0};
	int result = ask_status(state, "HEAD", key, NULL, &response, fault);

	if (result == 0 && !is_success(response.status))
		result = http_status_fault(&response, key, fault);
	else if (result == 0 && response.length < 0)
		result = fault_set(fault, FAULT_UNSUPPORTED, NULL,
				   "%s: the server does not tell its size", key);
	else if (result == 0)
		*size = (uint64_t)response.length;
	http_response_release(&response);
	return result;
}

struct taking {
	brevis_write_fn write;
	void *ctx;
	uint64_t taken;
};

static int take(void *ctx, const void *data, size_t len)
{
	struct taking *taking = ctx;

	taking->taken += len;
	return taking->write(taking->ctx, data, len);
}

static int dav_read(void *state, const char *key, uint64_t offset, uint64_t len,
		    brevis_write_fn write, void *ctx, struct fault *fault)
{
	struct taking taking = {.write = write, .ctx = ctx};
	char range[64];
	const char *const headers[] = {range, NULL};
	struct http_request request = {.method = "GET",
				       .headers = headers,
				       .sink = take,
				       .sink_limit = len,
				       .ctx = &taking};
	struct http_response response = {0};
	int result;

	if (!len)
		return 0;
	snprintf(range, sizeof(range), "Range: bytes=%" PRIu64 "-%" PRIu64, offset,
		 offset + len - 1);
	result = dav_ask(state, key, &request, &response, fault);
	if (result == 0 && response.status != 416 && !is_success(response.status))
		result = http_status_fault(&response, key, fault);
	else if (result == 0 && taking.taken < len)
		result = fault_set(fault, FAULT_DAMAGED, NULL,
				   "%s: it is shorter than it should be", key);
	http_response_release(&response);
	return result;
}

/* ---- writing ----------------------------------------------------------------------------------
 */

/* Makes one collection. One that is there answers 405. */
static int make_collection(struct dav *dav, const char *key, long *status, struct fault *fault)
{
	struct http_response response = {0};
	int result = ask_status(dav, "MKCOL", key, NULL, &response, fault);

	*status = response.status;
	if (result == 0 && !is_success(*status) && *status != 405 && *status != 404 &&
	    *status != 409)
		result = write_fault(&response, *key ? key : "MKCOL of the store", fault);
	http_response_release(&response);
	return result;
}

/* Makes the collections that hold a key, those that are missing from the innermost outwards, and
 * the store's own. */
static int make_collections(struct dav *dav, const char *key, struct fault *fault)
{
	const char *slash = strrchr(key, '/');
	size_t len = slash ? (size_t)(slash - key) : 0;
	char *parent;
	long status;
	int result;

	parent = len ? strndup(key, len + 1) : strdup("");
	if (!parent)
		return fault_nomem(fault);
	result = make_collection(dav, parent, &status, fault);
	if (result == 0 && (status == 404 || status == 409)) {
		if (len) {
			parent[len] = '\0';
			result = make_collections(dav, parent, fault);
			parent[len] = '/';
		} else {
			result = fault_set(fault, FAULT_NO_STORE,
					   "make the collection that is to hold the store",
					   "the server lacks the collection above %s", dav->base);
		}
		if (result == 0 && len)
			result = make_collection(dav, parent, &status, fault);
	}
	free(parent);
	return result;
}

/* The server misses something on the way to a key. nginx says 500 of PUT. */
static bool lacks_collection(long status)
{
	return status == 404 || status == 409 || status == 500;
}

struct counting {
	void (*sent)(void *ctx, uint64_t bytes);
	void *ctx;
	uint64_t at;       /* of the request that is under way */
	uint64_t reported; /* of all requests: a body may be sent several times */
};

static void count(void *ctx, uint64_t bytes)
{
	struct counting *counting = ctx;

	counting->at += bytes;
	if (counting->at <= counting->reported)
		return;
	if (counting->sent)
		counting->sent(counting->ctx, counting->at - counting->reported);
	counting->reported = counting->at;
}

/* One PUT. Its answer may be an error. */
static int put_once(struct dav *dav, const char *key, struct http_request *request, long *status,
		    struct fault *fault)
{
	struct http_response response = {0};
	struct counting *counting = request->ctx;
	int result;

	if (counting)
		counting->at = 0;
	result = dav_ask(dav, key, request, &response, fault);
	*status = response.status;
	if (result == 0 && !is_success(*status))
		result = write_fault(&response, key, fault);
	http_response_release(&response);
	return result;
}

/* Writes a temporary: again, if collections are missing. */
static int put_temporary(struct dav *dav, const char *key, struct http_request *request,
			 long *status, struct fault *fault)
{
	struct fault first;

	if (put_once(dav, key, request, status, fault) == 0)
		return 0;
	if (!lacks_collection(*status))
		return -1;
	first = *fault;
	if (make_collections(dav, key, fault)) {
		if (*status == 500)
			*fault = first;
		return -1;
	}
	return put_once(dav, key, request, status, fault);
}

static int move_once(struct dav *dav, const char *from, const char *to, const char *base,
		     struct http_response *response, struct fault *fault)
{
	const char *headers[] = {NULL, "Overwrite: F", NULL};
	char *destination;
	int result;

	if (asprintf(&destination, "Destination: %s/%s", base, to) < 0)
		return fault_nomem(fault);
	headers[0] = destination;
	http_response_release(response);
	result = ask_status(dav, "MOVE", from, headers, response, fault);
	free(destination);
	return result;
}

/*
 * Gives a temporary its name, unless something has it. The destination is a path at first: so it
 * also holds behind a proxy that speaks TLS for the server. Servers that know only whole URLs
 * answer 400.
 */
static int move(struct dav *dav, const char *from, const char *to, struct http_response *response,
		struct fault *fault)
{
	const char *path = dav->base + dav->path_at;

	if (move_once(dav, from, to, path, response, fault))
		return -1;
	if (response->status == 404 || response->status == 409) {
		if (make_collections(dav, to, fault) ||
		    move_once(dav, from, to, path, response, fault))
			return -1;
	}
	if (response->status == 400)
		return move_once(dav, from, to, dav->base, response, fault);
	return 0;
}

/* What is there is fine; else the fault says why the temporary did not get its name. */
static int finish(struct dav *dav, const char *temporary, const char *key, struct fault *fault)
{
	struct http_response response = {0};
	int result = move(dav, temporary, key, &response, fault);

	if (result == 0 && response.status == 412) {
		/* Whatever becomes of it: store gc removes what is left over. */
		http_response_release(&response);
		if (ask_status(dav, "DELETE", temporary, NULL, &response, fault))
			*fault = (struct fault){0};
	} else if (result == 0 && (response.status == 404 || response.status == 409)) {
		result = fault_set(fault, FAULT_TRANSIENT, NULL,
				   "%s: what was uploaded has gone from %s", key, temporary);
	} else if (result == 0 && !is_success(response.status)) {
		result = write_fault(&response, key, fault);
	}
	http_response_release(&response);
	return result;
}

/* In chunks, while the feed grows. *refused is set if the server turns out not to take them: some
 * say so, some store nothing. */
static int put_chunks(struct dav *dav, const char *temporary, struct http_request *request,
		      bool *refused, struct fault *fault)
{
	uint64_t size;
	uint64_t stored;
	long status;

	request->feed_len = -1;
	*refused = false;
	if (put_temporary(dav, temporary, request, &status, fault)) {
		*refused = status == 411 || status == 501;
		return -1;
	}
	if (feed_size(request->feed, &size))
		return fault_set(fault, FAULT_CANCELLED, NULL, "%s: it has failed here", temporary);
	if (dav_size(dav, temporary, &stored, fault))
		return -1;
	*refused = stored != size;
	return *refused ? -1 : 0;
}

static int put_whole(struct dav *dav, const char *temporary, struct http_request *request,
		     struct fault *fault)
{
	uint64_t size;
	long status;

	if (feed_size(request->feed, &size))
		return fault_set(fault, FAULT_CANCELLED, NULL, "%s: it has failed here", temporary);
	request->feed_len = (int64_t)size;
	return put_temporary(dav, temporary, request, &status, fault);
}

/* Everything of the feed, to a temporary. */
static int put_feed(struct dav *dav, const char *temporary, const struct driver_upload *upload,
		    struct fault *fault)
{
	struct counting counting = {.sent = upload->sent, .ctx = upload->ctx};
	struct http_request request = {
		.method = "PUT", .feed = upload->feed, .sent = count, .ctx = &counting};
	int64_t there = feed_wait(upload->feed, 0, SHORT_UPLOAD);
	bool refused;

	if (there == (int64_t)SHORT_UPLOAD && !atomic_load(&dav->whole)) {
		if (put_chunks(dav, temporary, &request, &refused, fault) == 0)
			return 0;
		if (!refused)
			return -1;
		atomic_store(&dav->whole, true);
	}
	return put_whole(dav, temporary, &request, fault);
}

static int dav_put(void *state, const struct driver_upload *upload, struct fault *fault)
{
	const char *slash = strrchr(upload->key, '/');
	char *temporary;
	int result;

	if (asprintf(&temporary, "tmp/%s.%s", slash ? slash + 1 : upload->key,
		     journal_token(upload->journal)) < 0)
		return fault_nomem(fault);
	result = put_feed(state, temporary, upload, fault);
	if (result == 0)
		result = finish(state, temporary, upload->key, fault);
	free(temporary);
	return result;
}

static int dav_put_bytes(void *state, const char *key, const void *data, size_t len,
			 struct fault *fault)
{
	struct http_request request = {.method = "PUT", .data = data, .data_len = len};
	char temporary[128];
	uint64_t token;
	long status;

	if (getentropy(&token, sizeof(token)) != 0)
		return fault_set(fault, FAULT_LOCAL, NULL, "no random numbers");
	snprintf(temporary, sizeof(temporary), "tmp/%s.%016" PRIx64, key, token);
	if (put_temporary(state, temporary, &request, &status, fault))
		return -1;
	return finish(state, temporary, key, fault);
}

static int dav_create(void *state, struct fault *fault)
{
	return make_collections(state, "tmp/", fault) ? -1
						      : make_collections(state, "objects/", fault);
}

static int dav_remove(void *state, const struct store_entry *entry, struct fault *fault)
{
	struct http_response response = {0};
	int result = ask_status(state, "DELETE", entry->key, NULL, &response, fault);

	if (result == 0 && !is_success(response.status) && response.status != 404 &&
	    response.status != 410)
		result = write_fault(&response, entry->key, fault);
	http_response_release(&response);
	return result;
}

const struct driver driver_dav = {
	.name = "WebDAV",
	.open = dav_open,
	.close = dav_close,
	.size = dav_size,
	.read = dav_read,
	.put = dav_put,
	.put_bytes = dav_put_bytes,
	.create = dav_create,
	.list = dav_list,
	.remove = dav_remove,
};
