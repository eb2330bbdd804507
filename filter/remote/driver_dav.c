/* SPDX-License-Identifier: Apache-2.0 */
/* WebDAV: how a server is asked, and what is read from it. */
#include "filter/remote/driver_dav_private.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buffer.h"
#include "filter/remote/credential.h"

/* ---- requests ------------------------------------------------------------------------------- */

/* The URL without a slash at its end; *path_at says where its path begins. */
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

int dav_ask_plain(struct dav *dav, const char *method, const char *key, const char *const *headers,
		  struct http_response *response, struct fault *fault)
{
	struct http_request request = {.method = method, .headers = headers};

	return dav_ask(dav, key, &request, response, fault);
}

bool dav_done(const struct http_response *response)
{
	return response->status >= 200 && response->status < 300 && response->status != 207;
}

/* ---- reading -------------------------------------------------------------------------------- */

int dav_size(void *state, const char *key, uint64_t *size, struct fault *fault)
{
	struct http_response response = {0};
	int result = dav_ask_plain(state, "HEAD", key, NULL, &response, fault);

	if (result == 0 && !dav_done(&response))
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
	if (result == 0 && response.status != 416 && !dav_done(&response))
		result = http_status_fault(&response, key, fault);
	else if (result == 0 && taking.taken < len)
		result = fault_set(fault, FAULT_DAMAGED, NULL,
				   "%s: it is shorter than it should be", key);
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
