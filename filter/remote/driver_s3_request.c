/* SPDX-License-Identifier: Apache-2.0 */
/** Requests to an S3 store: their URLs, headers and signatures, and what failures mean. */
#include "filter/remote/driver_s3.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "filter/objects/pointer.h"
#include "filter/remote/xml.h"

#define STATUS_UNIMPLEMENTED 501

void s3_answer_release(struct s3_answer *answer)
{
	http_response_release(&answer->http);
	answer->error = (struct s3_error){0};
}

bool s3_answer_is(const struct s3_answer *answer, const char *code)
{
	return strcmp(answer->error.code, code) == 0;
}

/* ---- URLs ------------------------------------------------------------------------------------ */

static void put(struct buffer *out, const char *text)
{
	buffer_append(out, text, strlen(text));
}

/* Ends a text. Returns it, which the caller frees; NULL when memory is short. */
static char *take_text(struct buffer *text)
{
	buffer_u8(text, 0);
	if (!buffer_failed(text))
		return (char *)text->data;
	buffer_release(text);
	return NULL;
}

/* Whether a bucket's name can be one in a host's: with TLS without dots, since certificates are
 * for one level only. */
static bool is_host(const char *bucket, bool tls)
{
	const char *at;

	for (at = bucket; *at; at++)
		if (!islower((unsigned char)*at) && !isdigit((unsigned char)*at) && *at != '-' &&
		    (*at != '.' || tls))
			return false;
	return at > bucket && isalnum((unsigned char)*bucket) && isalnum((unsigned char)at[-1]);
}

char *s3_bucket_url(const char *endpoint, const char *bucket, bool path_style)
{
	const char *host = strstr(endpoint, "://");
	struct buffer out = BUFFER_INIT;

	host = host ? host + 3 : endpoint;
	if (!path_style && is_host(bucket, strncasecmp(endpoint, "https:", 6) == 0)) {
		buffer_append(&out, endpoint, (size_t)(host - endpoint));
		put(&out, bucket);
		buffer_u8(&out, '.');
		put(&out, host);
	} else {
		put(&out, endpoint);
		buffer_u8(&out, '/');
		url_encode(&out, bucket, "");
	}
	return take_text(&out);
}

static int compare_parameters(const void *a, const void *b)
{
	return strcmp(((const struct s3_parameter *)a)->name,
		      ((const struct s3_parameter *)b)->name);
}

void s3_query(struct buffer *out, const struct s3_parameter *parameters)
{
	struct s3_parameter sorted[S3_PARAMETERS_MAX];
	size_t count, i;

	for (count = 0; count < S3_PARAMETERS_MAX && parameters[count].name; count++)
		sorted[count] = parameters[count];
	qsort(sorted, count, sizeof(*sorted), compare_parameters);
	for (i = 0; i < count; i++) {
		if (i)
			buffer_u8(out, '&');
		url_encode(out, sorted[i].name, "");
		buffer_u8(out, '=');
		url_encode(out, sorted[i].value, "");
	}
}

static char *make_url(const struct s3 *s3, const struct s3_call *call)
{
	struct buffer out = BUFFER_INIT;

	put(&out, s3->bucket_url);
	buffer_u8(&out, '/');
	if (call->key) {
		url_encode(&out, s3->prefix, "/");
		url_encode(&out, call->key, "/");
	}
	if (call->parameters[0].name) {
		buffer_u8(&out, '?');
		s3_query(&out, call->parameters);
	}
	return take_text(&out);
}

/* ---- headers --------------------------------------------------------------------------------- */

#define HEADERS_MAX     6
#define HEADER_SIZE     128
#define MD5_BASE64_SIZE 25

/* The headers of one request: text, and where each begins in it. */
struct headers {
	const char *lines[HEADERS_MAX];
	size_t count;
	char texts[HEADERS_MAX][HEADER_SIZE];
	char *token; /* may be longer */
};

static void __attribute__((format(printf, 2, 3)))
add(struct headers *headers, const char *format, ...)
{
	char *text = headers->texts[headers->count];
	va_list args;

	va_start(args, format);
	vsnprintf(text, HEADER_SIZE, format, args);
	va_end(args);
	headers->lines[headers->count++] = text;
}

