/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/agent/incoming.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "filter/objects/cache_file.h"
#include "filter/cli/interrupt.h"
#include "filter/stream.h"
#include "filter/objects/token.h"

#define PART_SUFFIX ".part"

/* Seconds that a file may wait for the rest of its object. */
#define PATIENCE (7 * 24 * 3600)

/* Makes the directory that a path needs, and what is missing above that. -1 with errno. */
static int make_parent(const char *path)
{
	char *parent = strdup(path);
	char *slash = parent ? strrchr(parent, '/') : NULL;
	int dir = -1;

	if (slash) {
		*slash = 0;
		dir = cache_directory_make(parent);
	}
	free(parent);
	if (dir < 0)
		return -1;
	close(dir);
	return 0;
}

/* Creates a file, or opens it. The umask decides who may read it, as for all that git-lfs stores.
 * -1 with errno. */
static int open_below(const char *path, int flags)
{
	int fd;

	flags |= O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW;
	fd = open(path, flags, 0666);
	if (fd < 0 && errno == ENOENT && make_parent(path) == 0)
		fd = open(path, flags, 0666);
	return fd;
}

static int rename_below(const char *from, const char *to)
{
	if (rename(from, to) == 0)
		return 0;
	return errno == ENOENT && make_parent(to) == 0 ? rename(from, to) : -1;
}

/* A name in <lfs dir>/tmp that nobody has. NULL when memory is short. */
static char *choose_name(const char *lfs_dir)
{
	char token[TOKEN_SIZE + 1];
	char *path;

	if (token_make(token) != 0)
		return NULL;
	if (asprintf(&path, "%s/tmp/brevis-%s", lfs_dir, token) < 0)
		return NULL;
	return path;
}

int incoming_create(struct incoming *in, const char *lfs_dir, struct fault *fault)
{
	*in = (struct incoming){.fd = -1, .lfs_dir = lfs_dir, .guard = -1};
	in->path = choose_name(lfs_dir);
	if (!in->path)
		return fault_nomem(fault);
	in->guard = interrupt_guard_file(in->path);
	in->fd = open_below(in->path, O_EXCL);
	if (in->fd >= 0)
		return 0;
	fault_errno(fault, errno, "%s cannot be created", in->path);
	interrupt_forget(in->guard);
	in->guard = -1;
	free(in->path);
	in->path = NULL;
	return -1;
}

/* Locks the file. False if another process has it, or it is not the one at its path any more. */
static bool take(struct incoming *in)
{
	struct stat there, ours;

	if (flock(in->fd, LOCK_EX | LOCK_NB) != 0 || fstat(in->fd, &ours) != 0 ||
	    stat(in->path, &there) != 0 || !S_ISREG(ours.st_mode) || there.st_dev != ours.st_dev ||
	    there.st_ino != ours.st_ino)
		return false;
	in->size = (uint64_t)ours.st_size;
	return lseek(in->fd, 0, SEEK_END) >= 0;
}

int incoming_resume(struct incoming *in, const char *lfs_dir, const char *oid, struct fault *fault)
{
	*in = (struct incoming){.fd = -1, .lfs_dir = lfs_dir, .guard = -1, .is_part = true};
	if (asprintf(&in->path, "%s/brevis/incoming/%s" PART_SUFFIX, lfs_dir, oid) < 0) {
		in->path = NULL;
		return fault_nomem(fault);
	}
	in->fd = open_below(in->path, 0);
	if (in->fd >= 0 && take(in))
		return 0;
	/* Where the cache cannot be used, there is still git-lfs's own directory. */
	in->is_part = false;
	if (in->fd >= 0)
		close(in->fd);
	free(in->path);
	return incoming_create(in, lfs_dir, fault);
}

int incoming_reserve(struct incoming *in, uint64_t size, struct fault *fault)
{
	in->expected = size;
	/* The file's size stays: what is reserved and never written would read as zeros. */
	if (size <= in->size || size > INT64_MAX ||
	    fallocate(in->fd, FALLOC_FL_KEEP_SIZE, (off_t)in->size, (off_t)(size - in->size)) == 0)
		return 0;
	if (errno != ENOSPC && errno != EDQUOT && errno != EFBIG)
		return 0;
	return fault_errno(fault, errno, "%" PRIu64 " bytes do not fit into %s", size - in->size,
			   in->path);
}

int incoming_write(struct incoming *in, const void *data, size_t len, struct fault *fault)
{
	if (stream_write(&in->fd, data, len) != 0)
		return fault_errno(fault, errno,
				   "%s cannot be written: %" PRIu64 " of %" PRIu64 " bytes fit",
				   in->path, in->size, in->expected);
	in->size += len;
	return 0;
}

int incoming_empty(struct incoming *in, struct fault *fault)
{
	if (ftruncate(in->fd, 0) != 0 || lseek(in->fd, 0, SEEK_SET) != 0)
		return fault_errno(fault, errno, "%s cannot be emptied", in->path);
	in->size = 0;
	return 0;
}

/* Gives what came of an object the name of a file that git-lfs takes. */
static int move_part(struct incoming *in, struct fault *fault)
{
	char *path = choose_name(in->lfs_dir);
	int guard;

	if (!path)
		return fault_nomem(fault);
	/* git-lfs removes what is old there. */
	(void)futimens(in->fd, NULL);
	guard = interrupt_guard_file(path);
	if (rename_below(in->path, path) != 0) {
		fault_errno(fault, errno, "%s cannot be moved to %s", in->path, path);
		interrupt_forget(guard);
		free(path);
		return -1;
	}
	free(in->path);
	in->path = path;
	in->guard = guard;
	in->is_part = false;
	return 0;
}

int incoming_land(struct incoming *in, struct landed *out, struct fault *fault)
{
	if (in->is_part && move_part(in, fault) != 0)
		return -1;
	*out = (struct landed){in->path, in->guard};
	close(in->fd);
	*in = (struct incoming){.fd = -1, .guard = -1};
	return 0;
}

void landed_release(struct landed *landed)
{
	if (landed->path)
		interrupt_forget(landed->guard);
	free(landed->path);
	*landed = (struct landed){NULL, -1};
}

void landed_drop(struct landed *landed)
{
	if (landed->path)
		interrupt_remove_file(landed->guard, landed->path);
	free(landed->path);
	*landed = (struct landed){NULL, -1};
}

void incoming_close(struct incoming *in, bool drop)
{
	if (in->path && (drop || !in->is_part))
		interrupt_remove_file(in->guard, in->path);
	else
		interrupt_forget(in->guard);
	if (in->fd >= 0)
		close(in->fd);
	free(in->path);
	*in = (struct incoming){.fd = -1, .guard = -1};
}

/* Removes a file that nobody writes to, if it is too old. */
static void sweep_file(int dir, const char *name)
{
	size_t len = strlen(name);
	size_t suffix = strlen(PART_SUFFIX);
	struct stat st;
	int fd;

	if (len <= suffix || strcmp(name + len - suffix, PART_SUFFIX) != 0 ||
	    fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode) ||
	    st.st_mtime > time(NULL) - PATIENCE)
		return;
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
		unlinkat(dir, name, 0);
	if (fd >= 0)
		close(fd);
}

void incoming_sweep(const char *lfs_dir)
{
	struct dirent *entry;
	DIR *dir = NULL;
	char *path;

	if (asprintf(&path, "%s/brevis/incoming", lfs_dir) < 0)
		return;
	dir = opendir(path);
	free(path);
	while (dir && (entry = readdir(dir)) != NULL)
		sweep_file(dirfd(dir), entry->d_name);
	if (dir)
		closedir(dir);
}
