/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/remote/network_private.h"
#include "filter/remote/network_redirect.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Bodies up to so many bytes are sent without asking the server first whether it wants them. */
#define UNASKED ((int64_t)1 << 20)

/* Bytes of all headers of an answer, at most: libcurl keeps them in memory. */
#define HEAD_LIMIT ((size_t)256 << 10)

/* One request on its way. Once failed is set, *fault says why, and libcurl has been told to stop.
 */
struct exchange {
	CURL *handle;
	const struct http_request *request;
	const char *url; /* the request's, or where an answer has sent to: */
	bool elsewhere;  /* to another server, then, which is told nothing that is secret */
	struct http_response *response;
	struct fault *fault;
	bool failed;
	const char *doing;

	bool asked_range; /* bytes [range_start, range_end] */
	uint64_t range_start;
	uint64_t range_end;

	uint64_t body_at;  /* what libcurl has taken of the body */
	uint64_t reported; /* what sent has been told of: the body may travel twice */
	bool body_ended;   /* libcurl has all of it */

	size_t head_size;    /* bytes of headers that came */
	bool head_ended;     /* of the last answer: there may be some of status 1xx before it */
	bool answered;       /* status and headers are in the response */
	uint64_t range_last; /* of a 206, what the server says */
	uint64_t taken;      /* bytes that the sink has had */
	bool enough;         /* of an error is known: the rest of its body is not waited for */
};

void http_response_release(struct http_response *response)
{
	buffer_release(&response->body);
	*response = (struct http_response){0};
}

/* ---- the body of the request ---------------------------------------------------------------- */

static bool has_body(const struct http_request *request)
{
	return request->data || request->feed || strcmp(request->method, "PUT") == 0 ||
	       strcmp(request->method, "POST") == 0;
}

/* Length of the body, or -1 if the feed's end decides. */
static int64_t body_length(const struct http_request *request)
{
	return request->feed ? request->feed_len : (int64_t)request->data_len;
}

static ssize_t read_data(const struct exchange *exchange, void *to, size_t len)
{
	const struct http_request *request = exchange->request;
	size_t left = request->data_len - (size_t)exchange->body_at;

	if (len > left)
		len = left;
	if (len)
		memcpy(to, (const uint8_t *)request->data + exchange->body_at, len);
	return (ssize_t)len;
}

/* Waits for the feed's maker where it has to: the server sees a pause. Returns -1 with the fault.
 */
static ssize_t read_feed(struct exchange *exchange, void *to, size_t len)
{
	const struct http_request *request = exchange->request;
	ssize_t got;

	if (request->feed_len >= 0 && len > (uint64_t)request->feed_len - exchange->body_at)
		len = (size_t)((uint64_t)request->feed_len - exchange->body_at);
	if (!len)
		return 0;
	got = feed_read(request->feed, to, len, request->feed_offset + exchange->body_at);
	if (got < 0 && !errno)
		fault_set(exchange->fault, FAULT_CANCELLED, NULL,
			  "%s: what was to be sent has failed", exchange->doing);
	else if (got < 0)
		fault_errno(exchange->fault, errno, "%s: cannot read what is to be sent",
			    exchange->doing);
	else if (got == 0 && request->feed_len >= 0)
		got = fault_set(exchange->fault, FAULT_LOCAL, NULL,
				"%s: what was to be sent is shorter than announced",
				exchange->doing);
	return got;
}

static size_t give_body(char *to, size_t size, size_t count, void *ctx)
{
	struct exchange *exchange = ctx;
	const struct http_request *request = exchange->request;
	ssize_t got = request->feed ? read_feed(exchange, to, size * count)
				    : read_data(exchange, to, size * count);

	if (got < 0) {
		exchange->failed = true;
		return CURL_READFUNC_ABORT;
	}
	exchange->body_at += (uint64_t)got;
	exchange->body_ended = got == 0 || (int64_t)exchange->body_at == body_length(request);
	if (request->sent && exchange->body_at > exchange->reported) {
		request->sent(request->ctx, exchange->body_at - exchange->reported);
		exchange->reported = exchange->body_at;
	}
	return (size_t)got;
}

