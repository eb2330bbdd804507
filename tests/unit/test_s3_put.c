/* SPDX-License-Identifier: Apache-2.0 */
/* Uploads to S3, and what servers may say to them that no real one does on demand. */
#include "tests/unit/s3_fixture.h"

#include <fcntl.h>

#include "filter/remote/driver_s3.h"

static void count(void *ctx, uint64_t bytes)
{
	struct fixture *f = ctx;

	f->sent += bytes;
}

/* What the next upload might come to, if that is more than it is. */
static uint64_t limit;

/* Uploads a text as KEY in parts of four bytes. good: the feed grants it. */
static int put_to(struct fixture *f, struct journal *journal, const char *text, bool good)
{
	int fd = open("content", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct feed *feed = feed_new(fd, limit ? limit : strlen(text));
	struct driver_upload upload = {KEY, feed, journal, 4, 1, count, f};
	int result;

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	feed_grow(feed, strlen(text));
	if (good)
		feed_finish(feed);
	else
		feed_fail(feed);
	f->sent = 0;
	result = driver_s3.put(f->driver, &upload, &f->fault);
	feed_free(feed);
	close(fd);
	return result;
}

static int put(struct fixture *f, const char *text)
{
	struct journal *journal = journal_open(".", "store", KEY);
	int result = put_to(f, journal, text, true);

	if (result == 0)
		journal_end(journal);
	else
		journal_close(journal);
	return result;
}

/* A journal that knows of an upload "id", and of its first part "abcd" under this ETag. */
static struct journal *remembering(const char *etag)
{
	struct journal *journal = journal_open(".", "store", KEY);
	char digest[128];

	snprintf(digest, sizeof(digest), "e2fc714c4727ee9395f324cd2e7f331f:%s", etag);
	journal_begin(journal, "id", 4);
	journal_add(journal, 0, digest);
	return journal;
}

/* ---- whole objects --------------------------------------------------------------------------- */

static void test_put_whole(void **state)
{
	static const struct reply replies[] = {
		SAYS(OK_HEAD(0)), ERROR("412 Precondition Failed", "PreconditionFailed"),
		ERROR("501 Not Implemented", "NotImplemented"), SAYS(OK_HEAD(0)), SAYS(OK_HEAD(0))};
	struct fixture f;
	size_t i;

	(void)state;
	BEGIN(&f, replies);
	assert_int_equal(put(&f, "abcd"), 0);
	assert_int_equal(f.sent, 4);
	assert_int_equal(put(&f, "efgh"), 0); /* is there */
	assert_int_equal(put(&f, "ijkl"), 0); /* the server knows no conditions */
	assert_int_equal(f.sent, 4);
	assert_int_equal(put(&f, ""), 0);
	end(&f);
	for (i = 0; i < 5; i++) {
		ASKED(&f, i, "PUT " URL_KEY " HTTP/1.1\r\n");
		assert_int_equal(has_header(&f.server.seen[i], "If-None-Match", "*"), i < 3);
	}
	done(&f);
}

static void test_headers(void **state)
{
	static const struct reply replies[] = {SAYS(OK_HEAD(0))};
	struct fixture f;
	const struct request_seen *seen = &f.server.seen[0];

	(void)state;
	BEGIN(&f, replies);
	assert_int_equal(s3_put_whole(f.driver, KEY, "abcd", 4, NULL, NULL, &f.fault), 0);
	driver_s3.close(f.driver);
	server_stop(&f.server);
	assert_true(has_header(seen, "Content-MD5", "4vxxTEcn7pOV8yTNLn8zHw=="));
	assert_true(has_header(seen, "x-amz-content-sha256",
			       "88d4266fd4e6338d13b845fcf289579d209c897823b9217da3e161936f031589"));
	assert_non_null(strstr((char *)seen->head.data, "/here-1/s3/aws4_request"));
	assert_string_equal((char *)seen->body.data, "abcd");
	done(&f);
}

/* ---- multipart uploads ----------------------------------------------------------------------- */

#define INITIATED                                                                                  \
	BODY("200 OK", "<InitiateMultipartUploadResult><UploadId>id</UploadId>"                    \
		       "</InitiateMultipartUploadResult>")
/* Both parts were taken, and the object is not there yet: what comes next is the completion, on a
 * connection of its own: libcurl itself repeats what was lost on one that had been used. */
#define SENT_BOTH INITIATED, SAYS(ETAG("a")), SAYS(ETAG("b")), BODY("404 Not Found", "")
#define COMPLETED                                                                                  \
	BODY("200 OK", "<CompleteMultipartUploadResult><ETag>\"x-3\"</ETag>"                       \
		       "</CompleteMultipartUploadResult>")
#define COMPLETION(etags)                                                                          \
	"<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">" etags        \
	"</CompleteMultipartUpload>"
#define PART(number, etag)                                                                         \
	"<Part><PartNumber>" #number "</PartNumber><ETag>\"" etag "\"</ETag></Part>"
#define LISTED(more)                                                                               \
	BODY("200 OK",                                                                             \
	     "<ListPartsResult>" more                                                              \
	     "<Part><PartNumber>1</PartNumber><ETag>&quot;a&quot;</ETag><Size>4</Size></Part>"     \
	     "</ListPartsResult>")

static void test_multipart(void **state)
{
	static const struct reply replies[] = {INITIATED,       SAYS(ETAG("a<1")), SAYS(ETAG("b")),
					       SAYS(ETAG("c")), SAYS(NOT_FOUND),   COMPLETED};
	struct fixture f;

	(void)state;
	BEGIN(&f, replies);
	assert_int_equal(put(&f, "abcdefghij"), 0);
	assert_int_equal(f.sent, 10);
	end(&f);
	ASKED(&f, 0, "POST " URL_KEY "?uploads= HTTP/1.1\r\n");
	ASKED(&f, 1, "PUT " URL_KEY "?partNumber=1&uploadId=id HTTP/1.1\r\n");
	ASKED(&f, 3, "PUT " URL_KEY "?partNumber=3&uploadId=id HTTP/1.1\r\n");
	ASKED(&f, 4, "HEAD " URL_KEY " ");
	ASKED(&f, 5, "POST " URL_KEY "?uploadId=id HTTP/1.1\r\n");
	assert_true(has_header(&f.server.seen[5], "If-None-Match", "*"));
	done(&f);
}

/* Exactly so many parts; the bodies are what they should be. */
static void test_multipart_bodies(void **state)
{
	static const struct reply replies[] = {INITIATED, SAYS(ETAG("a&<")), SAYS(ETAG("b")),
					       SAYS(NOT_FOUND), COMPLETED};
	struct fixture f;

	(void)state;
	BEGIN(&f, replies);
	assert_int_equal(put(&f, "abcdefgh"), 0);
	driver_s3.close(f.driver);
	server_stop(&f.server);
	assert_int_equal(f.server.answered, 5);
	assert_string_equal(body_of(&f, 0), "");
	assert_string_equal(body_of(&f, 1), "abcd");
	assert_string_equal(body_of(&f, 2), "efgh");
	assert_string_equal(body_of(&f, 4), COMPLETION(PART(1, "a&amp;&lt;") PART(2, "b")));
	done(&f);
}

/* What may become very large has larger parts, since not every server takes 10,000; but not if
 * their size was given. */
static void test_large_parts(void **state)
{
	static const struct reply whole[] = {SAYS(OK_HEAD(0))};
	static const struct reply parts[] = {SENT_BOTH, COMPLETED};
	struct fixture f;

	(void)state;
	limit = (uint64_t)20 << 30;
	BEGIN(&f, whole);
	assert_int_equal(put(&f, "abcdef"), 0);
	end(&f);
	ASKED(&f, 0, "PUT " URL_KEY " HTTP/1.1\r\n");
	done(&f);
	BEGIN(&f, parts);
	((struct s3 *)f.driver)->part_size_given = true;
	assert_int_equal(put(&f, "abcdef"), 0);
	end(&f);
	done(&f);
	limit = 0;
}

/* What was sent is not sent again, if the server has it still and it is the same. */
static void test_resumes(void **state)
{
	static const struct reply replies[] = {
		LISTED("<IsTruncated>true</IsTruncated>"
		       "<NextPartNumberMarker>1</NextPartNumberMarker>"),
		LISTED("<IsTruncated>false</IsTruncated>"), SAYS(ETAG("b")), SAYS(NOT_FOUND),
		COMPLETED};
	struct journal *journal = remembering("a");
	struct fixture f;

	(void)state;
	BEGIN(&f, replies);
	assert_int_equal(put_to(&f, journal, "abcdef", true), 0);
	assert_int_equal(f.sent, 6);
	journal_end(journal);
	driver_s3.close(f.driver);
	server_stop(&f.server);
	assert_int_equal(f.server.answered, 5);
	ASKED(&f, 0, "GET " URL_KEY "?uploadId=id HTTP/1.1\r\n");
	ASKED(&f, 1, "GET " URL_KEY "?part-number-marker=1&uploadId=id HTTP/1.1\r\n");
	ASKED(&f, 2, "PUT " URL_KEY "?partNumber=2&uploadId=id HTTP/1.1\r\n");
	assert_string_equal(body_of(&f, 4), COMPLETION(PART(1, "a") PART(2, "b")));
	done(&f);
}

/* Other bytes here, or another part there: sent again. */
static void test_parts_that_differ(void **state)
{
	static const struct reply replies[] = {LISTED(""), SAYS(ETAG("a")), SAYS(ETAG("b")),
					       SAYS(NOT_FOUND), COMPLETED};
	static const char *const cases[][2] = {{"a", "Abcdef"}, {"other", "abcdef"}};
	struct fixture f;
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		struct journal *journal = remembering(cases[i][0]);

		BEGIN(&f, replies);
		assert_int_equal(put_to(&f, journal, cases[i][1], true), 0);
		journal_end(journal);
		end(&f);
		ASKED(&f, 1, "PUT " URL_KEY "?partNumber=1&uploadId=id HTTP/1.1\r\n");
		done(&f);
	}
}

