/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/work/work_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "filter/cli/interrupt.h"
#include "filter/cli/report.h"
#include "filter/objects/token.h"
#include "filter/stream.h"

/* What helps where nothing can be written. */
#define MAKE_WRITABLE "make its directory writable"

/* ---- the way to a file ----------------------------------------------------------------------- */

/* Index entries may come from a stranger's repository: names that lead elsewhere are refused. */
static bool is_plain_name(const char *name, size_t len)
{
	if (len == 0 || len > NAME_MAX || (len == 1 && name[0] == '.'))
		return false;
	if (len == 2 && name[0] == '.' && name[1] == '.')
		return false;
	return !(len == 4 && strncasecmp(name, ".git", 4) == 0);
}

/* With made given, a missing directory is created and counted there. */
static int open_directory(int parent, const char *name, size_t *made)
{
	const int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(parent, name, flags);

	if (fd < 0 && errno == ENOENT && made) {
		if (mkdirat(parent, name, 0777) == 0)
			++*made;
		else if (errno != EEXIST)
			return -1;
		fd = openat(parent, name, flags);
	}
	return fd;
}

/* Opens the directory that holds path, one component after the other, following no link. *leaf is
 * the last component, within path. Missing directories are created and counted in *made, unless
 * that is NULL. Returns -1 with errno set. */
static int open_parent(const char *top, const char *path, size_t *made, const char **leaf)
{
	int dir = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);

	while (dir >= 0) {
		char name[NAME_MAX + 1];
		size_t len = strcspn(path, "/");
		int next;

		if (!is_plain_name(path, len)) {
			close(dir);
			errno = EINVAL;
			return -1;
		}
		if (!path[len])
			break;
		memcpy(name, path, len);
		name[len] = 0;
		next = open_directory(dir, name, made);
		if (next < 0) {
			int reason = errno;

			close(dir);
			errno = reason;
			return -1;
		}
		close(dir);
		dir = next;
		path += len + 1;
	}
	*leaf = path;
	return dir;
}