/* libcurl sends the body once more if a kept connection turns out to be dead. */
static int seek_body(void *ctx, curl_off_t offset, int origin)
{
	struct exchange *exchange = ctx;

	if (origin != SEEK_SET || offset < 0)
		return CURL_SEEKFUNC_CANTSEEK;
	exchange->body_at = (uint64_t)offset;
	exchange->body_ended = false;
	return CURL_SEEKFUNC_OK;
}

/* ---- the answer ----------------------------------------------------------------------------- */

static bool successful(const struct http_response *response)
{
	return response->status >= 200 && response->status < 300;
}

/* Value of a header of the answer, or NULL. */
static const char *answer_header(const struct exchange *exchange, const char *name)
{
	struct curl_header *header;

	if (curl_easy_header(exchange->handle, name, 0, CURLH_HEADER, -1, &header) != CURLHE_OK)
		return NULL;
	return header->value;
}

static void take_etag(struct exchange *exchange)
{
	const char *value = answer_header(exchange, "ETag");
	size_t len;

	if (!value)
		return;
	if (strncmp(value, "W/", 2) == 0)
		value += 2;
	len = strlen(value);
	if (len >= 2 && *value == '"' && value[len - 1] == '"') {
		value++;
		len -= 2;
	}
	if (len < sizeof(exchange->response->etag))
		memcpy(exchange->response->etag, value, len);
}

/* Reads "FIRST-LAST" behind "bytes" and a mark. Returns false if it is not that. */
static bool read_range(const char *text, char mark, uint64_t *first, uint64_t *last)
{
	char *end = NULL;

	if (strncmp(text, "bytes", 5) != 0 || text[5] != mark)
		return false;
	text += 6;
	*first = strtoull(text, &end, 10);
	if (end == text || *end != '-')
		return false;
	text = end + 1;
	*last = strtoull(text, &end, 10);
	return end != text;
}

/* Reads "bytes FIRST-LAST/..." of a 206. */
static void take_range(struct exchange *exchange)
{
	struct http_response *response = exchange->response;
	const char *value = answer_header(exchange, "Content-Range");
	uint64_t last = 0;

	response->ranged = response->status != 206;
	if (response->ranged || !value || !read_range(value, ' ', &response->range_start, &last))
		return;
	response->ranged = exchange->asked_range &&
			   response->range_start == exchange->range_start &&
			   last <= exchange->range_end && last >= response->range_start;
	exchange->range_last = last;
}

/* libcurl takes a connection that ends within the headers for an answer, and headers without an end
 * for none of its business. */
static size_t take_header_line(char *line, size_t size, size_t count, void *ctx)
{
	struct exchange *exchange = ctx;
	size_t len = size * count;

	if (len >= 5 && memcmp(line, "HTTP/", 5) == 0)
		exchange->head_ended = false;
	else if (len <= 2)
		exchange->head_ended = true;
	if (len <= HEAD_LIMIT - exchange->head_size) {
		exchange->head_size += len;
		return len;
	}
	exchange->failed = true;
	fault_set(exchange->fault, FAULT_UNSUPPORTED, "check that the URL is that of such a store",
		  "%s: the headers of the server's answer are too long", exchange->doing);
	return 0;
}

static void take_head(struct exchange *exchange)
{
	struct http_response *response = exchange->response;
	curl_off_t number;

	exchange->answered = true;
	if (curl_easy_getinfo(exchange->handle, CURLINFO_RESPONSE_CODE, &response->status) !=
	    CURLE_OK)
		response->status = 0;
	if (curl_easy_getinfo(exchange->handle, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &number) ==
	    CURLE_OK)
		response->length = number;
	/* Seconds, whether the server wrote seconds or a date. */
	if (curl_easy_getinfo(exchange->handle, CURLINFO_RETRY_AFTER, &number) == CURLE_OK &&
	    number > 0)
		response->retry_after_ms = number < 86400 ? (unsigned)number * 1000 : 86400000;
	take_etag(exchange);
	take_range(exchange);
}

