/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/objects/cache_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "filter/cli/interrupt.h"
#include "filter/git/shared_mode.h"
#include "filter/objects/token.h"
#include "filter/stream.h"

int cache_directory_open(const char *path)
{
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Makes one directory, unless it is there. What is above may well be there in places where nothing
 * can be made: that is no failure yet, but the cause of a later one, and kept in *refused. */
static int make_directory(const char *path, int *refused)
{
	if (shared_mkdir(path) == 0 || errno == EEXIST)
		return 0;
	if (errno == EROFS || errno == EACCES) {
		*refused = errno;
		return 0;
	}
	if (errno == ENOENT && *refused)
		errno = *refused;
	return -1;
}

int cache_directory_make(const char *path)
{
	char *copy = strdup(path);
	char *slash;
	int refused = 0;
	int fd = -1;

	if (!copy)
		return -1;
	for (slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (make_directory(copy, &refused) != 0)
			goto out;
		*slash = '/';
	}
	if (make_directory(copy, &refused) != 0)
		goto out;
	fd = cache_directory_open(copy);
	if (fd < 0 && errno == ENOENT && refused)
		errno = refused;
out:
	free(copy);
	return fd;
}

ssize_t cache_file_read(int dir_fd, const char *name, void *buf, size_t room, struct stat *st)
{
	struct stat own;
	ssize_t len = -1;
	int error;
	/* A named pipe must not make us wait for a writer. */
	int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0)
		return -1;
	if (!st)
		st = &own;
	if (fstat(fd, st) == 0) {
		if (!S_ISREG(st->st_mode))
			errno = EINVAL;
		else if ((uint64_t)st->st_size > room)
			errno = EFBIG;
		else
			len = stream_read_start(fd, buf, room);
	}
	error = errno;
	close(fd);
	errno = error;
	return len;
}

int cache_file_write(int dir_fd, const char *name, const void *data, size_t len)
{
	char token[TOKEN_SIZE + 1];
	char path[64];
	const char *temporary;
	int guard;
	int failed;
	int error;
	int fd;

	if (token_make(token) != 0)
		return -1;
	/* A path by which a signal that ends us finds the file too. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d/new-%s", dir_fd, token);
	temporary = strrchr(path, '/') + 1;
	guard = interrupt_guard_file(path);
	fd = openat(dir_fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	failed = fd < 0 ? -1 : stream_write(&fd, data, len);
	error = errno;
	if (fd >= 0 && close(fd) != 0 && !failed) {
		failed = -1;
		error = errno;
	}
	if (!failed && renameat(dir_fd, temporary, dir_fd, name) != 0) {
		failed = -1;
		error = errno;
	}
	if (failed && fd >= 0)
		unlinkat(dir_fd, temporary, 0);
	interrupt_forget(guard);
	errno = error;
	return failed;
}
