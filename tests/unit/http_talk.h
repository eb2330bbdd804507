/* SPDX-License-Identifier: Apache-2.0 */
/** What the tests of HTTP requests share: requests to a scripted server, and what comes of them. */
#ifndef TESTS_UNIT_HTTP_TALK_H
#define TESTS_UNIT_HTTP_TALK_H

#include "filter/remote/network.h"
#include "tests/unit/http_server.h"

#define CREATED "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"

struct talk {
	struct server server;
	struct store_settings settings;
	struct network *network;
	struct http_response response;
	struct fault fault;
	struct buffer taken; /* by the sink */
	uint64_t sent;
	char url[128];
};

static inline void begin(struct talk *talk, const struct reply *replies, size_t count)
{
	*talk = (struct talk){.settings = {.dial_timeout_s = 10, .idle_timeout_s = 10}};
	talk->network = network_new(&talk->settings);
	assert_non_null(talk->network);
	server_start(&talk->server, replies, count);
	snprintf(talk->url, sizeof(talk->url), "http://127.0.0.1:%u/a/key?secret=x",
		 talk->server.port);
}

#define BEGIN(talk, replies) begin(talk, replies, sizeof(replies) / sizeof((replies)[0]))

/* Afterwards what the server has seen can be looked at. */
static inline void hang_up(struct talk *talk)
{
	network_free(talk->network);
	server_stop(&talk->server);
}

static inline void release(struct talk *talk)
{
	http_response_release(&talk->response);
	buffer_release(&talk->taken);
	server_release(&talk->server);
}

static inline int take(void *ctx, const void *data, size_t len)
{
	struct talk *talk = ctx;

	buffer_append(&talk->taken, data, len);
	return 0;
}

static inline int perform(struct talk *talk, struct http_request request)
{
	if (!request.url)
		request.url = talk->url;
	request.ctx = talk;
	http_response_release(&talk->response);
	return http_perform(talk->network, &request, &talk->response, &talk->fault);
}

#define PERFORM(talk, ...) perform(talk, (struct http_request){__VA_ARGS__})

static inline void assert_taken(const struct talk *talk, const char *text)
{
	assert_int_equal(talk->taken.size, strlen(text));
	if (*text)
		assert_memory_equal(talk->taken.data, text, strlen(text));
}

static inline void assert_body(const struct talk *talk, const char *text)
{
	assert_int_equal(talk->response.body.size, strlen(text));
	if (*text)
		assert_memory_equal(talk->response.body.data, text, strlen(text));
}

#endif
