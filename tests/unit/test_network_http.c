/* SPDX-License-Identifier: Apache-2.0 */
/* Answers to HTTP requests: they arrive whole or the fault says why not, as it does of a server
 * that stalls, lies about ranges, sends elsewhere or refuses. */
#include "filter/remote/network.h"

#include <time.h>

#include "tests/unit/http_talk.h"

static int refuse(void *ctx, const void *data, size_t len)
{
	(void)ctx;
	(void)data;
	(void)len;
	return -1;
}

/* ---- answers -------------------------------------------------------------------------------- */

static void whole_answers(void **state)
{
	static const struct reply replies[] = {
		{.text = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nETag: \"a-b\"\r\n\r\nhello"},
		{.text = "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n"
			 "3\r\nabc\r\n2\r\nde\r\n0\r\nTrailer: x\r\n\r\n"},
		{.text = "HTTP/1.1 200 OK\r\nContent-Length: 77\r\netag: W/\"w\"\r\n\r\n"},
		{.text = "HTTP/1.1 204 No Content\r\n\r\n"},
	};
	struct talk talk;

	(void)state;
	BEGIN(&talk, replies);
	assert_int_equal(PERFORM(&talk, .method = "GET", .sink = take), 0);
	assert_int_equal(talk.response.status, 200);
	assert_int_equal(talk.response.length, 5);
	assert_true(talk.response.ranged);
	assert_string_equal(talk.response.etag, "a-b");
	assert_taken(&talk, "hello");
	assert_body(&talk, "");

	assert_int_equal(PERFORM(&talk, .method = "GET"), 0);
	assert_int_equal(talk.response.status, 201);
	assert_int_equal(talk.response.length, -1);
	assert_string_equal(talk.response.etag, "");
	assert_body(&talk, "abcde");

	assert_int_equal(PERFORM(&talk, .method = "HEAD"), 0);
	assert_int_equal(talk.response.length, 77);
	assert_string_equal(talk.response.etag, "w");

	assert_int_equal(PERFORM(&talk, .method = "DELETE"), 0);
	assert_int_equal(talk.response.status, 204);
	hang_up(&talk);
	assert_int_equal(talk.server.connections, 1);
	assert_true(asked(&talk.server, 0, "GET /a/key?secret=x HTTP/1.1\r\n"));
	assert_true(asked(&talk.server, 2, "HEAD "));
	assert_true(asked(&talk.server, 3, "DELETE "));
	assert_null(header_of(&talk.server.seen[3], "Content-Length"));
	release(&talk);
}

static void an_answer_that_is_cut(void **state)
{
	static const struct reply replies[] = {
		{.text = "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nhello", .close = true},
		{.text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
		 .close = true},
		{.text = "HTTP/1.1 200 OK\r\nConte", .close = true},
	};
	struct talk talk;

	(void)state;
	BEGIN(&talk, replies);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(PERFORM(&talk, .method = "GET", .sink = take), -1);
		assert_int_equal(talk.fault.kind, FAULT_TRANSIENT);
		assert_null(strstr(talk.fault.cause, "secret"));
		assert_non_null(strstr(talk.fault.cause, "/a/key"));
	}
	hang_up(&talk);
	assert_taken(&talk, "hellohello");
	release(&talk);
}

static void errors_keep_their_bodies(void **state)
{
	static const struct reply replies[] = {
		{.text = "HTTP/1.1 403 Forbidden\r\nContent-Length: 4\r\n\r\n<no>"},
		{.text = "HTTP/1.1 302 Found\r\nLocation: /other\r\nContent-Length: 2\r\n\r\nup"},
	};
	struct talk talk;

	(void)state;
	BEGIN(&talk, replies);
	assert_int_equal(PERFORM(&talk, .method = "GET", .sink = take), 0);
	assert_int_equal(talk.response.status, 403);
	assert_body(&talk, "<no>");
	assert_int_equal(PERFORM(&talk, .method = "GET", .sink = take), 0);
	assert_int_equal(talk.response.status, 302);
	assert_body(&talk, "up");
	hang_up(&talk);
	assert_taken(&talk, "");
	assert_int_equal(talk.server.requests, 2);
	release(&talk);
}

static void a_long_error_is_kept_in_part(void **state)
{
	static const char head[] = "HTTP/1.1 500 X\r\nContent-Length: 2097152\r\n\r\n";
	struct buffer text = BUFFER_INIT;
	struct reply replies[2] = {0};
	struct talk talk;

	(void)state;
	buffer_append(&text, head, sizeof(head) - 1);
	memset(buffer_extend(&text, 2097152), 'x', 2097152);
	buffer_u8(&text, 0);
	replies[0].text = (char *)text.data;
	replies[1].text = (char *)text.data;
	BEGIN(&talk, replies);
	assert_int_equal(PERFORM(&talk, .method = "GET"), 0);
	assert_int_equal(talk.response.body.size, NETWORK_ANSWER_LIMIT);
	memcpy(text.data + 9, "200", 3);
	assert_int_equal(PERFORM(&talk, .method = "GET"), -1);
	assert_int_equal(talk.fault.kind, FAULT_UNSUPPORTED);
	hang_up(&talk);
	release(&talk);
	buffer_release(&text);
}