/* An upload that someone has cleaned up is begun anew; one that was completed is done. */
static void test_upload_is_gone(void **state)
{
	static const struct reply anew[] = {ERROR("404 Not Found", "NoSuchUpload"), SAYS(NOT_FOUND),
					    SENT_BOTH, COMPLETED};
	static const struct reply complete[] = {ERROR("404 Not Found", "NoSuchUpload"),
						SAYS(OK_HEAD(6))};
	struct journal *journal;
	struct fixture f;

	(void)state;
	journal = remembering("a");
	BEGIN(&f, anew);
	assert_int_equal(put_to(&f, journal, "abcdef", true), 0);
	journal_end(journal);
	end(&f);
	ASKED(&f, 2, "POST " URL_KEY "?uploads= ");
	done(&f);

	journal = remembering("a");
	BEGIN(&f, complete);
	assert_int_equal(put_to(&f, journal, "abcdef", true), 0);
	journal_end(journal);
	end(&f);
	done(&f);
}

/* Parts of another size are of no use: they go, and all begins anew. */
static void test_other_part_size(void **state)
{
	static const struct reply replies[] = {SAYS("HTTP/1.1 204 Gone\r\n\r\n"), SENT_BOTH,
					       COMPLETED};
	struct journal *journal = journal_open(".", "store", KEY);
	struct fixture f;

	(void)state;
	journal_begin(journal, "old", 5);
	BEGIN(&f, replies);
	assert_int_equal(put_to(&f, journal, "abcdef", true), 0);
	journal_end(journal);
	end(&f);
	ASKED(&f, 0, "DELETE " URL_KEY "?uploadId=old ");
	ASKED(&f, 5, "POST " URL_KEY "?uploadId=id ");
	done(&f);
}

