/* SPDX-License-Identifier: Apache-2.0 */
/* Where stores are: what each URL means, its canonical form, and what is refused. */
#include "filter/remote/location.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

struct good {
	const char *url;
	const char *text;
	enum location_scheme scheme;
	const char *user;
	const char *host;
	unsigned port;
	const char *bucket;
	const char *path;
};

static void assert_text(const char *found, const char *expected)
{
	if (!expected) {
		assert_null(found);
		return;
	}
	assert_non_null(found);
	assert_string_equal(found, expected);
}

static void assert_location(const struct good *good)
{
	struct location location;
	struct fault fault = {0};

	if (location_parse(good->url, "/base/tree", &location, &fault) != 0)
		fail_msg("%s: %s", good->url, fault.cause);
	assert_int_equal(location.scheme, good->scheme);
	assert_text(location.text, good->text);
	assert_text(location.user, good->user);
	assert_text(location.host, good->host);
	assert_text(location.bucket, good->bucket);
	assert_text(location.path, good->path);
	assert_int_equal(location.port, good->port);
	location_release(&location);
	assert_null(location.text);
}

static void assert_all(const struct good *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct good again = cases[i];

		assert_location(&cases[i]);
		/* The canonical form means the same. */
		again.url = again.text;
		assert_location(&again);
	}
}

#define ALL(CASES) assert_all(CASES, sizeof(CASES) / sizeof((CASES)[0]))

static void test_directories(void **state)
{
#define DIRECTORY(URL, TEXT, PATH)                                                                 \
	{                                                                                          \
		URL, TEXT, LOCATION_DIRECTORY, NULL, NULL, 0, NULL, PATH                           \
	}
	static const struct good cases[] = {
		DIRECTORY("/srv/store", "file:///srv/store", "/srv/store"),
		DIRECTORY("/srv//store/.//", "file:///srv/store", "/srv/store"),
		DIRECTORY("/", "file:///", "/"),
		DIRECTORY("/..", "file:///", "/"),
		DIRECTORY("brevis::/srv/store", "file:///srv/store", "/srv/store"),
		DIRECTORY("file:///srv/store/", "file:///srv/store", "/srv/store"),
		DIRECTORY("FILE://localhost/srv", "file:///srv", "/srv"),
		DIRECTORY("brevis::file:///a%20b/%c3%a9", "file:///a%20b/%C3%A9", "/a b/\xc3\xa9"),
		DIRECTORY("/a b/50%", "file:///a%20b/50%25", "/a b/50%"),
		DIRECTORY("/a?b#c", "file:///a%3Fb%23c", "/a?b#c"),
		DIRECTORY("store", "file:///base/tree/store", "/base/tree/store"),
		DIRECTORY("../store", "file:///base/store", "/base/store"),
		DIRECTORY("./a:b", "file:///base/tree/a%3Ab", "/base/tree/a:b"),
		DIRECTORY("a/b:c/../d", "file:///base/tree/a/d", "/base/tree/a/d"),
		DIRECTORY("..", "file:///base", "/base"),
		DIRECTORY("file:///srv/x/../y", "file:///srv/y", "/srv/y"),
		DIRECTORY("/x/.../..y", "file:///x/.../..y", "/x/.../..y"),
	};

	(void)state;
	ALL(cases);
}

static void test_sftp(void **state)
{
	static const struct good cases[] = {
		{"sftp://host/srv/store", "sftp://host/srv/store", LOCATION_SFTP, NULL, "host", 0,
		 NULL, "/srv/store"},
		{"brevis::SFTP://Me@Host.Example:2222/srv/", "sftp://Me@host.example:2222/srv",
		 LOCATION_SFTP, "Me", "host.example", 2222, NULL, "/srv"},
		{"sftp://host:22/~/a", "sftp://host/~/a", LOCATION_SFTP, NULL, "host", 0, NULL,
		 "~/a"},
		{"sftp://host/~", "sftp://host/~", LOCATION_SFTP, NULL, "host", 0, NULL, "~"},
		{"sftp://host/~me/a", "sftp://host/~me/a", LOCATION_SFTP, NULL, "host", 0, NULL,
		 "/~me/a"},
		{"sftp://host:/", "sftp://host/", LOCATION_SFTP, NULL, "host", 0, NULL, "/"},
		{"sftp://me%40work@[2001:db8::1]:22022/a%2Bb",
		 "sftp://me%40work@[2001:db8::1]:22022/a%2Bb", LOCATION_SFTP, "me@work",
		 "2001:db8::1", 22022, NULL, "/a+b"},
		{"sftp://[::1]/a", "sftp://[::1]/a", LOCATION_SFTP, NULL, "::1", 0, NULL, "/a"},
		{"sftp://@host/a", "sftp://host/a", LOCATION_SFTP, NULL, "host", 0, NULL, "/a"},
	};

	(void)state;
	ALL(cases);
}

