/* SPDX-License-Identifier: Apache-2.0 */
/* What an S3 store is asked by, and what its failures mean, without one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "filter/remote/driver_s3.h"

static void assert_query(const struct s3_parameter *parameters, const char *expected)
{
	struct buffer out = BUFFER_INIT;

	s3_query(&out, parameters);
	buffer_u8(&out, 0);
	assert_string_equal((char *)out.data, expected);
	buffer_release(&out);
}

static void test_query(void **state)
{
	static const struct s3_parameter none[S3_PARAMETERS_MAX + 1] = {{NULL, NULL}};
	static const struct s3_parameter flag[S3_PARAMETERS_MAX + 1] = {{"uploads", ""}};
	static const struct s3_parameter part[S3_PARAMETERS_MAX + 1] = {{"uploadId", "a/b+c=~d e"},
									{"partNumber", "10"}};
	/* By bytes, not by letters: upper case comes first. */
	static const struct s3_parameter full[S3_PARAMETERS_MAX + 1] = {
		{"b", "1"}, {"a-b", "\xc3\xa9"}, {"a", "3"}, {"Z", "4"}, {"ab", "5"}};

	(void)state;
	assert_query(none, "");
	assert_query(flag, "uploads=");
	assert_query(part, "partNumber=10&uploadId=a%2Fb%2Bc%3D~d%20e");
	assert_query(full, "Z=4&a=3&a-b=%C3%A9&ab=5&b=1");
}

static void test_bucket_url(void **state)
{
	static const struct {
		const char *endpoint, *bucket;
		bool path_style;
		const char *expected;
	} cases[] = {
		{"http://127.0.0.1:8080", "models", true, "http://127.0.0.1:8080/models"},
		{"https://s3.eu-west-1.amazonaws.com", "models", false,
		 "https://models.s3.eu-west-1.amazonaws.com"},
		{"http://localhost:80", "a.b-1", false, "http://a.b-1.localhost:80"},
		/* What a certificate, or a host's name, cannot be for. */
		{"https://example.org", "a.b-1", false, "https://example.org/a.b-1"},
		{"http://example.org", "Models_1", false, "http://example.org/Models_1"},
		{"http://example.org", "-a", false, "http://example.org/-a"},
		{"http://example.org", "a-", false, "http://example.org/a-"},
		{"http://example.org/base", "m", true, "http://example.org/base/m"},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *url = s3_bucket_url(cases[i].endpoint, cases[i].bucket, cases[i].path_style);

		assert_string_equal(url, cases[i].expected);
		free(url);
	}
}

static bool read_error(const char *body, struct s3_error *out)
{
	return s3_error_read(body, strlen(body), out);
}

static void test_error_bodies(void **state)
{
	static const char *const none[] = {
		"",
		"<html><body>403 Forbidden</body></html>",
		"<Error><Message>no code</Message></Error>",
		"<Error><Code>Cut</Code>",
		("<CompleteMultipartUploadResult><Error><Code>Inner</Code></Error>"
		 "</CompleteMultipartUploadResult>"),
	};
	struct s3_error error;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(none) / sizeof(*none); i++) {
		assert_false(read_error(none[i], &error));
		assert_string_equal(error.code, "");
		assert_string_equal(error.message, "");
	}
	/* White space keeps connections awake while an upload is completed. */
	assert_true(read_error("<?xml version=\"1.0\"?>\n\n   \n<Error "
			       "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
			       "<Code>PermanentRedirect</Code><Message>Go &lt;there&gt;.</Message>"
			       "<Region>eu-west-1</Region><Resource>/x</Resource></Error>",
			       &error));
	assert_string_equal(error.code, "PermanentRedirect");
	assert_string_equal(error.message, "Go <there>");
	assert_string_equal(error.region, "eu-west-1");
}

