/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/remote/network_sftp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "filter/objects/clock.h"
#include "filter/remote/network_sftp_private.h"

/* What libcurl hands on at once. libssh2 asks for four times as much ahead, which is lost at the
 * end of a range. */
#define READ_SIZE (128L << 10)

/* A limit that nothing takes. Without any, libcurl asks in a loop whether the server has answered
 * its commands, instead of waiting. */
#define FOR_EVER (3600L * 24 * 14)

/* A directory's listing is not longer. */
#define LIST_LIMIT ((size_t)256 << 20)

/* ---- paths -------------------------------------------------------------------------------------
 */

void sftp_append_text(struct buffer *out, const char *text)
{
	buffer_append(out, text, strlen(text));
}

/* Percent-encodes a path. */
static void append_path(struct buffer *out, const char *path)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789-._~/";
	char hex[4];

	for (; *path; path++) {
		if (strchr(plain, *path)) {
			buffer_u8(out, (uint8_t)*path);
			continue;
		}
		snprintf(hex, sizeof(hex), "%%%02X", (unsigned char)*path);
		sftp_append_text(out, hex);
	}
}

/* Where the store is: for URLs "/~/PATH" or "/PATH", for commands "PATH" or "/PATH". */
static int set_root(struct sftp *sftp, const struct location *location)
{
	const char *path = location->path;
	bool in_home = *path == '~';
	bool v6 = strchr(location->host, ':') != NULL;
	char port[16];

	sftp_append_text(&sftp->base, v6 ? "sftp://[" : "sftp://");
	if (v6)
		sftp_append_text(&sftp->base, sftp->access.host);
	else
		append_path(&sftp->base, sftp->access.host);
	snprintf(port, sizeof(port), "%s:%u", v6 ? "]" : "", sftp->access.port);
	sftp_append_text(&sftp->base, port);
	/* libcurl takes any path that begins with "/~" for one below the home. */
	if (in_home || strncmp(path, "/~", 2) == 0)
		sftp_append_text(&sftp->base, "/");
	append_path(&sftp->base, strcmp(path, "/") == 0 ? "" : path);
	buffer_u8(&sftp->base, '\0');

	if (in_home)
		path += path[1] == '/' ? 2 : 1;
	sftp_append_text(&sftp->root, *path || !in_home ? path : ".");
	buffer_u8(&sftp->root, '\0');
	return buffer_failed(&sftp->base) || buffer_failed(&sftp->root) ? -1 : 0;
}

/* ---- callbacks ---------------------------------------------------------------------------------
 */

static int watch(void *ctx, curl_off_t down_size, curl_off_t down, curl_off_t up_size,
		 curl_off_t up)
{
	struct sftp_request *request = (struct sftp_request *)ctx;
	unsigned limit = request->sftp->access.settings->idle_timeout_s;
	uint64_t now = clock_ms();

	(void)down_size;
	(void)up_size;
	if (down + up != request->moved) {
		request->moved = down + up;
		request->moved_at = now;
		if (request->upload && request->upload->acknowledged)
			request->upload->acknowledged(request->upload->ctx, (uint64_t)up);
	}
	request->too_slow = limit && now - request->moved_at > (uint64_t)limit * 1000;
	return request->too_slow;
}

static size_t take_bytes(char *data, size_t size, size_t count, void *ctx)
{
	struct sftp_request *request = (struct sftp_request *)ctx;
	size_t len = size * count;
	int result = request->write(request->ctx, data, len);

	request->received += len;
	request->moved_at = clock_ms();
	return result == 0 ? len : 0;
}

/* What a connection has not sent when it is closed, or this process is killed, is not to be sent
 * after that: the system would try for minutes, and the server append it to a file with which
 * another connection has gone on. */
static int forget_on_close(void *ctx, curl_socket_t fd, curlsocktype purpose)
{
	const struct linger at_once = {.l_onoff = 1, .l_linger = 0};

	(void)ctx;
	(void)purpose;
	return setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)) == 0
		       ? CURL_SOCKOPT_OK
		       : CURL_SOCKOPT_ERROR;
}

