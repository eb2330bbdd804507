/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uploads to and downloads from a hub that lives in this process: it takes the place of the network
 * (that is why http_perform is here), fails as it is told, and keeps what it is sent.
 */
#include "filter/agent/multipart.h"

#include <fcntl.h>
#include <pthread.h>

#include "core/base/digest.h"
#include "tests/unit/sandbox.h"
#include "tests/unit/sha256_of.h"

#define PART   1000
#define SIZE   (4 * PART + 321)
#define GIB    ((uint64_t)1 << 30)
#define MARK   "here it is"
#define SECRET "s3cr3t"

static const struct store_settings settings = {.retries = 3, .max_delay_ms = 4, .parallel = 3};

/* What the hub does, and what became of it. */
static struct {
	pthread_mutex_t mutex;
	unsigned failing_part; /* from 1 */
	unsigned failures;     /* how often it fails, half-way, before it does not */
	long status;           /* of the failure; 0: a cut connection */
	bool no_etag;
	unsigned completion_failures;
	long completion_status;
	const char *answer; /* to a failure */
	bool ignores_ranges;
	size_t limit; /* bytes of a download before it is cut, once; 0: none */

	unsigned puts;
	unsigned completions;
	unsigned gets;
	char completion[4096];
	char headers[256]; /* of the last request but parts */
	uint8_t content[SIZE];
	uint64_t told;
	const char *wrong; /* what the client did that it must not: threads cannot assert it */
} hub = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* ---- the hub -------------------------------------------------------------------------------- */

void http_response_release(struct http_response *response)
{
	buffer_release(&response->body);
	*response = (struct http_response){0};
}

int http_status_fault(const struct http_response *response, const char *doing, struct fault *fault)
{
	return fault_set(fault, response->status >= 500 ? FAULT_TRANSIENT : FAULT_DENIED,
			 "some remedy", "%s: status %ld", doing, response->status);
}

void url_encode(struct buffer *out, const char *text, const char *keep)
{
	(void)keep;
	buffer_append(out, text, strlen(text));
}

static int cut(struct fault *fault)
{
	return fault_set(fault, FAULT_TRANSIENT, NULL, "the connection was cut");
}

static int answer(struct http_response *response, long status)
{
	response->status = status;
	if (hub.answer && status >= 300)
		buffer_append(&response->body, hub.answer, strlen(hub.answer));
	return 0;
}

static void note_headers(const struct http_request *request)
{
	hub.headers[0] = 0;
	for (const char *const *line = request->headers; line && *line; line++) {
		strcat(hub.headers, *line);
		strcat(hub.headers, "|");
	}
}

static int put_object(const struct http_request *request, struct http_response *response,
		      struct fault *fault)
{
	unsigned part = (unsigned)atoi(strrchr(request->url, '/') + 1);
	uint64_t len = (uint64_t)request->feed_len;
	bool fails;

	pthread_mutex_lock(&hub.mutex);
	hub.puts++;
	fails = part == hub.failing_part && hub.failures > 0;
	hub.failures -= fails;
	if (!part)
		note_headers(request);
	else if (request->headers)
		hub.wrong = "headers that were not signed";
	pthread_mutex_unlock(&hub.mutex);
	if (fails)
		len /= 2;
	for (uint64_t at = 0; at < len;) {
		uint8_t bytes[64];
		ssize_t got =
			feed_read(request->feed, bytes,
				  len - at < sizeof(bytes) ? (size_t)(len - at) : sizeof(bytes),
				  request->feed_offset + at);

		if (got <= 0)
			return fault_set(fault, FAULT_CANCELLED, NULL, "the feed has failed");
		memcpy(hub.content + request->feed_offset + at, bytes, (size_t)got);
		request->sent(request->ctx, (uint64_t)got);
		at += (uint64_t)got;
	}
	if (fails)
		return hub.status ? answer(response, hub.status) : cut(fault);
	if (!hub.no_etag)
		snprintf(response->etag, sizeof(response->etag), "tag-%u", part);
	return answer(response, 200);
}

static int post_completion(const struct http_request *request, struct http_response *response)
{
	hub.completions++;
	note_headers(request);
	assert_true(request->data_len < sizeof(hub.completion));
	memcpy(hub.completion, request->data, request->data_len);
	hub.completion[request->data_len] = 0;
	if (!hub.completion_failures)
		return answer(response, 200);
	hub.completion_failures--;
	return answer(response, hub.completion_status);
}

