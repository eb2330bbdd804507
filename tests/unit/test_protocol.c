/* SPDX-License-Identifier: Apache-2.0 */
/* The protocol of custom transfer agents: lines that git-lfs writes, and lines that it reads. */
#include "filter/agent/protocol.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define AB8 "abababab"
#define OID AB8 AB8 AB8 AB8 AB8 AB8 AB8 AB8

/* Reads the first event of a text. */
static void read_text(const char *text, size_t len, struct agent_event *event)
{
	FILE *in = fmemopen((void *)(uintptr_t)text, len, "r");

	assert_non_null(in);
	agent_event_read(in, event);
	fclose(in);
}

static void read_string(const char *text, struct agent_event *event)
{
	read_text(text, strlen(text), event);
}

static void test_session(void **state)
{
	static const char text[] =
		"{\"event\":\"init\",\"operation\":\"upload\",\"remote\":\"origin\","
		"\"concurrent\":true,\"concurrenttransfers\":3}\n"
		"{\"event\":\"upload\",\"oid\":\"" OID "\",\"size\":5368709121,"
		"\"path\":\"/a/\\u00e9 \\\"b\\\"\",\"action\":null,\"new\":[{\"x\":1}]}\n"
		"{\"event\":\"download\",\"oid\":\"" OID "\",\"size\":0,\"action\":{\"href\":"
		"\"https://hub/x\",\"header\":{\"chunk_size\":\"20\",\"1\":\"https://p/1\","
		"\"N\":7,\"ignored\":{}}}}\n"
		"{\"event\":\"terminate\"}\n";
	FILE *in = fmemopen((void *)(uintptr_t)text, sizeof(text) - 1, "r");
	struct agent_event event;

	(void)state;
	assert_non_null(in);
	agent_event_read(in, &event);
	assert_int_equal(event.kind, AGENT_INIT);
	assert_true(event.is_upload);
	assert_true(event.concurrent);
	assert_int_equal(event.concurrent_transfers, 3);
	assert_string_equal(event.remote, "origin");
	agent_event_release(&event);

	agent_event_read(in, &event);
	assert_int_equal(event.kind, AGENT_UPLOAD);
	assert_string_equal(event.pointer.oid, OID);
	assert_int_equal(event.pointer.size, 5368709121);
	assert_string_equal(event.path, "/a/\xc3\xa9 \"b\"");
	assert_null(event.href);
	assert_null(agent_event_header(&event, "chunk_size"));
	agent_event_release(&event);

	agent_event_read(in, &event);
	assert_int_equal(event.kind, AGENT_DOWNLOAD);
	assert_int_equal(event.pointer.size, 0);
	assert_null(event.path);
	assert_string_equal(event.href, "https://hub/x");
	assert_int_equal(event.header_count, 3);
	assert_string_equal(agent_event_header(&event, "Chunk_Size"), "20");
	assert_string_equal(agent_event_header(&event, "1"), "https://p/1");
	assert_string_equal(agent_event_header(&event, "n"), "7");
	assert_null(agent_event_header(&event, "ignored"));
	agent_event_release(&event);

	agent_event_read(in, &event);
	assert_int_equal(event.kind, AGENT_TERMINATE);
	agent_event_release(&event);
	agent_event_read(in, &event);
	assert_int_equal(event.kind, AGENT_END);
	agent_event_release(&event);
	fclose(in);
}

/* What is nested deeply is refused before memory, or the stack, is spent on it. */
static void test_nested(void **state)
{
	static const char *const begins[] = {"[", "{\"a\":", "/*\"*/[", "\"\\\\\"[",
					     "{\"[\\\"\":["};
	const size_t times = 200000;
	struct agent_event event;

	(void)state;
	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++) {
		size_t len = strlen(begins[i]);
		char *text = malloc(times * (len + 2) + 2);
		char *at = text;

		assert_non_null(text);
		for (size_t n = 0; n < times; n++, at += len)
			memcpy(at, begins[i], len);
		*at++ = '1';
		for (size_t n = times; n-- && i < 3;)
			*at++ = i == 1 ? '}' : ']';
		*at++ = '\n';
		read_text(text, (size_t)(at - text), &event);
		assert_int_equal(event.kind, AGENT_DAMAGED);
		agent_event_release(&event);
		free(text);
	}
	/* Brackets in strings nest nothing. */
	read_string("{\"event\":\"terminate\",\"a\\\"\":\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[/"
		    "\"}\n",
		    &event);
	assert_int_equal(event.kind, AGENT_TERMINATE);
	agent_event_release(&event);
}

