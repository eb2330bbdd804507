/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A server on the loopback that says what a test has written down: its answers in their order, one
 * for each request, over as many connections as come, one at a time. What was asked can be looked
 * at once it has stopped.
 */
#ifndef TESTS_UNIT_HTTP_SERVER_H
#define TESTS_UNIT_HTTP_SERVER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/buffer.h"

#define SERVER_REQUESTS 64

/** An answer. */
struct reply {
	const char *text; /* all of it; "": none */
	bool close;       /* the connection, after it */
	bool hang;        /* say nothing more until the client goes */
	bool at_once;     /* without having read the body, for which nothing is said to Expect */
};

struct request_seen {
	struct buffer head; /* with a NUL */
	struct buffer body; /* decoded, with a NUL that does not count */
	bool whole;         /* its end was seen */
};

struct server {
	int listener;
	unsigned port;
	pthread_t thread;
	const struct reply *replies;
	size_t reply_count;
	struct request_seen seen[SERVER_REQUESTS];
	size_t requests;
	size_t connections;
	atomic_size_t answered;
};

static inline bool server_say(int fd, const char *text)
{
	size_t len = strlen(text);

	return send(fd, text, len, MSG_NOSIGNAL) == (ssize_t)len;
}

/** Appends one byte of a connection. */
static inline bool server_byte(int fd, struct buffer *to)
{
	uint8_t byte;

	if (recv(fd, &byte, 1, 0) != 1)
		return false;
	buffer_u8(to, byte);
	return true;
}

static inline bool server_line(int fd, struct buffer *line)
{
	buffer_clear(line);
	while (server_byte(fd, line))
		if (line->data[line->size - 1] == '\n') {
			line->data[line->size - 1] = '\0';
			return true;
		}
	return false;
}

static inline bool server_bytes(int fd, struct buffer *to, size_t len)
{
	uint8_t *at = buffer_extend(to, len);
	size_t got = 0;
	ssize_t n = 1;

	while (got < len && (n = recv(fd, at + got, len - got, 0)) > 0)
		got += (size_t)n;
	to->size -= len - got;
	return got == len;
}

static inline bool server_chunks(int fd, struct buffer *to)
{
	struct buffer line = BUFFER_INIT;
	size_t len = 1;
	bool good = true;

	while (good && len) {
		good = server_line(fd, &line);
		len = good ? strtoul((char *)line.data, NULL, 16) : 0;
		good = good && server_bytes(fd, to, len) && server_line(fd, &line);
	}
	buffer_release(&line);
	return good;
}

/** The value of a header of a request, or NULL. It is one string with what follows. */
static inline const char *header_of(const struct request_seen *request, const char *name)
{
	const char *line = (const char *)request->head.data;
	size_t len = strlen(name);

	while ((line = strchr(line, '\n'))) {
		line++;
		if (strncasecmp(line, name, len) == 0 && line[len] == ':')
			return line + len + 2;
	}
	return NULL;
}

static inline bool has_header(const struct request_seen *request, const char *name,
			      const char *value)
{
	const char *found = header_of(request, name);

	return found && strncmp(found, value, strlen(value)) == 0 && found[strlen(value)] == '\r';
}

/** Reads a request. False if the client has gone before it began. */
static inline bool server_read(int fd, struct request_seen *request, const struct reply *reply)
{
	struct buffer *head = &request->head;
	const char *length;

	do {
		if (!server_byte(fd, head))
			return false;
	} while (head->size < 4 || memcmp(head->data + head->size - 4, "\r\n\r\n", 4) != 0);
	buffer_u8(head, '\0');
	if (reply->at_once)
		return true;
	if (header_of(request, "Expect"))
		server_say(fd, "HTTP/1.1 100 Continue\r\n\r\n");
	length = header_of(request, "Content-Length");
	if (length)
		request->whole = server_bytes(fd, &request->body, strtoul(length, NULL, 10));
	else
		request->whole = !header_of(request, "Transfer-Encoding") ||
				 server_chunks(fd, &request->body);
	buffer_u8(&request->body, '\0');
	request->body.size--;
	return true;
}

static inline void server_wait_for_end(int fd)
{
	char rest[4096];

	while (recv(fd, rest, sizeof(rest), 0) > 0)
		continue;
}

/** Answers over one connection until it ends. */
static inline void server_serve(struct server *server, int fd)
{
	while (server->answered < server->reply_count && server->requests < SERVER_REQUESTS) {
		const struct reply *reply = &server->replies[server->answered];

		if (!server_read(fd, &server->seen[server->requests], reply)) {
			buffer_clear(&server->seen[server->requests].head);
			return;
		}
		server->requests++;
		server->answered++;
		if (!server_say(fd, reply->text))
			return;
		if (reply->hang)
			server_wait_for_end(fd);
		if (reply->close || reply->hang)
			return;
	}
	server_wait_for_end(fd);
}

static inline void *server_run(void *ctx)
{
	struct server *server = ctx;
	int fd;

	while ((fd = accept(server->listener, NULL, NULL)) >= 0) {
		server->connections++;
		server_serve(server, fd);
		close(fd);
	}
	return NULL;
}

static inline void server_start(struct server *server, const struct reply *replies, size_t count)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(address);

	*server = (struct server){.replies = replies, .reply_count = count};
	server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(server->listener >= 0);
	assert_int_equal(bind(server->listener, (struct sockaddr *)&address, len), 0);
	assert_int_equal(listen(server->listener, 8), 0);
	assert_int_equal(getsockname(server->listener, (struct sockaddr *)&address, &len), 0);
	server->port = ntohs(address.sin_port);
	assert_int_equal(pthread_create(&server->thread, NULL, server_run, server), 0);
}

/** Waits until it has served what it was asked; the client must have closed its connections. */
static inline void server_stop(struct server *server)
{
	shutdown(server->listener, SHUT_RDWR);
	pthread_join(server->thread, NULL);
	close(server->listener);
}

static inline void server_release(struct server *server)
{
	for (size_t i = 0; i < SERVER_REQUESTS; i++) {
		buffer_release(&server->seen[i].head);
		buffer_release(&server->seen[i].body);
	}
}

/** Tells whether request i begins with this line. */
static inline bool asked(const struct server *server, size_t i, const char *line)
{
	return i < server->requests &&
	       strncmp((const char *)server->seen[i].head.data, line, strlen(line)) == 0;
}

#endif
