/* SPDX-License-Identifier: Apache-2.0 */
/* git's filter protocol: a peer on a socket plays git, well behaved and otherwise. */
#include "filter/convert/session.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "filter/convert/pkt_line.h"

/* ---- actions whose behaviour the path chooses ----------------------------------------------- */

struct filter {
	int cleaned;
	int smudged;
	int listed;
	char delayed[64];
};

/* "half" fails in the middle, "unread" fails before it reads anything, "echo" gives back what comes
 * as it comes, "double" writes before it has read, "late" delays, all others count bytes. */
static enum session_result convert(struct filter *filter, const struct session_request *request,
				   struct session *session)
{
	const void *data;
	char answer[32];
	size_t total = 0;
	size_t len;
	int more;

	if (strcmp(request->path, "unread") == 0)
		return SESSION_FAILED;
	if (strcmp(request->path, "double") == 0)
		assert_int_equal(session_write(session, "early ", 6), 0);
	while ((more = session_read(session, &data, &len)) > 0) {
		total += len;
		if (strcmp(request->path, "half") == 0)
			break;
	}
	if (more < 0)
		return SESSION_FAILED;
	if (strcmp(request->path, "late") == 0 && request->can_delay) {
		strcpy(filter->delayed, request->path);
		return SESSION_DELAYED;
	}
	if (strcmp(request->path, "nothing") == 0)
		return SESSION_DONE;
	len = (size_t)snprintf(answer, sizeof(answer), "%zu bytes", total);
	if (session_write(session, answer, len) != 0)
		return SESSION_FAILED;
	return strcmp(request->path, "half") == 0 ? SESSION_FAILED : SESSION_DONE;
}

static enum session_result clean(void *ctx, const struct session_request *request,
				 struct session *session)
{
	struct filter *filter = ctx;

	filter->cleaned++;
	return convert(filter, request, session);
}

static enum session_result smudge(void *ctx, const struct session_request *request,
				  struct session *session)
{
	struct filter *filter = ctx;

	filter->smudged++;
	return convert(filter, request, session);
}

static void list_available(void *ctx, struct session *session)
{
	struct filter *filter = ctx;

	filter->listed++;
	if (*filter->delayed)
		session_name_path(session, filter->delayed);
	*filter->delayed = '\0';
}

/* ---- the peer ------------------------------------------------------------------------------- */

struct fixture {
	struct filter filter;
	int fd; /* git's end */
	int other;
	int result;
	pthread_t thread;
	struct pkt_reader *reader;
	struct pkt_writer *writer;
};

