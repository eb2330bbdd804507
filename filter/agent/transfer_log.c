/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/agent/transfer_log.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/escape.h"
#include "filter/objects/cache_file.h"

#define NAME     "transfer.log"
#define OLD_NAME NAME ".old"

/* Bytes of a line, at most; what a URL has beyond that is left out. */
#define LINE_SIZE 4096

static const char *const kinds[] = {
	[FAULT_NONE] = "none",           [FAULT_TRANSIENT] = "transient",
	[FAULT_ABSENT] = "absent",       [FAULT_NO_STORE] = "no store",
	[FAULT_DENIED] = "denied",       [FAULT_UNTRUSTED] = "untrusted",
	[FAULT_READ_ONLY] = "read-only", [FAULT_NO_SPACE] = "no space",
	[FAULT_DAMAGED] = "damaged",     [FAULT_UNSUPPORTED] = "unsupported",
	[FAULT_LOCAL] = "local",         [FAULT_CANCELLED] = "cancelled",
};

/* Composes the line, with its line feed. Returns its length. */
static size_t compose(char line[LINE_SIZE], const char *event, const char *where,
		      const struct fault *fault)
{
	char text[LINE_SIZE / 2];
	char stamp[32] = "";
	time_t now = time(NULL);
	struct tm parts;
	size_t len;

	if (gmtime_r(&now, &parts))
		strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%SZ", &parts);
	snprintf(text, sizeof(text), "%s [%ld] %s %s: %s: %s%s%s", stamp, (long)getpid(), event,
		 where, kinds[fault->kind], fault->cause, *fault->remedy ? "; " : "",
		 fault->remedy);
	len = escape_text(line, LINE_SIZE - 1, text);
	line[len++] = '\n';
	return len;
}

void transfer_log_add(const char *lfs_dir, const char *event, const char *where,
		      const struct fault *fault)
{
	char line[LINE_SIZE];
	struct stat st;
	char *path;
	int dir, fd;

	if (asprintf(&path, "%s/brevis", lfs_dir) < 0)
		return;
	dir = cache_directory_make(path);
	free(path);
	if (dir < 0)
		return;
	if (fstatat(dir, NAME, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_size >= TRANSFER_LOG_SIZE)
		renameat(dir, NAME, dir, OLD_NAME);
	fd = openat(dir, NAME, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
	/* In one write: lines of several processes do not mix. */
	if (fd >= 0) {
		(void)!write(fd, line, compose(line, event, where, fault));
		close(fd);
	}
	close(dir);
}
