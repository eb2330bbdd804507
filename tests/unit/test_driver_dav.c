/* SPDX-License-Identifier: Apache-2.0 */
/* The WebDAV driver against a server that follows a script: what is asked in which order, what is
 * made of each answer, and when git is asked for user and password. */
#include <sys/mman.h>

#include "filter/remote/credential.h"
#include "tests/unit/dav_talk.h"

static void count(void *ctx, uint64_t bytes)
{
	struct talk *talk = ctx;

	talk->sent += bytes;
}

/* Uploads so many bytes, which are all there; good says whether they prove to be. */
static int put(struct talk *talk, size_t size, bool good)
{
	struct driver_upload upload = {
		.key = KEY, .journal = talk->journal, .sent = count, .ctx = talk};
	int result;

	talk->sent = 0;
	talk->fd = memfd_create("object", MFD_CLOEXEC);
	assert_true(talk->fd >= 0);
	assert_int_equal(ftruncate(talk->fd, (off_t)size), 0);
	talk->feed = feed_new(talk->fd, size);
	assert_non_null(talk->feed);
	feed_grow(talk->feed, size);
	if (good)
		feed_finish(talk->feed);
	else
		feed_fail(talk->feed);
	upload.feed = talk->feed;
	result = driver_dav.put(talk->state, &upload, &talk->fault);
	feed_free(talk->feed);
	talk->feed = NULL;
	close(talk->fd);
	talk->fd = -1;
	return result;
}

/* ---- user and password ---------------------------------------------------------------------- */

/* git's configuration: a helper that knows a password and notes what it is asked. */
static void set_helper(const char *password)
{
	char command[512];

	snprintf(command, sizeof(command),
		 "git config --global credential.helper '!f() { echo $1 >>%s/told; cat "
		 ">>%s/told; if [ $1 = get ]; then echo username=u; echo password=%s; fi; }; f'",
		 sandbox_path, sandbox_path, password);
	sh(command);
}

static void git_is_asked_once(void **state)
{
	static const struct reply replies[] = {
		{.text = WHO}, {.text = OK}, {.text = OK}, {.text = OK}};
	struct talk talk;
	uint64_t size;

	(void)state;
	set_helper("p");
	BEGIN(&talk, replies);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(driver_dav.size(talk.state, KEY, &size, &talk.fault), 0);
	hang_up(&talk);
	assert_int_equal(talk.server.requests, 4);
	assert_null(header_of(&talk.server.seen[0], "Authorization"));
	for (size_t i = 1; i < 4; i++)
		assert_true(has_header(&talk.server.seen[i], "Authorization", "Basic dTpw"));
	sh("test \"$(grep -cx get told)\" = 1");
	sh("test \"$(grep -cx store told)\" = 1");
	sh("grep -q ^host=127.0.0.1: told");
	release(&talk);
}

static void git_is_told_of_a_wrong_password(void **state)
{
	static const struct reply replies[] = {{.text = WHO}, {.text = WHO}, {.text = WHO}};
	struct talk talk;
	uint64_t size;

	(void)state;
	set_helper("hidden");
	BEGIN(&talk, replies);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(driver_dav.size(talk.state, KEY, &size, &talk.fault), -1);
		assert_int_equal(talk.fault.kind, FAULT_DENIED);
		assert_null(strstr(talk.fault.cause, "hidden"));
	}
	hang_up(&talk);
	assert_int_equal(talk.server.requests, 3);
	assert_true(has_header(&talk.server.seen[1], "Authorization", "Basic dTpoaWRkZW4="));
	assert_null(header_of(&talk.server.seen[2], "Authorization"));
	sh("test \"$(grep -cx get told)\" = 1");
	sh("test \"$(grep -cx erase told)\" = 1");
	sh("! grep -qx store told");
	release(&talk);
}

/* A server may know the user and refuse this, or not want to tell: nobody learns of a 403 that the
 * password is good. */
static void git_is_not_told_of_a_refusal(void **state)
{
	static const struct reply replies[] = {{.text = WHO}, NO(403)};
	struct talk talk;
	uint64_t size;

	(void)state;
	set_helper("p");
	BEGIN(&talk, replies);
	assert_int_equal(driver_dav.size(talk.state, KEY, &size, &talk.fault), -1);
	assert_int_equal(talk.fault.kind, FAULT_DENIED);
	hang_up(&talk);
	sh("test \"$(grep -cx get told)\" = 1");
	sh("! grep -qxE 'store|erase' told");
	release(&talk);
}

/* A line more would be another question to git. */
static void git_is_not_asked_for_another_host(void **state)
{
	struct credential *credential = credential_new("https", "h\nhost=other", NULL, NULL);
	struct fault fault = {0};

	(void)state;
	set_helper("p");
	assert_non_null(credential);
	assert_int_equal(credential_ask(credential, &fault), -1);
	assert_int_equal(fault.kind, FAULT_DENIED);
	assert_non_null(strstr(fault.cause, "line break"));
	sh("test ! -e told");
	credential_free(credential);
}