static int add_to_list(void *ctx, const void *data, size_t len)
{
	struct buffer *out = (struct buffer *)ctx;

	if (len > LIST_LIMIT - out->size)
		return -1;
	buffer_append(out, data, len);
	return buffer_failed(out) ? -1 : 0;
}

/* ---- requests ----------------------------------------------------------------------------------
 */

/* Takes a handle and sets the URL of a path. A directory's ends with a slash. */
int sftp_request_begin(struct sftp_request *request)
{
	struct sftp *sftp = request->sftp;
	struct buffer url = BUFFER_INIT;
	CURL *handle;

	if (sftp_access_check(&sftp->access, request->fault) != 0)
		return -1;
	buffer_append(&url, sftp->base.data, sftp->base.size - 1);
	sftp_append_text(&url, "/");
	append_path(&url, request->path);
	buffer_u8(&url, '\0');
	handle = buffer_failed(&url) ? NULL : network_take(sftp->network);
	request->handle = handle;
	if (handle) {
		curl_easy_setopt(handle, CURLOPT_URL, (const char *)url.data);
		curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "sftp");
		curl_easy_setopt(handle, CURLOPT_PATH_AS_IS, 1L);
		curl_easy_setopt(handle, CURLOPT_PROXY, ""); /* ssh knows none either */
		curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, request->details);
		curl_easy_setopt(handle, CURLOPT_SOCKOPTFUNCTION, forget_on_close);
		curl_easy_setopt(handle, CURLOPT_LOW_SPEED_TIME, 0L);
		curl_easy_setopt(handle, CURLOPT_TIMEOUT, FOR_EVER);
		curl_easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
		curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, watch);
		curl_easy_setopt(handle, CURLOPT_XFERINFODATA, request);
		curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, take_bytes);
		curl_easy_setopt(handle, CURLOPT_WRITEDATA, request);
		/* The server's umask has the last word. */
		curl_easy_setopt(handle, CURLOPT_NEW_FILE_PERMS, 0666L);
		curl_easy_setopt(handle, CURLOPT_NEW_DIRECTORY_PERMS, 0777L);
	}
	buffer_release(&url);
	return handle ? 0 : fault_nomem(request->fault);
}

/* The kind of a failure that the server told of, by libcurl's words for it. */
static enum fault_kind kind_of_words(const char *details)
{
	static const struct {
		const char *words;
		enum fault_kind kind;
	} all[] = {
		{"No such file or directory", FAULT_ABSENT},
		{"Permission denied", FAULT_READ_ONLY},
		{"File is write protected", FAULT_READ_ONLY},
		{"Disk full", FAULT_NO_SPACE},
		{"User quota exceeded", FAULT_NO_SPACE},
		{"Operation not supported", FAULT_UNSUPPORTED},
		{"Operation failed", FAULT_READ_ONLY},
		{"File already exists", FAULT_READ_ONLY},
		{"Bad message", FAULT_READ_ONLY}, /* a name that the server cannot have */
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (strstr(details, all[i].words))
			return all[i].kind;
	}
	return FAULT_TRANSIENT;
}

/* Whether the connection was kept and is still there. libssh2 remembers the last failure that the
 * server told of, and libcurl reports that when the connection is cut: it may be an old one. */
static bool connected(CURL *handle)
{
	curl_socket_t fd = CURL_SOCKET_BAD;
	char byte;
	ssize_t got;

	if (curl_easy_getinfo(handle, CURLINFO_ACTIVESOCKET, &fd) != CURLE_OK ||
	    fd == CURL_SOCKET_BAD)
		return false;
	got = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
	return got > 0 || (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK));
}

