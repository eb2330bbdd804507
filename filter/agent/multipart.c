/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/agent/multipart.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "filter/agent/multipart_action.h"
#include "filter/cli/json_gen.h"
#include "filter/remote/retry.h"

/* Bytes that are hashed at a time. */
#define STEP ((size_t)1 << 20)

/* A hub that puts parts together may be silent for longer than connections otherwise are. */
#define COMPLETION_TIMEOUT_S 600

/* What to do about an action that the hub does not honour (any more). */
static const char push_again[] = "push again: the hub then hands out new URLs";

struct part {
	struct upload *upload;
	const char *url;
	uint64_t at;   /* bytes that this attempt has sent */
	uint64_t told; /* bytes that progress was told of: an earlier attempt may have come further
			*/
	char etag[sizeof(((struct http_response *)NULL)->etag)]; /* "" until it arrived */
};

/*
 * One object on its way. The parts are sent while a thread still reads the content for its SHA-256:
 * nothing is made of them before the completion, which waits for that. Who fails first says why,
 * and stops the others by the feed.
 */
struct upload {
	struct network *network;
	const struct store_settings *settings;
	const struct agent_event *event;
	struct feed *feed;
	bool is_whole;  /* the action names no parts: all goes to its href, as one */
	char **headers; /* is_whole: for that. URLs of parts are signed as they are */
	uint64_t part_size;
	struct part *parts;
	size_t part_count;

	pthread_mutex_t mutex; /* of all that follows, and of parts' told */
	size_t next;           /* the first part that nobody has taken */
	struct fault fault;    /* the first one */
	atomic_bool failed;    /* there is one: pauses end */
	void (*progress)(void *ctx, uint64_t bytes);
	void *ctx;
};

static void fail(struct upload *upload, const struct fault *fault)
{
	pthread_mutex_lock(&upload->mutex);
	if (!upload->fault.kind)
		upload->fault = *fault;
	pthread_mutex_unlock(&upload->mutex);
	upload->failed = true;
	feed_fail(upload->feed);
}

/* ---- the content ---------------------------------------------------------------------------- */

/* Reads all of it. Returns 0 if it is what the oid says, else -1 with the fault. */
static int hash(const struct upload *upload, struct fault *fault)
{
	const struct pointer *pointer = &upload->event->pointer;
	struct brevis_sha256 *sha = brevis_sha256_new();
	uint8_t *room = malloc(STEP);
	uint8_t digest[BREVIS_SHA256_SIZE];
	char hex[OID_HEX_SIZE + 1];
	ssize_t got = 1;
	int rc = -1;

	if (!sha || !room) {
		fault_nomem(fault);
		goto out;
	}
	for (uint64_t at = 0; at < pointer->size && got > 0; at += (uint64_t)got) {
		got = feed_read(upload->feed, room, STEP, at);
		if (got > 0)
			brevis_sha256_update(sha, room, (size_t)got);
	}
	if (got < 0) {
		fault_errno(fault, errno, "%s: cannot be read", upload->event->path);
		goto out;
	}
	brevis_sha256_final(sha, digest);
	digest_to_hex(digest, hex);
	rc = strcmp(hex, pointer->oid) == 0
		     ? 0
		     : fault_set(fault, FAULT_DAMAGED, "run `git lfs fsck`, and add the file again",
				 "its content has the SHA-256 %s", hex);
out:
	free(room);
	brevis_sha256_free(sha);
	return rc;
}

static void *check_content(void *ctx)
{
	struct upload *upload = ctx;
	struct fault fault = {.kind = FAULT_NONE};

	if (hash(upload, &fault) == 0)
		feed_finish(upload->feed);
	else
		fail(upload, &fault);
	return NULL;
}

/* ---- parts ---------------------------------------------------------------------------------- */

static void part_sent(void *ctx, uint64_t bytes)
{
	struct part *part = ctx;
	struct upload *upload = part->upload;

	part->at += bytes;
	if (part->at <= part->told)
		return;
	pthread_mutex_lock(&upload->mutex);
	upload->progress(upload->ctx, part->at - part->told);
	part->told = part->at;
	pthread_mutex_unlock(&upload->mutex);
}