/* The same while parts are sent: the next attempt begins anew. */
static void test_upload_goes(void **state)
{
	static const struct reply replies[] = {INITIATED, ERROR("404 Not Found", "NoSuchUpload"),
					       SENT_BOTH, COMPLETED};
	struct fixture f;

	(void)state;
	BEGIN(&f, replies);
	assert_int_equal(put(&f, "abcdef"), -1);
	assert_int_equal(f.fault.kind, FAULT_TRANSIENT);
	assert_int_equal(put(&f, "abcdef"), 0);
	end(&f);
	done(&f);
}

/* Busy: what was sent is remembered. */
static void test_slow_down(void **state)
{
	static const struct reply replies[] = {
		INITIATED,
		SAYS(ETAG("a")),
		{.text = "HTTP/1.1 503 Slow Down\r\nRetry-After: 3\r\nConnection: close\r\n\r\n"
			 "<Error><Code>SlowDown</Code><Message>Less.</Message></Error>",
		 .close = true},
		LISTED(""),
		SAYS(ETAG("b")),
		SAYS(NOT_FOUND),
		COMPLETED};
	struct fixture f;

	(void)state;
	BEGIN(&f, replies);
	assert_int_equal(put(&f, "abcdef"), -1);
	assert_int_equal(f.fault.kind, FAULT_TRANSIENT);
	assert_int_equal(f.fault.retry_after_ms, 3000);
	assert_string_equal(f.fault.cause, "PUT of " KEY ": SlowDown: Less");
	assert_int_equal(put(&f, "abcdef"), 0);
	end(&f);
	ASKED(&f, 4, "PUT " URL_KEY "?partNumber=2&");
	done(&f);
}

