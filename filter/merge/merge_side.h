/* SPDX-License-Identifier: Apache-2.0 */
/**
 * One of the three versions that a merge is about, as git hands it to a merge driver: a file that
 * holds the blob, and the content that the blob stands for.
 */
#ifndef FILTER_MERGE_SIDE_H
#define FILTER_MERGE_SIDE_H

#include "filter/convert/convert.h"

enum merge_blob {
	MERGE_EMPTY,   /* nothing, or a pointer of size 0; the base of two added files, too */
	MERGE_POINTER, /* a pointer, of an archive or of a plain object */
	MERGE_RAW      /* the content itself, or an archive, committed without a filter */
};

struct merge_side {
	const char *title;   /* "base", "ours", "theirs" */
	const char *file;    /* the blob, as git wrote it */
	bool may_be_nothing; /* nothing is no content, but that there was no file: a base */
	enum merge_blob blob;
	struct pointer pointer; /* of MERGE_POINTER, and of MERGE_EMPTY if git holds one */

	/* What merge_side_look finds out. */
	bool is_here;    /* the content can be read here; else its object is missing */
	bool is_archive; /* an archive restores it */
	bool is_known;   /* size and oid are those of the content */
	uint64_t
		size; /* else they are the object's, which is the content unless it is an archive */
	char oid[OID_HEX_SIZE + 1];
};

/** Sees what git wrote to side->file. Reports and returns -1 if that cannot be read. */
int merge_side_read(struct merge_side *side);

/** Finds out what content that is, as far as objects are here. Decodes nothing; may be called
 * again. Reports and returns -1 if a raw blob cannot be read. */
int merge_side_look(const struct workspace *ws, struct merge_side *side);

/** True if git has the same for both: the same pointer. */
bool merge_side_is_same_blob(const struct merge_side *a, const struct merge_side *b);

/** True if both restore the same bytes for certain. Archives are believed: see merge_side_prove. */
bool merge_side_equal(const struct merge_side *a, const struct merge_side *b);

/**
 * Proves what an archive says of its content; what was proven before is believed. Everything else
 * is what its hash says. Reports and returns -1 if it does not restore that.
 */
int merge_side_prove(struct workspace *ws, const char *path, const struct merge_side *side);

/**
 * Hands the content, checked, to write. path is for messages. Reports and returns -1 on failure.
 */
int merge_side_restore(struct workspace *ws, const char *path, const struct merge_side *side,
		       brevis_write_fn write, void *ctx);

/** Hands the blob itself to write. Returns 0; or -1, reported unless it is write that failed. */
int merge_side_copy(const struct merge_side *side, brevis_write_fn write, void *ctx);

#endif
