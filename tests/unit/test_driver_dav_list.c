/* SPDX-License-Identifier: Apache-2.0 */
/* What the WebDAV driver finds in a store: objects where they belong, temporaries, nothing else. */
#include "filter/remote/driver.h"
#include "tests/unit/dav_talk.h"

/* What may follow the first four digits of an oid. */
#define REST "123456789012345678901234567890123456789012345678901234567890"

#define HEAD_OF_LIST                                                                               \
	"HTTP/1.1 207 Multi-Status\r\nConnection: close\r\n\r\n"                                   \
	"<?xml version=\"1.0\"?><D:multistatus xmlns:D=\"DAV:\">"
#define COLLECTION(href)                                                                           \
	"<D:response><D:href>" href "</D:href><D:propstat><D:prop><D:resourcetype>"                \
	"<D:collection/></D:resourcetype><D:getcontentlength>4096</"                               \
	"D:getcontentlength><D:getlastmodified>Mon, 30 Nov 2026 12:00:00 GMT"                      \
	"</D:getlastmodified></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat>"           \
	"</D:response>\n"
#define MEMBER(href, size)                                                                         \
	"<D:response><D:href>" href "</D:href><D:propstat><D:prop><D:resourcetype/>"               \
	"<D:getcontentlength>" size "</D:getcontentlength><D:getlastmodified>"                     \
	"Thu, 01 Jan 1970 00:01:40 GMT</D:getlastmodified></D:prop><D:status>HTTP/1.1 200 OK"      \
	"</D:status></D:propstat></D:response>\n"
#define LIST(members)                                                                              \
	{                                                                                          \
		.text = HEAD_OF_LIST members "</D:multistatus>", .close = true                     \
	}

static int note(void *ctx, const struct store_entry *entry)
{
	char line[256];

	snprintf(line, sizeof(line), "%s %s %llu %lld;", entry->oid ? entry->oid : "-", entry->key,
		 (unsigned long long)entry->size, (long long)entry->modified);
	buffer_append(ctx, line, strlen(line));
	return 0;
}

static int stop(void *ctx, const struct store_entry *entry)
{
	(void)ctx;
	(void)entry;
	return 1;
}

static void listing(void **state)
{
	static const struct reply replies[] = {
		LIST(COLLECTION("/s/objects/") COLLECTION("/s/objects/ab/")
			     COLLECTION("/s/objects/zz/") MEMBER("/s/objects/cd", "1")),
		LIST(COLLECTION("/s/objects/ab/") COLLECTION("/s/objects/ab/cd")),
		/* The collection itself, an object, and what does not belong there: another's
		 * object, a collection of such a name, something without a size. */
		LIST(COLLECTION("http://h/s/objects/ab/cd/") MEMBER("/s/objects/ab/cd/" OID, "17")
			     MEMBER("/s/objects/ab/cd/readme.txt",
				    "5") MEMBER("/s/objects/ab/ce/" OID,
						"17") MEMBER("/s/objects/ab/cd/00cd" REST, "17")
				     MEMBER("/s/objects/ab/cd/ab00" REST, "17")
					     COLLECTION("/s/objects/ab/cd/abcd" REST "/")
						     MEMBER("/s/objects/ab/cd/abcd" REST, "")),
		LIST(COLLECTION("/s/tmp/") MEMBER("/s/tmp/" OID ".0123", "3")
			     MEMBER("/s/tmp/Strange%20Thing", "3") MEMBER("/s/tmp/..", "3")
				     COLLECTION("/s/tmp/ab")),
	};
	struct buffer notes = BUFFER_INIT;
	struct talk talk;

	(void)state;
	BEGIN(&talk, replies);
	assert_int_equal(driver_dav.list(talk.state, false, note, &notes, &talk.fault), 0);
	assert_int_equal(driver_dav.list(talk.state, true, note, &notes, &talk.fault), 0);
	hang_up(&talk);
	buffer_u8(&notes, 0);
	assert_string_equal((char *)notes.data, OID " " KEY " 17 100;- tmp/" OID ".0123 3 100;");
	assert_string_equal(talk.asked, "PROPFIND /s/objects/;PROPFIND /s/objects/ab/;"
					"PROPFIND /s/objects/ab/cd/;PROPFIND /s/tmp/;");
	assert_true(has_header(&talk.server.seen[0], "Depth", "1"));
	release(&talk);
	buffer_release(&notes);
}

static void listing_that_ends_early(void **state)
{
	static const struct reply replies[] = {
		NO(404),      LIST(MEMBER("/s/tmp/a", "3")),
		{.text = OK}, {.text = HEAD_OF_LIST "<D:response>", .close = true},
		NO(403),      NO(405),
	};
	static const enum fault_kind kinds[] = {FAULT_CANCELLED, FAULT_UNSUPPORTED,
						FAULT_UNSUPPORTED, FAULT_DENIED, FAULT_UNSUPPORTED};
	struct talk talk;

	(void)state;
	BEGIN(&talk, replies);
	assert_int_equal(driver_dav.list(talk.state, true, stop, NULL, &talk.fault), 0);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		assert_int_equal(driver_dav.list(talk.state, true, stop, NULL, &talk.fault), -1);
		assert_int_equal(talk.fault.kind, kinds[i]);
	}
	hang_up(&talk);
	release(&talk);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SANDBOX_TEST(listing),
		SANDBOX_TEST(listing_that_ends_early),
	};

	setenv("no_proxy", "*", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