/* "200 OK" is said before it is known how it went. */
static void test_completion_fails(void **state)
{
	static const struct reply replies[] = {SENT_BOTH, ERROR("200 OK", "InternalError"),
					       SAYS(NOT_FOUND)};
	struct fixture f;

	(void)state;
	BEGIN(&f, replies);
	assert_int_equal(put(&f, "abcdef"), -1);
	assert_int_equal(f.fault.kind, FAULT_TRANSIENT);
	assert_string_equal(f.fault.cause, "completion of " KEY ": InternalError: So it is");
	end(&f);
	done(&f);
}

/* The answer of a completion is lost, in whole or in part, or someone else was faster. */
static void test_completed_nevertheless(void **state)
{
	static const struct reply lost[] = {
		SENT_BOTH, {.text = "", .close = true}, SAYS(OK_HEAD(6)), SAYS(NOT_FOUND)};
	static const struct reply cut[] = {
		SENT_BOTH,
		{.text = "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n<Comple", .close = true},
		SAYS(OK_HEAD(6)),
		SAYS(NOT_FOUND)};
	static const struct reply late[] = {SENT_BOTH,
					    ERROR("412 Precondition Failed", "PreconditionFailed"),
					    SAYS(OK_HEAD(6)), SAYS("HTTP/1.1 204 Gone\r\n\r\n")};
	struct fixture f;

	(void)state;
	BEGIN(&f, lost);
	assert_int_equal(put(&f, "abcdef"), 0);
	end(&f);
	done(&f);
	BEGIN(&f, cut);
	assert_int_equal(put(&f, "abcdef"), 0);
	end(&f);
	done(&f);
	BEGIN(&f, late);
	assert_int_equal(put(&f, "abcdef"), 0);
	end(&f);
	ASKED(&f, 6, "DELETE " URL_KEY "?uploadId=id ");
	done(&f);
}

/* A success that does not say of what is none, unless the object is there. */
static void test_completion_unconfirmed(void **state)
{
	static const struct reply replies[] = {SENT_BOTH, BODY("200 OK", "<html></html>"),
					       SAYS(NOT_FOUND)};
	struct fixture f;

	(void)state;
	BEGIN(&f, replies);
	assert_int_equal(put(&f, "abcdef"), -1);
	assert_int_equal(f.fault.kind, FAULT_TRANSIENT);
	end(&f);
	done(&f);
}

/* It is there by the time that its parts are: it stays, and the parts go. */
static void test_there_already(void **state)
{
	static const struct reply replies[] = {INITIATED, SAYS(ETAG("a")), SAYS(ETAG("b")),
					       SAYS(OK_HEAD(6)), SAYS("HTTP/1.1 204 Gone\r\n\r\n")};
	struct fixture f;

	(void)state;
	BEGIN(&f, replies);
	assert_int_equal(put(&f, "abcdef"), 0);
	end(&f);
	ASKED(&f, 4, "DELETE " URL_KEY "?uploadId=id ");
	done(&f);
}

