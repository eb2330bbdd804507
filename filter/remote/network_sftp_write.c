/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/objects/clock.h"

#include "filter/remote/network_sftp_private.h"

/* What may be on its way to the server, libcurl takes no more. It asks for the next bytes when all
 * but a 32nd is acknowledged. */
#define WRITE_SIZE (2L << 20)

/* With less room than this a failure to write is for want of it. */
#define LITTLE_ROOM ((uint64_t)1 << 20)

/* ---- commands ----------------------------------------------------------------------------------
 */

/* Appends a path for a command, in quotes, in which libcurl knows backslashes. */
static void append_quoted(struct buffer *out, const struct sftp *sftp, const char *path)
{
	const char *parts[] = {(const char *)sftp->root.data, *path ? "/" : "", path};

	sftp_append_text(out, " \"");
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		for (const char *at = parts[i]; *at; at++) {
			if (*at == '"' || *at == '\'' || *at == '\\')
				buffer_u8(out, '\\');
			buffer_u8(out, (uint8_t)*at);
		}
	}
	sftp_append_text(out, "\"");
}

/* Adds a line to a list. Takes it, whatever comes of it. */
static int add_line(struct curl_slist **list, struct buffer *line)
{
	struct curl_slist *longer = NULL;

	buffer_u8(line, '\0');
	if (!buffer_failed(line))
		longer = curl_slist_append(*list, (const char *)line->data);
	buffer_release(line);
	if (!longer)
		return -1;
	*list = longer;
	return 0;
}

static int add_commands(const struct sftp *sftp, struct curl_slist **list,
			const struct sftp_command *commands, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct buffer line = BUFFER_INIT;

		sftp_append_text(&line, commands[i].may_fail ? "*" : "");
		sftp_append_text(&line, commands[i].verb);
		append_quoted(&line, sftp, commands[i].path);
		if (commands[i].target)
			append_quoted(&line, sftp, commands[i].target);
		if (add_line(list, &line) != 0)
			return -1;
	}
	return 0;
}

int sftp_run(struct sftp *sftp, const struct sftp_command *commands, size_t count,
	     struct fault *fault)
{
	struct sftp_request request = {.sftp = sftp,
				       .doing = commands[count - 1].verb,
				       .path = "", /* a directory that is not looked into */
				       .fault = fault};
	int result = sftp_request_begin(&request);

	if (result == 0 && add_commands(sftp, &request.before, commands, count) != 0)
		result = fault_nomem(fault);
	if (result == 0) {
		curl_easy_setopt(request.handle, CURLOPT_NOBODY, 1L);
		request.path = commands[count - 1].path;
		result = sftp_request_perform(&request);
	}
	sftp_request_end(&request);
	return result;
}

/* Adds "mkdir" of each directory above the store's, which may fail: most are there. */
static int add_parents(const struct sftp *sftp, struct curl_slist **list)
{
	char *root = strdup((const char *)sftp->root.data);
	int result = root ? 0 : -1;

	for (char *at = root; result == 0 && (at = strchr(at + 1, '/')) != NULL;) {
		struct sftp above = {.root = {.data = (uint8_t *)root}};
		struct sftp_command command = {.verb = "mkdir", .path = "", .may_fail = true};

		*at = '\0';
		result = add_commands(&above, list, &command, 1);
		*at = '/';
	}
	free(root);
	return result;
}

int sftp_make_root(struct sftp *sftp, struct fault *fault)
{
	const struct sftp_command own = {.verb = "mkdir", .path = "", .may_fail = true};
	struct sftp_request request = {.sftp = sftp, .doing = "mkdir", .path = "", .fault = fault};
	int result = sftp_request_begin(&request);

	if (result == 0 && (add_parents(sftp, &request.before) != 0 ||
			    add_commands(sftp, &request.before, &own, 1) != 0))
		result = fault_nomem(fault);
	if (result == 0) {
		curl_easy_setopt(request.handle, CURLOPT_NOBODY, 1L);
		result = sftp_request_perform(&request);
	}
	sftp_request_end(&request);
	return result;
}

/* ---- uploads -----------------------------------------------------------------------------------
 */

static size_t give_bytes(char *data, size_t size, size_t count, void *ctx)
{
	struct sftp_request *request = (struct sftp_request *)ctx;
	const struct sftp_upload *upload = request->upload;
	ssize_t got = upload->next(upload->ctx, data, size * count, request->fault);

	request->moved_at = clock_ms();
	return got < 0 ? CURL_READFUNC_ABORT : (size_t)got;
}

/* An upload that goes on begins where its source does. */
static int seek_bytes(void *ctx, curl_off_t offset, int origin)
{
	const struct sftp_request *request = (const struct sftp_request *)ctx;

	return origin == SEEK_SET && (uint64_t)offset == request->upload->offset
		       ? CURL_SEEKFUNC_OK
		       : CURL_SEEKFUNC_FAIL;
}

