/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Small files below <lfs dir>/brevis, which is a cache: what cannot be read there is not there, and
 * what cannot be written costs time only. Nothing here reports.
 */
#ifndef FILTER_CACHE_FILE_H
#define FILTER_CACHE_FILE_H

#include <sys/stat.h>
#include <sys/types.h>

/** Opens a directory. Returns its descriptor, which the caller closes, or -1 with errno. */
int cache_directory_open(const char *path);

/** Makes a directory, and what is missing above it, and opens it in the same way. */
int cache_directory_make(const char *path);

/**
 * Reads a whole file of at most room bytes. Symbolic links are not followed. Returns its length, or
 * -1 with errno: EFBIG if it is larger, ELOOP if it is a link, EINVAL if it is no regular file
 * otherwise. st, which may be NULL, is what fstat says of what was opened.
 */
ssize_t cache_file_read(int dir_fd, const char *name, void *buf, size_t room, struct stat *st);

/**
 * Writes a file under a temporary name and moves it into place: readers see the file that was there
 * or all of the new one. Others cannot write to it, whatever the umask, but replace it as they
 * please. It is not synced. Returns -1 with errno, leaving nothing, if that fails.
 */
int cache_file_write(int dir_fd, const char *name, const void *data, size_t len);

#endif
