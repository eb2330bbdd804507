/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What is stored already that a file being cleaned may equal or resemble: the objects behind its
 * path's entries in index and HEAD, and those of known contents of the same size.
 */
#ifndef FILTER_EARLIER_H
#define FILTER_EARLIER_H

#include "filter/convert/convert.h"

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

/** What it knows of one of its archives. */
const struct earlier_archive *earlier_archive(const struct earlier *earlier,
					      const struct brevis_archive *archive);

/** True if index or HEAD hold this pointer for the path. */
bool earlier_is_of_path(const struct earlier *earlier, const struct pointer *pointer);

/** True if the object of a pointer is here, and its bytes are what it names. */
bool earlier_has_plain(const struct workspace *ws, const struct pointer *pointer);

/** Content that was encoded: what it is, and the archive that was made of it. */
struct encoded {
	uint64_t size;
	const uint8_t *sha256;
	struct pointer archive;
};

/**
 * Finds the archive that encoded content had before, by the map of known content, if its pointer
 * may go on standing for it: its object is here and restores the content, or it is not here, index
 * or HEAD hold that pointer, and a remote has it. A pointer whose object is nowhere is never found:
 * it could not be pushed.
 */
bool earlier_find(const struct earlier *earlier, const struct workspace *ws, const char *path,
		  const struct encoded *encoded, struct pointer *out);

#endif
