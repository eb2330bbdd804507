/* SPDX-License-Identifier: Apache-2.0 */
/** What `git brevis diff` and the diff driver print of a file: as text (diff_text.c) or as JSON
 * (diff_json.c). */
#ifndef FILTER_DIFF_REPORT_H
#define FILTER_DIFF_REPORT_H

#include <stdio.h>

#include "filter/cli/json_output.h"
#include "filter/diff/model_compare.h"

/** One side of a file that may have changed. */
struct diff_side {
	const char *name;        /* as it is shown; NULL: there is no such file */
	const char *mode;        /* as git writes it, or NULL: nobody asks */
	struct model_view *view; /* NULL: no file, or it could not be opened, which was reported */
};

struct diff_file {
	struct diff_side sides[2]; /* before, after */
	const char *note;          /* what git says of it: lines about a rename, or NULL */
	bool unmerged;
};

enum diff_result {
	DIFF_SAME = 0,
	DIFF_FOUND = 1,
	DIFF_UNKNOWN = -1 /* could not be compared: an object is not here, or cannot be read */
};

/**
 * Prints what differs, nothing if nothing does. If it cannot be compared the text says so; with
 * `quiet` set, the reason is part of the text, else it was reported.
 */
enum diff_result diff_text(const struct diff_file *file, bool quiet, FILE *out);

/** Writes the file as an object into the array that is open. */
enum diff_result diff_json(const struct diff_file *file, struct json_output *json);

/** True if one of the sides that are there was not opened, or its object is not here. */
bool diff_is_unknown(const struct diff_file *file);

/** True if both sides are known to be the same by their pointers alone. */
bool diff_is_same_object(const struct diff_file *file);

/** Reports which objects are not here. */
void diff_report_missing(const struct diff_file *file);

#endif