/* Sends a part, once. */
static int try_part(struct upload *upload, struct part *part, struct fault *fault)
{
	size_t i = (size_t)(part - upload->parts);
	uint64_t offset = i * upload->part_size;
	uint64_t left = upload->event->pointer.size - offset;
	struct http_request request = {
		.method = "PUT",
		.url = part->url,
		.headers = (const char *const *)upload->headers,
		.feed = upload->feed,
		.feed_offset = offset,
		.feed_len = (int64_t)(left < upload->part_size ? left : upload->part_size),
		.sent = part_sent,
		.ctx = part};
	struct http_response response = {0};
	char doing[64];
	int rc;

	part->at = 0;
	if (upload->is_whole)
		strcpy(doing, "upload");
	else
		snprintf(doing, sizeof(doing), "part %zu of %zu", i + 1, upload->part_count);
	rc = action_perform(upload->network, &request, &response, doing, push_again, fault);
	if (rc == 0 && !upload->is_whole && !*response.etag)
		rc = fault_set(fault, FAULT_UNSUPPORTED, NULL, "%s: the hub's answer has no ETag",
			       doing);
	memcpy(part->etag, response.etag, sizeof(part->etag));
	http_response_release(&response);
	return rc;
}

static struct part *take_part(struct upload *upload)
{
	struct part *part = NULL;

	pthread_mutex_lock(&upload->mutex);
	if (!upload->fault.kind && upload->next < upload->part_count)
		part = &upload->parts[upload->next++];
	pthread_mutex_unlock(&upload->mutex);
	return part;
}

/* A part begins anew in each attempt: what a failed one has sent is no progress. */
static void *send_parts(void *ctx)
{
	struct upload *upload = ctx;
	struct part *part;

	while ((part = take_part(upload)) != NULL) {
		struct fault fault = {.kind = FAULT_NONE};
		struct retry retry;
		int rc;

		retry_begin(&retry, upload->settings, &upload->failed);
		do
			rc = try_part(upload, part, &fault);
		while (rc < 0 && retry_again(&retry, false, &fault));
		if (rc < 0)
			fail(upload, &fault);
	}
	return NULL;
}

/* Sends all parts on threads of their own, and on this one; and hashes on another. What has no
 * completion is hashed before. */
static void send_all(struct upload *upload)
{
	pthread_t threads[SETTINGS_PARALLEL_MAX];
	pthread_t checker;
	size_t wanted = upload->settings->parallel;
	size_t count = 0;
	bool checks;

	if (wanted > upload->part_count)
		wanted = upload->part_count;
	checks = !upload->is_whole && pthread_create(&checker, NULL, check_content, upload) == 0;
	if (!checks)
		check_content(upload);
	while (count + 1 < wanted && count < SETTINGS_PARALLEL_MAX &&
	       pthread_create(&threads[count], NULL, send_parts, upload) == 0)
		count++;
	send_parts(upload);
	while (count)
		pthread_join(threads[--count], NULL);
	if (checks)
		pthread_join(checker, NULL);
}

/* ---- the completion ------------------------------------------------------------------------- */

static void put_text(yajl_gen gen, const char *text)
{
	yajl_gen_string(gen, (const unsigned char *)text, strlen(text));
}

/* ETags go back in the quotes that they came in. */
static void put_parts(yajl_gen gen, const struct upload *upload)
{
	char etag[sizeof(upload->parts->etag) + 2];

	yajl_gen_array_open(gen);
	for (size_t i = 0; i < upload->part_count; i++) {
		snprintf(etag, sizeof(etag), "\"%s\"", upload->parts[i].etag);
		yajl_gen_map_open(gen);
		put_text(gen, "partNumber");
		yajl_gen_integer(gen, (long long)i + 1);
		put_text(gen, "etag");
		put_text(gen, etag);
		yajl_gen_map_close(gen);
	}
	yajl_gen_array_close(gen);
}

/* {"oid", "parts"} */
static void make_completion(const struct upload *upload, struct buffer *out)
{
	struct json_gen json;
	yajl_gen gen;

	json_gen_begin(&json, out);
	gen = json.gen;
	yajl_gen_map_open(gen);
	put_text(gen, "oid");
	put_text(gen, upload->event->pointer.oid);
	put_text(gen, "parts");
	put_parts(gen, upload);
	yajl_gen_map_close(gen);
	json_gen_end(&json);
}

/* Posts it until it arrives. */
static int post(struct network *network, const struct store_settings *settings,
		const struct http_request *request, struct fault *fault)
{
	struct retry retry;
	int rc;

	retry_begin(&retry, settings, NULL);
	do {
		struct http_response response = {0};

		rc = action_perform(network, request, &response, "completion", push_again, fault);
		http_response_release(&response);
	} while (rc < 0 && retry_again(&retry, false, fault));
	return rc;
}