static void *run(void *ctx)
{
	struct fixture *f = ctx;
	const struct session_actions actions = {&f->filter, clean, smudge, list_available};

	f->result = session_run(f->other, f->other, &actions);
	close(f->other);
	return NULL;
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	int ends[2];

	signal(SIGPIPE, SIG_IGN);
	if (!f || socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
		return -1;
	f->fd = ends[0];
	f->other = ends[1];
	f->reader = pkt_reader_new(f->fd);
	f->writer = pkt_writer_new(f->fd);
	*state = f;
	return pthread_create(&f->thread, NULL, run, f);
}

/* Hangs up, and gives the session's result. */
static int hang_up(struct fixture *f)
{
	shutdown(f->fd, SHUT_WR);
	pthread_join(f->thread, NULL);
	return f->result;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	close(f->fd);
	pkt_reader_free(f->reader);
	pkt_writer_free(f->writer);
	free(f);
	return 0;
}

/* Sends text packets and a flush. */
static void say(struct fixture *f, const char *a, const char *b, const char *c)
{
	if (a)
		pkt_write_text(f->writer, "%s", a);
	if (b)
		pkt_write_text(f->writer, "%s", b);
	if (c)
		pkt_write_text(f->writer, "%s", c);
	pkt_write_flush(f->writer);
}

/* Expects text packets and a flush. */
static void hear(struct fixture *f, const char *a, const char *b, const char *c)
{
	const char *expected[] = {a, b, c};
	const char *text;
	size_t i;

	for (i = 0; i < 3; i++) {
		if (!expected[i])
			continue;
		assert_int_equal(pkt_read_text(f->reader, &text), PKT_DATA);
		assert_string_equal(text, expected[i]);
	}
	assert_int_equal(pkt_read_text(f->reader, &text), PKT_FLUSH);
}

static void greet(struct fixture *f)
{
	say(f, "git-filter-client", "version=2", NULL);
	hear(f, "git-filter-server", "version=2", NULL);
	say(f, "capability=clean", "capability=smudge", "capability=delay");
	hear(f, "capability=clean", "capability=smudge", "capability=delay");
}

static void content(struct fixture *f, const char *text)
{
	pkt_write(f->writer, text, strlen(text));
	pkt_write_flush(f->writer);
}

/* ---- tests ---------------------------------------------------------------------------------- */

static void test_conversions(void **state)
{
	struct fixture *f = *state;

	greet(f);
	say(f, "command=clean", "pathname=a", NULL);
	content(f, "12345");
	hear(f, "status=success", NULL, NULL);
	hear(f, "5 bytes", NULL, NULL);
	hear(f, NULL, NULL, NULL);
	/* Keys that newer versions of git add do no harm; nor do equals signs in a path. */
	say(f, "command=smudge", "pathname=b=c d", "treeish=abc");
	content(f, "123");
	hear(f, "status=success", NULL, NULL);
	hear(f, "3 bytes", NULL, NULL);
	hear(f, NULL, NULL, NULL);
	say(f, "command=smudge", "pathname=nothing", NULL);
	content(f, "");
	hear(f, "status=success", NULL, NULL);
	hear(f, NULL, NULL, NULL);
	hear(f, NULL, NULL, NULL);
	assert_int_equal(hang_up(f), 0);
	assert_int_equal(f->filter.cleaned, 1);
	assert_int_equal(f->filter.smudged, 2);
}

/* A file that fails costs no other one. */
static void test_failures(void **state)
{
	struct fixture *f = *state;
	int round;

	greet(f);
	for (round = 0; round < 3; round++) {
		say(f, "command=clean", "pathname=unread", NULL);
		content(f, "some content that nobody reads");
		hear(f, "status=error", NULL, NULL);
		say(f, "command=smudge", "pathname=half", NULL);
		content(f, "123");
		hear(f, "status=success", NULL, NULL);
		hear(f, "3 bytes", NULL, NULL);
		hear(f, "status=error", NULL, NULL);
		say(f, "command=clean", "pathname=a", NULL);
		content(f, "1");
		hear(f, "status=success", NULL, NULL);
		hear(f, "1 bytes", NULL, NULL);
		hear(f, NULL, NULL, NULL);
	}
	assert_int_equal(hang_up(f), 0);
}

static void test_delay(void **state)
{
	struct fixture *f = *state;

	greet(f);
	say(f, "command=smudge", "pathname=late", "can-delay=1");
	content(f, "123");
	hear(f, "status=delayed", NULL, NULL);
	say(f, "command=list_available_blobs", NULL, NULL);
	hear(f, "pathname=late", NULL, NULL);
	hear(f, "status=success", NULL, NULL);
	say(f, "command=smudge", "pathname=late", NULL);
	content(f, "");
	hear(f, "status=success", NULL, NULL);
	hear(f, "0 bytes", NULL, NULL);
	hear(f, NULL, NULL, NULL);
	say(f, "command=list_available_blobs", NULL, NULL);
	hear(f, NULL, NULL, NULL);
	hear(f, "status=success", NULL, NULL);
	assert_int_equal(hang_up(f), 0);
	assert_int_equal(f->filter.listed, 2);
}

/* An action that writes before it has read: git, which writes everything before it reads, must not
 * be kept waiting. More content than any pipe holds. */
static void test_no_deadlock(void **state)
{
	struct fixture *f = *state;
	size_t i;
	static char block[100000];

	greet(f);
	say(f, "command=clean", "pathname=double", NULL);
	for (i = 0; i < 50; i++)
		assert_int_equal(pkt_write(f->writer, block, sizeof(block)), 0);
	pkt_write_flush(f->writer);
	hear(f, "status=success", NULL, NULL);
	hear(f, "early 0 bytes", NULL, NULL);
	hear(f, NULL, NULL, NULL);
	assert_int_equal(hang_up(f), 0);
}

static void test_fewer_capabilities(void **state)
{
	struct fixture *f = *state;

	say(f, "git-filter-client", "version=2", "version=3");
	hear(f, "git-filter-server", "version=2", NULL);
	say(f, "capability=smudge", "capability=telepathy", NULL);
	hear(f, "capability=smudge", NULL, NULL);
	assert_int_equal(hang_up(f), 0);
}

static void test_wrong_version(void **state)
{
	struct fixture *f = *state;

	say(f, "git-filter-client", "version=1", NULL);
	assert_int_equal(hang_up(f), -1);
}

static void test_stranger(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(write(f->fd, "hello\n", 6), 6);
	assert_int_equal(hang_up(f), -1);
}

static void test_unknown_command(void **state)
{
	struct fixture *f = *state;

	greet(f);
	say(f, "command=shine", "pathname=a", NULL);
	assert_int_equal(hang_up(f), -1);
	assert_int_equal(f->filter.cleaned + f->filter.smudged, 0);
}

static void test_no_path(void **state)
{
	struct fixture *f = *state;

	greet(f);
	say(f, "command=clean", NULL, NULL);
	assert_int_equal(hang_up(f), -1);
}

/* git dies while it sends: the action sees the end as what it is. */
static void test_cut_content(void **state)
{
	struct fixture *f = *state;

	greet(f);
	say(f, "command=clean", "pathname=a", NULL);
	assert_int_equal(write(f->fd, "0009abcde0009ab", 15), 15);
	assert_int_equal(hang_up(f), -1);
	assert_int_equal(f->filter.cleaned, 1);
}

static void test_gone_before_answer(void **state)
{
	struct fixture *f = *state;

	greet(f);
	say(f, "command=clean", "pathname=a", NULL);
	pkt_write(f->writer, "12345", 5);
	shutdown(f->fd, SHUT_RD);
	pkt_write_flush(f->writer);
	assert_int_equal(hang_up(f), -1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_conversions), TEST(test_failures),           TEST(test_delay),
		TEST(test_no_deadlock), TEST(test_fewer_capabilities), TEST(test_wrong_version),
		TEST(test_stranger),    TEST(test_unknown_command),    TEST(test_no_path),
		TEST(test_cut_content), TEST(test_gone_before_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
