/* SPDX-License-Identifier: Apache-2.0 */
/* Answers that send elsewhere: who asks for it is taken there, without what is secret, and not
 * without an end. */
#include "filter/remote/network_redirect.h"

#include "tests/unit/http_talk.h"

#define GOOD "HTTP/1.1 206 P\r\nContent-Range: bytes 3-5/9\r\nContent-Length: 3\r\n\r\nabc"

static const char *const headers[] = {"Authorization: Bearer hidden", "X-Token: hidden",
				      "Range: bytes=3-5", NULL};

/* An answer that sends to a path of a server. */
struct sending {
	char text[256];
};

static const char *send_to(struct sending *sending, const struct server *server, int status,
			   const char *path)
{
	snprintf(sending->text, sizeof(sending->text),
		 "HTTP/1.1 %d X\r\nLocation: http://127.0.0.1:%u%s\r\nContent-Length: 3\r\n\r\nno!",
		 status, server->port, path);
	return sending->text;
}

static int ask(struct talk *talk)
{
	return PERFORM(talk, .method = "GET", .headers = headers, .user = "u", .password = "p",
		       .sink = take, .sink_limit = 3, .follow = true);
}

static bool is_told(const struct request_seen *request)
{
	return header_of(request, "Authorization") && header_of(request, "X-Token");
}

static bool is_told_nothing(const struct request_seen *request)
{
	return !header_of(request, "Authorization") && !header_of(request, "X-Token");
}

static void to_the_same_server(void **state)
{
	static const int statuses[] = {301, 302, 303, 307, 308};
	struct reply replies[6] = {[5] = {.text = GOOD}};
	char texts[5][128];
	struct talk talk;

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		snprintf(
			texts[i], sizeof(texts[i]),
			"HTTP/1.1 %d X\r\nLocation: ../b/%zu?secret=y\r\nContent-Length: 0\r\n\r\n",
			statuses[i], i);
		replies[i].text = texts[i];
	}
	BEGIN(&talk, replies);
	assert_int_equal(ask(&talk), 0);
	assert_int_equal(talk.response.status, 206);
	assert_taken(&talk, "abc");
	assert_body(&talk, "");
	hang_up(&talk);
	assert_int_equal(talk.server.requests, 6);
	assert_true(asked(&talk.server, 1, "GET /b/0?secret=y "));
	assert_true(asked(&talk.server, 5, "GET /b/4?secret=y "));
	for (size_t i = 0; i < 6; i++) {
		assert_true(is_told(&talk.server.seen[i]));
		assert_true(has_header(&talk.server.seen[i], "Range", "bytes=3-5"));
	}
	release(&talk);
}

/* There, about there, and back: who has once been elsewhere tells nothing any more. */
static void to_another_server(void **state)
{
	struct sending there, back;
	struct reply here_replies[] = {{.text = there.text}, {.text = GOOD}, {.text = GOOD}};
	struct reply there_replies[] = {
		{.text = "HTTP/1.1 302 X\r\nLocation: /further\r\nContent-Length: 0\r\n\r\n"},
		{.text = back.text, .close = true}};
	struct server other;
	struct talk talk;

	(void)state;
	BEGIN(&talk, here_replies);
	server_start(&other, there_replies, 2);
	send_to(&there, &other, 302, "/cdn?secret=y");
	send_to(&back, &talk.server, 307, "/back");
	assert_int_equal(ask(&talk), 0);
	assert_taken(&talk, "abc");
	assert_int_equal(ask(&talk), 0);
	hang_up(&talk);
	server_stop(&other);
	assert_true(asked(&other, 0, "GET /cdn?secret=y "));
	assert_true(asked(&other, 1, "GET /further "));
	assert_true(has_header(&other.seen[0], "Range", "bytes=3-5"));
	assert_true(is_told_nothing(&other.seen[0]));
	assert_true(is_told_nothing(&other.seen[1]));
	assert_true(asked(&talk.server, 1, "GET /back "));
	assert_true(is_told_nothing(&talk.server.seen[1]));
	assert_true(is_told(&talk.server.seen[2]));
	server_release(&other);
	release(&talk);
}

