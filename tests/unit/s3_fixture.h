/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What the tests of the S3 driver share: a driver in a sandbox, and the server that it talks to,
 * which says what a test has written down.
 */
#ifndef TESTS_UNIT_S3_FIXTURE_H
#define TESTS_UNIT_S3_FIXTURE_H

#include "tests/unit/http_server.h"
#include "tests/unit/sandbox.h"

#include "filter/remote/driver_s3.h"

#define OID_A "aa00000000000000000000000000000000000000000000000000000000000000"
#define OID_B "bb00000000000000000000000000000000000000000000000000000000000000"
#define KEY   "objects/aa/00/" OID_A

#define OK_HEAD(length) "HTTP/1.1 200 OK\r\nContent-Length: " #length "\r\n\r\n"
#define NOT_FOUND       "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
#define ETAG(etag)      "HTTP/1.1 200 OK\r\nETag: \"" etag "\"\r\nContent-Length: 0\r\n\r\n"
/* A body that ends with the connection. */
#define BODY(status, body)                                                                         \
	{                                                                                          \
		.text = "HTTP/1.1 " status "\r\nConnection: close\r\n\r\n" body, .close = true     \
	}
#define SAYS(text_)                                                                                \
	{                                                                                          \
		.text = text_                                                                      \
	}
#define ERROR(status, code)                                                                        \
	BODY(status, "<Error><Code>" code "</Code><Message>So it is.</Message></Error>")

/* A driver, the server that it talks to, and what came of it. */
struct fixture {
	struct server server;
	struct location location;
	struct store_settings settings;
	void *driver;
	struct fault fault;
	uint64_t sent;
};

static inline void begin(struct fixture *f, const struct reply *replies, size_t count)
{
	char endpoint[64];

	*f = (struct fixture){0};
	server_start(&f->server, replies, count);
	snprintf(endpoint, sizeof(endpoint), "http://127.0.0.1:%u", f->server.port);
	f->location = (struct location){.scheme = LOCATION_S3,
					.text = (char *)"s3://bucket/pre fix",
					.bucket = (char *)"bucket",
					.path = (char *)"pre fix"};
	f->settings = (struct store_settings){.parallel = 1,
					      .dial_timeout_s = 10,
					      .idle_timeout_s = 10,
					      .proxy = (char *)"",
					      .s3_endpoint = endpoint,
					      .s3_region = (char *)"here-1"};
	setenv("AWS_ACCESS_KEY_ID", "the:key", 1);
	setenv("AWS_SECRET_ACCESS_KEY", "the/secret", 1);
	setenv("AWS_SESSION_TOKEN", "the+token", 1);
	assert_int_equal(driver_s3.open(&f->location, &f->settings, &f->driver, &f->fault), 0);
	f->settings.s3_endpoint = NULL;
}

#define BEGIN(f, replies) begin(f, replies, sizeof(replies) / sizeof(*(replies)))

/* All that was written down has been asked for, nothing more, and the secret was not told. */
static inline void end(struct fixture *f)
{
	size_t i;

	driver_s3.close(f->driver);
	server_stop(&f->server);
	assert_int_equal(f->server.answered, f->server.reply_count);
	for (i = 0; i < f->server.requests; i++) {
		const struct request_seen *seen = &f->server.seen[i];

		assert_null(strstr((char *)seen->head.data, "the/secret"));
		assert_non_null(header_of(seen, "x-amz-content-sha256"));
		assert_true(has_header(seen, "x-amz-security-token", "the+token"));
		/* Signed is what is sent, not what libcurl was told to leave out. */
		assert_null(strstr((char *)seen->head.data, "SignedHeaders=expect;"));
		assert_null(strstr((char *)seen->head.data, ";expect;"));
		assert_non_null(strstr((char *)seen->head.data,
				       "Authorization: AWS4-HMAC-SHA256 Credential=the:key/"));
	}
	assert_null(strstr(f->fault.cause, "the/secret"));
	assert_null(strstr(f->fault.cause, "the+token"));
}

static inline void done(struct fixture *f)
{
	server_release(&f->server);
}

#define ASKED(f, i, line) assert_true(asked(&(f)->server, i, line))
#define URL_KEY           "/bucket/pre%20fix/" KEY

static inline const char *body_of(const struct fixture *f, size_t i)
{
	return (const char *)f->server.seen[i].body.data;
}

#endif