const char *sftp_remedy(enum fault_kind kind)
{
	switch (kind) {
	case FAULT_READ_ONLY:
		return "let this user write to the store's directory on the server";
	case FAULT_DENIED:
		return "let this user read the store's files on the server";
	case FAULT_NO_SPACE:
		return "make room in the store and try again";
	case FAULT_TRANSIENT:
		return "check the network and the server, then try again; what was sent is kept";
	default:
		return NULL;
	}
}

/* The kind of a failure that libcurl lays at the door of ssh or the server. */
static enum fault_kind kind_of_failure(const struct sftp_request *request)
{
	enum fault_kind kind = FAULT_TRANSIENT;

	if (*request->details && connected(request->handle))
		kind = kind_of_words(request->details);
	/* What was only to be read does not have to be writable. */
	if (kind == FAULT_READ_ONLY && !request->upload && !request->before)
		kind = FAULT_DENIED;
	return kind;
}

/* Describes why a request failed. */
static int request_fault(const struct sftp_request *request, enum sftp_host host)
{
	CURLcode code = request->code;
	struct fault *fault = request->fault;
	const char *details = *request->details ? request->details : curl_easy_strerror(code);
	enum fault_kind kind = FAULT_TRANSIENT;
	char doing[FAULT_TEXT_SIZE / 2];

	if (sftp_access_fault(&request->sftp->access, code, request->details, host, fault) != 0)
		return -1;
	snprintf(doing, sizeof(doing), "%s %s", request->doing,
		 *request->path ? request->path : "the store's directory");
	switch (code) {
	case CURLE_ABORTED_BY_CALLBACK:
		if (request->too_slow)
			fault_set(fault, kind, sftp_remedy(kind), "%s: no byte has moved for %u s",
				  doing, request->sftp->access.settings->idle_timeout_s);
		/* Else who gives the bytes has said why. */
		return -1;
	case CURLE_WRITE_ERROR:
		return fault_set(fault, FAULT_CANCELLED, NULL, "%s: stopped", doing);
	case CURLE_BAD_DOWNLOAD_RESUME:
		return fault_set(fault, FAULT_DAMAGED, NULL, "%s: it ends before", doing);
	case CURLE_QUOTE_ERROR:
	case CURLE_REMOTE_FILE_NOT_FOUND:
	case CURLE_REMOTE_ACCESS_DENIED:
	case CURLE_REMOTE_DISK_FULL:
	case CURLE_REMOTE_FILE_EXISTS:
	case CURLE_SSH:
		kind = kind_of_failure(request);
		return fault_set(fault, kind, sftp_remedy(kind), "%s: %s", doing, details);
	case CURLE_FAILED_INIT: /* cut before the session was there */
		return fault_set(fault, kind, sftp_remedy(kind), "%s: %s", doing, details);
	default:
		return network_fault(code, details, doing, fault);
	}
}

int sftp_request_perform(struct sftp_request *request)
{
	CURL *handle = request->handle;
	enum sftp_host host;

	if (request->before)
		curl_easy_setopt(handle, CURLOPT_QUOTE, request->before);
	if (request->after)
		curl_easy_setopt(handle, CURLOPT_POSTQUOTE, request->after);
	request->moved_at = clock_ms();
	request->code =
		sftp_access_perform(&request->sftp->access, handle, request->details, &host);
	return request->code == CURLE_OK ? 0 : request_fault(request, host);
}

void sftp_request_end(struct sftp_request *request)
{
	if (request->handle)
		network_return(request->sftp->network, request->handle);
	curl_slist_free_all(request->before);
	curl_slist_free_all(request->after);
}

/* ---- what drivers see --------------------------------------------------------------------------
 */

int sftp_new(const struct location *location, const struct store_settings *settings,
	     struct sftp **out, struct fault *fault)
{
	struct sftp *sftp = calloc(1, sizeof(*sftp));