/* Content that proves to be bad is never completed, and nothing of it stays. */
struct failing {
	struct feed *feed;
	const struct server *server;
};

/* Once the server has answered twice; or, should it never, after a minute. */
static void *fail_later(void *ctx)
{
	struct failing *failing = ctx;

	for (int ms = 0; ms < 60000 && atomic_load(&failing->server->answered) < 2; ms++)
		usleep(1000);
	feed_fail(failing->feed);
	return NULL;
}

static void put_and_fail(struct fixture *f, struct journal *journal, uint64_t size)
{
	struct failing failing = {.server = &f->server};
	struct feed *feed;
	pthread_t thread;
	int fd;

	put_text("content", "abcdef");
	fd = open("content", O_RDONLY | O_CLOEXEC);
	feed = feed_new(fd, 6);
	feed_grow(feed, size);
	failing.feed = feed;
	assert_int_equal(pthread_create(&thread, NULL, fail_later, &failing), 0);
	assert_int_equal(driver_s3.put(f->driver,
				       &(struct driver_upload){KEY, feed, journal, 4, 1, count, f},
				       &f->fault),
			 -1);
	pthread_join(thread, NULL);
	assert_int_equal(f->fault.kind, FAULT_CANCELLED);
	feed_free(feed);
	close(fd);
}

static void test_bad_content(void **state)
{
	static const struct reply replies[] = {INITIATED, SAYS(ETAG("a")),
					       SAYS("HTTP/1.1 204 Gone\r\n\r\n")};
	struct journal *journal = journal_open(".", "store", KEY);
	struct fixture f;

	(void)state;
	BEGIN(&f, replies);
	put_and_fail(&f, journal, 5);
	assert_string_equal(journal_note(journal), "");
	assert_null(journal_part(journal, 0));
	journal_close(journal);
	end(&f);
	ASKED(&f, 2, "DELETE " URL_KEY "?uploadId=id ");
	done(&f);
}

/* That the object is there already does not make bad content pass for sent. */
static void test_bad_content_there(void **state)
{
	static const struct reply replies[] = {ERROR("404 Not Found", "NoSuchUpload"),
					       SAYS(OK_HEAD(6))};
	struct journal *journal = remembering("a");
	struct fixture f;

	(void)state;
	BEGIN(&f, replies);
	put_and_fail(&f, journal, 6);
	journal_end(journal);
	end(&f);
	done(&f);
}

/* An upload of many parts was begun, but now it is small: the rest of that goes. */
static void test_smaller_now(void **state)
{
	static const struct reply replies[] = {SAYS(OK_HEAD(0)),
					       ERROR("404 Not Found", "NoSuchUpload")};
	struct journal *journal = remembering("a");
	struct fixture f;

	(void)state;
	BEGIN(&f, replies);
	assert_int_equal(put_to(&f, journal, "ab", true), 0);
	journal_end(journal);
	end(&f);
	ASKED(&f, 0, "PUT " URL_KEY " ");
	ASKED(&f, 1, "DELETE " URL_KEY "?uploadId=id ");
	done(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SANDBOX_TEST(test_put_whole),
		SANDBOX_TEST(test_headers),
		SANDBOX_TEST(test_multipart),
		SANDBOX_TEST(test_multipart_bodies),
		SANDBOX_TEST(test_large_parts),
		SANDBOX_TEST(test_resumes),
		SANDBOX_TEST(test_parts_that_differ),
		SANDBOX_TEST(test_upload_is_gone),
		SANDBOX_TEST(test_other_part_size),
		SANDBOX_TEST(test_upload_goes),
		SANDBOX_TEST(test_slow_down),
		SANDBOX_TEST(test_completion_fails),
		SANDBOX_TEST(test_completed_nevertheless),
		SANDBOX_TEST(test_completion_unconfirmed),
		SANDBOX_TEST(test_there_already),
		SANDBOX_TEST(test_bad_content),
		SANDBOX_TEST(test_bad_content_there),
		SANDBOX_TEST(test_smaller_now),
	};

	return cmocka_run_group_tests_name("s3 uploads", tests, NULL, NULL);
}
