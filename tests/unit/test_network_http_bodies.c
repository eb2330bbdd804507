/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of HTTP requests: they arrive whole, from memory or from a file that is still growing, and
 * one that fails here never looks whole there. */
#include "filter/remote/network.h"

#include <sys/mman.h>

#include "tests/unit/http_talk.h"

static void count(void *ctx, uint64_t bytes)
{
	struct talk *talk = ctx;

	talk->sent += bytes;
}

/* A file that grows behind a feed. */
struct growth {
	struct feed *feed;
	int fd;
	uint8_t *bytes;
	size_t size;
	size_t step;
	unsigned pause_ms;
	size_t fail_at; /* 0: it does not */
	pthread_t thread;
};

static void *grow(void *ctx)
{
	struct growth *growth = ctx;
	size_t at = 0;
	size_t n;

	while (at < growth->size) {
		n = growth->size - at < growth->step ? growth->size - at : growth->step;
		if (pwrite(growth->fd, growth->bytes + at, n, (off_t)at) != (ssize_t)n)
			break;
		at += n;
		feed_grow(growth->feed, at);
		if (at < growth->size)
			usleep(growth->pause_ms * 1000);
		if (growth->fail_at && at >= growth->fail_at)
			break;
	}
	if (at == growth->size)
		feed_finish(growth->feed);
	else
		feed_fail(growth->feed);
	return NULL;
}

static void growth_start(struct growth *growth, size_t size, size_t step, unsigned pause_ms,
			 size_t fail_at)
{
	*growth = (struct growth){
		.size = size, .step = step, .pause_ms = pause_ms, .fail_at = fail_at};
	growth->fd = memfd_create("growth", MFD_CLOEXEC);
	assert_true(growth->fd >= 0);
	growth->feed = feed_new(growth->fd, size);
	growth->bytes = malloc(size);
	assert_non_null(growth->feed);
	assert_non_null(growth->bytes);
	for (size_t i = 0; i < size; i++)
		growth->bytes[i] = (uint8_t)(i * 7 + (i >> 8) * 13);
	assert_int_equal(pthread_create(&growth->thread, NULL, grow, growth), 0);
}

static void growth_end(struct growth *growth)
{
	pthread_join(growth->thread, NULL);
	feed_free(growth->feed);
	free(growth->bytes);
	close(growth->fd);
}

static void a_body_that_grows(void **state)
{
	static const struct reply replies[] = {{.text = CREATED}, {.text = CREATED}};
	struct growth growth;
	struct talk talk;

	(void)state;
	BEGIN(&talk, replies);
	growth_start(&growth, 3000000, 700000, 20, 0);
	assert_int_equal(
		PERFORM(&talk, .method = "PUT", .feed = growth.feed, .feed_len = -1, .sent = count),
		0);
	assert_int_equal(talk.response.status, 201);
	assert_int_equal(talk.sent, growth.size);
	assert_int_equal(PERFORM(&talk, .method = "PUT", .feed = growth.feed, .feed_offset = 1000,
				 .feed_len = 5000),
			 0);
	hang_up(&talk);
	assert_true(talk.server.seen[0].whole);
	assert_true(has_header(&talk.server.seen[0], "Transfer-Encoding", "chunked"));
	assert_int_equal(talk.server.seen[0].body.size, growth.size);
	assert_memory_equal(talk.server.seen[0].body.data, growth.bytes, growth.size);
	assert_true(has_header(&talk.server.seen[1], "Content-Length", "5000"));
	assert_memory_equal(talk.server.seen[1].body.data, growth.bytes + 1000, 5000);
	growth_end(&growth);
	release(&talk);
}

/* Our own pauses are no time-outs. */
static void a_body_that_pauses(void **state)
{
	static const struct reply replies[] = {{.text = CREATED}};
	struct growth growth;
	struct talk talk;

	(void)state;
	BEGIN(&talk, replies);
	talk.settings.idle_timeout_s = 1;
	growth_start(&growth, 200000, 100000, 2200, 0);
	assert_int_equal(PERFORM(&talk, .method = "PUT", .feed = growth.feed, .feed_len = -1), 0);
	assert_int_equal(talk.response.status, 201);
	hang_up(&talk);
	assert_int_equal(talk.server.seen[0].body.size, growth.size);
	growth_end(&growth);
	release(&talk);
}

