/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Files of the work tree: looked at and replaced whole, never through a symbolic link. Paths are
 * relative to the top of the work tree, as git lists them.
 */
#ifndef FILTER_WORK_FILE_H
#define FILTER_WORK_FILE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "filter/objects/pointer.h"

/** What stands in the work tree at a path. */
enum work_kind {
	WORK_ABSENT,  /* nothing */
	WORK_EMPTY,   /* a file of 0 bytes */
	WORK_POINTER, /* a file that is a pointer */
	WORK_ARCHIVE, /* a file that begins as a brevis archive */
	WORK_CONTENT, /* any other regular file */
	WORK_OTHER /* no regular file, or not reachable without following a link, or unreadable */
};

struct work_look {
	enum work_kind kind;
	int reason;             /* errno, if kind is WORK_OTHER; 0: no regular file */
	struct stat stat;       /* unless absent or other */
	struct pointer pointer; /* if kind is WORK_POINTER */
};

/** Looks at a file; reads at most its first kilobyte. */
void work_file_look(const char *top, const char *path, struct work_look *out);

/** Opens a regular file for reading. Returns -1 with errno set: ELOOP where a link is in the way.
 */
int work_file_open(const char *top, const char *path);

/** Reads a whole file and gives its size and SHA-256. Returns -1 with errno set. */
int work_file_digest(const char *top, const char *path, uint64_t *size,
		     uint8_t sha256[BREVIS_SHA256_SIZE]);

/**
 * Removes what keeps a file from a path: whatever is no directory where one has to be, and what is
 * neither file nor directory at the path itself. No link is followed. Reports and returns -1 on
 * failure.
 */
int work_file_make_way(const char *top, const char *path);

/** A file that is being written beside the one it will replace. */
struct work_file;

/**
 * Starts one for path, creating directories as needed. was is what work_file_look saw there, and
 * must live until work_file_commit. Reports and returns NULL on failure.
 */
struct work_file *work_file_create(const char *top, const char *path, const struct work_look *was,
				   bool executable);

/**
 * Makes sure that size bytes will fit, where the filesystem can tell. Reports how many are needed
 * and returns -1 if they do not.
 */
int work_file_reserve(struct work_file *work_file, uint64_t size);

/** A brevis_write_fn. The first error sticks and is reported by work_file_commit. */
int work_file_write(void *work_file, const void *data, size_t len);

/**
 * Gives the file its name, in one step and as a new inode, if what was seen there is still what is
 * there; *st then describes it. Reports and returns -1 if not; what is there stays as it is.
 *
 * It is not synced: like all that git writes to a work tree it can be written again.
 * Its mtime is put back one second. git trusts an index entry only if the file is older than the
 * index, to the second; younger ones it would read and clean once more.
 */
int work_file_commit(struct work_file *work_file, struct stat *st);

/** Removes what was seen at the path instead of replacing it, if that is still there. Reports and
 * returns -1 if not. */
int work_file_remove(struct work_file *work_file);

/** Frees it and leaves nothing behind if it was not committed, no new directory either. NULL is
 * allowed. */
void work_file_free(struct work_file *work_file);

#endif
