/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What is stored already that a file being cleaned may equal or resemble: the objects behind its
 * path's entries in index and HEAD, and those of known contents of the same size.
 */
#ifndef FILTER_EARLIER_H
#define FILTER_EARLIER_H

#include "filter/convert.h"

/** Archives that a clean looks at, at most. */
#define EARLIER_ARCHIVES 8

struct earlier_archive {
	struct pointer pointer;
	struct object_file file;
	struct brevis_archive *archive;
};

/** Must stay where it is between earlier_open and earlier_close. */
struct earlier {
	struct pointer of_path[2]; /* pointers in index and HEAD, distinct */
	size_t of_path_count;

	struct earlier_archive archives[EARLIER_ARCHIVES]; /* most likely first */
	size_t count;

	bool has_plain; /* one of of_path is a Git LFS object that is here and no archive: */
	struct pointer plain;
	struct object_file plain_file;
};

/**
 * Looks around for path, or NULL if it is not known. size is that of its work file, a hint, or 0.
 * What cannot be opened is left out: nothing here can fail.
 */
void earlier_open(struct earlier *earlier, const struct workspace *ws, const char *path,
		  uint64_t size);
void earlier_close(struct earlier *earlier);

/** Closes its archives: they proved wrong. What it knows of the path stays. */
void earlier_forget_archives(struct earlier *earlier);

/** The pointer of one of its archives. */
const struct pointer *earlier_pointer(const struct earlier *earlier,
				      const struct brevis_archive *archive);

/** True if index or HEAD hold this pointer for the path. */
bool earlier_is_of_path(const struct earlier *earlier, const struct pointer *pointer);

/**
 * Finds the pointer that content of this size and hash had before: that of a plain object in index
 * or HEAD, or one that the map of known content tells and that its object bears out. An object that
 * is not here any more counts if index or HEAD still name it.
 */
bool earlier_find(const struct earlier *earlier, const struct workspace *ws, uint64_t size,
		  const uint8_t sha256[BREVIS_SHA256_SIZE], struct pointer *out);

#endif
