/* SPDX-License-Identifier: Apache-2.0 */
/* XML answers: elements come with their paths and texts, children first; what is no answer of a
 * server is refused, whatever somebody puts into it. */
#include "filter/remote/xml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "core/base/buffer.h"

/* Writes "path=text;" for each element. */
static int note(void *ctx, const char *path, const char *text)
{
	struct buffer *notes = ctx;

	buffer_append(notes, path, strlen(path));
	buffer_u8(notes, '=');
	buffer_append(notes, text, strlen(text));
	buffer_u8(notes, ';');
	return 0;
}

static void assert_reads(const char *document, const char *expected)
{
	struct buffer notes = BUFFER_INIT;
	struct fault fault = {0};

	assert_int_equal(xml_read(document, strlen(document), note, &notes, "listing", &fault), 0);
	buffer_u8(&notes, 0);
	assert_string_equal((char *)notes.data, expected);
	buffer_release(&notes);
}

static void assert_refused_of(const void *document, size_t len, const char *why)
{
	struct buffer notes = BUFFER_INIT;
	struct fault fault = {0};

	assert_int_equal(xml_read(document, len, note, &notes, "listing", &fault), -1);
	assert_int_equal(fault.kind, FAULT_UNSUPPORTED);
	assert_non_null(strstr(fault.cause, "listing: "));
	assert_non_null(strstr(fault.cause, why));
	buffer_release(&notes);
}

static void assert_refused(const char *document, const char *why)
{
	assert_refused_of(document, strlen(document), why);
}

static void elements(void **state)
{
	(void)state;
	assert_reads("<a/>", "a=;");
	assert_reads(
		"<?xml version=\"1.0\"?>\n<a x='1'>\n <b>one</b>\n <c><d>two</d>three</c>\n</a>\n",
		"a/b=one;a/c/d=two;a/c=three;a=;");
	/* Text on both sides of a child, entities, CDATA, comments. */
	assert_reads("<a> x<b>y</b>z&lt;&#233; <!-- no --><![CDATA[&]]> </a>",
		     "a/b=y;a=xz<\xc3\xa9 &;");
}

static void names_without_namespaces(void **state)
{
	(void)state;
	assert_reads("<D:m xmlns:D=\"DAV:\"><D:r><x:h xmlns:x=\"y\">1</x:h></D:r></D:m>",
		     "m/r/h=1;m/r=;m=;");
	assert_reads("<m xmlns=\"DAV:\"><r/></m>", "m/r=;m=;");
}

static void no_document(void **state)
{
	(void)state;
	assert_refused("", "no element");
	assert_refused("<a><b></a>", "mismatched");
	assert_refused("<a><b>x</b>", "no element");
	assert_refused("<html><p>Sign in<p></html>", "mismatched");
	assert_refused("no xml", "");
	assert_refused("<a>\xff\xfe</a>", "");
	assert_refused("<a/><a/>", "junk");
	assert_refused_of("<a>\0</a>", 8, "");
}

static void document_types(void **state)
{
	(void)state;
	assert_refused("<!DOCTYPE a [<!ENTITY e \"eeeeeeeee\"><!ENTITY f \"&e;&e;\">]><a>&f;</a>",
		       "document type");
	assert_refused("<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><a/>", "document type");
	assert_refused("<a>&undefined;</a>", "entity");
}

/* depth times <a>, and its ends. */
static char *nested(size_t depth, const char *name)
{
	size_t room = depth * (2 * strlen(name) + 5) + 1;
	char *text = malloc(room);
	size_t at = 0;

	assert_non_null(text);
	for (size_t i = 0; i < depth; i++)
		at += (size_t)snprintf(text + at, room - at, "<%s>", name);
	for (size_t i = 0; i < depth; i++)
		at += (size_t)snprintf(text + at, room - at, "</%s>", name);
	return text;
}

static int count(void *ctx, const char *path, const char *text)
{
	size_t *elements_seen = ctx;

	(void)path;
	(void)text;
	++*elements_seen;
	return 0;
}

static void deep_ones(void **state)
{
	static const char long_name[] = "an-element-with-a-rather-long-name";
	struct fault fault = {0};
	size_t seen = 0;
	char *text = nested(XML_DEPTH_MAX, "a");

	(void)state;
	assert_int_equal(xml_read(text, strlen(text), count, &seen, "listing", &fault), 0);
	assert_int_equal(seen, XML_DEPTH_MAX);
	free(text);
	text = nested(XML_DEPTH_MAX + 1, "a");
	assert_refused(text, "too deeply");
	free(text);
	text = nested(XML_DEPTH_MAX, long_name);
	assert_refused(text, "too deeply");
	free(text);
}

static void long_ones(void **state)
{
	struct buffer document = BUFFER_INIT;
	struct fault fault = {0};
	size_t seen = 0;
	size_t i;

	(void)state;
	/* A long document of short texts: more than expat is given at a time. */
	buffer_append(&document, "<a>", 3);
	for (i = 0; i < 300000; i++)
		buffer_append(&document, "<b>text</b>\n\t", 13);
	buffer_append(&document, "</a>", 4);
	assert_int_equal(xml_read(document.data, document.size, count, &seen, "listing", &fault),
			 0);
	assert_int_equal(seen, 300001);
	/* A long text, in many pieces of several elements. */
	buffer_clear(&document);
	buffer_append(&document, "<a>", 3);
	for (i = 0; i < XML_TEXT_MAX; i++)
		buffer_append(&document, "x<b/>", 5);
	buffer_append(&document, "x</a>", 5);
	assert_refused_of(document.data, document.size, "too long a text");
	buffer_release(&document);
}

static int stop_at(void *ctx, const char *path, const char *text)
{
	size_t *elements_seen = ctx;

	(void)text;
	++*elements_seen;
	return strcmp(path, "a/c") == 0;
}

static void stopping(void **state)
{
	static const char document[] = "<a><b/><c/><d/></a>";
	struct fault fault = {.kind = FAULT_DAMAGED};
	size_t seen = 0;

	(void)state;
	assert_int_equal(
		xml_read(document, sizeof(document) - 1, stop_at, &seen, "listing", &fault), -1);
	assert_int_equal(seen, 2);
	assert_int_equal(fault.kind, FAULT_DAMAGED);
}

/* Tokens that never end, among those that do. */
static void long_tokens(void **state)
{
	static const char *const begins[] = {"<a><!--", "<a><?b ", "<a b='", "<", "<a "};
	const size_t size = 8 << 20;
	char *text = malloc(size);
	size_t seen = 0;
	struct fault fault = {0};

	(void)state;
	assert_non_null(text);
	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++) {
		memset(text, 'a', size);
		memcpy(text, begins[i], strlen(begins[i]));
		assert_refused_of(text, size, "too long a tag");
	}
	/* Many that are short are none. */
	memset(text, ' ', size);
	memcpy(text, "<a>", 3);
	for (size_t at = 3; at + 16 < size; at += 16)
		memcpy(text + at, "<b c='d'/><?e?> ", 16);
	memcpy(text + size - 4, "</a>", 4);
	assert_int_equal(xml_read(text, size, count, &seen, "listing", &fault), 0);
	assert_int_equal(seen, (size - 3 - 16) / 16 + 2);
	free(text);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(elements),    cmocka_unit_test(names_without_namespaces),
		cmocka_unit_test(no_document), cmocka_unit_test(document_types),
		cmocka_unit_test(deep_ones),   cmocka_unit_test(long_ones),
		cmocka_unit_test(stopping),    cmocka_unit_test(long_tokens),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