static void test_dav(void **state)
{
	static const struct good cases[] = {
		{"dav+http://host", "dav+http://host/", LOCATION_DAV, NULL, "host", 0, NULL, "/"},
		{"dav+http://host:8080/a/b/", "dav+http://host:8080/a/b", LOCATION_DAV, NULL,
		 "host", 8080, NULL, "/a/b"},
		{"dav+https://me@host:443/a%20b", "dav+https://me@host/a%20b", LOCATION_DAV, "me",
		 "host", 0, NULL, "/a b"},
		{"dav+https://host:80/~/a", "dav+https://host:80/~/a", LOCATION_DAV, NULL, "host",
		 80, NULL, "/~/a"},
	};
	struct location location;
	struct fault fault = {0};

	(void)state;
	ALL(cases);
	assert_int_equal(location_parse("dav+https://h/", NULL, &location, &fault), 0);
	assert_true(location.tls);
	location_release(&location);
	assert_int_equal(location_parse("dav+http://h/", NULL, &location, &fault), 0);
	assert_false(location.tls);
	location_release(&location);
}

static void test_s3(void **state)
{
	static const struct good cases[] = {
		{"s3://bucket", "s3://bucket", LOCATION_S3, NULL, NULL, 0, "bucket", ""},
		{"s3://bucket/", "s3://bucket", LOCATION_S3, NULL, NULL, 0, "bucket", ""},
		{"brevis::s3://my-bucket.of_mine/a//b/", "s3://my-bucket.of_mine/a/b", LOCATION_S3,
		 NULL, NULL, 0, "my-bucket.of_mine", "a/b"},
		{"s3://b/a%20b/c", "s3://b/a%20b/c", LOCATION_S3, NULL, NULL, 0, "b", "a b/c"},
		{"s3://b/a%3Fb?region=eu-1", "s3://b/a%3Fb", LOCATION_S3, NULL, NULL, 0, "b",
		 "a?b"},
		{"s3://b?endpoint=https%3a%2f%2fHost", "s3://b?endpoint=https://host", LOCATION_S3,
		 NULL, NULL, 0, "b", ""},
		{"s3://b/p?addressing=path&endpoint=http://localhost:80/a/",
		 "s3://b/p?endpoint=http://localhost:80/a", LOCATION_S3, NULL, NULL, 0, "b", "p"},
	};

	(void)state;
	ALL(cases);
}

static void test_s3_query(void **state)
{
	static const char whole[] =
		"s3://b/a%20b?endpoint=https://host:9000&region=eu-1&addressing=virtual";
	struct location location;
	struct fault fault = {0};
	char *url;

	(void)state;
	assert_int_equal(location_parse("brevis::s3://b//a%20b/?addressing=virtual&region=eu-1&"
					"endpoint=HTTPS://Host:9000//",
					NULL, &location, &fault),
			 0);
	assert_string_equal(location.s3_endpoint, "https://host:9000");
	assert_string_equal(location.s3_region, "eu-1");
	assert_string_equal(location.s3_addressing, "virtual");
	assert_string_equal(location.text, "s3://b/a%20b?endpoint=https://host:9000");
	url = location_url(&location);
	assert_string_equal(url, whole);
	location_release(&location);
	free(url);

	assert_int_equal(location_parse(whole, NULL, &location, &fault), 0);
	url = location_url(&location);
	assert_string_equal(url, whole);
	location_release(&location);
	free(url);

	assert_int_equal(location_parse("s3://b?region=eu-1", NULL, &location, &fault), 0);
	assert_null(location.s3_endpoint);
	assert_null(location.s3_addressing);
	url = location_url(&location);
	assert_string_equal(url, "s3://b?region=eu-1");
	location_release(&location);
	free(url);

	assert_int_equal(location_parse("dav+https://h/a", NULL, &location, &fault), 0);
	url = location_url(&location);
	assert_string_equal(url, "dav+https://h/a");
	location_release(&location);
	free(url);
}

static void assert_refused(const char *url, enum fault_kind kind, const char *why)
{
	struct location location;
	struct fault fault = {0};

	if (location_parse(url, NULL, &location, &fault) == 0)
		fail_msg("%s was taken as %s", url, location.text);
	assert_int_equal(fault.kind, kind);
	if (!strstr(fault.cause, why))
		fail_msg("%s: %s", url, fault.cause);
	assert_null(location.text);
	assert_null(location.path);
	assert_null(location.host);
}