static void a_body_that_fails(void **state)
{
	static const struct reply replies[] = {{.text = CREATED}, {.text = CREATED}};
	struct growth growth;
	struct talk talk;

	(void)state;
	BEGIN(&talk, replies);
	for (int64_t len = -1; len <= 300000; len += 300001) {
		growth_start(&growth, 300000, 100000, 1, 200000);
		assert_int_equal(
			PERFORM(&talk, .method = "PUT", .feed = growth.feed, .feed_len = len), -1);
		assert_int_equal(talk.fault.kind, FAULT_CANCELLED);
		growth_end(&growth);
	}
	/* Shorter than was said. */
	growth_start(&growth, 1000, 1000, 0, 0);
	assert_int_equal(PERFORM(&talk, .method = "PUT", .feed = growth.feed, .feed_len = 1001),
			 -1);
	assert_int_equal(talk.fault.kind, FAULT_LOCAL);
	growth_end(&growth);
	hang_up(&talk);
	assert_false(talk.server.seen[0].whole);
	assert_false(talk.server.seen[1].whole);
	release(&talk);
}

static void bodies_in_memory(void **state)
{
	static const struct reply replies[] = {
		{.text = CREATED}, {.text = CREATED}, {.text = CREATED}};
	struct talk talk;

	(void)state;
	BEGIN(&talk, replies);
	assert_int_equal(PERFORM(&talk, .method = "PROPFIND", .data = "<x/>", .data_len = 4), 0);
	assert_int_equal(PERFORM(&talk, .method = "POST"), 0);
	assert_int_equal(PERFORM(&talk, .method = "PUT", .data = "", .data_len = 0), 0);
	hang_up(&talk);
	assert_true(asked(&talk.server, 0, "PROPFIND "));
	assert_string_equal((char *)talk.server.seen[0].body.data, "<x/>");
	assert_null(header_of(&talk.server.seen[0], "Expect"));
	assert_true(asked(&talk.server, 1, "POST "));
	assert_true(has_header(&talk.server.seen[1], "Content-Length", "0"));
	assert_true(has_header(&talk.server.seen[2], "Content-Length", "0"));
	release(&talk);
}

/* A kept connection that the server has given up meanwhile: all is sent again, over another. */
static void a_body_that_travels_twice(void **state)
{
	static const struct reply replies[] = {
		{.text = CREATED}, {.text = "", .close = true}, {.text = CREATED}};
	struct talk talk;

	(void)state;
	BEGIN(&talk, replies);
	assert_int_equal(PERFORM(&talk, .method = "GET"), 0);
	assert_int_equal(PERFORM(&talk, .method = "PUT", .data = "0123456789", .data_len = 10,
				 .sent = count),
			 0);
	assert_int_equal(talk.response.status, 201);
	assert_int_equal(talk.sent, 10);
	hang_up(&talk);
	assert_int_equal(talk.server.requests, 3);
	assert_string_equal((char *)talk.server.seen[2].body.data, "0123456789");
	release(&talk);
}

/* Success that is claimed before the body was there is none. */
static void a_server_that_is_hasty(void **state)
{
	static const struct reply replies[] = {{.text = CREATED, .at_once = true, .close = true},
					       {.text = CREATED, .at_once = true, .close = true}};
	struct growth growth;
	struct talk talk;

	(void)state;
	BEGIN(&talk, replies);
	growth_start(&growth, 3000000, 3000000, 0, 0);
	for (int64_t len = -1; len <= 3000000; len += 3000001) {
		assert_int_equal(
			PERFORM(&talk, .method = "PUT", .feed = growth.feed, .feed_len = len), -1);
		assert_int_equal(talk.fault.kind, FAULT_TRANSIENT);
	}
	hang_up(&talk);
	assert_int_equal(talk.server.requests, 2);
	growth_end(&growth);
	release(&talk);
}

static void a_body_that_is_refused_unseen(void **state)
{
	static const struct reply replies[] = {
		{.text = "HTTP/1.1 401 Who\r\nContent-Length: 0\r\n\r\n",
		 .at_once = true,
		 .close = true}};
	struct growth growth;
	struct talk talk;

	(void)state;
	BEGIN(&talk, replies);
	growth_start(&growth, 3000000, 3000000, 0, 0);
	assert_int_equal(
		PERFORM(&talk, .method = "PUT", .feed = growth.feed, .feed_len = -1, .sent = count),
		0);
	assert_int_equal(talk.response.status, 401);
	assert_int_equal(talk.sent, 0);
	hang_up(&talk);
	assert_true(has_header(&talk.server.seen[0], "Expect", "100-continue"));
	growth_end(&growth);
	release(&talk);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_body_that_grows),
		cmocka_unit_test(a_body_that_pauses),
		cmocka_unit_test(a_body_that_fails),
		cmocka_unit_test(bodies_in_memory),
		cmocka_unit_test(a_body_that_travels_twice),
		cmocka_unit_test(a_server_that_is_hasty),
		cmocka_unit_test(a_body_that_is_refused_unseen),
	};

	setenv("no_proxy", "*", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
