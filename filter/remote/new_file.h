/* SPDX-License-Identifier: Apache-2.0 */
/**
 * A file that is nowhere to be seen until it is complete. Where the file system can, it has no name
 * at all before that, so that nothing is left of one that was given up, however that came; else it
 * has a temporary one.
 */
#ifndef FILTER_REMOTE_NEW_FILE_H
#define FILTER_REMOTE_NEW_FILE_H

#include <stdbool.h>

struct new_file {
	int fd;     /* to write to */
	char *name; /* the temporary one, or NULL */
	int guard;
};

/**
 * Makes one in a directory. temporary is the path that it has there if it needs one; a file of that
 * name is of an earlier attempt, and goes. mode as that of open. Returns 0, or -1 with errno.
 */
int new_file_make(struct new_file *file, const char *directory, const char *temporary,
		  unsigned mode);

/**
 * Gives it its name, on the same file system. *was_there tells that there is something of that name
 * already: that stays. Returns 0, or -1 with errno.
 */
int new_file_place(struct new_file *file, const char *path, bool *was_there);

/** Closes it. Without a name it is gone. */
void new_file_close(struct new_file *file);

#endif