/* The reason alone does not tell what to do. */
static void assert_user_refused(const char *url)
{
	struct location location;
	struct fault fault = {0};

	assert_refused(url, FAULT_LOCAL, "shell");
	location_parse(url, NULL, &location, &fault);
	assert_non_null(strstr(fault.remedy, "account"));
}

/* What is said in clear goes no further than this machine. */
static void test_s3_endpoints(void **state)
{
	static const char *const good[] = {
		"https://s3.example.org",  "https://10.0.0.1:9000/door",
		"https://[2001:db8::1]:1", "http://localhost",
		"http://LOCALHOST:9000",   "http://127.0.0.1",
		"http://127.3.2.1:80/a",   "http://[::1]",
		"http://[::1]:9000",
	};
	static const struct {
		const char *endpoint;
		const char *why;
	} bad[] = {
		{"http://s3.example.org", "TLS"},
		{"http://10.0.0.1", "TLS"},
		{"http://[2001:db8::1]", "TLS"},
		{"http://localhost.example.org", "TLS"},
		{"http://127.0.0.1.example.org", "TLS"},
		{"http://128.0.0.1", "TLS"},
		{"HTTP://host", "TLS"},
		{"", "no URL of a server"},
		{"host", "no URL of a server"},
		{"ftp://host", "no URL of a server"},
		{"https://", "no URL of a server"},
		{"https:///a", "no URL of a server"},
		{"https://-h", "no URL of a server"},
		{"https://ho st", "no URL of a server"},
		{"https://h\\x", "no URL of a server"},
		{"https://h:", "no URL of a server"},
		{"https://h:0", "no URL of a server"},
		{"https://h:65536", "no URL of a server"},
		{"https://h:1x", "no URL of a server"},
		{"https://[::1", "no URL of a server"},
		{"https://[::1]x", "no URL of a server"},
		{"https://[h]", "no URL of a server"},
		{"https://me:hunter2@host", "no URL of a server"},
		{"http://127.0.0.1@host", "no URL of a server"},
		{"https://host?sig=hunter2", "no URL of a server"},
		{"https://host%23a", "no URL of a server"},
		{"https://host%0aX: y", "no URL of a server"},
	};
	struct fault fault = {0};
	char url[128];

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct location location;

		snprintf(url, sizeof(url), "s3://b?endpoint=%s", good[i]);
		if (location_parse(url, NULL, &location, &fault) != 0)
			fail_msg("%s: %s", url, fault.cause);
		location_release(&location);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(url, sizeof(url), "s3://b?endpoint=%s", bad[i].endpoint);
		assert_refused(url, FAULT_LOCAL, bad[i].why);
	}
}

