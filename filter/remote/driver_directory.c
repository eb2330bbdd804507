/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/remote/driver_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "filter/stream.h"

/* Bytes that are read at a time. */
#define STEP ((size_t)1 << 20)

static int directory_open(const struct location *location, const struct store_settings *settings,
			  void **state, struct fault *fault)
{
	struct directory *directory = calloc(1, sizeof(*directory));

	if (directory)
		directory->root = strdup(strcmp(location->path, "/") == 0 ? "" : location->path);
	if (!directory || !directory->root) {
		free(directory);
		return fault_nomem(fault);
	}
	directory->sync = settings->sync;
	*state = directory;
	return 0;
}

static void directory_close(void *state)
{
	struct directory *directory = state;

	if (!directory)
		return;
	free(directory->root);
	free(directory);
}

/* ---- paths and faults ----------------------------------------------------------------------- */

char *directory_path(const struct directory *directory, const char *key)
{
	char *path;

	if (asprintf(&path, "%s/%s", directory->root, key) < 0)
		return NULL;
	return path;
}

int directory_open_above(const struct directory *directory, const char *key)
{
	const int flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
	char *path = directory_path(directory, key);
	char *at = path ? path + strlen(directory->root) + 1 : NULL;
	int fd = path ? open(*directory->root ? directory->root : "/", flags) : -1;
	char *slash;

	while (fd >= 0 && (slash = strchr(at, '/')) != NULL) {
		int above = fd;

		*slash = 0;
		fd = openat(above, at, flags | O_NOFOLLOW);
		at = slash + 1;
		close(above);
	}
	free(path);
	return fd;
}

bool directory_is_there(const struct directory *directory)
{
	struct stat st;
	char *path = directory_path(directory, "");
	bool there = path && (stat(path, &st) == 0 ? S_ISDIR(st.st_mode)
						   : errno != ENOENT && errno != ENOTDIR);

	free(path);
	return there;
}

static int no_store(const struct directory *directory, struct fault *fault)
{
	return fault_set(fault, FAULT_NO_STORE,
			 "check the path, and that it is mounted; git brevis store init makes a "
			 "store",
			 "there is no directory %s/", directory->root);
}

int directory_read_fault(const struct directory *directory, const char *key, int error,
			 struct fault *fault)
{
	switch (error) {
	case ENOENT:
	case ENOTDIR:
		if (!directory_is_there(directory))
			return no_store(directory, fault);
		return fault_set(fault, FAULT_ABSENT, NULL, "the store lacks %s", key);
	case ELOOP:
	case EISDIR:
	case EINVAL:
		return fault_set(fault, FAULT_DAMAGED, "put a regular file in its place",
				 "%s/%s is no regular file", directory->root, key);
	case EACCES:
	case EPERM:
		return fault_set(fault, FAULT_DENIED, "let this user read it", "reading %s/%s: %s",
				 directory->root, key, strerror(error));
	default:
		return fault_errno(fault, error, "reading %s/%s", directory->root, key);
	}
}

int directory_write_fault(const struct directory *directory, const char *key, int error,
			  struct fault *fault)
{
	if ((error == ENOENT || error == ENOTDIR) && !directory_is_there(directory))
		return no_store(directory, fault);
	return fault_errno(fault, error, "writing %s/%s", directory->root, key);
}

/* ---- reading and removing ------------------------------------------------------------------- */

static int directory_size(void *state, const char *key, uint64_t *size, struct fault *fault)
{
	const struct directory *directory = state;
	char *path = directory_path(directory, key);
	struct stat st;
	int rc;

	if (!path)
		return fault_nomem(fault);
	rc = fstatat(AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW);
	if (rc != 0)
		rc = directory_read_fault(directory, key, errno, fault);
	else if (!S_ISREG(st.st_mode))
		rc = directory_read_fault(directory, key, EINVAL, fault);
	else
		*size = (uint64_t)st.st_size;
	free(path);
	return rc;
}

/* Opens a file that has all of [offset, offset + len). */
static int open_object(const struct directory *directory, const char *key, uint64_t offset,
		       uint64_t len, struct fault *fault)
{
	char *path = directory_path(directory, key);
	struct stat st = {0};
	int error;
	int fd;

	if (!path)
		return fault_nomem(fault);
	/* Not blocking: a pipe must not hold us up. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	error = fd < 0 || fstat(fd, &st) != 0 ? errno : 0;
	free(path);
	if (!error && !S_ISREG(st.st_mode))
		error = EINVAL;
	if (error) {
		directory_read_fault(directory, key, error, fault);
	} else if (offset > (uint64_t)st.st_size || len > (uint64_t)st.st_size - offset) {
		fault_set(fault, FAULT_DAMAGED, NULL, "%s has %lld bytes, fewer than are expected",
			  key, (long long)st.st_size);
	} else {
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

static int directory_read(void *state, const char *key, uint64_t offset, uint64_t len,
			  brevis_write_fn write, void *ctx, struct fault *fault)
{
	const struct directory *directory = state;
	size_t step = len < STEP ? (size_t)len : STEP;
	uint8_t *buf = malloc(step ? step : 1);
	int rc = 0;
	int fd;

	if (!buf)
		return fault_nomem(fault);
	fd = open_object(directory, key, offset, len, fault);
	if (fd < 0) {
		free(buf);
		return -1;
	}
	if (len > STEP)
		(void)posix_fadvise(fd, (off_t)offset, (off_t)len, POSIX_FADV_SEQUENTIAL);
	while (rc == 0 && len) {
		size_t n = len < step ? (size_t)len : step;

		if (stream_read_at(fd, buf, n, offset) != 0)
			rc = directory_read_fault(directory, key, errno, fault);
		else if (write(ctx, buf, n) != 0)
			rc = fault_set(fault, FAULT_CANCELLED, NULL, "reading %s was stopped", key);
		offset += n;
		len -= n;
	}
	close(fd);
	free(buf);
	return rc;
}

static int directory_remove(void *state, const struct store_entry *entry, struct fault *fault)
{
	const struct directory *directory = state;
	int dir = directory_open_above(directory, entry->key);
	int rc = dir < 0 ? -1 : unlinkat(dir, strrchr(entry->key, '/') + 1, 0);
	int error = errno;

	if (dir >= 0)
		close(dir);
	if (rc == 0 || ((error == ENOENT || error == ENOTDIR) && directory_is_there(directory)))
		return 0;
	return directory_write_fault(directory, entry->key, error, fault);
}

const struct driver driver_directory = {
	.name = "directory",
	.open = directory_open,
	.close = directory_close,
	.size = directory_size,
	.read = directory_read,
	.scratch = directory_scratch,
	.put = directory_put,
	.put_bytes = directory_put_bytes,
	.create = directory_create,
	.list = directory_list,
	.remove = directory_remove,
};