int work_file_open(const char *top, const char *path)
{
	const char *leaf;
	struct stat st;
	int dir = open_parent(top, path, NULL, &leaf);
	int reason = 0;
	int fd;

	if (dir < 0)
		return -1;
	/* O_NONBLOCK: a fifo must not make us wait for its writer. */
	fd = openat(dir, leaf, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		reason = errno;
	else if (fstat(fd, &st) != 0)
		reason = errno;
	else if (!S_ISREG(st.st_mode))
		reason = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
	close(dir);
	if (!reason)
		return fd;
	if (fd >= 0)
		close(fd);
	errno = reason;
	return -1;
}

/* ---- looking --------------------------------------------------------------------------------- */

static void look_inside(int fd, struct work_look *out)
{
	char start[POINTER_SIZE_LIMIT];
	ssize_t got = stream_read_start(fd, start, sizeof(start));

	if (got < 0) {
		out->kind = WORK_OTHER;
		out->reason = errno;
	} else if (got == 0) {
		out->kind = WORK_EMPTY;
	} else if (brevis_is_archive(start, (size_t)got)) {
		out->kind = WORK_ARCHIVE;
	} else if ((size_t)got < sizeof(start) &&
		   pointer_parse(start, (size_t)got, &out->pointer)) {
		out->kind = WORK_POINTER;
	} else {
		out->kind = WORK_CONTENT;
	}
}

void work_file_look(const char *top, const char *path, struct work_look *out)
{
	int fd = work_file_open(top, path);

	memset(out, 0, sizeof(*out));
	if (fd < 0) {
		out->reason = errno;
		out->kind = errno == ENOENT ? WORK_ABSENT : WORK_OTHER;
		return;
	}
	if (fstat(fd, &out->stat) != 0) {
		out->reason = errno;
		out->kind = WORK_OTHER;
	} else {
		look_inside(fd, out);
	}
	close(fd);
}

/* A file that is being hashed. */
struct digest {
	struct brevis_sha256 *sha;
	uint64_t size;
};

static int add_to_digest(void *ctx, const void *data, size_t len)
{
	struct digest *digest = ctx;

	brevis_sha256_update(digest->sha, data, len);
	digest->size += len;
	return 0;
}

int work_file_digest(const char *top, const char *path, uint64_t *size,
		     uint8_t sha256[BREVIS_SHA256_SIZE])
{
	struct digest digest = {.sha = brevis_sha256_new()};
	int fd = work_file_open(top, path);
	int reason = fd < 0 ? errno : digest.sha ? 0 : ENOMEM;

	if (!reason && stream_read(fd, add_to_digest, &digest) < 0)
		reason = errno;
	if (!reason) {
		brevis_sha256_final(digest.sha, sha256);
		*size = digest.size;
	}
	if (fd >= 0)
		close(fd);
	brevis_sha256_free(digest.sha);
	errno = reason;
	return reason ? -1 : 0;
}

/* ---- making way ------------------------------------------------------------------------------ */

/* Removes what stands at a path, if nothing can be below it, or stand for it. Returns an errno. */
static int remove_obstacle(const char *top, const char *path, bool is_leaf)
{
	const char *leaf;
	struct stat st;
	int dir = open_parent(top, path, NULL, &leaf);
	int reason = 0;

	if (dir < 0 || fstatat(dir, leaf, &st, AT_SYMLINK_NOFOLLOW) != 0)
		reason = errno;
	else if (!S_ISDIR(st.st_mode) && !(is_leaf && S_ISREG(st.st_mode)) &&
		 unlinkat(dir, leaf, 0) != 0)
		reason = errno;
	if (dir >= 0)
		close(dir);
	return reason == ENOENT ? 0 : reason;
}

int work_file_make_way(const char *top, const char *path)
{
	size_t len = strcspn(path, "/");
	int reason = 0;

	for (; !reason; len += 1 + strcspn(path + len + 1, "/")) {
		char *part = strndup(path, len);

		if (!part)
			return report_error("%s: out of memory", path);
		reason = remove_obstacle(top, part, !path[len]);
		free(part);
		if (!path[len])
			break;
	}
	return reason ? report_error("%s: left out: what is in the way cannot be removed: %s; "
				     "move it away",
				     path, strerror(reason))
		      : 0;
}

/* ---- writing --------------------------------------------------------------------------------- */

struct work_file {
	char *path;
	const char *leaf; /* within path */
	const struct work_look *was;
	char *top;   /* absolute or as given */
	size_t made; /* directories above the file that did not exist before */
	bool placed;
	int dir;
	int fd;
	char name[32]; /* in dir, while the file has a name that must go; else "" */
	char *guarded; /* the same, absolute */
	int guard;
	uint64_t written;
	int reason; /* errno of the first failure */
};

static void remove_name(struct work_file *file)
{
	if (file->name[0])
		unlinkat(file->dir, file->name, 0);
	file->name[0] = 0;
}

/* Chooses a name that nobody else has, so that it can be guarded against signals before a file has
 * it; without memory for that, it is merely not guarded. Returns -1 with errno. */
static int choose_name(struct work_file *file)
{
	int dir_len = (int)(file->leaf - file->path);
	char token[TOKEN_SIZE + 1];

	if (token_make(token) != 0)
		return -1;
	snprintf(file->name, sizeof(file->name), ".git-brevis-%s", token);
	if (asprintf(&file->guarded, "%s/%.*s%s", file->top, dir_len, file->path, file->name) < 0)
		file->guarded = NULL;
	else
		file->guard = interrupt_guard_file(file->guarded);
	return 0;
}

/* A file without a name cannot be left behind, whatever ends us. Not every filesystem has them. */
static int open_new(struct work_file *file, mode_t mode)
{
	file->fd = openat(file->dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
	if (file->fd >= 0)
		return 0;
	if (choose_name(file) != 0)
		return -1;
	file->fd = openat(file->dir, file->name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	if (file->fd >= 0)
		return 0;
	file->name[0] = 0;
	return -1;
}

struct work_file *work_file_create(const char *top, const char *path, const struct work_look *was,
				   bool executable)
{
	struct work_file *file = calloc(1, sizeof(*file));

	if (!file)
		goto nomem;
	file->dir = -1;
	file->fd = -1;
	file->guard = -1;
	file->was = was;
	file->path = strdup(path);
	file->top = strdup(top);
	if (!file->path || !file->top)
		goto nomem;
	file->dir = open_parent(top, file->path, &file->made, &file->leaf);
	if (file->dir < 0) {
		bool is_blocked = errno == ELOOP || errno == ENOTDIR;

		report_error("%s: cannot reach its directory: %s; %s", path,
			     is_blocked ? "a symbolic link or a file is in the way"
					: strerror(errno),
			     is_blocked ? "move that away" : MAKE_WRITABLE);
		goto failed;
	}
	/* The umask takes away what the user does not want, as for every file git writes. */
	if (open_new(file, executable ? 0777 : 0666) < 0) {
		report_error("%s: cannot write beside it: %s; " MAKE_WRITABLE, path,
			     strerror(errno));
		goto failed;
	}
	return file;
nomem:
	report_error("%s: out of memory", path);
failed:
	work_file_free(file);
	return NULL;
}

int work_file_reserve(struct work_file *file, uint64_t size)
{
	/* The size stays 0: what is reserved and never written would read as zeros. */
	if (size == 0 || size > INT64_MAX ||
	    fallocate(file->fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)size) == 0)
		return 0;
	if (errno != ENOSPC && errno != EDQUOT && errno != EFBIG)
		return 0;
	return report_error(
		"%s: cannot write it: %s; nothing was changed; make room for %llu bytes",
		file->path, strerror(errno), (unsigned long long)size);
}

int work_file_write(void *work_file, const void *data, size_t len)
{
	struct work_file *file = work_file;
	const char *at = data;

	while (len && !file->reason) {
		ssize_t n = write(file->fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			file->reason = errno;
			break;
		}
		at += n;
		len -= (size_t)n;
		file->written += (uint64_t)n;
	}
	errno = file->reason;
	return file->reason ? -1 : 0;
}

/* True if what is at the path is still what was looked at. */
static bool is_unchanged(const struct work_file *file)
{
	const struct stat *was = &file->was->stat;
	struct stat now;

	if (fstatat(file->dir, file->leaf, &now, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT && file->was->kind == WORK_ABSENT;
	return file->was->kind != WORK_ABSENT && now.st_dev == was->st_dev &&
	       now.st_ino == was->st_ino && now.st_size == was->st_size &&
	       now.st_mtim.tv_sec == was->st_mtim.tv_sec &&
	       now.st_mtim.tv_nsec == was->st_mtim.tv_nsec;
}

/* Gives the nameless file a name in its directory. */
static int link_self(const struct work_file *file, const char *name)
{
	char self[64];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", file->fd);
	return linkat(AT_FDCWD, self, file->dir, name, AT_SYMLINK_FOLLOW);
}

/* Gives the nameless file a temporary name. */
static int give_name(struct work_file *file)
{
	if (file->name[0])
		return 0;
	if (choose_name(file) != 0)
		return -1;
	if (link_self(file, file->name) == 0)
		return 0;
	file->name[0] = 0;
	return -1;
}

/* Gives the file its final name. Where nothing was, nothing is replaced that appeared since. */
static int put_in_place(struct work_file *file)
{
	/* Then one step is enough, and a kill leaves no other name: a link does not replace. */
	if (file->was->kind == WORK_ABSENT && !file->name[0])
		return link_self(file, file->leaf);
	if (give_name(file) != 0)
		return -1;
	if (file->was->kind != WORK_ABSENT)
		return renameat(file->dir, file->name, file->dir, file->leaf);
	if (renameat2(file->dir, file->name, file->dir, file->leaf, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -1;
	/* Not every filesystem can do that; a second link does not replace either. */
	if (linkat(file->dir, file->name, file->dir, file->leaf, 0) == 0)
		return unlinkat(file->dir, file->name, 0);
	if (errno != EPERM && errno != EOPNOTSUPP)
		return -1;
	return renameat(file->dir, file->name, file->dir, file->leaf);
}

static int settle(struct work_file *file, struct stat *st)
{
	struct timespec times[2] = {{0, UTIME_OMIT}, {0, 0}};

	if (fstat(file->fd, st) != 0)
		return -1;
	times[1] = st->st_mtim;
	times[1].tv_sec--;
	if (futimens(file->fd, times) != 0 || put_in_place(file) != 0)
		return -1;
	file->name[0] = 0;
	file->placed = true;
	interrupt_forget(file->guard);
	file->guard = -1;
	return fstat(file->fd, st);
}

int work_file_commit(struct work_file *file, struct stat *st)
{
	if (file->reason)
		return report_error(
			"%s: cannot write it: %s after %llu bytes; nothing was changed; "
			"make room there",
			file->path, strerror(file->reason), (unsigned long long)file->written);
	if (!is_unchanged(file) || (settle(file, st) != 0 && errno == EEXIST))
		return report_error("%s: was changed by someone else meanwhile; left as it is; try "
				    "again",
				    file->path);
	if (!file->placed)
		return report_error("%s: cannot put it in place: %s; " MAKE_WRITABLE, file->path,
				    strerror(errno));
	return 0;
}

int work_file_remove(struct work_file *file)
{
	if (!is_unchanged(file))
		return report_error("%s: was changed by someone else meanwhile; left as it is",
				    file->path);
	if (unlinkat(file->dir, file->leaf, 0) != 0)
		return report_error("%s: cannot remove it: %s; " MAKE_WRITABLE, file->path,
				    strerror(errno));
	return 0;
}

/* Removes the directories that were made for a file that did not come, the lowest first; one that
 * holds something by now stays, and those above it. */
static void remove_directories(struct work_file *file)
{
	char *slash = strrchr(file->path, '/');

	for (; slash && file->made; file->made--) {
		const char *leaf;
		int parent;

		*slash = 0;
		parent = open_parent(file->top, file->path, NULL, &leaf);
		if (parent < 0)
			return;
		if (unlinkat(parent, leaf, AT_REMOVEDIR) != 0)
			file->made = 1;
		close(parent);
		slash = strrchr(file->path, '/');
	}
}

void work_file_free(struct work_file *file)
{
	if (!file)
		return;
	remove_name(file);
	if (!file->placed && file->made)
		remove_directories(file);
	interrupt_forget(file->guard);
	if (file->fd >= 0)
		close(file->fd);
	if (file->dir >= 0)
		close(file->dir);
	free(file->guarded);
	free(file->top);
	free(file->path);
	free(file);
}
