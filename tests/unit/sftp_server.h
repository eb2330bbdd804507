/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A server in memory in place of network_sftp.h's functions, which behaves as OpenSSH's does: an
 * upload that goes on appends, wherever the file ends; rename overwrites nothing. It can cut
 * connections and let others write between.
 */
#ifndef TESTS_UNIT_SFTP_SERVER_H
#define TESTS_UNIT_SFTP_SERVER_H

#include <stdlib.h>
#include <string.h>

#include "filter/remote/network_sftp.h"

#define SERVER_FILES 16
#define SERVER_CHUNK ((size_t)1 << 20)

struct server_file {
	char path[256]; /* "": none */
	bool directory;
	struct buffer content;
};

static struct {
	struct server_file files[SERVER_FILES];
	uint64_t received; /* bytes of uploads, all in all */
	/* An upload is cut after so many bytes, of which the last SERVER_CHUNK are not
	 * acknowledged. */
	uint64_t cut_after;
	bool rename_unanswered; /* the next one is done, but the connection cut */
	bool full;
	/* Called before each request that has a name: others' doings. */
	void (*meddle)(const char *doing);
} server;

static struct server_file *server_find(const char *path)
{
	for (size_t i = 0; i < SERVER_FILES; i++) {
		if (*server.files[i].path && strcmp(server.files[i].path, path) == 0)
			return &server.files[i];
	}
	return NULL;
}

/* Makes a file or a directory, if that it is in is there. NULL: it is not. */
static struct server_file *server_make(const char *path, bool directory)
{
	const char *slash = strrchr(path, '/');
	char parent[256];
	size_t i = 0;

	snprintf(parent, sizeof(parent), "%.*s", slash ? (int)(slash - path) : 1,
		 slash ? path : ".");
	if (strcmp(path, ".") != 0 && !server_find(parent))
		return NULL;
	while (*server.files[i].path)
		i++;
	assert_in_range(i, 0, SERVER_FILES - 1);
	snprintf(server.files[i].path, sizeof(server.files[i].path), "%s", path);
	server.files[i].directory = directory;
	return &server.files[i];
}

static void server_remove(struct server_file *file)
{
	buffer_release(&file->content);
	memset(file, 0, sizeof(*file));
}

static void server_clear(void)
{
	for (size_t i = 0; i < SERVER_FILES; i++)
		buffer_release(&server.files[i].content);
	memset(&server, 0, sizeof(server));
}

/* Begins with an empty store. */
static void server_begin(void)
{
	server_clear();
	server_make(".", true);
	server_make("tmp", true);
	server_make("objects", true);
}

/* The only file below tmp/, or NULL. */
static struct server_file *server_temporary(void)
{
	struct server_file *found = NULL;

	for (size_t i = 0; i < SERVER_FILES; i++) {
		if (strncmp(server.files[i].path, "tmp/", 4) != 0)
			continue;
		assert_null(found);
		found = &server.files[i];
	}
	return found;
}

static void meddle(const char *doing)
{
	if (server.meddle)
		server.meddle(doing);
}

static int absent(struct fault *fault)
{
	return fault_set(fault, FAULT_ABSENT, NULL, "No such file or directory");
}

static int cut(struct fault *fault)
{
	return fault_set(fault, FAULT_TRANSIENT, NULL, "the connection was cut");
}

int sftp_new(const struct location *location, const struct store_settings *settings,
	     struct sftp **out, struct fault *fault)
{
	(void)location;
	(void)settings;
	(void)fault;
	*out = (struct sftp *)&server;
	return 0;
}

void sftp_free(struct sftp *sftp)
{
	(void)sftp;
}

int sftp_stat(struct sftp *sftp, const char *path, uint64_t *size, int64_t *modified,
	      struct fault *fault)
{
	struct server_file *file;

	(void)sftp;
	meddle("stat");
	file = server_find(path);
	if (!file)
		return absent(fault);
	*size = file->content.size;
	if (modified)
		*modified = 1700000000;
	return 0;
}

int sftp_read(struct sftp *sftp, const char *path, uint64_t offset, uint64_t len,
	      brevis_write_fn write, void *ctx, struct fault *fault)
{
	struct server_file *file = server_find(path);

	(void)sftp;
	if (!file)
		return absent(fault);
	while (len && offset < file->content.size) {
		size_t left = file->content.size - (size_t)offset;
		size_t n = left < len ? left : (size_t)len;

		/* Odd pieces, as a network gives them. */
		n = n < 99991 ? n : 99991;
		if (write(ctx, file->content.data + offset, n) != 0)
			return fault_set(fault, FAULT_CANCELLED, NULL, "stopped");
		offset += n;
		len -= n;
	}
	return len ? fault_set(fault, FAULT_DAMAGED, NULL, "it ends") : 0;
}