static void to_base64(const uint8_t md5[MD5_SIZE], char out[MD5_BASE64_SIZE])
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint8_t bytes[MD5_SIZE + 2] = {0};
	size_t i;

	memcpy(bytes, md5, MD5_SIZE);
	for (i = 0; i < MD5_SIZE; i += 3) {
		uint32_t bits =
			(uint32_t)bytes[i] << 16 | (uint32_t)bytes[i + 1] << 8 | bytes[i + 2];
		int shift;

		for (shift = 18; shift >= 0; shift -= 6)
			*out++ = digits[bits >> shift & 63];
	}
	/* 16 bytes make 22 digits. */
	memcpy(out - 2, "==", 3);
}

static void add_md5(struct headers *headers, const struct s3_call *call)
{
	uint8_t md5[MD5_SIZE];
	char text[MD5_BASE64_SIZE];

	if (call->md5)
		memcpy(md5, call->md5, sizeof(md5));
	else
		md5_digest(call->data, call->data_len, md5);
	to_base64(md5, text);
	add(headers, "Content-MD5: %s", text);
}

/* libcurl signs the payload by this header. */
static bool add_payload(struct headers *headers, const struct s3_call *call)
{
	struct brevis_sha256 *sha = brevis_sha256_new();
	uint8_t digest[BREVIS_SHA256_SIZE];
	char hex[OID_HEX_SIZE + 1];

	if (!sha)
		return false;
	brevis_sha256_update(sha, call->data, call->data_len);
	brevis_sha256_final(sha, digest);
	brevis_sha256_free(sha);
	digest_to_hex(digest, hex);
	add(headers, "x-amz-content-sha256: %s", hex);
	return true;
}

/* Returns false when memory is short. */
static bool make_headers(struct headers *headers, const struct s3 *s3, const struct s3_call *call)
{
	*headers = (struct headers){0};
	if (!add_payload(headers, call))
		return false;
	if (strcmp(call->method, "PUT") == 0) {
		add_md5(headers, call);
		add(headers, "Content-Type: application/octet-stream");
	}
	if (call->exclusive)
		add(headers, "If-None-Match: *");
	if (call->range_len)
		add(headers, "Range: bytes=%" PRIu64 "-%" PRIu64, call->range_start,
		    call->range_start + call->range_len - 1);
	if (!s3->credentials.token)
		return true;
	if (asprintf(&headers->token, "x-amz-security-token: %s", s3->credentials.token) < 0) {
		headers->token = NULL;
		return false;
	}
	headers->lines[headers->count++] = headers->token;
	return true;
}

/* ---- failures -------------------------------------------------------------------------------- */

struct meaning {
	const char *code;
	enum fault_kind kind;
	const char *remedy;
};

static const char busy[] = "check the server, then try again; what was sent is kept";
static const char rights[] = "check what these AWS credentials may do with the bucket";
static const char login[] = "log in again: temporary AWS credentials do not last";
static const char place[] = "set brevis.s3.region and brevis.s3.endpoint to where the bucket is";
static const char room[] = "make room in the store, or have its quota raised";
static const char full[] = "ask whoever keeps the server; it takes no objects of this size";