/* Whether the body that follows is what the sink expects: the range that was asked for, or all. */
static int check_range(struct exchange *exchange)
{
	const struct http_response *response = exchange->response;
	uint64_t asked = exchange->range_end - exchange->range_start + 1;

	if (!response->ranged)
		return fault_set(exchange->fault, FAULT_DAMAGED, NULL,
				 "%s: the server sends another range than that asked for",
				 exchange->doing);
	if (exchange->asked_range && response->status == 200 &&
	    (exchange->range_start > 0 ||
	     (response->length >= 0 && (uint64_t)response->length > asked)))
		return fault_set(exchange->fault, FAULT_UNSUPPORTED,
				 "use a server that serves ranges of files",
				 "%s: the server ignores ranges", exchange->doing);
	return 0;
}

static int give_sink(struct exchange *exchange, const void *data, size_t len)
{
	const struct http_request *request = exchange->request;

	if (request->sink_limit && len > request->sink_limit - exchange->taken)
		return fault_set(exchange->fault, FAULT_DAMAGED, NULL,
				 "%s: the server sends more than it should", exchange->doing);
	exchange->taken += len;
	if (request->sink(request->ctx, data, len) != 0)
		return fault_set(exchange->fault, FAULT_CANCELLED, NULL,
				 "%s: what came could not be taken", exchange->doing);
	return 0;
}

/* Keeps an answer. Of an error the beginning is enough, of a success it is not. */
static int keep_answer(struct exchange *exchange, const void *data, size_t len)
{
	struct http_response *response = exchange->response;
	size_t left = NETWORK_ANSWER_LIMIT - response->body.size;

	if (len > left && successful(response))
		return fault_set(exchange->fault, FAULT_UNSUPPORTED, NULL,
				 "%s: the server's answer is too long", exchange->doing);
	buffer_append(&response->body, data, len < left ? len : left);
	exchange->enough = len >= left && !successful(response);
	return buffer_failed(&response->body) ? fault_nomem(exchange->fault) : 0;
}

static size_t take_body(char *data, size_t size, size_t count, void *ctx)
{
	struct exchange *exchange = ctx;
	size_t len = size * count;
	bool sink;
	int result = 0;

	if (!exchange->answered)
		take_head(exchange);
	sink = exchange->request->sink && successful(exchange->response);
	if (sink && !exchange->taken)
		result = check_range(exchange);
	if (result == 0)
		result = sink ? give_sink(exchange, data, len) : keep_answer(exchange, data, len);
	if (result == 0 && !exchange->enough)
		return len;
	exchange->failed = result != 0;
	return len ? 0 : 1; /* anything but len ends it */
}

/* ---- the request ---------------------------------------------------------------------------- */

static struct curl_slist *add_header(struct curl_slist *list, const char *line, bool *failed)
{
	struct curl_slist *longer = *failed ? NULL : curl_slist_append(list, line);

	*failed = *failed || !longer;
	return longer ? longer : list;
}

static bool is_short(const struct http_request *request)
{
	int64_t len = body_length(request);

	return len >= 0 && len <= UNASKED;
}

/* Whether a header may travel: elsewhere only the range, which says what is wanted. */
static bool is_sent(const struct exchange *exchange, const char *line)
{
	return !exchange->elsewhere || strncasecmp(line, "Range:", 6) == 0;
}

/*
 * libcurl announces bodies by "Expect: 100-continue", so that a server that refuses them says so
 * first, and goes on by itself after a second of silence. For a short one that is not worth it:
 * this keeps the header away; but libcurl would sign what it does not send.
 */
static struct curl_slist *add_expect(const struct http_request *request, struct curl_slist *list,
				     bool *failed)
{
	return is_short(request) && !request->sigv4 ? add_header(list, "Expect:", failed) : list;
}