static void git_has_no_password(void **state)
{
	static const struct reply replies[] = {{.text = WHO}, {.text = WHO}};
	struct talk talk;
	uint64_t size;

	(void)state;
	setenv("GIT_TERMINAL_PROMPT", "0", 1);
	setenv("GIT_ASKPASS", "", 1);
	setenv("SSH_ASKPASS", "", 1);
	BEGIN(&talk, replies);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(driver_dav.size(talk.state, KEY, &size, &talk.fault), -1);
		assert_int_equal(talk.fault.kind, FAULT_DENIED);
		assert_non_null(strstr(talk.fault.cause, "git has none"));
	}
	hang_up(&talk);
	release(&talk);
}

/* ---- uploads -------------------------------------------------------------------------------- */

static void a_short_upload(void **state)
{
	static const struct reply replies[] = {YES, YES};
	struct talk talk;

	(void)state;
	BEGIN(&talk, replies);
	assert_int_equal(put(&talk, 5000, true), 0);
	assert_int_equal(talk.sent, 5000);
	hang_up(&talk);
	assert_string_equal(talk.asked, "PUT /s/tmp/" OID ".T;MOVE /s/tmp/" OID ".T;");
	assert_int_equal(talk.server.seen[0].body.size, 5000);
	assert_true(has_header(&talk.server.seen[0], "Content-Length", "5000"));
	assert_true(has_header(&talk.server.seen[1], "Destination", "/s/" KEY));
	assert_true(has_header(&talk.server.seen[1], "Overwrite", "F"));
	release(&talk);
}

static void an_empty_upload(void **state)
{
	static const struct reply replies[] = {YES, YES};
	struct talk talk;

	(void)state;
	BEGIN(&talk, replies);
	assert_int_equal(put(&talk, 0, true), 0);
	hang_up(&talk);
	assert_true(has_header(&talk.server.seen[0], "Content-Length", "0"));
	release(&talk);
}

static void an_upload_that_fails_here(void **state)
{
	static const struct reply replies[] = {YES, YES};
	struct talk talk;

	(void)state;
	BEGIN(&talk, replies);
	assert_int_equal(put(&talk, 5000, false), -1);
	assert_int_equal(talk.fault.kind, FAULT_CANCELLED);
	assert_int_equal(put(&talk, 3000000, false), -1);
	assert_int_equal(talk.fault.kind, FAULT_CANCELLED);
	hang_up(&talk);
	assert_null(strstr(talk.asked, "MOVE"));
	release(&talk);
}

static void an_object_that_is_there(void **state)
{
	static const struct reply replies[] = {YES, NO(412), NO(204)};
	struct talk talk;

	(void)state;
	BEGIN(&talk, replies);
	assert_int_equal(put(&talk, 10, true), 0);
	hang_up(&talk);
	assert_string_equal(talk.asked,
			    "PUT /s/tmp/" OID ".T;MOVE /s/tmp/" OID ".T;DELETE /s/tmp/" OID ".T;");
	release(&talk);
}

static void collections_that_are_missing(void **state)
{
	static const struct reply replies[] = {NO(409), YES, YES, NO(409), NO(409), YES, YES, YES};
	struct talk talk;

	(void)state;
	BEGIN(&talk, replies);
	assert_int_equal(put(&talk, 10, true), 0);
	assert_int_equal(talk.sent, 10);
	hang_up(&talk);
	assert_string_equal(talk.asked,
			    "PUT /s/tmp/" OID ".T;MKCOL /s/tmp/;PUT /s/tmp/" OID
			    ".T;MOVE /s/tmp/" OID ".T;MKCOL /s/objects/ab/cd/;MKCOL /s/objects/ab/;"
			    "MKCOL /s/objects/ab/cd/;MOVE /s/tmp/" OID ".T;");
	release(&talk);
}

/* Some servers say something else of a place that lacks its collection. */
static void a_collection_that_is_missing_untold(void **state)
{
	static const struct reply forbid[] = {YES, NO(403), YES, YES};
	static const struct reply fail[] = {YES, NO(500), YES, YES};
	struct talk talk;

	(void)state;
	BEGIN(&talk, fail);
	assert_int_equal(put(&talk, 10, true), 0);
	hang_up(&talk);
	assert_int_equal(talk.server.requests, 4);
	release(&talk);
	BEGIN(&talk, forbid);
	assert_int_equal(put(&talk, 10, true), 0);
	hang_up(&talk);
	assert_string_equal(talk.asked, "PUT /s/tmp/" OID ".T;MOVE /s/tmp/" OID
					".T;MKCOL /s/objects/ab/cd/;MOVE /s/tmp/" OID ".T;");
	release(&talk);
}

