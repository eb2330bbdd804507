/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/remote/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "filter/cli/interrupt.h"

#define OWN_FD "/proc/self/fd/%d"

/* True if this error says that no file without a name can be made there. */
static bool must_be_named(int error)
{
	return error == EOPNOTSUPP || error == EISDIR || error == EINVAL || error == ENOSYS;
}

static int make_named(struct new_file *file, const char *temporary, unsigned mode)
{
	file->name = strdup(temporary);
	if (!file->name) {
		errno = ENOMEM;
		return -1;
	}
	unlink(file->name);
	file->fd = open(file->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
	if (file->fd >= 0) {
		file->guard = interrupt_guard_file(file->name);
		return 0;
	}
	free(file->name);
	file->name = NULL;
	return -1;
}

int new_file_make(struct new_file *file, const char *directory, const char *temporary,
		  unsigned mode)
{
	char own[sizeof(OWN_FD) + 16];

	file->name = NULL;
	file->guard = -1;
	file->fd = open(directory, O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
	if (file->fd >= 0) {
		/* A name can only be given where /proc is. */
		snprintf(own, sizeof(own), OWN_FD, file->fd);
		if (access(own, F_OK) == 0)
			return 0;
		close(file->fd);
	} else if (!must_be_named(errno)) {
		return -1;
	}
	return make_named(file, temporary, mode);
}

static bool has_no_links(int error)
{
	return error == EPERM || error == EOPNOTSUPP || error == ENOSYS || error == EMLINK;
}

/* Where there are no hard links, a rename must not replace what came meanwhile; where it cannot
 * tell, between our looking and it a moment is left, in which only an equally good file comes. */
static int rename_to(struct new_file *file, const char *path)
{
	if (renameat2(AT_FDCWD, file->name, AT_FDCWD, path, RENAME_NOREPLACE) != 0) {
		if (errno != EINVAL && errno != ENOSYS)
			return -1;
		if (access(path, F_OK) == 0) {
			errno = EEXIST;
			return -1;
		}
		if (rename(file->name, path) != 0)
			return -1;
	}
	interrupt_forget(file->guard);
	file->guard = -1;
	free(file->name);
	file->name = NULL;
	return 0;
}

static int give_name(struct new_file *file, const char *path)
{
	char own[sizeof(OWN_FD) + 16];

	if (!file->name) {
		snprintf(own, sizeof(own), OWN_FD, file->fd);
		return linkat(AT_FDCWD, own, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
	}
	/* A link replaces nothing, on NFS neither. The temporary name goes when the file closes. */
	if (link(file->name, path) == 0)
		return 0;
	return has_no_links(errno) ? rename_to(file, path) : -1;
}

int new_file_place(struct new_file *file, const char *path, bool *was_there)
{
	*was_there = false;
	if (give_name(file, path) == 0)
		return 0;
	*was_there = errno == EEXIST;
	return *was_there ? 0 : -1;
}

void new_file_close(struct new_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	if (file->name)
		interrupt_remove_file(file->guard, file->name);
	else
		interrupt_forget(file->guard);
	free(file->name);
	*file = (struct new_file){.fd = -1, .guard = -1};
}
