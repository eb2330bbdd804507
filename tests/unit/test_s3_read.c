/* SPDX-License-Identifier: Apache-2.0 */
/* Asking S3 for what is there, and what servers may say to it that no real one does on demand. */
#include "tests/unit/s3_fixture.h"

#include "filter/remote/driver_s3.h"

/* ---- reading --------------------------------------------------------------------------------- */

static void test_size(void **state)
{
	static const struct reply replies[] = {
		SAYS(OK_HEAD(12)),
		SAYS(NOT_FOUND),
		SAYS(NOT_FOUND),
		ERROR("404 Not Found", "NoSuchBucket"),
		SAYS("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"),
		ERROR("403 Forbidden", "SignatureDoesNotMatch"),
		SAYS("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"),
		BODY("502 Bad Gateway", "<html>busy</html>")};
	struct fixture f;
	uint64_t size = 0;

	(void)state;
	BEGIN(&f, replies);
	assert_int_equal(driver_s3.size(f.driver, KEY, &size, &f.fault), 0);
	assert_int_equal(size, 12);
	/* That it is not there is all there is to say. */
	assert_int_equal(driver_s3.size(f.driver, KEY, &size, &f.fault), -1);
	assert_int_equal(f.fault.kind, FAULT_ABSENT);
	assert_int_equal(driver_s3.size(f.driver, STORE_DESCRIPTION, &size, &f.fault), -1);
	assert_int_equal(f.fault.kind, FAULT_NO_STORE);
	assert_int_equal(driver_s3.size(f.driver, KEY, &size, &f.fault), -1);
	assert_int_equal(f.fault.kind, FAULT_DENIED);
	assert_non_null(strstr(f.fault.remedy, "AWS_SECRET_ACCESS_KEY"));
	/* What cannot be explained stays as it is. */
	assert_int_equal(driver_s3.size(f.driver, KEY, &size, &f.fault), -1);
	assert_int_equal(f.fault.kind, FAULT_DENIED);
	end(&f);
	done(&f);
}

static int collect(void *ctx, const void *data, size_t len)
{
	buffer_append(ctx, data, len);
	return 0;
}

static void test_read(void **state)
{
	static const struct reply replies[] = {
		SAYS("HTTP/1.1 206 Part\r\nContent-Range: bytes 3-6/9\r\n"
		     "Content-Length: 4\r\n\r\ndefg"),
		SAYS("HTTP/1.1 206 Part\r\nContent-Range: bytes 3-4/5\r\n"
		     "Content-Length: 2\r\n\r\nde"),
		ERROR("404 Not Found", "NoSuchKey"),
		ERROR("416 Range", "InvalidRange"),
	};
	struct buffer got = BUFFER_INIT;
	struct fixture f;

	(void)state;
	BEGIN(&f, replies);
	assert_int_equal(driver_s3.read(f.driver, KEY, 3, 4, collect, &got, &f.fault), 0);
	assert_int_equal(got.size, 4);
	assert_memory_equal(got.data, "defg", 4);
	assert_int_equal(driver_s3.read(f.driver, KEY, 3, 0, collect, &got, &f.fault), 0);
	assert_int_equal(driver_s3.read(f.driver, KEY, 3, 4, collect, &got, &f.fault), -1);
	assert_int_equal(f.fault.kind, FAULT_DAMAGED);
	assert_int_equal(driver_s3.read(f.driver, KEY, 3, 4, collect, &got, &f.fault), -1);
	assert_int_equal(f.fault.kind, FAULT_ABSENT);
	assert_int_equal(driver_s3.read(f.driver, KEY, 3, 4, collect, &got, &f.fault), -1);
	assert_int_equal(f.fault.kind, FAULT_DAMAGED);
	end(&f);
	buffer_release(&got);
	done(&f);
}

static void test_create(void **state)
{
	static const struct reply replies[] = {
		SAYS(OK_HEAD(0)), SAYS(NOT_FOUND),
		SAYS("HTTP/1.1 301 Moved\r\nContent-Length: 0\r\n\r\n"),
		BODY("301 Moved", "<Error><Code>PermanentRedirect</Code><Message>Ask there."
				  "</Message><Region>there-2</Region></Error>")};
	struct fixture f;

	(void)state;
	BEGIN(&f, replies);
	assert_int_equal(driver_s3.create(f.driver, &f.fault), 0);
	assert_int_equal(driver_s3.create(f.driver, &f.fault), -1);
	assert_int_equal(f.fault.kind, FAULT_NO_STORE);
	assert_non_null(strstr(f.fault.cause, "no bucket bucket at http://127.0.0.1:"));
	assert_int_equal(driver_s3.create(f.driver, &f.fault), -1);
	assert_non_null(strstr(f.fault.cause, "the bucket's region is there-2"));
	end(&f);
	ASKED(&f, 0, "HEAD /bucket/ ");
	ASKED(&f, 3, "GET /bucket/?list-type=2&max-keys=1 ");
	done(&f);
}

