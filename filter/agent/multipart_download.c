/* SPDX-License-Identifier: Apache-2.0 */
/** Downloads from hubs: what is there of the file is hashed, and the rest as it comes. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "filter/agent/multipart.h"
#include "filter/agent/multipart_action.h"
#include "filter/remote/retry.h"
#include "filter/stream.h"

#define STEP ((size_t)1 << 20)

struct download {
	struct network *network;
	const struct store_settings *settings;
	const struct agent_event *event;
	int fd;
	uint64_t have;             /* bytes of the file */
	struct brevis_sha256 *sha; /* of them */
	uint64_t told;             /* bytes that progress was told of */
	int error;                 /* errno of writing the file */
	void (*progress)(void *ctx, uint64_t bytes);
	void *ctx;
};

/* ---- the file ------------------------------------------------------------------------------- */

static void add(struct download *download, const void *data, size_t len)
{
	brevis_sha256_update(download->sha, data, len);
	download->have += len;
	if (download->have > download->told) {
		download->progress(download->ctx, download->have - download->told);
		download->told = download->have;
	}
}

/* A brevis_write_fn: writes behind what the file has. A write that failed half-way, and may have
 * been transient, has left more there; that is written over. */
static int take(void *ctx, const void *data, size_t len)
{
	struct download *download = ctx;

	if (lseek(download->fd, (off_t)download->have, SEEK_SET) < 0 ||
	    stream_write(&download->fd, data, len) != 0) {
		download->error = errno;
		return -1;
	}
	add(download, data, len);
	return 0;
}

/* Empties the file. */
static int begin_anew(struct download *download, struct fault *fault)
{
	brevis_sha256_free(download->sha);
	download->sha = brevis_sha256_new();
	download->have = 0;
	if (!download->sha)
		return fault_nomem(fault);
	if (ftruncate(download->fd, 0) < 0)
		return fault_errno(fault, errno, "a download cannot begin anew");
	return 0;
}

/* Goes on behind what an earlier download has left. */
static int take_up(struct download *download, struct fault *fault)
{
	off_t size = lseek(download->fd, 0, SEEK_END);
	uint8_t *room;
	int rc = 0;

	if (size <= 0 || (uint64_t)size > download->event->pointer.size)
		return begin_anew(download, fault);
	room = malloc(STEP);
	download->sha = brevis_sha256_new();
	if (!room || !download->sha)
		rc = fault_nomem(fault);
	while (rc == 0 && download->have < (uint64_t)size) {
		uint64_t left = (uint64_t)size - download->have;
		size_t len = left < STEP ? (size_t)left : STEP;

		if (stream_read_at(download->fd, room, len, download->have) < 0)
			rc = fault_errno(fault, errno, "the begun download cannot be read");
		else
			add(download, room, len);
	}
	free(room);
	return rc;
}

/* True if it is what the oid says. Ends the hash. */
static bool is_good(struct download *download)
{
	uint8_t digest[BREVIS_SHA256_SIZE];
	char hex[OID_HEX_SIZE + 1];

	brevis_sha256_final(download->sha, digest);
	digest_to_hex(digest, hex);
	return strcmp(hex, download->event->pointer.oid) == 0;
}

/* ---- the requests --------------------------------------------------------------------------- */

/* Asks for what is missing, once. *ignored: the server does not go on from where we are. */
static int try_rest(struct download *download, bool *ignored, struct fault *fault)
{
	const struct pointer *pointer = &download->event->pointer;
	char range[64];
	const char *const more[] = {download->have ? range : NULL, NULL};
	struct http_request request = {.method = "GET",
				       .url = download->event->href,
				       .follow = true,
				       .sink = take,
				       .sink_limit = pointer->size - download->have,
				       .ctx = download};
	struct http_response response = {0};
	char **headers;
	int rc;

	*ignored = false;
	download->error = 0;
	snprintf(range, sizeof(range), "Range: bytes=%" PRIu64 "-%" PRIu64, download->have,
		 pointer->size - 1);
	headers = action_headers(download->event, more);
	if (!headers)
		return fault_nomem(fault);
	request.headers = (const char *const *)headers;
	rc = action_perform(download->network, &request, &response, "download",
			    "pull again: the hub then hands out a new URL", fault);
	*ignored = rc < 0 && *more && (response.status == 200 || response.status == 416);
	if (rc < 0 && download->error)
		fault_errno(fault, download->error, "the download cannot be written");
	else if (rc == 0 && download->have < pointer->size)
		rc = fault_set(fault, FAULT_DAMAGED, NULL,
			       "the hub's object ends after %" PRIu64 " of %" PRIu64 " bytes",
			       download->have, pointer->size);
	http_response_release(&response);
	action_headers_free(headers);
	return rc;
}

static int fetch_rest(struct download *download, struct fault *fault)
{
	struct retry retry;
	uint64_t before;
	bool ignored;
	int rc;

	retry_begin(&retry, download->settings, NULL);
	do {
		before = download->have;
		if (before == download->event->pointer.size)
			return 0;
		rc = try_rest(download, &ignored, fault);
		if (ignored && begin_anew(download, fault) == 0)
			rc = try_rest(download, &ignored, fault);
	} while (rc < 0 && retry_again(&retry, download->have > before, fault));
	return rc;
}

/* What began with an earlier download's bytes, and turns out wrong, is fetched once more. */
static int fetch(struct download *download, struct fault *fault)
{
	int attempts = download->have > 0 ? 2 : 1;

	while (attempts--) {
		if (fetch_rest(download, fault) < 0)
			return -1;
		if (is_good(download))
			return 0;
		if (begin_anew(download, fault) < 0)
			return -1;
	}
	return fault_set(fault, FAULT_DAMAGED, "ask who runs the hub for a good copy",
			 "the hub's object has another SHA-256");
}

int multipart_download(struct network *network, const struct store_settings *settings,
		       const struct agent_event *event, const char *path,
		       void (*progress)(void *ctx, uint64_t bytes), void *ctx, struct fault *fault)
{
	struct download download = {.network = network,
				    .settings = settings,
				    .event = event,
				    .progress = progress,
				    .ctx = ctx};
	int rc;

	if (action_check_url(event->href, fault) < 0)
		return -1;
	download.fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (download.fd < 0)
		return fault_errno(fault, errno, "%s", path);
	rc = take_up(&download, fault);
	if (rc == 0)
		rc = fetch(&download, fault);
	brevis_sha256_free(download.sha);
	if (close(download.fd) < 0 && rc == 0)
		rc = fault_errno(fault, errno, "%s", path);
	return rc;
}
