/* SPDX-License-Identifier: Apache-2.0 */
/**
 * git-lfs as the downloader: its filter-process, run as a child and fed plain pointers, brings
 * objects into the local store over whatever remote, credential and retry git-lfs knows.
 */
#ifndef FILTER_LFS_H
#define FILTER_LFS_H

#include "filter/convert/convert.h"

struct lfs_want {
	const char *path; /* for git-lfs's messages and filters */
	struct pointer pointer;
};

/**
 * Downloads all objects of want that are not in the store, together (delayed smudge). Afterwards
 * object_store_has() tells what is there; what is not was reported with path, cause and remedy.
 * Returns the number of paths that stay without, or -1 after reporting that git-lfs could not be
 * run.
 */
int lfs_download(struct workspace *ws, const struct lfs_want *want, size_t count);

#endif