/* ---- listing --------------------------------------------------------------------------------- */

#define CONTENTS(key)                                                                              \
	"<Contents><Key>" key "</Key><LastModified>2024-05-01T12:00:00.000Z</LastModified>"        \
	"<Size>5</Size></Contents>"

struct listed {
	size_t count;
	size_t stop_at;
	char last[256];
};

static int note_entry(void *ctx, const struct store_entry *entry)
{
	struct listed *listed = ctx;

	snprintf(listed->last, sizeof(listed->last), "%s %s %d %d", entry->oid ? entry->oid : "-",
		 entry->key, (int)entry->size, (int)entry->modified);
	return ++listed->count == listed->stop_at;
}

static void test_list(void **state)
{
	static const struct reply replies[] = {
		BODY("200 OK",
		     "<ListBucketResult>" CONTENTS("pre fix/" KEY) CONTENTS(
			     "pre fix/objects/aa/README") "<IsTruncated>true"
							  "</IsTruncated><NextContinuationToken>a/"
							  "b=</NextContinuationToken>"
							  "</ListBucketResult>"),
		BODY("200 OK", "<ListBucketResult>" CONTENTS("pre fix/objects/bb/00/" OID_B)
				       CONTENTS("elsewhere/" KEY) "</ListBucketResult>"),
		BODY("200 OK", "<ListBucketResult>" CONTENTS("pre fix/" KEY)
				       CONTENTS("pre fix/" KEY) "</ListBucketResult>"),
		BODY("200 OK", "<ListBucketResult>"), ERROR("404 Not Found", "NoSuchBucket")};
	struct listed listed = {0};
	struct fixture f;

	(void)state;
	BEGIN(&f, replies);
	assert_int_equal(driver_s3.list(f.driver, false, note_entry, &listed, &f.fault), 0);
	assert_int_equal(listed.count, 2);
	assert_string_equal(listed.last, OID_B " objects/bb/00/" OID_B " 5 1714564800");
	listed = (struct listed){.stop_at = 1};
	assert_int_equal(driver_s3.list(f.driver, false, note_entry, &listed, &f.fault), -1);
	assert_int_equal(f.fault.kind, FAULT_CANCELLED);
	assert_int_equal(listed.count, 1);
	assert_int_equal(driver_s3.list(f.driver, false, note_entry, &listed, &f.fault), -1);
	assert_int_equal(f.fault.kind, FAULT_UNSUPPORTED);
	assert_int_equal(driver_s3.list(f.driver, false, note_entry, &listed, &f.fault), -1);
	assert_int_equal(f.fault.kind, FAULT_NO_STORE);
	end(&f);
	ASKED(&f, 0, "GET /bucket/?list-type=2&prefix=pre%20fix%2Fobjects%2F ");
	ASKED(&f, 1,
	      "GET "
	      "/bucket/?continuation-token=a%2Fb%3D&list-type=2&prefix=pre%20fix%2Fobjects%2F ");
	done(&f);
}

/* A list that goes on nowhere, or for ever, is none: what it lacks would pass for removed. */
static void test_list_without_end(void **state)
{
	static const struct reply replies[] = {
		BODY("200 OK",
		     "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>"),
		BODY("200 OK", "<ListBucketResult><IsTruncated>true</IsTruncated>"
			       "<NextContinuationToken>a</NextContinuationToken>"
			       "</ListBucketResult>"),
		BODY("200 OK", "<ListBucketResult><IsTruncated>true</IsTruncated>"
			       "<NextContinuationToken>a</NextContinuationToken>"
			       "</ListBucketResult>")};
	struct listed listed = {0};
	struct fixture f;

	(void)state;
	BEGIN(&f, replies);
	for (int i = 0; i < 2; i++) {
		f.fault = (struct fault){0};
		assert_int_equal(driver_s3.list(f.driver, false, note_entry, &listed, &f.fault),
				 -1);
		assert_int_equal(f.fault.kind, FAULT_UNSUPPORTED);
	}
	end(&f);
	done(&f);
}

static int remove_entry(void *ctx, const struct store_entry *entry)
{
	struct fixture *f = ctx;

	return driver_s3.remove(f->driver, entry, &f->fault);
}

#define UPLOAD(key, id)                                                                            \
	"<Upload><Key>" key "</Key><UploadId>" id                                                  \
	"</UploadId><Initiated>2024-05-01T12:00:00.000Z</Initiated></Upload>"

#define UPLOADS(inner)                                                                             \
	BODY("200 OK", "<ListMultipartUploadsResult>" inner "</ListMultipartUploadsResult>")