static int complete(const struct upload *upload, struct fault *fault)
{
	static const char *const more[] = {"Accept: " LFS_MEDIA, "Content-Type: " LFS_MEDIA, NULL};
	struct http_request request = {.method = "POST", .url = upload->event->href};
	struct store_settings patient = *upload->settings;
	struct network *network = network_new(&patient);
	char **headers = action_headers(upload->event, more);
	struct buffer text = BUFFER_INIT;
	int rc;

	make_completion(upload, &text);
	if (patient.idle_timeout_s && patient.idle_timeout_s < COMPLETION_TIMEOUT_S)
		patient.idle_timeout_s = COMPLETION_TIMEOUT_S;
	if (network && headers && !buffer_failed(&text)) {
		request.data = text.data;
		request.data_len = text.size;
		request.headers = (const char *const *)headers;
		rc = post(network, &patient, &request, fault);
	} else {
		rc = fault_nomem(fault);
	}
	buffer_release(&text);
	action_headers_free(headers);
	network_free(network);
	return rc;
}

/* ---- a whole upload ------------------------------------------------------------------------- */

static int make_parts(struct upload *upload, size_t count, struct fault *fault)
{
	upload->parts = calloc(count + 1, sizeof(*upload->parts));
	if (!upload->parts)
		return fault_nomem(fault);
	upload->part_count = count;
	for (size_t i = 0; i < count; i++)
		upload->parts[i].upload = upload;
	return 0;
}

/* Takes the URLs of all parts out of the action. */
static int find_parts(struct upload *upload, struct fault *fault)
{
	const struct agent_event *event = upload->event;
	uint64_t size = event->pointer.size;
	uint64_t count;

	upload->part_size = action_number(agent_event_header(event, "chunk_size"));
	if (!upload->part_size || upload->part_size > INT64_MAX)
		return fault_set(fault, FAULT_UNSUPPORTED, NULL, "its chunk_size is no size");
	count = size / upload->part_size + (size % upload->part_size != 0);
	/* Each has a header: a tiny chunk_size must not cost memory. */
	if (count > event->header_count)
		return fault_set(fault, FAULT_UNSUPPORTED, push_again,
				 "the hub has too few URLs for %" PRIu64 " parts", count);
	if (make_parts(upload, (size_t)count, fault) < 0)
		return -1;
	for (size_t i = 0; i < event->header_count; i++) {
		uint64_t number = action_number(event->headers[i].name);

		if (number > count)
			return fault_set(fault, FAULT_UNSUPPORTED, push_again,
					 "the hub asks for more than %" PRIu64 " parts", count);
		if (number)
			upload->parts[number - 1].url = event->headers[i].value;
	}
	for (size_t i = 0; i < upload->part_count; i++)
		if (action_check_url(upload->parts[i].url, fault) < 0)
			return -1;
	return 0;
}

/* Some objects of a hub that knows parts may be too small to have any. */
static int find_whole(struct upload *upload, struct fault *fault)
{
	static const char *const none[] = {NULL};

	upload->is_whole = true;
	upload->part_size = upload->event->pointer.size;
	upload->headers = action_headers(upload->event, none);
	if (!upload->headers)
		return fault_nomem(fault);
	if (make_parts(upload, 1, fault) < 0)
		return -1;
	upload->parts->url = upload->event->href;
	return 0;
}

static int read_action(struct upload *upload, struct fault *fault)
{
	if (action_check_url(upload->event->href, fault) < 0)
		return -1;
	return agent_event_header(upload->event, "chunk_size") ? find_parts(upload, fault)
							       : find_whole(upload, fault);
}

/* Opens the object's file. Returns it, or -1 with the fault. */
static int open_object(const struct agent_event *event, struct fault *fault)
{
	int fd = open(event->path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0) {
		fault_errno(fault, errno, "%s: cannot be read", event->path);
	} else if ((uint64_t)st.st_size != event->pointer.size) {
		fault_set(fault, FAULT_DAMAGED, "run `git lfs fsck`, and add the file again",
			  "its file has %" PRIu64 " bytes instead of %" PRIu64,
			  (uint64_t)st.st_size, event->pointer.size);
	} else {
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

int multipart_upload(struct network *network, const struct store_settings *settings,
		     const struct agent_event *event, void (*progress)(void *ctx, uint64_t bytes),
		     void *ctx, struct fault *fault)
{
	struct upload upload = {.network = network,
				.settings = settings,
				.event = event,
				.mutex = PTHREAD_MUTEX_INITIALIZER,
				.progress = progress,
				.ctx = ctx};
	int fd = open_object(event, fault);
	int rc = -1;

	if (fd < 0)
		return -1;
	if (read_action(&upload, fault) < 0)
		goto out;
	upload.feed = feed_new(fd, event->pointer.size);
	if (!upload.feed) {
		fault_nomem(fault);
		goto out;
	}
	feed_grow(upload.feed, event->pointer.size);
	send_all(&upload);
	if (upload.fault.kind)
		*fault = upload.fault;
	else
		rc = upload.is_whole ? 0 : complete(&upload, fault);
out:
	action_headers_free(upload.headers);
	feed_free(upload.feed);
	free(upload.parts);
	close(fd);
	return rc;
}