/* 500 may mean a missing collection; if it is there, it means what it says. */
static void a_server_in_trouble(void **state)
{
	static const struct reply replies[] = {NO(500), NO(405)};
	struct talk talk;

	(void)state;
	BEGIN(&talk, replies);
	assert_int_equal(put(&talk, 10, true), -1);
	assert_int_equal(talk.fault.kind, FAULT_TRANSIENT);
	assert_non_null(strstr(talk.fault.cause, KEY));
	hang_up(&talk);
	assert_string_equal(talk.asked, "PUT /s/tmp/" OID ".T;MKCOL /s/tmp/;");
	release(&talk);
}

static void what_has_gone_is_sent_again(void **state)
{
	static const struct reply replies[] = {YES, NO(404), NO(405), YES, NO(404)};
	static const size_t sizes[] = {10, 3000000};
	struct talk talk;

	(void)state;
	BEGIN(&talk, replies);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(put(&talk, sizes[i], true), -1);
		assert_int_equal(talk.fault.kind, FAULT_TRANSIENT);
		assert_non_null(strstr(talk.fault.cause, "has gone"));
	}
	hang_up(&talk);
	release(&talk);
}

static void a_server_that_wants_whole_urls(void **state)
{
	static const struct reply replies[] = {YES, NO(400), YES};
	char url[256];
	struct talk talk;

	(void)state;
	BEGIN(&talk, replies);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/s/" KEY, talk.server.port);
	assert_int_equal(put(&talk, 10, true), 0);
	hang_up(&talk);
	assert_true(has_header(&talk.server.seen[2], "Destination", url));
	release(&talk);
}

/* One says that it wants a length, another keeps nothing of a body in chunks. */
static void servers_that_take_no_chunks(void **state)
{
	static const struct reply says[] = {NO(411),       YES, KEPT(3000000), YES, YES,
					    KEPT(3000000), YES};
	static const struct reply loses[] = {YES, KEPT(0), YES, KEPT(3000000), YES};
	static const struct reply takes[] = {YES, KEPT(3000000), YES};
	static const struct reply lies[] = {YES, KEPT(0), YES, KEPT(2999999)};
	struct talk talk;

	(void)state;
	BEGIN(&talk, says);
	assert_int_equal(put(&talk, 3000000, true), 0);
	assert_int_equal(talk.sent, 3000000);
	assert_int_equal(put(&talk, 3000000, true), 0);
	hang_up(&talk);
	assert_true(has_header(&talk.server.seen[0], "Transfer-Encoding", "chunked"));
	assert_true(has_header(&talk.server.seen[1], "Content-Length", "3000000"));
	assert_true(has_header(&talk.server.seen[4], "Content-Length", "3000000"));
	release(&talk);

	BEGIN(&talk, loses);
	assert_int_equal(put(&talk, 3000000, true), 0);
	assert_int_equal(talk.sent, 3000000);
	hang_up(&talk);
	assert_true(asked(&talk.server, 1, "HEAD /s/tmp/"));
	assert_true(has_header(&talk.server.seen[2], "Content-Length", "3000000"));
	release(&talk);

	BEGIN(&talk, takes);
	assert_int_equal(put(&talk, 3000000, true), 0);
	hang_up(&talk);
	assert_true(asked(&talk.server, 2, "MOVE "));
	release(&talk);

	BEGIN(&talk, lies);
	assert_int_equal(put(&talk, 3000000, true), -1);
	assert_int_equal(talk.fault.kind, FAULT_TRANSIENT);
	assert_non_null(strstr(talk.fault.cause, "2999999 of 3000000 bytes"));
	hang_up(&talk);
	assert_null(strstr(talk.asked, "MOVE"));
	release(&talk);
}

static void refusals(void **state)
{
	static const struct reply replies[] = {NO(403), NO(405), NO(507), NO(302),
					       YES,     NO(403), NO(405)};
	static const enum fault_kind kinds[] = {FAULT_READ_ONLY, FAULT_READ_ONLY, FAULT_NO_SPACE,
						FAULT_LOCAL, FAULT_READ_ONLY};
	struct talk talk;

	(void)state;
	BEGIN(&talk, replies);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		assert_int_equal(put(&talk, 10, true), -1);
		assert_int_equal(talk.fault.kind, kinds[i]);
		assert_non_null(strstr(talk.fault.cause, KEY));
	}
	hang_up(&talk);
	release(&talk);
}