static void test_refused(void **state)
{
	static const struct {
		const char *url;
		enum fault_kind kind;
		const char *why;
	} cases[] = {
		{"", FAULT_LOCAL, "empty"},
		{"brevis::", FAULT_LOCAL, "empty"},
		{"store", FAULT_LOCAL, "relative"},
		{"host:path", FAULT_LOCAL, "a host or a directory"},
		{"me@host:path/x", FAULT_LOCAL, "a host or a directory"},
		{"ftp://host/a", FAULT_UNSUPPORTED, "scheme"},
		{"https://host/a", FAULT_UNSUPPORTED, "unknown kind"},
		{"brevis::brevis::/a", FAULT_LOCAL, "a host or a directory"},
		{"/a\nb", FAULT_LOCAL, "control"},
		{"file:///a%0ab", FAULT_LOCAL, "'%'"},
		{"file:///a%7f", FAULT_LOCAL, "'%'"},
		{"file:///a%00b", FAULT_LOCAL, "'%'"},
		{"file:///a%2fb", FAULT_LOCAL, "'%'"},
		{"file:///a%4", FAULT_LOCAL, "'%'"},
		{"file:///a%", FAULT_LOCAL, "'%'"},
		{"file:///a%g1", FAULT_LOCAL, "'%'"},
		{"file://other/a", FAULT_LOCAL, "another machine"},
		{"file://", FAULT_LOCAL, "no path"},
		{"file:///a?b", FAULT_LOCAL, "query"},
		{"sftp://host", FAULT_LOCAL, "no path"},
		{"sftp:///a", FAULT_LOCAL, "no host"},
		{"sftp://-oProxy/a", FAULT_LOCAL, "no host"},
		{"sftp://ho st/a", FAULT_LOCAL, "no host"},
		{"sftp://host:0/a", FAULT_LOCAL, "port"},
		{"sftp://host:65536/a", FAULT_LOCAL, "port"},
		{"sftp://host:2x/a", FAULT_LOCAL, "port"},
		{"sftp://host:000022/a", FAULT_LOCAL, "port"},
		{"sftp://[::1/a", FAULT_LOCAL, "bracket"},
		{"sftp://[::1]x/a", FAULT_LOCAL, "bracket"},
		{"sftp://[1.2.3.4]/a", FAULT_LOCAL, "IPv6"},
		{"sftp://host/a/../b", FAULT_LOCAL, "'..'"},
		{"sftp://host/%2e%2e/b", FAULT_LOCAL, "'..'"},
		{"sftp://host/~/../b", FAULT_LOCAL, "'..'"},
		{"dav+http://host/a?b=c", FAULT_LOCAL, "query"},
		{"dav+http://host/a#b", FAULT_LOCAL, "fragment"},
		{"s3://bucket/a/../b", FAULT_LOCAL, "'..'"},
		{"s3://bucket/a%01", FAULT_LOCAL, "'%'"},
		{"s3:///a", FAULT_LOCAL, "bucket"},
		{"s3://..", FAULT_LOCAL, "bucket"},
		{"s3://host:8080/bucket", FAULT_LOCAL, "bucket"},
		{"s3://b/p#f", FAULT_LOCAL, "fragment"},
		{"s3://b?region=r#f", FAULT_LOCAL, "fragment"},
		{"s3://b?", FAULT_LOCAL, "not known"},
		{"s3://b?region", FAULT_LOCAL, "not known"},
		{"s3://b?Region=r", FAULT_LOCAL, "not known"},
		{"s3://b?region=r&", FAULT_LOCAL, "not known"},
		{"s3://b?region=r&profile=x", FAULT_LOCAL, "not known"},
		{"s3://b?region=%4", FAULT_LOCAL, "not known"},
		{"s3://b?region=%00", FAULT_LOCAL, "not known"},
		{"s3://b?region=r&region=r", FAULT_LOCAL, "twice"},
		{"s3://b?region=", FAULT_LOCAL, "region"},
		{"s3://b?region=eu/1", FAULT_LOCAL, "region"},
		{"s3://b?region=eu%0a1", FAULT_LOCAL, "region"},
		{"s3://b?addressing=sideways", FAULT_LOCAL, "addressing"},
		{"sftp://host/a?endpoint=https://h", FAULT_LOCAL, "query"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_refused(cases[i].url, cases[i].kind, cases[i].why);
}

/* None is taken, and what may be a secret is in no message. */
static void test_secrets(void **state)
{
	static const char *const urls[] = {
		"sftp://me:hunter2@host/a",
		"sftp://me%3Ahunter2@host/a",
		"dav+https://me:hunter2@host/a",
		"dav+https://me:hunter2@ho st/a",
		"sftp://me:hun/hunter2@host/a",
		"sftp://:hunter2@host/a",
		"s3://AKIA:hunter2@bucket/a",
		"s3://AKIA:x/hunter2@bucket/a",
		"https://me:hunter2@host/a",
		"ftp://me:hunter2@host/a",
		"me:hunter2@host/a",
		"sftp://me:x@hunter2@host:port/a",
		"dav+https://host/a?sig=hunter2",
		"brevis::sftp://me:hunter2@host/a",
		"sftp://me:hunter2\t@host/a",
		"s3://bucket?endpoint=https://me:hunter2@host",
		"s3://bucket?endpoint=https://me%3Ahunter2%40host",
		"s3://bucket?endpoint=https://host/%3Fsig=hunter2",
		"s3://bucket?region=hunter2/",
		"s3://bucket?addressing=hunter2",
		"s3://bucket?X-Amz-Signature=hunter2",
		"s3://bucket?hunter2",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
		struct location location;
		struct fault fault = {0};

		if (location_parse(urls[i], "/base", &location, &fault) == 0)
			fail_msg("%s was taken as %s", urls[i], location.text);
		if (strstr(fault.cause, "hunter2") || strstr(fault.remedy, "hunter2"))
			fail_msg("%s: %s", urls[i], fault.cause);
	}
	assert_refused("sftp://me:x@host/a", FAULT_LOCAL, "password");
	assert_user_refused("sftp://-oProxyCommand=x@host/a");
	assert_user_refused("sftp://%2DF@host/a");
	assert_user_refused("sftp://a;x@host/a");
	assert_user_refused("sftp://$(x)@host/a");
	assert_user_refused("sftp://a%20b@host/a");
	assert_user_refused("sftp://a%60b@host/a");
	assert_refused("sftp://me:@host/a", FAULT_LOCAL, "password");
	assert_refused("s3://a:b@bucket", FAULT_LOCAL, "keys");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_directories), cmocka_unit_test(test_sftp),
		cmocka_unit_test(test_dav),         cmocka_unit_test(test_s3),
		cmocka_unit_test(test_s3_query),    cmocka_unit_test(test_s3_endpoints),
		cmocka_unit_test(test_refused),     cmocka_unit_test(test_secrets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