static int get_object(const struct http_request *request, struct http_response *response,
		      struct fault *fault)
{
	size_t begin = 0;
	size_t len;

	hub.gets++;
	note_headers(request);
	if (strstr(hub.headers, "Range: ") && hub.ignores_ranges) {
		response->status = 200;
		return fault_set(fault, FAULT_UNSUPPORTED, NULL, "the server ignores ranges");
	}
	if (strstr(hub.headers, "Range: "))
		begin = (size_t)atoi(strstr(hub.headers, "bytes=") + 6);
	len = SIZE - begin;
	assert_true(len <= request->sink_limit);
	if (hub.limit && hub.limit < len)
		len = hub.limit;
	if (request->sink(request->ctx, hub.content + begin, len) != 0)
		return fault_set(fault, FAULT_CANCELLED, NULL, "not taken");
	response->status = begin ? 206 : 200;
	if (!hub.limit)
		return 0;
	hub.limit = 0;
	return cut(fault);
}

/* Of a file of gigabytes the hub looks at the first bytes of each part only, and has had enough
 * then: hashing all of it would take too long here. */
static int put_huge(const struct http_request *request, struct http_response *response)
{
	unsigned part = (unsigned)atoi(strrchr(request->url, '/') + 1);
	char mark[sizeof(MARK)] = "";

	assert_int_equal(request->feed_offset, (part - 1) * (GIB + 1));
	assert_int_equal(request->feed_len, part < 5 ? GIB + 1 : GIB / 2);
	assert_int_equal(feed_read(request->feed, mark, sizeof(mark), request->feed_offset),
			 sizeof(mark));
	if (part == 5)
		assert_string_equal(mark, MARK);
	hub.puts++;
	request->sent(request->ctx, (uint64_t)request->feed_len);
	snprintf(response->etag, sizeof(response->etag), "tag-%u", part);
	return answer(response, part < 5 ? 200 : 400);
}

int http_perform(struct network *network, const struct http_request *request,
		 struct http_response *response, struct fault *fault)
{
	(void)network;
	if (strcmp(request->method, "GET") == 0)
		return get_object(request, response, fault);
	if (strcmp(request->method, "POST") == 0)
		return post_completion(request, response);
	assert_string_equal(request->method, "PUT");
	if (strstr(request->url, "//huge/"))
		return put_huge(request, response);
	return put_object(request, response, fault);
}

/* ---- the client ----------------------------------------------------------------------------- */

static uint8_t content[SIZE];

static void forget(void)
{
	memset((char *)&hub + sizeof(hub.mutex), 0, sizeof(hub) - sizeof(hub.mutex));
}

static void progress(void *ctx, uint64_t bytes)
{
	(void)ctx;
	hub.told += bytes;
	if (bytes == 0 || hub.told > SIZE)
		hub.wrong = "progress that is none";
}

/* Four whole parts and one of 321 bytes, which stand in the header as hubs write them. */
static struct agent_header part_headers[] = {{"00002", "https://hub/2?" SECRET},
					     {"Authorization", "Basic eDp5"},
					     {"chunk_size", "1000"},
					     {"00001", "https://hub/1?" SECRET},
					     {"00005", "https://hub/5?" SECRET},
					     {"00003", "https://hub/3?" SECRET},
					     {"4", "https://hub/4?" SECRET}};
static struct agent_header plain_headers[] = {{"Authorization", "Basic eDp5"},
					      {"X-Bad", "a\r\nX-Worse: b"}};

/* An upload of the content, as git-lfs tells of it. */
static struct agent_event make_event(struct agent_header *headers, size_t count)
{
	struct agent_event event = {.kind = AGENT_UPLOAD,
				    .path = "object",
				    .href = "https://hub/0?" SECRET,
				    .headers = headers,
				    .header_count = count};
	uint8_t digest[BREVIS_SHA256_SIZE];

	for (size_t i = 0; i < SIZE; i++)
		content[i] = (uint8_t)(i * 7 + i / 251);
	put_file("object", content, SIZE);
	sha256_of(content, SIZE, digest);
	digest_to_hex(digest, event.pointer.oid);
	event.pointer.size = SIZE;
	forget();
	return event;
}

