/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Pointers into which git has written conflict markers, as it does where it merges them as text: in
 * a clone whose git does not know merge=brevis. They are pointers no more.
 */
#ifndef FILTER_CONFLICT_TEXT_H
#define FILTER_CONFLICT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/** What helps, as the end of a message, during such a merge and after it. */
#define CONFLICT_TEXT_REMEDY                                                                       \
	"take a whole one: `git checkout --ours -- PATH`, or --theirs, while you merge, `git "     \
	"checkout COMMIT -- PATH` later; `git brevis install` sets what merges them"

/** True if all of a text is such a pointer. */
bool is_conflict_text(const void *data, size_t len);

/** Warns, if the text of a blob is one, that this stands for nothing. */
void conflict_text_warn(const char *path, const void *data, size_t len);

#endif
