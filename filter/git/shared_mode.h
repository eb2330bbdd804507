/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Permissions in a repository that several users share: with core.sharedRepository git, and git-lfs
 * too, give what they make in it more of them than the umask leaves. A process works on one
 * repository, so there is one setting, made before there are threads.
 */
#ifndef FILTER_SHARED_MODE_H
#define FILTER_SHARED_MODE_H

#include <sys/stat.h>

/** What core.sharedRepository makes of a file's mode, or of a directory's. value may be NULL. */
mode_t shared_mode(const char *value, mode_t mode);

/** From now on that holds for what is made in dir and below. Both are copied. */
void shared_mode_begin(const char *dir, const char *value);
void shared_mode_end(void);

/** mkdir(2) with all permissions that the umask leaves, or more of them. */
int shared_mkdir(const char *path);

/** Adjusts a file that was just made at path. */
void shared_file(int fd, const char *path);

#endif
