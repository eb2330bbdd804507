/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/remote/network_private.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* As many handles as there can be threads at once. */
#define HANDLES (SETTINGS_PARALLEL_MAX + 1)

/* Below this speed for the whole of the time-out a connection counts as dead. */
#define BYTES_PER_SECOND 1L

struct network {
	const struct store_settings *settings;
	pthread_mutex_t mutex;
	CURL *idle[HANDLES];
	size_t idle_count;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static CURLcode set_up;

static void set_up_library(void)
{
	set_up = curl_global_init(CURL_GLOBAL_DEFAULT);
}

struct network *network_new(const struct store_settings *settings)
{
	struct network *network;

	pthread_once(&once, set_up_library);
	network = set_up == CURLE_OK ? calloc(1, sizeof(*network)) : NULL;
	if (!network)
		return NULL;
	network->settings = settings;
	pthread_mutex_init(&network->mutex, NULL);
	return network;
}

void network_free(struct network *network)
{
	if (!network)
		return;
	while (network->idle_count)
		curl_easy_cleanup(network->idle[--network->idle_count]);
	pthread_mutex_destroy(&network->mutex);
	free(network);
}

const char *network_library_version(void)
{
	return curl_version_info(CURLVERSION_NOW)->version;
}

const struct store_settings *network_settings(const struct network *network)
{
	return network->settings;
}

static void apply(CURL *handle, const struct store_settings *settings)
{
	curl_easy_reset(handle);
	curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT, (long)settings->dial_timeout_s);
	curl_easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT, BYTES_PER_SECOND);
	curl_easy_setopt(handle, CURLOPT_LOW_SPEED_TIME, (long)settings->idle_timeout_s);
	curl_easy_setopt(handle, CURLOPT_BUFFERSIZE, 512L << 10);
	curl_easy_setopt(handle, CURLOPT_UPLOAD_BUFFERSIZE, 1L << 20);
	curl_easy_setopt(handle, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(handle, CURLOPT_SSL_VERIFYPEER, settings->tls_verify ? 1L : 0L);
	curl_easy_setopt(handle, CURLOPT_SSL_VERIFYHOST, settings->tls_verify ? 2L : 0L);
	if (settings->ca_info)
		curl_easy_setopt(handle, CURLOPT_CAINFO, settings->ca_info);
	if (settings->proxy)
		curl_easy_setopt(handle, CURLOPT_PROXY, settings->proxy);
}

CURL *network_take(struct network *network)
{
	CURL *handle = NULL;

	pthread_mutex_lock(&network->mutex);
	if (network->idle_count)
		handle = network->idle[--network->idle_count];
	pthread_mutex_unlock(&network->mutex);
	if (!handle)
		handle = curl_easy_init();
	if (handle)
		apply(handle, network->settings);
	return handle;
}

void network_return(struct network *network, CURL *handle)
{
	pthread_mutex_lock(&network->mutex);
	if (network->idle_count < HANDLES) {
		network->idle[network->idle_count++] = handle;
		handle = NULL;
	}
	pthread_mutex_unlock(&network->mutex);
	curl_easy_cleanup(handle);
}

static enum fault_kind kind_of(CURLcode code)
{
	switch (code) {
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY:
	case CURLE_COULDNT_CONNECT:
	case CURLE_OPERATION_TIMEDOUT:
	case CURLE_PARTIAL_FILE:
	case CURLE_GOT_NOTHING:
	case CURLE_SEND_ERROR:
	case CURLE_RECV_ERROR:
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_SSH:
	case CURLE_AGAIN:
	case CURLE_HTTP2:
	case CURLE_HTTP2_STREAM:
		return FAULT_TRANSIENT;
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
		return FAULT_UNTRUSTED;
	case CURLE_LOGIN_DENIED:
	case CURLE_REMOTE_ACCESS_DENIED:
		return FAULT_DENIED;
	case CURLE_REMOTE_DISK_FULL:
		return FAULT_NO_SPACE;
	case CURLE_ABORTED_BY_CALLBACK:
		return FAULT_CANCELLED;
	case CURLE_UNSUPPORTED_PROTOCOL:
	case CURLE_WEIRD_SERVER_REPLY:
		return FAULT_UNSUPPORTED;
	default:
		return FAULT_LOCAL;
	}
}

static const char *remedy_of(CURLcode code, enum fault_kind kind)
{
	if (code == CURLE_OPERATION_TIMEDOUT)
		return "check the network and the server, then try again; lfs.dialtimeout and "
		       "lfs.activitytimeout say how long to wait";
	switch (kind) {
	case FAULT_TRANSIENT:
		return "check the network and the server, then try again";
	case FAULT_UNTRUSTED:
		return "check that it is the right server; http.sslCAInfo names a certificate to "
		       "trust";
	case FAULT_UNSUPPORTED:
		return "check that the URL is that of such a store";
	case FAULT_NO_SPACE:
		return "make room in the store and try again";
	default:
		return NULL;
	}
}

int network_fault(CURLcode code, const char *details, const char *doing, struct fault *fault)
{
	enum fault_kind kind = kind_of(code);

	if (code == CURLE_OUT_OF_MEMORY)
		return fault_nomem(fault);
	return fault_set(fault, kind, remedy_of(code, kind), "%s: %s", doing,
			 details && *details ? details : curl_easy_strerror(code));
}
