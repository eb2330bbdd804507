/* SPDX-License-Identifier: Apache-2.0 */
/** Whether a work file holds what a pointer stands for, or what a merge made of the pointer. */
#ifndef FILTER_WORK_CONTENT_H
#define FILTER_WORK_CONTENT_H

#include "filter/convert/convert.h"

/**
 * True if a work file of this size holds what the pointer stands for. Reads the whole file if its
 * size does not tell. Compresses nothing.
 */
bool work_file_matches(const struct workspace *ws, const struct pointer *pointer, const char *path,
		       uint64_t size);

/** True if a work file is a pointer with conflict markers (conflict_text.h). Reads a kilobyte at
 * most, and follows no symbolic link. */
bool work_file_is_conflict_text(const char *top, const char *path);

#endif