int sftp_upload(struct sftp *sftp, const struct sftp_upload *upload, struct fault *fault)
{
	struct sftp_request request = {.sftp = sftp,
				       .doing = "writing",
				       .path = upload->path,
				       .fault = fault,
				       .upload = upload};
	int result = sftp_request_begin(&request);

	if (result == 0 &&
	    (add_commands(sftp, &request.before, upload->before, upload->before_count) != 0 ||
	     add_commands(sftp, &request.after, upload->after, upload->after_count) != 0))
		result = fault_nomem(fault);
	if (result == 0) {
		CURL *handle = request.handle;

		curl_easy_setopt(handle, CURLOPT_UPLOAD, 1L);
		curl_easy_setopt(handle, CURLOPT_UPLOAD_BUFFERSIZE, WRITE_SIZE);
		curl_easy_setopt(handle, CURLOPT_READFUNCTION, give_bytes);
		curl_easy_setopt(handle, CURLOPT_READDATA, &request);
		curl_easy_setopt(handle, CURLOPT_SEEKFUNCTION, seek_bytes);
		curl_easy_setopt(handle, CURLOPT_SEEKDATA, &request);
		curl_easy_setopt(handle, CURLOPT_RESUME_FROM_LARGE, (curl_off_t)upload->offset);
		result = sftp_request_perform(&request);
	}
	sftp_request_end(&request);
	/* To libcurl a cut connection and a full disk look alike in the midst of writing. */
	if (result != 0 && request.code == CURLE_SSH)
		sftp_diagnose(sftp, fault);
	return result;
}

/* ---- disks that are full -----------------------------------------------------------------------
 */

/* What "statvfs" tells, as libcurl writes it. */
struct disk {
	uint64_t unit;
	uint64_t free_units;
	uint64_t free_files;
	uint64_t files;
	uint64_t flags;
	bool told;
};

/* Reads "NAME: NUMBER". Returns false if it is not there. */
static bool read_number(const char *text, const char *name, uint64_t *out)
{
	const char *at = strstr(text, name);
	char *end = NULL;

	if (!at)
		return false;
	at += strlen(name);
	*out = strtoull(at, &end, 10);
	return end != at;
}

static size_t take_disk(char *data, size_t size, size_t count, void *ctx)
{
	struct disk *disk = ctx;
	struct disk told = {.told = true};
	char text[1024];
	size_t len = size * count < sizeof(text) ? size * count : sizeof(text) - 1;

	memcpy(text, data, len);
	text[len] = '\0';
	if (strncmp(text, "statvfs:", 8) == 0 && read_number(text, "f_frsize: ", &told.unit) &&
	    read_number(text, "f_bavail: ", &told.free_units) &&
	    read_number(text, "f_favail: ", &told.free_files) &&
	    read_number(text, "f_files: ", &told.files) &&
	    read_number(text, "f_flag: ", &told.flags))
		*disk = told;
	return size * count;
}

static void ask_disk(struct sftp *sftp, struct disk *disk)
{
	const struct sftp_command command = {.verb = "statvfs", .path = ""};
	struct fault ignored = {0};
	struct sftp_request request = {
		.sftp = sftp, .doing = "statvfs", .path = "", .fault = &ignored};

	if (sftp_request_begin(&request) == 0 &&
	    add_commands(sftp, &request.before, &command, 1) == 0) {
		curl_easy_setopt(request.handle, CURLOPT_NOBODY, 1L);
		curl_easy_setopt(request.handle, CURLOPT_HEADERFUNCTION, take_disk);
		curl_easy_setopt(request.handle, CURLOPT_HEADERDATA, disk);
		sftp_request_perform(&request);
	}
	sftp_request_end(&request);
}

void sftp_diagnose(struct sftp *sftp, struct fault *fault)
{
	struct disk disk = {.told = false};

	if (fault->kind != FAULT_TRANSIENT && fault->kind != FAULT_READ_ONLY)
		return;
	ask_disk(sftp, &disk);
	if (disk.told && disk.flags & 1)
		fault_set(fault, FAULT_READ_ONLY, "have it mounted for writing",
			  "the store's file system is mounted read-only on the server");
	else if (disk.told && (disk.free_units * disk.unit < LITTLE_ROOM ||
			       (disk.files && disk.free_files == 0)))
		fault_set(fault, FAULT_NO_SPACE, sftp_remedy(FAULT_NO_SPACE),
			  "the server's disk is full");
	else if (disk.told && strstr(fault->cause, "Operation failed"))
		fault_set(fault, FAULT_READ_ONLY,
			  "see why on the server: a quota, a name that is a directory",
			  "%.*s: the server failed to write, though its disk is not full",
			  FAULT_TEXT_SIZE / 2, fault->cause);
}