static const struct meaning meanings[] = {
	{"NoSuchBucket", FAULT_NO_STORE, "create the bucket, or correct the URL"},
	{"InvalidBucketName", FAULT_NO_STORE, "correct the bucket's name in the URL"},
	{"NoSuchKey", FAULT_ABSENT, NULL},
	{"NoSuchUpload", FAULT_TRANSIENT, "try again"},
	{"InvalidPart", FAULT_TRANSIENT, "try again"},

	{"AccessDenied", FAULT_DENIED, rights},
	{"AllAccessDisabled", FAULT_DENIED, rights},
	{"AccountProblem", FAULT_DENIED, rights},
	{"UnauthorizedAccess", FAULT_DENIED, rights},
	{"InvalidAccessKeyId", FAULT_DENIED, "check AWS_ACCESS_KEY_ID, or the profile's key"},
	{"SignatureDoesNotMatch", FAULT_DENIED,
	 "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or those of the profile"},
	{"ExpiredToken", FAULT_DENIED, login},
	{"InvalidToken", FAULT_DENIED, login},
	{"TokenRefreshRequired", FAULT_DENIED, login},

	{"RequestTimeTooSkewed", FAULT_LOCAL, "set this machine's clock"},
	{"RequestExpired", FAULT_LOCAL, "set this machine's clock"},
	{"PermanentRedirect", FAULT_LOCAL, place},
	{"TemporaryRedirect", FAULT_LOCAL, place},
	{"AuthorizationHeaderMalformed", FAULT_LOCAL, place},
	{"InvalidLocationConstraint", FAULT_LOCAL, place},

	{"SlowDown", FAULT_TRANSIENT, busy},
	{"Throttling", FAULT_TRANSIENT, busy},
	{"RequestLimitExceeded", FAULT_TRANSIENT, busy},
	{"TooManyRequests", FAULT_TRANSIENT, busy},
	{"ServiceUnavailable", FAULT_TRANSIENT, busy},
	{"InternalError", FAULT_TRANSIENT, busy},
	{"RequestTimeout", FAULT_TRANSIENT, busy},
	{"OperationAborted", FAULT_TRANSIENT, busy},
	{"ConditionalRequestConflict", FAULT_TRANSIENT, busy},
	/* The bytes were changed on their way. */
	{"BadDigest", FAULT_TRANSIENT, busy},
	{"InvalidDigest", FAULT_TRANSIENT, busy},
	{"IncompleteBody", FAULT_TRANSIENT, busy},
	{"XAmzContentSHA256Mismatch", FAULT_TRANSIENT, busy},

	{"QuotaExceeded", FAULT_NO_SPACE, room},
	{"StorageFull", FAULT_NO_SPACE, room},
	{"InsufficientStorage", FAULT_NO_SPACE, room},
	{"XMinioStorageFull", FAULT_NO_SPACE, room},
	{"EntityTooSmall", FAULT_LOCAL, "set brevis.store.partSize to 5m or more"},
	{"EntityTooLarge", FAULT_NO_SPACE, full},
	{"MaxMessageLengthExceeded", FAULT_NO_SPACE, full},

	{"InvalidRange", FAULT_DAMAGED, NULL},
	{"MethodNotAllowed", FAULT_UNSUPPORTED, "check that the endpoint is that of an S3 store"},
	{"NotImplemented", FAULT_UNSUPPORTED, "use a server that offers this"},
};

struct error_fields {
	struct s3_error *out;
	bool is_error;
};

static int take_error_field(void *ctx, const char *path, const char *text)
{
	struct error_fields *fields = ctx;
	struct s3_error *out = fields->out;

	if (strcmp(path, "Error") == 0)
		fields->is_error = true;
	else if (strcmp(path, "Error/Code") == 0)
		snprintf(out->code, sizeof(out->code), "%s", text);
	else if (strcmp(path, "Error/Message") == 0)
		snprintf(out->message, sizeof(out->message), "%s", text);
	else if (strcmp(path, "Error/Region") == 0)
		snprintf(out->region, sizeof(out->region), "%s", text);
	return 0;
}

bool s3_error_read(const void *body, size_t len, struct s3_error *out)
{
	struct error_fields fields = {out, false};
	struct fault ignored;
	size_t end;

	*out = (struct s3_error){0};
	if (!len || xml_read(body, len, take_error_field, &fields, "", &ignored) != 0 ||
	    !fields.is_error || !*out->code) {
		*out = (struct s3_error){0};
		return false;
	}
	/* Causes have no period at their ends. */
	end = strlen(out->message);
	if (end && out->message[end - 1] == '.')
		out->message[end - 1] = 0;
	return true;
}

