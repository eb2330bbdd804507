/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/git/scratch_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "filter/cli/interrupt.h"
#include "filter/cli/report.h"
#include "filter/git/shared_mode.h"
#include "filter/objects/token.h"

/* Makes a name in a directory that nobody has. Returns -1 with errno set. */
static int make_name(const char *dir, char **path)
{
	char token[TOKEN_SIZE + 1];
	int guard;
	int error;
	int fd;

	*path = NULL;
	if (token_make(token) != 0)
		return -1;
	if (asprintf(path, "%s/git-brevis-%s", dir, token) < 0) {
		*path = NULL;
		return -1;
	}
	/* Whether a file can be made there is tried. Only the name is wanted: git takes an empty
	 * file for a damaged index, and makes its own without following what might stand there by
	 * then. */
	guard = interrupt_guard_file(*path);
	fd = open(*path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	error = errno;
	if (fd >= 0) {
		close(fd);
		interrupt_remove_file(guard, *path);
		return 0;
	}
	interrupt_forget(guard);
	free(*path);
	*path = NULL;
	errno = error;
	return -1;
}

/* Among git-lfs's temporary files, or where nobody lets us write there, where others are. */
static int make_any_name(const struct repository *repository, char **path)
{
	const char *tmp = getenv("TMPDIR");
	char *dir;
	int rc;

	if (asprintf(&dir, "%s/tmp", repository_lfs_dir(repository)) < 0)
		return -1;
	shared_mkdir(repository_lfs_dir(repository));
	shared_mkdir(dir);
	rc = make_name(dir, path);
	free(dir);
	if (rc < 0 && tmp && *tmp == '/')
		rc = make_name(tmp, path);
	return rc < 0 ? make_name("/tmp", path) : rc;
}

int scratch_file_name(const struct repository *repository, struct scratch_file *out)
{
	*out = SCRATCH_FILE_NONE;
	if (make_any_name(repository, &out->path) < 0)
		return report_error("cannot make a temporary file in %s/tmp: %s; make that a "
				    "directory that can be written",
				    repository_lfs_dir(repository), strerror(errno));
	if (asprintf(&out->lock, "%s.lock", out->path) < 0) {
		free(out->path);
		*out = SCRATCH_FILE_NONE;
		return report_error("out of memory");
	}
	out->guards[0] = interrupt_guard_file(out->path);
	out->guards[1] = interrupt_guard_file(out->lock);
	return 0;
}

void scratch_file_remove(struct scratch_file *scratch)
{
	if (!scratch->path)
		return;
	interrupt_remove_file(scratch->guards[0], scratch->path);
	interrupt_remove_file(scratch->guards[1], scratch->lock);
	free(scratch->path);
	free(scratch->lock);
	*scratch = SCRATCH_FILE_NONE;
}