static void test_faults(void **state)
{
	static const struct {
		const char *code;
		long status;
		enum fault_kind kind;
	} cases[] = {
		{"NoSuchBucket", 404, FAULT_NO_STORE},
		{"NoSuchKey", 404, FAULT_ABSENT},
		{"AccessDenied", 403, FAULT_DENIED},
		{"InvalidAccessKeyId", 403, FAULT_DENIED},
		{"SignatureDoesNotMatch", 403, FAULT_DENIED},
		{"ExpiredToken", 400, FAULT_DENIED},
		{"RequestTimeTooSkewed", 403, FAULT_LOCAL},
		{"PermanentRedirect", 301, FAULT_LOCAL},
		{"SlowDown", 503, FAULT_TRANSIENT},
		{"RequestTimeout", 400, FAULT_TRANSIENT},
		{"BadDigest", 400, FAULT_TRANSIENT},
		{"QuotaExceeded", 403, FAULT_NO_SPACE},
		{"EntityTooLarge", 400, FAULT_NO_SPACE},
		{"InvalidRange", 416, FAULT_DAMAGED},
		{"NotImplemented", 501, FAULT_UNSUPPORTED},
		/* By the status what has no name that we know, or none at all. */
		{"SomethingNew", 403, FAULT_DENIED},
		{"SomethingNew", 503, FAULT_TRANSIENT},
		{"SomethingNew", 400, FAULT_LOCAL},
		{"", 404, FAULT_ABSENT},
		{"", 500, FAULT_TRANSIENT},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct s3_error error = {.message = "what it says"};
		struct http_response response = {.status = cases[i].status, .retry_after_ms = 7000};
		struct fault fault = {0};

		strcpy(error.code, cases[i].code);
		assert_int_equal(
			s3_error_fault(&error, &response, "b at http://e", "PUT of k", &fault), -1);
		assert_int_equal(fault.kind, cases[i].kind);
		assert_int_equal(fault.retry_after_ms, fault.kind == FAULT_TRANSIENT ? 7000 : 0);
		if (fault.kind == FAULT_NO_STORE) {
			assert_string_equal(fault.cause, "no bucket b at http://e");
			continue;
		}
		assert_non_null(strstr(fault.cause, "PUT of k: "));
		if (*error.code) {
			assert_non_null(strstr(fault.cause, error.code));
			assert_non_null(strstr(fault.cause, "what it says"));
		}
		if (fault.kind == FAULT_DENIED || fault.kind == FAULT_NO_SPACE)
			assert_true(*fault.remedy);
	}
}

static void test_region(void **state)
{
	const struct s3_error error = {"AuthorizationHeaderMalformed", "the region is wrong",
				       "eu-west-1"};
	const struct http_response response = {.status = 400};
	struct fault fault = {0};

	(void)state;
	s3_error_fault(&error, &response, "", "GET of k", &fault);
	assert_string_equal(fault.cause, "GET of k: AuthorizationHeaderMalformed: the region is "
					 "wrong; the bucket's region is eu-west-1");
	assert_non_null(strstr(fault.remedy, "brevis.s3.region"));
}

/* Without keys a store is opened like any other, but what is asked of it fails. */
static void test_no_keys(void **state)
{
	const struct location location = {
		.scheme = LOCATION_S3, .bucket = (char *)"b", .path = (char *)""};
	const struct store_settings settings = {.s3_endpoint = (char *)"http://127.0.0.1:1",
						.s3_region = (char *)"us-east-1"};
	struct fault fault = {0};
	uint64_t size;
	void *driver;

	(void)state;
	setenv("AWS_ACCESS_KEY_ID", "K", 1);
	setenv("AWS_SECRET_ACCESS_KEY", "", 1);
	assert_int_equal(driver_s3.open(&location, &settings, &driver, &fault), 0);
	assert_int_equal(driver_s3.size(driver, "k", &size, &fault), -1);
	assert_int_equal(fault.kind, FAULT_DENIED);
	assert_non_null(strstr(fault.cause, "AWS_SECRET_ACCESS_KEY"));
	fault = (struct fault){0};
	assert_int_equal(driver_s3.create(driver, &fault), -1);
	assert_int_equal(fault.kind, FAULT_DENIED);
	driver_s3.close(driver);
	driver_s3.close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_query),        cmocka_unit_test(test_bucket_url),
		cmocka_unit_test(test_error_bodies), cmocka_unit_test(test_faults),
		cmocka_unit_test(test_region),       cmocka_unit_test(test_no_keys),
	};

	return cmocka_run_group_tests_name("s3 requests", tests, NULL, NULL);
}