#define PARTS(inner) BODY("200 OK", "<ListPartsResult>" inner "</ListPartsResult>")

/* They are as large as their parts. One that has ended meanwhile is not told of. */
static void test_incomplete_uploads(void **state)
{
	static const struct reply replies[] = {
		UPLOADS(UPLOAD("pre fix/" KEY, "i#/1") UPLOAD("pre fix/" KEY, "i2") UPLOAD(
			"pre fix/elsewhere", "i3") "<NextKeyMarker>k m</NextKeyMarker>"
						   "<NextUploadIdMarker>i2</NextUploadIdMarker>"
						   "<IsTruncated>true</IsTruncated>"),
		PARTS("<Part><PartNumber>1</PartNumber><Size>5</Size></Part>"
		      "<Part><PartNumber>2</PartNumber><Size>7</Size></Part>"),
		ERROR("404 Not Found", "NoSuchUpload"),
		UPLOADS(""),
		UPLOADS(UPLOAD("pre fix/" KEY, "i#/1")),
		PARTS(""),
		SAYS("HTTP/1.1 204 Gone\r\n\r\n"),
		UPLOADS(UPLOAD("pre fix/" KEY, "i1")),
		ERROR("403 No", "AccessDenied")};
	struct listed listed = {0};
	struct fixture f;

	(void)state;
	BEGIN(&f, replies);
	assert_int_equal(driver_s3.list(f.driver, true, note_entry, &listed, &f.fault), 0);
	assert_int_equal(listed.count, 1);
	assert_string_equal(listed.last, "- " KEY "#i#/1 12 1714564800");
	assert_int_equal(driver_s3.list(f.driver, true, remove_entry, &f, &f.fault), 0);
	assert_int_equal(driver_s3.list(f.driver, true, note_entry, &listed, &f.fault), -1);
	assert_int_equal(f.fault.kind, FAULT_DENIED);
	assert_int_equal(listed.count, 1);
	end(&f);
	ASKED(&f, 0, "GET /bucket/?prefix=pre%20fix%2Fobjects%2F&uploads= ");
	ASKED(&f, 2, "GET " URL_KEY "?uploadId=i2 ");
	ASKED(&f, 3,
	      "GET /bucket/?key-marker=k%20m&prefix=pre%20fix%2Fobjects%2F&upload-id-marker=i2"
	      "&uploads= ");
	ASKED(&f, 6, "DELETE " URL_KEY "?uploadId=i%23%2F1 ");
	done(&f);
}

static void test_remove(void **state)
{
	static const struct reply replies[] = {SAYS("HTTP/1.1 204 Gone\r\n\r\n"), SAYS(NOT_FOUND),
					       ERROR("403 No", "AccessDenied")};
	const struct store_entry entry = {.oid = OID_A, .key = KEY};
	struct fixture f;

	(void)state;
	BEGIN(&f, replies);
	assert_int_equal(driver_s3.remove(f.driver, &entry, &f.fault), 0);
	assert_int_equal(driver_s3.remove(f.driver, &entry, &f.fault), 0);
	assert_int_equal(driver_s3.remove(f.driver, &entry, &f.fault), -1);
	assert_int_equal(f.fault.kind, FAULT_DENIED);
	end(&f);
	ASKED(&f, 0, "DELETE " URL_KEY " ");
	done(&f);
}

/* A small thing that is there stays. */
static void test_put_bytes(void **state)
{
	static const struct reply replies[] = {SAYS(OK_HEAD(7)), SAYS(NOT_FOUND), SAYS(OK_HEAD(0)),
					       SAYS("HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n"),
					       ERROR("403 No", "AccessDenied")};
	struct fixture f;

	(void)state;
	BEGIN(&f, replies);
	assert_int_equal(driver_s3.put_bytes(f.driver, KEY, "a", 1, &f.fault), 0);
	assert_int_equal(driver_s3.put_bytes(f.driver, KEY, "a", 1, &f.fault), 0);
	assert_int_equal(driver_s3.put_bytes(f.driver, KEY, "a", 1, &f.fault), -1);
	assert_int_equal(f.fault.kind, FAULT_DENIED);
	end(&f);
	ASKED(&f, 2, "PUT ");
	done(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SANDBOX_TEST(test_put_bytes),
		SANDBOX_TEST(test_size),
		SANDBOX_TEST(test_read),
		SANDBOX_TEST(test_create),
		SANDBOX_TEST(test_list),
		SANDBOX_TEST(test_list_without_end),
		SANDBOX_TEST(test_incomplete_uploads),
		SANDBOX_TEST(test_remove),
	};

	return cmocka_run_group_tests_name("s3 reading", tests, NULL, NULL);
}
