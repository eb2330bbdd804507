/* SPDX-License-Identifier: Apache-2.0 */
/** What the tests of the WebDAV driver share: a server that follows a script, and what it was
 * asked. */
#ifndef TESTS_UNIT_DAV_TALK_H
#define TESTS_UNIT_DAV_TALK_H

#include <ctype.h>

#include "filter/remote/driver.h"
#include "tests/unit/http_server.h"
#include "tests/unit/sandbox.h"

#define OID "abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789"
#define KEY "objects/ab/cd/" OID

#define EMPTY "\r\nContent-Length: 0\r\n\r\n"
#define OK    "HTTP/1.1 200 OK" EMPTY
#define DONE  "HTTP/1.1 201 Created" EMPTY
#define WHO   "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"" EMPTY
#define NO(status)                                                                                 \
	{                                                                                          \
		.text = "HTTP/1.1 " #status " X" EMPTY                                             \
	}
#define KEPT(size)                                                                                 \
	{                                                                                          \
		.text = "HTTP/1.1 200 OK\r\nContent-Length: " #size "\r\n\r\n"                     \
	}
#define YES                                                                                        \
	{                                                                                          \
		.text = DONE                                                                       \
	}

struct talk {
	struct server server;
	struct store_settings settings;
	struct location location;
	void *state;
	struct fault fault;
	struct journal *journal;
	int fd;
	struct feed *feed;
	uint64_t sent;
	char *asked; /* "METHOD PATH;" of all requests, tokens as T */
};

static inline void begin(struct talk *talk, const struct reply *replies, size_t count)
{
	char url[128];

	*talk = (struct talk){.settings = {.dial_timeout_s = 10, .idle_timeout_s = 10}, .fd = -1};
	server_start(&talk->server, replies, count);
	snprintf(url, sizeof(url), "dav+http://127.0.0.1:%u/s", talk->server.port);
	assert_int_equal(location_parse(url, NULL, &talk->location, &talk->fault), 0);
	assert_int_equal(
		driver_dav.open(&talk->location, &talk->settings, &talk->state, &talk->fault), 0);
	talk->journal = journal_open(NULL, url, KEY);
	assert_non_null(talk->journal);
}

#define BEGIN(talk, replies) begin(talk, replies, sizeof(replies) / sizeof((replies)[0]))

/* Length of ".TOKEN" at the end of a path, or 0. */
static inline size_t token_length(const char *path, size_t len)
{
	size_t n = 0;

	while (n < len && isxdigit((unsigned char)path[len - 1 - n]))
		n++;
	return n == TOKEN_SIZE && len > n && path[len - 1 - n] == '.' ? n : 0;
}

static inline void note_requests(struct talk *talk)
{
	struct buffer all = BUFFER_INIT;

	for (size_t i = 0; i < talk->server.requests; i++) {
		const char *line = (const char *)talk->server.seen[i].head.data;
		size_t len = strcspn(line, "\r") - strlen(" HTTP/1.1");
		size_t token = token_length(line, len);

		buffer_append(&all, line, len - token);
		if (token)
			buffer_u8(&all, 'T');
		buffer_u8(&all, ';');
	}
	buffer_u8(&all, 0);
	talk->asked = (char *)all.data;
}

/* Afterwards what the server has seen can be looked at. */
static inline void hang_up(struct talk *talk)
{
	driver_dav.close(talk->state);
	server_stop(&talk->server);
	note_requests(talk);
}

static inline void release(struct talk *talk)
{
	free(talk->asked);
	server_release(&talk->server);
	location_release(&talk->location);
	journal_end(talk->journal);
	feed_free(talk->feed);
	if (talk->fd >= 0)
		close(talk->fd);
}

#endif