static struct curl_slist *make_headers(struct exchange *exchange, bool *failed)
{
	const char *const *lines = exchange->request->headers;
	struct curl_slist *list = NULL;

	*failed = false;
	for (; lines && *lines; lines++) {
		if (strncasecmp(*lines, "Range:", 6) == 0)
			exchange->asked_range =
				read_range(*lines + 6 + strspn(*lines + 6, " "), '=',
					   &exchange->range_start, &exchange->range_end);
		if (is_sent(exchange, *lines))
			list = add_header(list, *lines, failed);
	}
	return add_expect(exchange->request, list, failed);
}

static void set_body(struct exchange *exchange)
{
	curl_easy_setopt(exchange->handle, CURLOPT_UPLOAD, 1L);
	curl_easy_setopt(exchange->handle, CURLOPT_INFILESIZE_LARGE,
			 (curl_off_t)body_length(exchange->request));
	curl_easy_setopt(exchange->handle, CURLOPT_READFUNCTION, give_body);
	curl_easy_setopt(exchange->handle, CURLOPT_READDATA, exchange);
	curl_easy_setopt(exchange->handle, CURLOPT_SEEKFUNCTION, seek_body);
	curl_easy_setopt(exchange->handle, CURLOPT_SEEKDATA, exchange);
}

/* A secret key that is to sign must not be sent instead: user and password come last. */
static CURLcode set_credentials(const struct exchange *exchange)
{
	const struct http_request *request = exchange->request;
	CURL *handle = exchange->handle;
	CURLcode code;

	if (!request->user || exchange->elsewhere)
		return CURLE_OK;
	code = request->sigv4 ? curl_easy_setopt(handle, CURLOPT_AWS_SIGV4, request->sigv4)
			      : curl_easy_setopt(handle, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
	/* With signatures it asks first, but need not wait for the answer. */
	if (code == CURLE_OK && request->sigv4 && is_short(request))
		code = curl_easy_setopt(handle, CURLOPT_EXPECT_100_TIMEOUT_MS, 1L);
	if (code == CURLE_OK)
		code = curl_easy_setopt(handle, CURLOPT_USERNAME, request->user);
	if (code == CURLE_OK)
		code = curl_easy_setopt(handle, CURLOPT_PASSWORD,
					request->password ? request->password : "");
	return code;
}

/* What must not be missing from a request: else it would be another one. */
static CURLcode set_essence(const struct exchange *exchange)
{
	const char *method = exchange->request->method;
	CURL *handle = exchange->handle;
	CURLcode code = curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");

	if (code == CURLE_OK)
		code = curl_easy_setopt(handle, CURLOPT_URL, exchange->url);
	if (code == CURLE_OK && strcmp(method, "HEAD") != 0)
		code = curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, method);
	return code == CURLE_OK ? set_credentials(exchange) : code;
}

static CURLcode set_request(struct exchange *exchange, struct curl_slist *headers)
{
	const struct http_request *request = exchange->request;
	CURL *handle = exchange->handle;

	curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	/* Newer libcurls sign no path that is sent as it is; those of S3 have no dots to remove. */
	curl_easy_setopt(handle, CURLOPT_PATH_AS_IS, request->sigv4 ? 0L : 1L);
	curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(handle, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, take_header_line);
	curl_easy_setopt(handle, CURLOPT_HEADERDATA, exchange);
	curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, take_body);
	curl_easy_setopt(handle, CURLOPT_WRITEDATA, exchange);
	if (strcmp(request->method, "HEAD") == 0)
		curl_easy_setopt(handle, CURLOPT_NOBODY, 1L);
	else if (has_body(request))
		set_body(exchange);
	return set_essence(exchange);
}

/* Whether a sink got less than the server has announced as the range, if nothing else told its
 * length. */
static bool is_cut(const struct exchange *exchange)
{
	const struct http_response *response = exchange->response;

	return exchange->request->sink && response->status == 206 && response->ranged &&
	       exchange->taken < exchange->range_last - response->range_start + 1;
}

