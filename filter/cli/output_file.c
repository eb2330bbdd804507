/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/cli/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "filter/cli/interrupt.h"
#include "filter/cli/report.h"
#include "filter/stream.h"
#include "filter/objects/token.h"

#define BUFFER_SIZE (256 * 1024)

struct output_file {
	const char *path;
	char *temporary; /* NULL: written in place */
	int fd;
	int guard;
	bool force;
	int failure; /* errno of the first error */
	size_t used;
	uint8_t buffer[BUFFER_SIZE];
};

/* Reports why the output cannot be written, and what helps against that. Returns -1. */
static int fail(const struct output_file *output, int failure)
{
	const char *remedy;

	switch (failure) {
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
		remedy = "make room there, or name another place with -o";
		break;
	case EACCES:
	case EPERM:
	case EROFS:
		remedy = "make that a place that can be written, or name another with -o";
		break;
	case ENOENT:
	case ENOTDIR:
		remedy = "create its directory first, or name another place with -o";
		break;
	case EEXIST:
		remedy = "it appeared meanwhile; -f replaces it";
		break;
	case EPIPE:
		remedy = "what reads it has ended";
		break;
	default:
		remedy = "name another place with -o";
		break;
	}
	return report_error("cannot write %s: %s; %s", output->path, strerror(failure), remedy);
}

static int open_temporary(struct output_file *output, mode_t mode)
{
	const char *slash = strrchr(output->path, '/');
	int dir_len = slash ? (int)(slash + 1 - output->path) : 0;
	char token[TOKEN_SIZE + 1];
	int error;

	if (token_make(token) != 0 ||
	    asprintf(&output->temporary, "%.*s.brevis-%s.tmp", dir_len, output->path, token) < 0) {
		output->temporary = NULL;
		return fail(output, errno);
	}
	output->guard = interrupt_guard_file(output->temporary);
	output->fd =
		open(output->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode & (mode_t)0777);
	if (output->fd >= 0)
		return 0;
	error = errno;
	interrupt_forget(output->guard);
	output->guard = -1;
	free(output->temporary);
	output->temporary = NULL;
	return fail(output, error);
}

static int open_path(struct output_file *output, mode_t mode)
{
	struct stat st;

	if (strcmp(output->path, "-") == 0) {
		output->path = "standard output";
		output->fd = STDOUT_FILENO;
		return 0;
	}
	if (stat(output->path, &st) != 0)
		return open_temporary(output, mode);
	if (S_ISDIR(st.st_mode))
		return report_error("%s is a directory; name a file", output->path);
	if (S_ISREG(st.st_mode)) {
		if (!output->force)
			return report_error("%s exists already; -f replaces it", output->path);
		return open_temporary(output, mode);
	}
	output->fd = open(output->path, O_WRONLY | O_CLOEXEC);
	if (output->fd < 0)
		return fail(output, errno);
	return 0;
}

struct output_file *output_file_open(const char *path, bool force, mode_t mode)
{
	struct output_file *output = calloc(1, sizeof(*output));

	if (!output) {
		report_error("out of memory");
		return NULL;
	}
	output->path = path;
	output->fd = -1;
	output->guard = -1;
	output->force = force;
	if (open_path(output, mode) == 0)
		return output;
	output_file_free(output);
	return NULL;
}

static int write_out(struct output_file *output, const void *data, size_t len)
{
	if (!output->failure && stream_write(&output->fd, data, len) != 0)
		output->failure = errno ? errno : EIO;
	return output->failure ? -1 : 0;
}

static int empty_buffer(struct output_file *output)
{
	size_t used = output->used;

	output->used = 0;
	return write_out(output, output->buffer, used);
}

int output_file_write(void *ctx, const void *data, size_t len)
{
	struct output_file *output = ctx;

	if (len >= BUFFER_SIZE - output->used && empty_buffer(output) != 0)
		return -1;
	if (len >= BUFFER_SIZE)
		return write_out(output, data, len);
	memcpy(output->buffer + output->used, data, len);
	output->used += len;
	return output->failure ? -1 : 0;
}

int output_file_flush(struct output_file *output)
{
	if (empty_buffer(output) == 0)
		return 0;
	return fail(output, output->failure);
}

bool output_file_failed(const struct output_file *output)
{
	return output->failure != 0;
}

int output_file_fd(const struct output_file *output)
{
	return output->temporary ? output->fd : -1;
}

/* Renames without replacing a file that appeared meanwhile, where the system can do that. */
static int rename_to(const struct output_file *output)
{
	if (output->force)
		return rename(output->temporary, output->path);
	if (renameat2(AT_FDCWD, output->temporary, AT_FDCWD, output->path, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -1;
	if (access(output->path, F_OK) == 0) {
		errno = EEXIST;
		return -1;
	}
	return rename(output->temporary, output->path);
}

int output_file_commit(struct output_file *output)
{
	if (output_file_flush(output) != 0)
		return -1;
	if (!output->temporary)
		return 0;
	if (fsync(output->fd) != 0 || rename_to(output) != 0)
		return fail(output, errno);
	interrupt_forget(output->guard);
	output->guard = -1;
	free(output->temporary);
	output->temporary = NULL;
	return 0;
}

void output_file_free(struct output_file *output)
{
	if (!output)
		return;
	if (output->temporary)
		interrupt_remove_file(output->guard, output->temporary);
	else
		interrupt_forget(output->guard);
	if (output->fd > STDERR_FILENO)
		close(output->fd);
	free(output->temporary);
	free(output);
}
