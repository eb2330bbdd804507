/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/objects/lfs_progress.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "filter/objects/pointer.h"

/* How often we look at the files. */
#define LOOK_MS 200

void lfs_progress_begin(struct lfs_progress *p, const char *lfs_dir, const char *name, size_t count,
			uint64_t bytes)
{
	memset(p, 0, sizeof(*p));
	p->count = count;
	if (asprintf(&p->dir, "%s/incomplete", lfs_dir) < 0)
		p->dir = NULL;
	progress_begin(&p->progress, "downloading", name, bytes);
	progress_file(&p->progress, name, 0, count);
}

/* Bytes that were counted once stay counted: a transfer that begins anew does not go back. */
static void count_up(struct lfs_progress *p, uint64_t bytes)
{
	if (bytes > p->counted) {
		progress_add(&p->progress, bytes - p->counted);
		p->counted = bytes;
	} else {
		progress_add(&p->progress, 0);
	}
}

void lfs_progress_arrived(struct lfs_progress *p, uint64_t bytes)
{
	p->arrived += bytes;
	p->named++;
	progress_number(&p->progress, p->named);
	count_up(p, p->arrived);
}

/* Bytes of the files that grow: their names begin with the objects'. */
static uint64_t bytes_growing(const struct lfs_progress *p,
			      bool (*is_pending)(void *ctx, const char *oid), void *ctx)
{
	DIR *dir = p->dir ? opendir(p->dir) : NULL;
	const struct dirent *entry;
	uint64_t bytes = 0;

	if (!dir)
		return 0;
	while ((entry = readdir(dir))) {
		char oid[OID_HEX_SIZE + 1];
		struct stat st;

		if (strlen(entry->d_name) < OID_HEX_SIZE)
			continue;
		memcpy(oid, entry->d_name, OID_HEX_SIZE);
		oid[OID_HEX_SIZE] = '\0';
		if (is_pending(ctx, oid) &&
		    fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode))
			bytes += (uint64_t)st.st_size;
	}
	closedir(dir);
	return bytes;
}

void lfs_progress_wait(struct lfs_progress *p, int fd,
		       bool (*is_pending)(void *ctx, const char *oid), void *ctx)
{
	struct pollfd answer = {.fd = fd, .events = POLLIN};

	if (!p->progress.is_shown)
		return;
	while (poll(&answer, 1, LOOK_MS) == 0)
		count_up(p, p->arrived + bytes_growing(p, is_pending, ctx));
}

void lfs_progress_end(struct lfs_progress *p)
{
	progress_end(&p->progress);
	free(p->dir);
	p->dir = NULL;
}