#define PARTS_EVENT() make_event(part_headers, sizeof(part_headers) / sizeof(part_headers[0]))
#define PLAIN_EVENT() make_event(plain_headers, sizeof(plain_headers) / sizeof(plain_headers[0]))

static int upload(const struct agent_event *event, struct fault *fault)
{
	memset(fault, 0, sizeof(*fault));
	return multipart_upload(NULL, &settings, event, progress, &hub, fault);
}

static void assert_uploaded(const struct agent_event *event)
{
	struct fault fault;

	assert_int_equal(upload(event, &fault), 0);
	assert_null(hub.wrong);
	assert_memory_equal(hub.content, content, SIZE);
	assert_int_equal(hub.told, SIZE);
}

/* A fault of this kind whose cause has this text; nothing is completed, nothing secret told. */
static void assert_fails(const struct agent_event *event, enum fault_kind kind, const char *text)
{
	struct fault fault;

	hub.told = 0;
	assert_int_equal(upload(event, &fault), -1);
	assert_int_equal(fault.kind, kind);
	assert_null(hub.wrong);
	if (!strstr(fault.cause, text))
		fail_msg("'%s' lacks '%s'", fault.cause, text);
	assert_null(strstr(fault.cause, SECRET));
}

/* ---- uploads -------------------------------------------------------------------------------- */

static void test_parts(void **state)
{
	struct agent_event event = PARTS_EVENT();
	char expected[512];

	(void)state;
	assert_uploaded(&event);
	assert_int_equal(hub.puts, 5);
	assert_int_equal(hub.completions, 1);
	snprintf(expected, sizeof(expected),
		 "{\"oid\":\"%s\",\"parts\":["
		 "{\"partNumber\":1,\"etag\":\"\\\"tag-1\\\"\"},"
		 "{\"partNumber\":2,\"etag\":\"\\\"tag-2\\\"\"},"
		 "{\"partNumber\":3,\"etag\":\"\\\"tag-3\\\"\"},"
		 "{\"partNumber\":4,\"etag\":\"\\\"tag-4\\\"\"},"
		 "{\"partNumber\":5,\"etag\":\"\\\"tag-5\\\"\"}]}",
		 event.pointer.oid);
	assert_string_equal(hub.completion, expected);
	assert_string_equal(hub.headers,
			    "Authorization: Basic eDp5|Accept: application/vnd.git-lfs+json|"
			    "Content-Type: application/vnd.git-lfs+json|");
}

static void test_part_fails(void **state)
{
	struct agent_event event = PARTS_EVENT();

	(void)state;
	for (unsigned part = 1; part <= 5; part++) {
		for (long status = 0; status <= 503; status += 503) {
			forget();
			hub.failing_part = part;
			hub.failures = 3;
			hub.status = status;
			assert_uploaded(&event);
			assert_int_equal(hub.puts, 8);
			assert_int_equal(hub.completions, 1);
		}
	}
	forget();
	hub.failing_part = 2;
	hub.failures = 4;
	assert_fails(&event, FAULT_TRANSIENT, "part 2 of 5: the connection was cut");
	assert_int_equal(hub.completions, 0);
}

static void test_part_refused(void **state)
{
	struct agent_event event = PARTS_EVENT();
	struct fault fault;

	(void)state;
	hub.failing_part = 3;
	hub.failures = 1;
	hub.status = 403;
	assert_int_equal(upload(&event, &fault), -1);
	assert_int_equal(fault.kind, FAULT_DENIED);
	assert_string_equal(fault.cause, "part 3 of 5: the hub answers with status 403");
	assert_non_null(strstr(fault.remedy, "push again"));
	assert_int_equal(hub.completions, 0);
	forget();
	hub.no_etag = true;
	assert_fails(&event, FAULT_UNSUPPORTED, "ETag");
	assert_int_equal(hub.completions, 0);
}