/* Somebody else is at that port, or plays tricks with numbers. */
static void what_is_no_http(void **state)
{
	static const struct reply replies[] = {
		{.text = "SSH-2.0-OpenSSH_9.2\r\n", .close = true},
		{.text = "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello", .close = true},
		{.text = "HTTP/7.1 200 OK\r\n\r\nhello", .close = true},
	};
	struct talk talk;

	(void)state;
	BEGIN(&talk, replies);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(PERFORM(&talk, .method = "GET", .sink = take), -1);
		assert_int_equal(talk.fault.kind, FAULT_UNSUPPORTED);
		assert_non_null(strstr(talk.fault.remedy, "check that the URL"));
	}
	hang_up(&talk);
	assert_taken(&talk, "");
	release(&talk);
}

/* What goes on for ever is not waited for. */
static void an_endless_error(void **state)
{
	static const char head[] = "HTTP/1.1 500 X\r\n\r\n";
	struct buffer text = BUFFER_INIT;
	struct reply reply = {.hang = true};
	struct talk talk;

	(void)state;
	buffer_append(&text, head, sizeof(head) - 1);
	memset(buffer_extend(&text, NETWORK_ANSWER_LIMIT), 'x', NETWORK_ANSWER_LIMIT);
	buffer_u8(&text, 0);
	reply.text = (char *)text.data;
	begin(&talk, &reply, 1);
	assert_int_equal(PERFORM(&talk, .method = "GET"), 0);
	assert_int_equal(talk.response.status, 500);
	assert_int_equal(talk.response.body.size, NETWORK_ANSWER_LIMIT);
	hang_up(&talk);
	release(&talk);
	buffer_release(&text);
}

static void endless_headers(void **state)
{
	struct buffer text = BUFFER_INIT;
	struct reply reply = {.hang = true};
	struct talk talk;
	char line[1024];

	(void)state;
	buffer_append(&text, "HTTP/1.1 200 OK\r\n", 17);
	for (size_t i = 0; i < 290; i++) {
		snprintf(line, sizeof(line), "X-%zu: %0900d\r\n", i, 0);
		buffer_append(&text, line, strlen(line));
	}
	buffer_u8(&text, 0);
	reply.text = (char *)text.data;
	begin(&talk, &reply, 1);
	assert_int_equal(PERFORM(&talk, .method = "GET"), -1);
	assert_int_equal(talk.fault.kind, FAULT_UNSUPPORTED);
	assert_non_null(strstr(talk.fault.cause, "/a/key: the headers"));
	hang_up(&talk);
	release(&talk);
	buffer_release(&text);
}

static void pauses_that_a_server_asks_for(void **state)
{
	char dated[160];
	char date[64];
	time_t then = time(NULL) + 30;
	struct reply replies[] = {
		{.text = "HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n"},
		{.text = dated},
		{.text = "HTTP/1.1 429 Slow\r\nContent-Length: 0\r\n\r\n"},
	};
	struct talk talk;

	(void)state;
	strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", gmtime(&then));
	snprintf(dated, sizeof(dated),
		 "HTTP/1.1 503 Busy\r\nRetry-After: %s\r\nContent-Length: 0\r\n\r\n", date);
	BEGIN(&talk, replies);
	assert_int_equal(PERFORM(&talk, .method = "GET"), 0);
	assert_int_equal(talk.response.retry_after_ms, 7000);
	assert_int_equal(http_status_fault(&talk.response, "GET of k", &talk.fault), -1);
	assert_int_equal(talk.fault.kind, FAULT_TRANSIENT);
	assert_int_equal(talk.fault.retry_after_ms, 7000);

	assert_int_equal(PERFORM(&talk, .method = "GET"), 0);
	assert_in_range(talk.response.retry_after_ms, 20000, 30000);

	assert_int_equal(PERFORM(&talk, .method = "GET"), 0);
	assert_int_equal(talk.response.retry_after_ms, 0);
	hang_up(&talk);
	release(&talk);
}

/* Asks on a thread: to wait for a time-out takes seconds. The more came before, the more of them:
 * libcurl looks at the mean speed of five. */
static void *ask(void *ctx)
{
	struct talk *talk = ctx;

	return PERFORM(talk, .method = "GET", .sink = take) == 0 ? talk : NULL;
}