	*out = NULL;
	if (!sftp)
		return fault_nomem(fault);
	if (sftp_access_init(&sftp->access, location, settings, fault) != 0)
		goto fail;
	sftp->network = network_new(settings);
	if (!sftp->network || set_root(sftp, location) != 0) {
		fault_nomem(fault);
		goto fail;
	}
	*out = sftp;
	return 0;
fail:
	sftp_free(sftp);
	return -1;
}

void sftp_free(struct sftp *sftp)
{
	if (!sftp)
		return;
	network_free(sftp->network);
	sftp_access_release(&sftp->access);
	buffer_release(&sftp->base);
	buffer_release(&sftp->root);
	free(sftp);
}

/* Asks once. *size is -1 if libcurl knows none. */
static int ask_size(struct sftp *sftp, const char *path, curl_off_t *size, int64_t *modified,
		    struct fault *fault)
{
	struct sftp_request request = {
		.sftp = sftp, .doing = "looking for", .path = path, .fault = fault};
	curl_off_t changed = -1;
	int result = sftp_request_begin(&request);

	/* Without a body libcurl opens the file and asks for its size, no more. */
	if (result == 0) {
		curl_easy_setopt(request.handle, CURLOPT_NOBODY, 1L);
		curl_easy_setopt(request.handle, CURLOPT_FILETIME, modified ? 1L : 0L);
		result = sftp_request_perform(&request);
	}
	if (result == 0) {
		curl_easy_getinfo(request.handle, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, size);
		curl_easy_getinfo(request.handle, CURLINFO_FILETIME_T, &changed);
		if (modified)
			*modified = changed > 0 ? (int64_t)changed : 0;
	}
	sftp_request_end(&request);
	return result;
}

int sftp_stat(struct sftp *sftp, const char *path, uint64_t *size, int64_t *modified,
	      struct fault *fault)
{
	curl_off_t length = -1;
	int result = ask_size(sftp, path, &length, modified, fault);

	/* Of an empty file libcurl knows no size; nor of one whose server was gone before it said
	 * it, which is no failure to libcurl. Then another request is one. */
	if (result == 0 && length <= 0)
		result = ask_size(sftp, path, &length, modified, fault);
	if (result == 0)
		*size = length > 0 ? (uint64_t)length : 0;
	return result;
}

int sftp_read(struct sftp *sftp, const char *path, uint64_t offset, uint64_t len,
	      brevis_write_fn write, void *ctx, struct fault *fault)
{
	struct sftp_request request = {.sftp = sftp,
				       .doing = "reading",
				       .path = path,
				       .fault = fault,
				       .write = write,
				       .ctx = ctx};
	char range[64];
	int result;

	if (len == 0)
		return 0;
	snprintf(range, sizeof(range), "%llu-%llu", (unsigned long long)offset,
		 (unsigned long long)(offset + len - 1));
	result = sftp_request_begin(&request);
	if (result == 0) {
		curl_easy_setopt(request.handle, CURLOPT_RANGE, range);
		curl_easy_setopt(request.handle, CURLOPT_BUFFERSIZE, READ_SIZE);
		result = sftp_request_perform(&request);
	}
	sftp_request_end(&request);
	if (result == 0 && request.received != len)
		return fault_set(fault, FAULT_DAMAGED, NULL,
				 "reading %s: it ends after %llu of %llu bytes from %llu on", path,
				 (unsigned long long)request.received, (unsigned long long)len,
				 (unsigned long long)offset);
	return result;
}

int sftp_list(struct sftp *sftp, const char *path, bool long_entries, struct buffer *out,
	      struct fault *fault)
{
	struct sftp_request request = {.sftp = sftp,
				       .doing = "listing",
				       .path = path,
				       .fault = fault,
				       .write = add_to_list,
				       .ctx = out};
	int result = sftp_request_begin(&request);

	if (result == 0) {
		curl_easy_setopt(request.handle, CURLOPT_DIRLISTONLY, long_entries ? 0L : 1L);
		result = sftp_request_perform(&request);
	}
	sftp_request_end(&request);
	return result;
}
