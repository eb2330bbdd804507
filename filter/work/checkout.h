/* SPDX-License-Identifier: Apache-2.0 */
/** Writes work files directly, in bounded memory: what `checkout`, `pull` and the hooks do. */
#ifndef FILTER_CHECKOUT_H
#define FILTER_CHECKOUT_H

#include "filter/convert/convert.h"
#include "filter/work/work_file.h"

/** How far completing work files goes. */
enum checkout_reach {
	CHECKOUT_LOCAL, /* objects that are here */
	CHECKOUT_PULL,  /* missing objects are downloaded, those of complete files too */
	CHECKOUT_HOOK   /* after git's own checkout: files that it left as pointers or missing */
};

/**
 * Completes the work files at or below the pathspecs (all, if there are none): those that are
 * missing, still a pointer, a raw archive, or 0 bytes left over. Others are the user's and stay.
 * Missing objects are fetched first, together, or with CHECKOUT_LOCAL reported.
 * Where a clone's checkout failed before it made an index, one is made of HEAD.
 * Returns an exit code: EXIT_FOUND if some file could not be completed.
 */
int checkout_files(struct workspace *ws, const char *const *pathspecs, size_t count,
		   enum checkout_reach reach);

/** True if the work file does not hold the content that file's pointer stands for, and holds
 * nothing of the user's either. May read all of a file that is an archive. */
bool checkout_is_due(const char *top, const struct tracked_file *file,
		     const struct work_look *look);

#endif