static void servers_that_stall(void **state)
{
	static const struct reply replies[] = {
		{.text = "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nh", .hang = true},
		{.text = "", .hang = true},
	};
	static const char *const taken[] = {"h", ""};
	pthread_t threads[2];
	struct talk talks[2];
	time_t begun = time(NULL);
	void *good;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		begin(&talks[i], &replies[i], 1);
		talks[i].settings.idle_timeout_s = 1;
		assert_int_equal(pthread_create(&threads[i], NULL, ask, &talks[i]), 0);
	}
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(pthread_join(threads[i], &good), 0);
		assert_null(good);
		assert_int_equal(talks[i].fault.kind, FAULT_TRANSIENT);
		assert_non_null(strstr(talks[i].fault.remedy, "lfs.activitytimeout"));
		hang_up(&talks[i]);
		assert_taken(&talks[i], taken[i]);
		release(&talks[i]);
	}
	assert_true(time(NULL) - begun < 8);
}

static void nobody_there(void **state)
{
	struct talk talk;

	(void)state;
	begin(&talk, NULL, 0);
	server_stop(&talk.server);
	assert_int_equal(PERFORM(&talk, .method = "GET"), -1);
	assert_int_equal(talk.fault.kind, FAULT_TRANSIENT);
	assert_null(strstr(talk.fault.cause, "secret"));
	assert_int_equal(PERFORM(&talk, .method = "GET", .url = "file:///etc/passwd"), -1);
	assert_int_equal(talk.fault.kind, FAULT_UNSUPPORTED);
	network_free(talk.network);
	release(&talk);
}