static void without_an_end(void **state)
{
	struct sending again;
	struct reply replies[8];
	struct talk talk;

	(void)state;
	for (size_t i = 0; i < 8; i++)
		replies[i] = (struct reply){.text = again.text};
	BEGIN(&talk, replies);
	send_to(&again, &talk.server, 302, "/a/key?secret=x");
	assert_int_equal(ask(&talk), -1);
	assert_int_equal(talk.fault.kind, FAULT_UNSUPPORTED);
	assert_non_null(strstr(talk.fault.cause, "/a/key: the server sends on more than 5 times"));
	hang_up(&talk);
	assert_int_equal(talk.server.requests, 1 + REDIRECTS_MAX);
	assert_taken(&talk, "");
	release(&talk);
}

static void to_where_nobody_is(void **state)
{
	struct sending there;
	struct reply replies[] = {{.text = there.text}};
	struct server gone;
	struct talk talk;

	(void)state;
	server_start(&gone, NULL, 0);
	server_stop(&gone);
	BEGIN(&talk, replies);
	send_to(&there, &gone, 302, "/cdn?secret=y");
	assert_int_equal(ask(&talk), -1);
	assert_int_equal(talk.fault.kind, FAULT_TRANSIENT);
	assert_non_null(strstr(talk.fault.cause, "/cdn"));
	assert_null(strstr(talk.fault.cause, "secret"));
	hang_up(&talk);
	release(&talk);
}

/* An answer without a place, or one that nobody wants to follow, is an answer. */
static void to_nowhere(void **state)
{
	static const struct reply replies[] = {
		{.text = "HTTP/1.1 302 X\r\nContent-Length: 0\r\n\r\n"},
		{.text = "HTTP/1.1 304 X\r\nLocation: /b\r\n\r\n"},
		{.text = "HTTP/1.1 200 X\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n"}};
	static const long statuses[] = {302, 304, 200};
	struct talk talk;

	(void)state;
	BEGIN(&talk, replies);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(ask(&talk), 0);
		assert_int_equal(talk.response.status, statuses[i]);
	}
	hang_up(&talk);
	assert_int_equal(talk.server.requests, 3);
	release(&talk);
}

static void which_are_followed(void **state)
{
	static const struct {
		const char *from;
		const char *location;
		const char *refused; /* NULL: it is followed */
		bool elsewhere;
	} cases[] = {
		{"https://hub/a", "https://hub/b?c", NULL, false},
		{"https://hub/a", "/b c", NULL, false},
		{"https://hub/a", "//evil/b", NULL, true},
		{"https://hub/a", "https://HUB:443/b", NULL, false},
		{"http://hub:80/a", "http://hub/b", NULL, false},
		{"https://hub/a", "https://hub:444/b", NULL, true},
		{"https://hub/a", "https://hub.evil/b", NULL, true},
		{"http://hub/a", "https://hub/b", NULL, true},
		{"https://hub/a", "http://hub/b", "from https to http", false},
		{"https://hub/a", "http://cdn/b", "from https to http", false},
		{"https://hub/a", "ftp://hub/b", "neither http nor https", false},
		{"https://hub/a", "file:///etc/passwd", "neither http nor https", false},
		{"https://hub/a", "https://hub@evil/b", "a user in it", false},
		{"https://hub/a", "https://u:hidden@hub/b", "a user in it", false},
		{"https://hub/a", "https://hub:x/b", "no URL", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fault fault = {0};
		bool elsewhere = false;
		char *to;
		int result = redirect_resolve(cases[i].from, cases[i].location, &to, &elsewhere,
					      "GET of k", &fault);

		assert_int_equal(result, cases[i].refused ? -1 : 0);
		if (!cases[i].refused)
			assert_int_equal(elsewhere, cases[i].elsewhere);
		else if (!strstr(fault.cause, cases[i].refused))
			fail_msg("'%s' lacks '%s'", fault.cause, cases[i].refused);
		assert_null(strstr(fault.cause, "hidden"));
		free(to);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(to_the_same_server), cmocka_unit_test(to_another_server),
		cmocka_unit_test(without_an_end),     cmocka_unit_test(to_where_nobody_is),
		cmocka_unit_test(to_nowhere),         cmocka_unit_test(which_are_followed),
	};

	setenv("no_proxy", "*", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