static void a_small_thing(void **state)
{
	static const struct reply replies[] = {YES, YES, YES, YES};
	struct talk talk;

	(void)state;
	BEGIN(&talk, replies);
	assert_int_equal(driver_dav.create(talk.state, &talk.fault), 0);
	assert_int_equal(
		driver_dav.put_bytes(talk.state, "brevis-store.json", "{}", 2, &talk.fault), 0);
	hang_up(&talk);
	assert_string_equal(talk.asked, "MKCOL /s/tmp/;MKCOL /s/objects/;"
					"PUT /s/tmp/brevis-store.json.T;"
					"MOVE /s/tmp/brevis-store.json.T;");
	assert_string_equal((char *)talk.server.seen[2].body.data, "{}");
	release(&talk);
}

static void no_place_for_a_store(void **state)
{
	static const struct reply replies[] = {NO(409), NO(409)};
	struct talk talk;

	(void)state;
	BEGIN(&talk, replies);
	assert_int_equal(driver_dav.create(talk.state, &talk.fault), -1);
	assert_int_equal(talk.fault.kind, FAULT_NO_STORE);
	hang_up(&talk);
	assert_string_equal(talk.asked, "MKCOL /s/tmp/;MKCOL /s/;");
	release(&talk);
}

/* ---- reading -------------------------------------------------------------------------------- */

static int take(void *ctx, const void *data, size_t len)
{
	buffer_append(ctx, data, len);
	return 0;
}

static void reading(void **state)
{
	static const struct reply replies[] = {
		{.text = "HTTP/1.1 206 P\r\nContent-Range: bytes 3-5/9\r\n"
			 "Content-Length: 3\r\n\r\nabc"},
		{.text = "HTTP/1.1 206 P\r\nContent-Range: bytes 3-4/5\r\n"
			 "Content-Length: 2\r\n\r\nab"},
		NO(416),
		NO(404),
		NO(503),
		NO(404),
		{.text = OK},
	};
	static const enum fault_kind kinds[] = {FAULT_DAMAGED, FAULT_DAMAGED, FAULT_ABSENT,
						FAULT_TRANSIENT};
	struct buffer taken = BUFFER_INIT;
	struct talk talk;
	uint64_t size = 1;

	(void)state;
	BEGIN(&talk, replies);
	assert_int_equal(driver_dav.read(talk.state, KEY, 3, 3, take, &taken, &talk.fault), 0);
	assert_int_equal(taken.size, 3);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		assert_int_equal(driver_dav.read(talk.state, KEY, 3, 3, take, &taken, &talk.fault),
				 -1);
		assert_int_equal(talk.fault.kind, kinds[i]);
	}
	assert_int_equal(driver_dav.size(talk.state, KEY, &size, &talk.fault), -1);
	assert_int_equal(talk.fault.kind, FAULT_ABSENT);
	assert_int_equal(driver_dav.size(talk.state, KEY, &size, &talk.fault), 0);
	assert_int_equal(size, 0);
	hang_up(&talk);
	assert_true(has_header(&talk.server.seen[0], "Range", "bytes=3-5"));
	release(&talk);
	buffer_release(&taken);
}

static void removing(void **state)
{
	static const struct reply replies[] = {NO(204), NO(404), NO(403)};
	static const struct store_entry entry = {.key = KEY};
	struct talk talk;

	(void)state;
	BEGIN(&talk, replies);
	assert_int_equal(driver_dav.remove(talk.state, &entry, &talk.fault), 0);
	assert_int_equal(driver_dav.remove(talk.state, &entry, &talk.fault), 0);
	assert_int_equal(driver_dav.remove(talk.state, &entry, &talk.fault), -1);
	assert_int_equal(talk.fault.kind, FAULT_READ_ONLY);
	hang_up(&talk);
	assert_true(asked(&talk.server, 0, "DELETE /s/" KEY " "));
	release(&talk);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SANDBOX_TEST(git_is_asked_once),
		SANDBOX_TEST(git_is_told_of_a_wrong_password),
		SANDBOX_TEST(git_is_not_told_of_a_refusal),
		SANDBOX_TEST(git_is_not_asked_for_another_host),
		SANDBOX_TEST(git_has_no_password),
		SANDBOX_TEST(a_short_upload),
		SANDBOX_TEST(an_empty_upload),
		SANDBOX_TEST(an_upload_that_fails_here),
		SANDBOX_TEST(an_object_that_is_there),
		SANDBOX_TEST(collections_that_are_missing),
		SANDBOX_TEST(a_collection_that_is_missing_untold),
		SANDBOX_TEST(a_server_in_trouble),
		SANDBOX_TEST(what_has_gone_is_sent_again),
		SANDBOX_TEST(a_server_that_wants_whole_urls),
		SANDBOX_TEST(servers_that_take_no_chunks),
		SANDBOX_TEST(refusals),
		SANDBOX_TEST(a_small_thing),
		SANDBOX_TEST(no_place_for_a_store),
		SANDBOX_TEST(reading),
		SANDBOX_TEST(removing),
	};

	setenv("no_proxy", "*", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
