/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What a history has stored: its objects, the files that they were for, and the revisions that
 * brought them. Nothing is downloaded or decoded; what an object restores is read from its end.
 */
#ifndef FILTER_STATS_H
#define FILTER_STATS_H

#include "core/base/buffer.h"
#include "filter/convert/convert.h"
#include "filter/objects/stored.h"

/** No object, no file. */
#define STATS_NONE SIZE_MAX

/** Objects, each counted once, in bytes. */
struct stats_sum {
	size_t objects;
	uint64_t stored;
	uint64_t original; /* of those whose original is known */

	size_t unknown_objects; /* what they restore is not known: not here, or damaged */
	uint64_t unknown_stored;
};

struct stats_object {
	struct pointer pointer;
	struct stored stored;
};

/** A path that had a pointer in any of the revisions. */
struct stats_file {
	char *path;
	size_t revisions;     /* that gave it another pointer */
	size_t lacking;       /* revisions that changed it whose blob is not here */
	struct stats_sum sum; /* of all that it ever was */
	bool is_present;      /* at the tip */
	size_t current;       /* its object there, or STATS_NONE */
};

/** A file that a revision changed. */
struct stats_change {
	size_t file;
	size_t object;
	bool is_new; /* nothing before had this object */
};

struct stats_revision {
	char *commit;
	char *date;
	char *subject;
	size_t first; /* of its changes */
	size_t count;
	struct stats_sum added; /* objects that are new with it */
};

struct stats {
	struct workspace *ws;
	char *tip;               /* the commit whose files are told, NULL if there is none */
	bool is_shallow;         /* earlier revisions are not here */
	struct buffer objects;   /* of struct stats_object */
	struct buffer files;     /* of struct stats_file, in the order of paths */
	struct buffer changes;   /* of struct stats_change */
	struct buffer revisions; /* of struct stats_revision, oldest first */
	struct stats_sum total;  /* its original: of different originals, what git-lfs would keep */
	size_t lacking;          /* changes whose blob is not here */

	/* Trees of names, for stats_collect alone. */
	void *by_oid;
	void *by_path;
	void *by_version;
	void *by_file_object;
	void *by_original;
	void *first_seen;
};

static inline const struct stats_object *stats_object(const struct stats *s, size_t i)
{
	return (const struct stats_object *)(const void *)s->objects.data + i;
}

static inline const struct stats_file *stats_file(const struct stats *s, size_t i)
{
	return (const struct stats_file *)(const void *)s->files.data + i;
}

static inline const struct stats_change *stats_change(const struct stats *s, size_t i)
{
	return (const struct stats_change *)(const void *)s->changes.data + i;
}

static inline const struct stats_revision *stats_revision(const struct stats *s, size_t i)
{
	return (const struct stats_revision *)(const void *)s->revisions.data + i;
}

size_t stats_file_count(const struct stats *s);
size_t stats_revision_count(const struct stats *s);

/**
 * Walks the history of the revisions (as `git log` names them; none: HEAD), with all also that of
 * every ref, as far as it concerns the pathspecs. An object is new in the revision that brought it
 * first, be it for another file or before the revisions. Reports and returns -1 on failure. *s is
 * zeroed but for ws; release it in any case.
 */
int stats_collect(struct stats *s, const char *const *revisions, size_t revision_count, bool all,
		  const char *const *pathspecs, size_t count);
void stats_release(struct stats *s);

#endif
