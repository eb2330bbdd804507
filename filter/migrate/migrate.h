/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Moving tracked files between raw blobs, stock Git LFS and archives, in a new commit: the plan
 * (migrate_plan.c), the lines that it changes (migrate_lines.c), and the bytes (migrate_move.c).
 */
#ifndef FILTER_MIGRATE_H
#define FILTER_MIGRATE_H

#include "filter/convert/convert.h"
#include "filter/git/proposal.h"
#include "filter/work/work_file.h"

/** The forms in which git keeps a file; they can be OR-ed. */
enum migrate_form {
	MIGRATE_RAW = 1,   /* the content itself */
	MIGRATE_LFS = 2,   /* a pointer to it */
	MIGRATE_BREVIS = 4 /* a pointer to an archive of it */
};

/** "raw", "lfs" or "brevis". */
const char *migrate_form_name(enum migrate_form form);

struct migrate_options {
	enum migrate_form to;
	unsigned from;  /* forms that are moved */
	uint64_t above; /* only files of at least so many bytes */
	bool no_guard;
	char **patterns; /* as people type them, for the .gitattributes of this directory; without
			    any, all that git-brevis keeps */
	size_t count;
};

/** A file that moves. */
struct migrate_file {
	char *path;
	char blob[BLOB_HEX_SIZE + 1];
	char new_blob[BLOB_HEX_SIZE + 1];
	bool executable;
	bool skip_worktree;
	bool needs_line; /* its attributes have to change */
	bool is_kept;    /* its blob stays: only its attributes change */
	bool is_written; /* work_look describes a work file that holds its content */
	enum migrate_form from;
	struct pointer pointer; /* unless it is raw */
	uint64_t size;          /* of its content */
	uint64_t stored;        /* of what holds it afterwards */
	struct work_look look;
};

struct migrate {
	struct workspace *ws;
	const struct migrate_options *options;
	struct proposal *proposal;
	char *prefix;
	struct buffer files; /* of struct migrate_file, in git's order */
	struct buffer edits; /* of struct proposed_edit */
	struct lacking_blobs lacking;
	struct buffer changing; /* paths whose attributes may change, sorted, "PATH NUL" each */
	size_t matched;         /* files that the patterns match */
	size_t left;            /* of them, those that neither move nor are where they should be */
	size_t elsewhere;       /* those for which another line decides; reported */
};

struct migrate_file *migrate_files(const struct migrate *m, size_t *count);
struct proposed_edit *migrate_edits(const struct migrate *m, size_t *count);

/**
 * Finds out what moves, and prepares the lines. ws, options and proposal are set. Reports and
 * returns -1 on failure.
 */
int migrate_plan(struct migrate *m);

/** Puts the lines that the plan needs into m->edits and the proposal. */
int migrate_lines(struct migrate *m);

/**
 * Makes sure that all can be moved: that objects are here (they are downloaded), work files hold
 * what is committed, the filter is set up, and there is room. Reports all that is not so, then
 * returns -1.
 */
int migrate_check(struct migrate *m);

/** Stores each file in its new form and notes its new blob. Reports and returns -1 on failure. */
int migrate_move(struct migrate *m);

/** True (0) if no work file changed since migrate_check; reports and returns -1 if one did. */
int migrate_recheck(void *m);

/** Tells the index that the work files are those of the new blobs. */
int migrate_refresh(const struct migrate *m);

/** Frees all but ws, options and proposal. */
void migrate_release(struct migrate *m);

#endif