/* A failure whose name says nothing to us: its status does. */
static int by_status(const struct s3_error *error, const struct http_response *response,
		     const char *doing, struct fault *fault)
{
	char what[FAULT_TEXT_SIZE];

	if (*error->code)
		snprintf(what, sizeof(what), "%s: %s: %s", doing, error->code, error->message);
	else
		snprintf(what, sizeof(what), "%s", doing);
	http_status_fault(response, what, fault);
	if (fault->kind == FAULT_DENIED)
		snprintf(fault->remedy, sizeof(fault->remedy), "%s", rights);
	return -1;
}

int s3_error_fault(const struct s3_error *error, const struct http_response *response,
		   const char *where, const char *doing, struct fault *fault)
{
	const struct meaning *meaning = NULL;
	size_t i;

	for (i = 0; i < sizeof(meanings) / sizeof(*meanings); i++)
		if (strcmp(meanings[i].code, error->code) == 0)
			meaning = &meanings[i];
	if (!meaning)
		return by_status(error, response, doing, fault);
	if (meaning->kind == FAULT_NO_STORE)
		return fault_set(fault, meaning->kind, meaning->remedy, "no bucket %s", where);
	fault_set(fault, meaning->kind, meaning->remedy, "%s: %s: %s%s%s", doing, error->code,
		  error->message, *error->region ? "; the bucket's region is " : "", error->region);
	if (meaning->kind == FAULT_TRANSIENT)
		fault->retry_after_ms = response->retry_after_ms;
	return -1;
}

/* ---- requests -------------------------------------------------------------------------------- */

static bool successful(const struct http_response *response)
{
	return response->status >= 200 && response->status < 300;
}

static int attempt(struct s3 *s3, const struct s3_call *call, struct s3_answer *answer,
		   struct fault *fault)
{
	char *url = make_url(s3, call);
	struct headers headers = {0};
	struct http_request request = {
		.method = call->method,
		.url = url,
		.headers = headers.lines,
		.user = s3->credentials.key_id,
		.password = s3->credentials.secret,
		.sigv4 = s3->sigv4,
		.data = call->data,
		.data_len = call->data_len,
		.sent = call->sent,
		.sink = call->sink,
		.sink_limit = call->range_len,
		.ctx = call->ctx,
	};
	int result;

	if (url && make_headers(&headers, s3, call))
		result = http_perform(s3->network, &request, &answer->http, fault);
	else
		result = fault_nomem(fault);
	if (headers.token)
		explicit_bzero(headers.token, strlen(headers.token));
	free(headers.token);
	free(url);
	return result;
}

/* A body may have to be sent more than once; who asked is told of each byte once. */
struct counting {
	const struct s3_call *call;
	uint64_t at;   /* of this attempt */
	uint64_t told; /* of all */
};

static void count_sent(void *ctx, uint64_t bytes)
{
	struct counting *counting = ctx;

	counting->at += bytes;
	if (counting->at <= counting->told)
		return;
	counting->call->sent(counting->call->ctx, counting->at - counting->told);
	counting->told = counting->at;
}

int s3_perform(struct s3 *s3, const struct s3_call *call, struct s3_answer *answer,
	       struct fault *fault)
{
	struct counting counting = {call, 0, 0};
	struct s3_call once = *call;
	char doing[FAULT_TEXT_SIZE / 2];
	int result;

	if (s3->no_credentials.kind != FAULT_NONE) {
		*fault = s3->no_credentials;
		return -1;
	}
	if (call->sent) {
		once.sent = count_sent;
		once.ctx = &counting;
	}
	once.exclusive = call->exclusive && !s3->unconditional;
	result = attempt(s3, &once, answer, fault);
	if (result == 0 && once.exclusive && answer->http.status == STATUS_UNIMPLEMENTED) {
		s3->unconditional = true;
		once.exclusive = false;
		counting.at = 0;
		s3_answer_release(answer);
		result = attempt(s3, &once, answer, fault);
	}
	if (result != 0 || successful(&answer->http))
		return result;
	s3_error_read(answer->http.body.data, answer->http.body.size, &answer->error);
	snprintf(doing, sizeof(doing), "%s of %s", call->method,
		 call->key ? call->key : "the bucket");
	return s3_error_fault(&answer->error, &answer->http, s3->place, doing, fault);
}
