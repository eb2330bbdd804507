/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/convert/thread_share.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/pool.h"
#include "filter/cli/report.h"

/*
 * The budget is an empty file of the user. Each byte of it stands for a thread beyond the first of
 * some process, and is locked by whoever uses it. The kernel drops the locks with the descriptor,
 * so nothing has to be cleaned up after anybody.
 */
#define FILE_NAME "git-brevis-threads"

/* The directory of the user's run-time files, else that of temporary ones. */
static const char *directory(void)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	const char *temporary = getenv("TMPDIR");

	if (runtime && runtime[0] == '/')
		return runtime;
	return temporary && temporary[0] == '/' ? temporary : "/tmp";
}

/* Where everybody may write, someone else may have been there first: only a plain file that is ours
 * will do. Returns -1 if there is none. */
static int open_budget(void)
{
	char path[PATH_MAX];
	struct stat st;
	int len = snprintf(path, sizeof(path), "%s/" FILE_NAME "-%lu", directory(),
			   (unsigned long)geteuid());
	int fd = -1;

	if (len > 0 && (size_t)len < sizeof(path))
		fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid())
		return fd;
	close(fd);
	return -1;
}

void thread_share_take(struct thread_share *share, unsigned wanted)
{
	unsigned most = pool_threads(wanted);
	int fd = most > 1 ? open_budget() : -1;
	unsigned i;

	*share = (struct thread_share){.threads = most};
	if (fd < 0)
		return;
	share->threads = 1;
	share->lock = fd + 1;
	for (i = 0; i + 1 < most; i++) {
		struct flock lock = {
			.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = i, .l_len = 1};

		if (fcntl(fd, F_OFD_SETLK, &lock) == 0)
			share->threads++;
	}
	if (share->threads < most)
		report_trace("%u of %u threads: others of this user are at work", share->threads,
			     most);
}

void thread_share_return(struct thread_share *share)
{
	if (share->lock)
		close(share->lock - 1);
	*share = (struct thread_share){0};
}