/* Whether a server claims success of a body that it cannot have. */
static bool is_hasty(const struct exchange *exchange)
{
	return successful(exchange->response) && has_body(exchange->request) &&
	       body_length(exchange->request) != 0 && !exchange->body_ended;
}

static int run(struct exchange *exchange, struct curl_slist *headers)
{
	char details[CURL_ERROR_SIZE] = "";
	CURLcode code = set_request(exchange, headers);

	if (code != CURLE_OK)
		return network_fault(code, NULL, exchange->doing, exchange->fault);
	curl_easy_setopt(exchange->handle, CURLOPT_ERRORBUFFER, details);
	code = curl_easy_perform(exchange->handle);
	curl_easy_setopt(exchange->handle, CURLOPT_ERRORBUFFER, NULL);
	if (exchange->failed)
		return -1;
	if (code != CURLE_OK && !exchange->enough)
		return network_fault(code, details, exchange->doing, exchange->fault);
	if (!exchange->answered)
		take_head(exchange);
	if (!exchange->head_ended || is_cut(exchange))
		return network_fault(CURLE_PARTIAL_FILE, "the answer was cut", exchange->doing,
				     exchange->fault);
	if (is_hasty(exchange))
		return network_fault(CURLE_SEND_ERROR,
				     "the server has answered before all was sent", exchange->doing,
				     exchange->fault);
	return 0;
}

/* What an answer says of where to go instead; NULL if that is not to be done. */
static const char *location_of(const struct exchange *exchange)
{
	long status = exchange->response->status;

	if (!exchange->request->follow || status < 301 || status > 308 ||
	    (status > 303 && status < 307))
		return NULL;
	return answer_header(exchange, "Location");
}

/* Makes *next of it, which the caller frees, and leaves the answer, if it may be followed. */
static int go_on(const struct exchange *exchange, char **next, unsigned times, bool *elsewhere)
{
	const char *location = location_of(exchange);

	if (!location)
		return 0;
	if (times == REDIRECTS_MAX)
		return fault_set(exchange->fault, FAULT_UNSUPPORTED, "ask who runs the server",
				 "%s: the server sends on more than %d times", exchange->doing,
				 REDIRECTS_MAX);
	if (redirect_resolve(exchange->url, location, next, elsewhere, exchange->doing,
			     exchange->fault) != 0)
		return -1;
	http_response_release(exchange->response);
	return 0;
}

/* Makes one request, of exchange's url, after so many others. *next is where its answer sends to,
 * or NULL. */
static int ask(struct network *network, struct exchange *exchange, unsigned times, char **next,
	       bool *elsewhere)
{
	struct curl_slist *headers;
	bool failed;
	int result;

	exchange->response->length = -1;
	headers = make_headers(exchange, &failed);
	exchange->handle = failed ? NULL : network_take(network);
	if (exchange->handle) {
		result = run(exchange, headers);
		if (result == 0)
			result = go_on(exchange, next, times, elsewhere);
		network_return(network, exchange->handle);
	} else {
		result = fault_nomem(exchange->fault);
	}
	curl_slist_free_all(headers);
	return result;
}

int http_perform(struct network *network, const struct http_request *request,
		 struct http_response *response, struct fault *fault)
{
	char doing[FAULT_TEXT_SIZE / 2];
	char *url = NULL;
	char *next = NULL;
	bool elsewhere = false;
	unsigned times = 0;
	int result;

	do {
		struct exchange exchange = {.request = request,
					    .url = next ? next : request->url,
					    .elsewhere = elsewhere,
					    .response = response,
					    .fault = fault,
					    .doing = doing};

		free(url);
		url = next;
		next = NULL;
		/* Without what may grant access. */
		snprintf(doing, sizeof(doing), "%s of %.*s", request->method,
			 (int)strcspn(exchange.url, "?#"), exchange.url);
		result = ask(network, &exchange, times++, &next, &elsewhere);
	} while (result == 0 && next);
	free(next);
	free(url);
	return result;
}