/* Appends names, or "ls -l" of what is directly in a directory, which ends with a slash. */
int sftp_list(struct sftp *sftp, const char *path, bool long_entries, struct buffer *out,
	      struct fault *fault)
{
	char directory[256];
	char line[512];

	(void)sftp;
	snprintf(directory, sizeof(directory), "%.*s", (int)strlen(path) - 1, path);
	if (!server_find(directory))
		return absent(fault);
	for (size_t i = 0; i < SERVER_FILES; i++) {
		const struct server_file *file = &server.files[i];
		const char *name = file->path + strlen(path);

		if (strncmp(file->path, path, strlen(path)) != 0 || strchr(name, '/'))
			continue;
		if (long_entries)
			snprintf(line, sizeof(line),
				 "%crw-r--r--    1 a user   %zu Nov 30 12:31 %s\n",
				 file->directory ? 'd' : '-', file->content.size, name);
		else
			snprintf(line, sizeof(line), "%s\n", name);
		buffer_append(out, line, strlen(line));
	}
	return 0;
}

static int run_one(const struct sftp_command *command, struct fault *fault)
{
	struct server_file *file;
	struct server_file *target;

	meddle(command->verb);
	file = server_find(command->path);
	if (strcmp(command->verb, "mkdir") == 0) {
		if (file)
			return fault_set(fault, FAULT_READ_ONLY, NULL, "Operation failed");
		return server_make(command->path, true) ? 0 : absent(fault);
	}
	if (!file)
		return absent(fault);
	if (strcmp(command->verb, "rm") == 0) {
		server_remove(file);
		return 0;
	}
	assert_string_equal(command->verb, "rename");
	if (server_find(command->target))
		return fault_set(fault, FAULT_READ_ONLY, NULL, "Operation failed");
	target = server_make(command->target, false);
	if (!target)
		return absent(fault);
	target->content = file->content;
	memset(file, 0, sizeof(*file));
	if (!server.rename_unanswered)
		return 0;
	server.rename_unanswered = false;
	return cut(fault);
}

int sftp_run(struct sftp *sftp, const struct sftp_command *commands, size_t count,
	     struct fault *fault)
{
	(void)sftp;
	for (size_t i = 0; i < count; i++) {
		struct fault ignored = {0};

		if (run_one(&commands[i], commands[i].may_fail ? &ignored : fault) != 0 &&
		    !commands[i].may_fail)
			return -1;
	}
	return 0;
}

/* Takes what the upload gives. */
static int take_upload(const struct sftp_upload *upload, struct server_file *file,
		       struct fault *fault)
{
	uint64_t got = 0;
	ssize_t n;

	while (true) {
		uint8_t *to = buffer_reserve(&file->content, SERVER_CHUNK);

		assert_non_null(to);
		n = upload->next(upload->ctx, to, SERVER_CHUNK, fault);
		if (n <= 0)
			return n == 0 ? 0 : -1;
		buffer_extend(&file->content, (size_t)n);
		if (upload->acknowledged)
			upload->acknowledged(upload->ctx, got);
		got += (uint64_t)n;
		server.received += (uint64_t)n;
		if (server.full)
			return fault_set(fault, FAULT_NO_SPACE, NULL, "the disk is full");
		if (server.cut_after && got >= server.cut_after)
			return cut(fault);
	}
}

int sftp_upload(struct sftp *sftp, const struct sftp_upload *upload, struct fault *fault)
{
	struct server_file *file;

	if (sftp_run(sftp, upload->before, upload->before_count, fault) != 0)
		return -1;
	meddle("upload");
	file = server_find(upload->path);
	if (!file)
		file = upload->offset ? NULL : server_make(upload->path, false);
	if (!file)
		return absent(fault);
	if (upload->offset == 0)
		buffer_clear(&file->content);
	if (take_upload(upload, file, fault) != 0)
		return -1;
	return sftp_run(sftp, upload->after, upload->after_count, fault);
}

int sftp_make_root(struct sftp *sftp, struct fault *fault)
{
	(void)sftp;
	(void)fault;
	if (!server_find("."))
		server_make(".", true);
	return 0;
}

void sftp_diagnose(struct sftp *sftp, struct fault *fault)
{
	(void)sftp;
	(void)fault;
}

#endif