static void a_sink_that_fails(void **state)
{
	static const struct reply replies[] = {
		{.text = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"},
		{.text = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"},
		{.text = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"},
	};
	struct talk talk;

	(void)state;
	BEGIN(&talk, replies);
	assert_int_equal(PERFORM(&talk, .method = "GET", .sink = refuse), -1);
	assert_int_equal(talk.fault.kind, FAULT_CANCELLED);
	assert_int_equal(PERFORM(&talk, .method = "GET", .sink = take, .sink_limit = 4), -1);
	assert_int_equal(talk.fault.kind, FAULT_DAMAGED);
	assert_taken(&talk, "");
	assert_int_equal(PERFORM(&talk, .method = "GET", .sink = take, .sink_limit = 5), 0);
	assert_taken(&talk, "hello");
	hang_up(&talk);
	release(&talk);
}

/* ---- ranges --------------------------------------------------------------------------------- */

static int ask_range(struct talk *talk, const char *range)
{
	const char *const headers[] = {range, NULL};

	buffer_clear(&talk->taken);
	return PERFORM(talk, .method = "GET", .headers = headers, .sink = take);
}

static void ranges(void **state)
{
	static const struct reply replies[] = {
		{.text = "HTTP/1.1 206 P\r\nContent-Range: bytes 3-5/9\r\n"
			 "Content-Length: 3\r\n\r\nabc"},
		{.text = "HTTP/1.1 206 P\r\nContent-Range: bytes 3-4/5\r\n"
			 "Content-Length: 2\r\n\r\nab"},
		{.text = "HTTP/1.1 206 P\r\nContent-Range: bytes 3-5/9\r\n\r\nab", .close = true},
		{.text = "HTTP/1.1 206 P\r\nContent-Range: bytes 2-4/9\r\n"
			 "Content-Length: 3\r\n\r\nabc"},
		{.text = "HTTP/1.1 206 P\r\nContent-Range: bytes 3-6/9\r\n"
			 "Content-Length: 4\r\n\r\nabcd"},
		{.text = "HTTP/1.1 206 P\r\nContent-Length: 3\r\n\r\nabc"},
		{.text = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n---abc"},
		{.text = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabcdef"},
		{.text = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"},
		{.text = "HTTP/1.1 206 P\r\nContent-Range: bytes 0-2/9\r\n"
			 "Content-Length: 3\r\n\r\nabc"},
	};
	struct talk talk;

	(void)state;
	BEGIN(&talk, replies);
	assert_int_equal(ask_range(&talk, "Range: bytes=3-5"), 0);
	assert_true(talk.response.ranged);
	assert_int_equal(talk.response.range_start, 3);
	assert_taken(&talk, "abc");
	/* A shorter object. */
	assert_int_equal(ask_range(&talk, "Range: bytes=3-5"), 0);
	assert_taken(&talk, "ab");
	/* One that is cut where only the range tells. */
	assert_int_equal(ask_range(&talk, "Range: bytes=3-5"), -1);
	assert_int_equal(talk.fault.kind, FAULT_TRANSIENT);
	assert_taken(&talk, "ab");
	/* Another range, or none that is named: nothing may be taken. */
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(ask_range(&talk, "Range: bytes=3-5"), -1);
		assert_int_equal(talk.fault.kind, FAULT_DAMAGED);
		assert_taken(&talk, "");
	}
	/* Everything instead of a part; which is fine if the part is everything. */
	assert_int_equal(ask_range(&talk, "Range: bytes=3-5"), -1);
	assert_int_equal(talk.fault.kind, FAULT_UNSUPPORTED);
	assert_int_equal(ask_range(&talk, "Range: bytes=0-2"), -1);
	assert_int_equal(talk.fault.kind, FAULT_UNSUPPORTED);
	assert_taken(&talk, "");
	assert_int_equal(ask_range(&talk, "Range: bytes=0-2"), 0);
	assert_taken(&talk, "abc");
	/* A part instead of everything. */
	buffer_clear(&talk.taken);
	assert_int_equal(PERFORM(&talk, .method = "GET", .sink = take), -1);
	assert_int_equal(talk.fault.kind, FAULT_DAMAGED);
	assert_taken(&talk, "");
	hang_up(&talk);
	assert_true(has_header(&talk.server.seen[0], "Range", "bytes=3-5"));
	release(&talk);
}

/* ---- the rest ------------------------------------------------------------------------------- */

static void credentials(void **state)
{
	static const struct reply replies[] = {
		{.text = CREATED}, {.text = CREATED}, {.text = CREATED}};
	struct talk talk;
	const char *signature;

	(void)state;
	BEGIN(&talk, replies);
	assert_int_equal(PERFORM(&talk, .method = "GET", .user = "u", .password = "p"), 0);
	assert_int_equal(PERFORM(&talk, .method = "GET", .user = "k:ey", .password = "hidden",
				 .sigv4 = "aws:amz:us-east-1:s3"),
			 0);
	assert_int_equal(PERFORM(&talk, .method = "GET"), 0);
	hang_up(&talk);
	assert_true(has_header(&talk.server.seen[0], "Authorization", "Basic dTpw"));
	signature = header_of(&talk.server.seen[1], "Authorization");
	assert_non_null(signature);
	assert_non_null(strstr(signature, "AWS4-HMAC-SHA256 Credential=k:ey/"));
	assert_null(strstr((char *)talk.server.seen[1].head.data, "hidden"));
	assert_null(header_of(&talk.server.seen[2], "Authorization"));
	release(&talk);
}

static void statuses(void **state)
{
	static const struct {
		long status;
		enum fault_kind kind;
	} expected[] = {
		{401, FAULT_DENIED},    {403, FAULT_DENIED},      {404, FAULT_ABSENT},
		{410, FAULT_ABSENT},    {405, FAULT_UNSUPPORTED}, {501, FAULT_UNSUPPORTED},
		{408, FAULT_TRANSIENT}, {423, FAULT_TRANSIENT},   {429, FAULT_TRANSIENT},
		{500, FAULT_TRANSIENT}, {502, FAULT_TRANSIENT},   {503, FAULT_TRANSIENT},
		{504, FAULT_TRANSIENT}, {507, FAULT_NO_SPACE},    {400, FAULT_LOCAL},
		{302, FAULT_LOCAL},     {413, FAULT_LOCAL},
	};
	struct http_response response = {0};
	struct fault fault;

	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		char number[16];

		response.status = expected[i].status;
		fault = (struct fault){0};
		assert_int_equal(http_status_fault(&response, "PUT of k", &fault), -1);
		assert_int_equal(fault.kind, expected[i].kind);
		snprintf(number, sizeof(number), "%ld", response.status);
		assert_non_null(strstr(fault.cause, "PUT of k: "));
		assert_non_null(strstr(fault.cause, number));
	}
}

static void encoding(void **state)
{
	struct buffer out = BUFFER_INIT;

	(void)state;
	url_encode(&out, "aZ09-._~/ +%\xc3\xa9?", "/");
	buffer_u8(&out, 0);
	assert_string_equal((char *)out.data, "aZ09-._~/%20%2B%25%C3%A9%3F");
	buffer_clear(&out);
	url_encode(&out, "/", "");
	buffer_u8(&out, 0);
	assert_string_equal((char *)out.data, "%2F");
	buffer_release(&out);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_answers),
		cmocka_unit_test(an_answer_that_is_cut),
		cmocka_unit_test(errors_keep_their_bodies),
		cmocka_unit_test(a_long_error_is_kept_in_part),
		cmocka_unit_test(what_is_no_http),
		cmocka_unit_test(an_endless_error),
		cmocka_unit_test(endless_headers),
		cmocka_unit_test(pauses_that_a_server_asks_for),
		cmocka_unit_test(servers_that_stall),
		cmocka_unit_test(nobody_there),
		cmocka_unit_test(a_sink_that_fails),
		cmocka_unit_test(ranges),
		cmocka_unit_test(credentials),
		cmocka_unit_test(statuses),
		cmocka_unit_test(encoding),
	};

	setenv("no_proxy", "*", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