static void test_damaged(void **state)
{
	static const char *const bad[] = {
		"\n",
		"nothing\n",
		"[]\n",
		"{}\n",
		"{\"event\":1}\n",
		"{\"event\":\"in",
		"{\"event\":\"dance\\n\"}\n",
		"{\"event\":\"init\"}\n",
		"{\"event\":\"init\",\"operation\":\"remove\"}\n",
		"{\"event\":\"init\",\"operation\":\"upload\",\"remote\":{}}\n",
		"{\"event\":\"download\",\"size\":1}\n",
		"{\"event\":\"download\",\"oid\":\"ab\",\"size\":1}\n",
		"{\"event\":\"download\",\"oid\":\"../" AB8 AB8 AB8 AB8 AB8 AB8 AB8
		"ababa\",\"size\":1}\n",
		"{\"event\":\"download\",\"oid\":\"" OID "0\",\"size\":1}\n",
		"{\"event\":\"download\",\"oid\":\"" OID "\",\"size\":-1}\n",
		"{\"event\":\"download\",\"oid\":\"" OID "\",\"size\":1.5}\n",
		"{\"event\":\"download\",\"oid\":\"" OID "\",\"size\":99999999999999999999}\n",
		"{\"event\":\"upload\",\"oid\":\"" OID "\",\"size\":1}\n",
		"{\"event\":\"upload\",\"oid\":\"" OID "\",\"size\":1,\"path\":7}\n",
	};
	static const char with_nul[] = "{\"event\":\"terminate\"}\0{}\n";
	struct agent_event event;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		read_string(bad[i], &event);
		if (event.kind != AGENT_DAMAGED || !*event.cause || strchr(event.cause, '\n'))
			fail_msg("taken for %d: %s", event.kind, bad[i]);
		agent_event_release(&event);
	}
	read_text(with_nul, sizeof(with_nul) - 1, &event);
	assert_int_equal(event.kind, AGENT_DAMAGED);
	agent_event_release(&event);
}

/* Fills a text that begins and ends as an event with n bytes between. */
static char *long_line(size_t n)
{
	static const char before[] = "{\"event\":\"terminate\",\"x\":\"";
	static const char behind[] = "\"}\n{\"event\":\"terminate\"}\n";
	char *text = malloc(n + sizeof(before) + sizeof(behind));

	assert_non_null(text);
	memcpy(text, before, sizeof(before) - 1);
	memset(text + sizeof(before) - 1, 'x', n);
	memcpy(text + sizeof(before) - 1 + n, behind, sizeof(behind));
	return text;
}

static void test_long_lines(void **state)
{
	struct agent_event event;
	char *text = long_line((size_t)5 << 20);
	FILE *in;

	(void)state;
	read_string(text, &event);
	assert_int_equal(event.kind, AGENT_TERMINATE);
	agent_event_release(&event);
	free(text);

	/* One that is too long is passed over as a whole. */
	text = long_line((size_t)40 << 20);
	in = fmemopen(text, strlen(text), "r");
	assert_non_null(in);
	agent_event_read(in, &event);
	assert_int_equal(event.kind, AGENT_DAMAGED);
	agent_event_release(&event);
	agent_event_read(in, &event);
	assert_int_equal(event.kind, AGENT_TERMINATE);
	agent_event_release(&event);
	fclose(in);
	free(text);
}

static void test_answers(void **state)
{
	static const char expected[] =
		"{}\n"
		"{\"error\":{\"code\":3,\"message\":\"no store there; make one\"}}\n"
		"{\"event\":\"progress\",\"oid\":\"" OID
		"\",\"bytesSoFar\":9007199254740993,\"bytesSinceLast\":1}\n"
		"{\"event\":\"complete\",\"oid\":\"" OID "\"}\n"
		"{\"event\":\"complete\",\"oid\":\"" OID "\",\"path\":\"/a \\\"b\\\"\"}\n"
		"{\"event\":\"complete\",\"oid\":\"" OID "\",\"error\":{\"code\":8,\"message\":"
		"\"file:///s: x: the bytes \\\\x0a differ\"}}\n";
	struct fault none = {.kind = FAULT_NO_STORE,
			     .cause = "no store there",
			     .remedy = "make "
				       "one"};
	struct fault bad = {.kind = FAULT_DAMAGED, .cause = "the bytes \n differ"};
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	(void)state;
	assert_non_null(out);
	assert_int_equal(agent_answer_init(out, NULL), 0);
	assert_int_equal(agent_answer_init(out, &none), 0);
	assert_int_equal(agent_answer_progress(out, OID, 9007199254740993, 1), 0);
	assert_int_equal(agent_answer_complete(out, OID, NULL), 0);
	assert_int_equal(agent_answer_complete(out, OID, "/a \"b\""), 0);
	assert_int_equal(agent_answer_error(out, OID, "file:///s: x", &bad), 0);
	fclose(out);
	assert_string_equal(text, expected);
	free(text);
}

static void test_reader_gone(void **state)
{
	FILE *out = fopen("/dev/full", "w");

	(void)state;
	assert_non_null(out);
	assert_int_equal(agent_answer_complete(out, OID, NULL), -1);
	fclose(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_session), cmocka_unit_test(test_nested),
		cmocka_unit_test(test_damaged), cmocka_unit_test(test_long_lines),
		cmocka_unit_test(test_answers), cmocka_unit_test(test_reader_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