static void test_completion_fails(void **state)
{
	struct agent_event event = PARTS_EVENT();
	char *nested = calloc(1, NETWORK_ANSWER_LIMIT);

	(void)state;
	assert_non_null(nested);
	memset(nested, '[', NETWORK_ANSWER_LIMIT / 2);
	memset(nested + NETWORK_ANSWER_LIMIT / 2, ']', NETWORK_ANSWER_LIMIT / 2 - 1);
	nested[NETWORK_ANSWER_LIMIT / 2 - 1] = '0';
	hub.completion_failures = 3;
	hub.completion_status = 503;
	assert_uploaded(&event);
	assert_int_equal(hub.completions, 4);
	forget();
	hub.completion_failures = 9;
	hub.completion_status = 503;
	assert_fails(&event, FAULT_TRANSIENT, "completion: the hub answers with status 503");
	assert_int_equal(hub.completions, 4);
	hub.completion_status = 400;
	hub.answer = "{\"message\":\"no\\nsuch thing\"}";
	assert_fails(&event, FAULT_DENIED, "status 400: no\\x0asuch thing");
	assert_int_equal(hub.completions, 5);
	hub.answer = "{\"error\":\"look at https://hub/0?" SECRET "\"}";
	assert_fails(&event, FAULT_DENIED, "status 400");
	hub.answer = "<html>";
	assert_fails(&event, FAULT_DENIED, "status 400");
	hub.answer = nested;
	assert_fails(&event, FAULT_DENIED, "status 400");
	free(nested);
}

static void test_damaged_content(void **state)
{
	struct agent_event event = PARTS_EVENT();

	(void)state;
	event.pointer.oid[0] = event.pointer.oid[0] == '0' ? '1' : '0';
	assert_fails(&event, FAULT_DAMAGED, "has the SHA-256 ");
	assert_int_equal(hub.completions, 0);
	event.pointer.size++;
	assert_fails(&event, FAULT_DAMAGED, "4321 bytes instead of 4322");
	event.path = "absent";
	assert_fails(&event, FAULT_LOCAL, "absent: cannot be read: No such file");
	assert_int_equal(hub.completions, 0);
}

static void test_wrong_actions(void **state)
{
	static const struct {
		size_t i;
		const char *name;
		const char *value;
		const char *cause;
	} changes[] = {{0, "00004", "https://hub/2", "no URL"},
		       {0, "00006", "https://hub/2", "more than 5 parts"},
		       {0, "2", "ftp://hub/2?" SECRET, "neither http nor https"},
		       {0, "2", "https://a:" SECRET "@hub/2", "a user in it"},
		       {2, "chunk_size", "0", "chunk_size"},
		       {2, "chunk_size", "-1000", "chunk_size"},
		       {2, "chunk_size", "1e3", "chunk_size"},
		       {2, "chunk_size", "18446744073709551616", "chunk_size"},
		       {2, "chunk_size", "1", "too few URLs for 4321 parts"},
		       {2, "chunk_size", "800", "no URL"},
		       {2, "chunk_size", "2000", "more than 3 parts"}};
	struct agent_event event = PARTS_EVENT();

	(void)state;
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		struct agent_header *header = &part_headers[changes[i].i];
		struct agent_header before = *header;

		header->name = (char *)(uintptr_t)changes[i].name;
		header->value = (char *)(uintptr_t)changes[i].value;
		assert_fails(&event, FAULT_UNSUPPORTED, changes[i].cause);
		*header = before;
	}
	event.href = NULL;
	assert_fails(&event, FAULT_UNSUPPORTED, "no URL");
	assert_int_equal(hub.puts, 0);
}

static void test_whole(void **state)
{
	struct agent_event event = PLAIN_EVENT();

	(void)state;
	hub.failures = 2;
	hub.no_etag = true;
	assert_uploaded(&event);
	assert_int_equal(hub.puts, 3);
	assert_int_equal(hub.completions, 0);
	assert_string_equal(hub.headers, "Authorization: Basic eDp5|");
	forget();
	event.pointer.oid[9] = event.pointer.oid[9] == '0' ? '1' : '0';
	assert_fails(&event, FAULT_DAMAGED, "has the SHA-256 ");
	assert_int_equal(hub.puts, 0);
}

static void count(void *ctx, uint64_t bytes)
{
	*(uint64_t *)ctx += bytes;
}

