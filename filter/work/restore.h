/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Files written from their objects below a directory, in bounded memory: the work tree for
 * `checkout` and `pull`, any other for `export`.
 */
#ifndef FILTER_RESTORE_H
#define FILTER_RESTORE_H

#include "core/base/buffer.h"
#include "filter/convert/convert.h"
#include "filter/cli/progress.h"
#include "filter/work/work_file.h"

/** What is to be written. ws, top and replace are set, the rest begins as zeros. */
struct restore {
	struct workspace *ws;
	const char *top;       /* the directory that paths count from */
	bool replace;          /* links and files that are in the way give way, as git has it */
	struct buffer wanted;  /* of struct lfs_want: objects that are not here */
	struct buffer due;     /* of struct due_file */
	struct buffer written; /* of struct written_file, whose paths are those of due */
	size_t failed;         /* files that could not be written; each was reported */
	struct progress progress;
};

/** Notes that the object of a file will be needed, if it is not here. Reports and returns -1 on
 * failure. */
int restore_want(struct restore *restore, const struct tracked_file *file);

/** Notes a file that is to be written over what was seen there. Reports and returns -1 on failure.
 */
int restore_add(struct restore *restore, const struct tracked_file *file,
		const struct work_look *look);

/** Downloads the objects that are wanted, together; what does not come is reported. Returns -1
 * if git-lfs could not be run (reported). */
int restore_download(struct restore *restore);

/** Writes all files whose objects are here. tell_missing: report the others, which nobody did. */
void restore_write(struct restore *restore, bool tell_missing);

/** Forgets all files, keeping ws and top. */
void restore_clear(struct restore *restore);

#endif
