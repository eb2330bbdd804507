/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/git/index_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "filter/cli/interrupt.h"
#include "filter/cli/report.h"
#include "filter/objects/token.h"
#include "filter/stream.h"

#define BOOT_ID_SIZE 36
/* What is in a lock of ours, with the boot of the system it was made on: on some file systems that
 * machines share, only those on the same one learn whether it is held. git's own locks are empty,
 * or begin with "DIRC". */
#define MARK_NAME "git-brevis "
#define MARK_SIZE (sizeof(MARK_NAME) - 1 + BOOT_ID_SIZE + 1)

/* Returns false where the system does not say which boot this is. */
static bool make_mark(char mark[MARK_SIZE + 1])
{
	char boot[BOOT_ID_SIZE];
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	bool known;

	if (fd < 0)
		return false;
	known = stream_read_start(fd, boot, sizeof(boot)) == BOOT_ID_SIZE;
	close(fd);
	if (known)
		snprintf(mark, MARK_SIZE + 1, MARK_NAME "%.*s\n", BOOT_ID_SIZE, boot);
	return known;
}

static char *named(const char *index, const char *suffix)
{
	char *name;

	return asprintf(&name, "%s%s", index, suffix) < 0 ? NULL : name;
}

/* Makes a file that has the mark, and holds it. Where files cannot be held, or nobody can say by
 * whom, it has no mark, and so nobody takes it over. Returns -1 with errno. */
static int make_marked(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	char mark[MARK_SIZE + 1];
	int error;

	if (fd < 0)
		return -1;
	if (flock(fd, LOCK_EX | LOCK_NB) != 0 || !make_mark(mark) ||
	    stream_write(&fd, mark, MARK_SIZE) == 0)
		return fd;
	error = errno;
	close(fd);
	unlink(path);
	errno = error;
	return -1;
}

/* Whether path is still the open file: not if its holder has let go of it meanwhile. */
static bool is_name_of(const char *path, int fd)
{
	struct stat named;
	struct stat held;

	return stat(path, &named) == 0 && fstat(fd, &held) == 0 && named.st_dev == held.st_dev &&
	       named.st_ino == held.st_ino;
}

/* Takes over a lock that has our mark, of this boot, and no holder. Returns its descriptor, or -1
 * with errno EEXIST. */
static int take_over(const char *path)
{
	char mark[MARK_SIZE + 1];
	char text[MARK_SIZE + 1];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0)
		goto taken;
	if (make_mark(mark) && stream_read_start(fd, text, sizeof(text)) == (ssize_t)MARK_SIZE &&
	    memcmp(text, mark, MARK_SIZE) == 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
	    is_name_of(path, fd))
		return fd;
	close(fd);
taken:
	errno = EEXIST;
	return -1;
}

/* Whether a link failed because there are none here. */
static bool has_no_links(int error)
{
	return error == EPERM || error == EOPNOTSUPP || error == ENOSYS;
}

/* One attempt: the lock appears with its mark in it, and held. No signal must come between it and
 * its guard. Returns -1 with errno. */
static int attempt(struct index_lock *lock, const char *own, int own_fd)
{
	sigset_t signals;
	int error;

	interrupt_hold(&signals);
	if (link(own, lock->path) == 0)
		lock->fd = own_fd;
	else if (errno == EEXIST)
		lock->fd = take_over(lock->path);
	else if (has_no_links(errno))
		lock->fd = make_marked(lock->path);
	error = errno;
	if (lock->fd >= 0) {
		lock->guards[0] = interrupt_guard_file(lock->path);
		lock->guards[1] = interrupt_guard_file(lock->copy);
		lock->guards[2] = interrupt_guard_file(lock->copy_lock);
	}
	interrupt_resume(&signals);
	errno = error;
	return lock->fd < 0 ? -1 : 0;
}

/* Returns -1 with errno. */
static int take(struct index_lock *lock, const char *own, int attempts)
{
	const struct timespec pause = {0, 50 * 1000 * 1000};
	int guard = interrupt_guard_file(own);
	int fd = make_marked(own);
	int error = errno;

	while (fd >= 0 && attempt(lock, own, fd) != 0) {
		error = errno;
		if (error != EEXIST || --attempts <= 0)
			break;
		nanosleep(&pause, NULL);
	}
	if (fd >= 0)
		interrupt_remove_file(guard, own);
	else
		interrupt_forget(guard);
	if (fd >= 0 && fd != lock->fd)
		close(fd);
	errno = error;
	return lock->fd < 0 ? -1 : 0;
}

/* Returns -1 with errno ENOMEM if memory was short. */
static int name_all(struct index_lock *lock, const char *index)
{
	*lock = (struct index_lock){.path = named(index, ".lock"),
				    .index = strdup(index),
				    .copy = named(index, ".brevis"),
				    .copy_lock = named(index, ".brevis.lock"),
				    .guards = {-1, -1, -1},
				    .fd = -1};
	errno = ENOMEM;
	return lock->path && lock->index && lock->copy && lock->copy_lock ? 0 : -1;
}

/* What a kill of an earlier holder may have left. */
static void remove_leftovers(const struct index_lock *lock)
{
	unlink(lock->copy);
	unlink(lock->copy_lock);
}

int index_lock_take(struct index_lock *lock, const char *index, int attempts)
{
	char suffix[TOKEN_SIZE + 10] = ".brevis-";
	char *own = token_make(suffix + strlen(suffix)) == 0 ? named(index, suffix) : NULL;
	int error = ENOMEM;

	if (name_all(lock, index) == 0 && own)
		error = take(lock, own, attempts) == 0 ? 0 : errno;
	if (lock->fd >= 0)
		remove_leftovers(lock);
	free(own);
	errno = error;
	return lock->fd < 0 ? -1 : 0;
}

void index_lock_sweep(const char *index)
{
	struct index_lock lock;

	if (name_all(&lock, index) == 0)
		lock.fd = take_over(lock.path);
	if (lock.fd >= 0)
		remove_leftovers(&lock);
	index_lock_release(&lock);
}

int index_lock_replace(const struct index_lock *lock)
{
	return rename(lock->copy, lock->index);
}

void index_lock_release(struct index_lock *lock)
{
	sigset_t signals;

	if (lock->fd >= 0) {
		interrupt_hold(&signals);
		unlink(lock->copy);
		/* What stays is in git's way: it is worth a second try. */
		if (unlink(lock->path) != 0 && unlink(lock->path) != 0 && errno != ENOENT)
			report_error("%s: cannot remove the lock: %s; remove it", lock->path,
				     strerror(errno));
		for (int i = 0; i < 3; i++)
			interrupt_forget(lock->guards[i]);
		interrupt_resume(&signals);
		close(lock->fd);
	}
	free(lock->path);
	free(lock->index);
	free(lock->copy);
	free(lock->copy_lock);
	*lock = INDEX_LOCK_NONE;
}