/* A sparse file of 4.5 GiB in five parts, one after the other; the last begins beyond 4 GiB. */
static void test_beyond_4_gib(void **state)
{
	static struct agent_header headers[] = {
		{"chunk_size", "1073741825"}, {"1", "https://huge/1"}, {"2", "https://huge/2"},
		{"3", "https://huge/3"},      {"4", "https://huge/4"}, {"5", "https://huge/5"}};
	struct store_settings serial = {.parallel = 1};
	struct agent_event event = {.kind = AGENT_UPLOAD,
				    .pointer = {.size = 4 * (GIB + 1) + GIB / 2},
				    .path = "huge",
				    .href = "https://hub/0",
				    .headers = headers,
				    .header_count = 6};
	struct fault fault = {.kind = FAULT_NONE};
	uint64_t told = 0;
	int fd = open("huge", O_CREAT | O_WRONLY, 0600);

	(void)state;
	forget();
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)event.pointer.size), 0);
	assert_int_equal(pwrite(fd, MARK, sizeof(MARK), 4 * (off_t)(GIB + 1)), sizeof(MARK));
	close(fd);
	assert_int_equal(multipart_upload(NULL, &serial, &event, count, &told, &fault), -1);
	assert_string_equal(fault.cause, "part 5 of 5: the hub answers with status 400");
	assert_int_equal(hub.puts, 5);
	assert_int_equal(told, event.pointer.size);
}

/* ---- downloads ------------------------------------------------------------------------------ */

static struct agent_event make_download(void)
{
	struct agent_event event = PLAIN_EVENT();

	event.kind = AGENT_DOWNLOAD;
	memcpy(hub.content, content, SIZE);
	return event;
}

static int download(const struct agent_event *event, struct fault *fault)
{
	memset(fault, 0, sizeof(*fault));
	hub.told = 0;
	return multipart_download(NULL, &settings, event, "new", progress, &hub, fault);
}

static void assert_downloaded(const struct agent_event *event)
{
	uint8_t got[SIZE + 1];
	struct fault fault;
	FILE *file;

	assert_int_equal(download(event, &fault), 0);
	assert_null(hub.wrong);
	assert_int_equal(hub.told, SIZE);
	file = fopen("new", "r");
	assert_non_null(file);
	assert_int_equal(fread(got, 1, sizeof(got), file), SIZE);
	fclose(file);
	assert_memory_equal(got, content, SIZE);
}

static void test_download(void **state)
{
	struct agent_event event = make_download();

	(void)state;
	assert_downloaded(&event);
	assert_string_equal(hub.headers, "Authorization: Basic eDp5|");
	assert_downloaded(&event);
	assert_int_equal(hub.gets, 1); /* it was there */
	put_file("new", content, 777);
	assert_downloaded(&event);
	assert_string_equal(hub.headers, "Authorization: Basic eDp5|Range: bytes=777-4320|");
	assert_int_equal(hub.gets, 2);
	put_file("new", content, SIZE);
	assert_int_equal(truncate("new", SIZE + 1), 0); /* longer than it may be */
	assert_downloaded(&event);
	assert_int_equal(hub.gets, 3);
	put_text("new", "something else that an earlier download left");
	assert_downloaded(&event);
	assert_int_equal(hub.gets, 5);
}

static void test_download_cut(void **state)
{
	struct agent_event event = make_download();

	(void)state;
	hub.limit = 1234;
	assert_downloaded(&event);
	assert_string_equal(hub.headers, "Authorization: Basic eDp5|Range: bytes=1234-4320|");
	hub.limit = 1234;
	hub.ignores_ranges = true;
	assert_int_equal(unlink("new"), 0);
	assert_downloaded(&event);
}

static void test_download_damaged(void **state)
{
	struct agent_event event = make_download();
	struct fault fault;
	struct stat st;

	(void)state;
	hub.content[2000] ^= 1;
	put_file("new", content, 1000);
	assert_int_equal(download(&event, &fault), -1);
	assert_int_equal(fault.kind, FAULT_DAMAGED);
	assert_int_equal(hub.gets, 2);
	assert_int_equal(stat("new", &st), 0);
	assert_int_equal(st.st_size, 0);
	event.pointer.size++;
	assert_int_equal(download(&event, &fault), -1);
	assert_int_equal(fault.kind, FAULT_DAMAGED);
	assert_string_equal(fault.cause, "the hub's object ends after 4321 of 4322 bytes");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SANDBOX_TEST(test_parts),           SANDBOX_TEST(test_part_fails),
		SANDBOX_TEST(test_part_refused),    SANDBOX_TEST(test_completion_fails),
		SANDBOX_TEST(test_damaged_content), SANDBOX_TEST(test_wrong_actions),
		SANDBOX_TEST(test_whole),           SANDBOX_TEST(test_beyond_4_gib),
		SANDBOX_TEST(test_download),        SANDBOX_TEST(test_download_cut),
		SANDBOX_TEST(test_download_damaged)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
