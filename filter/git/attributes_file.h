/* SPDX-License-Identifier: Apache-2.0 */
/** A .gitattributes file: which patterns it hands to git-brevis, and changing that. */
#ifndef FILTER_ATTRIBUTES_FILE_H
#define FILTER_ATTRIBUTES_FILE_H

#include <stdbool.h>
#include <stddef.h>

/** The attributes of a tracked pattern. "-text": no line-end conversion ever touches a file. */
#define ATTRIBUTES_OURS "filter=brevis diff=brevis merge=brevis -text"

/** The attributes of a pattern whose files are stock Git LFS's, and of one whose files git keeps
 * itself; the latter say so against whatever broader lines say. */
#define ATTRIBUTES_LFS "filter=lfs diff=lfs merge=lfs -text"
#define ATTRIBUTES_RAW "!filter !diff !merge -text"

struct buffer;
struct attributes_file;

/**
 * Reads a file; one that does not exist is empty. Reports and returns NULL if it cannot be read or
 * is a symbolic link, which git would not follow here either.
 */
struct attributes_file *attributes_file_load(const char *path);

/** Reads the text of such a file; path is for messages. Reports and returns NULL on failure. */
struct attributes_file *attributes_file_parse(const char *path, const void *text, size_t len);

/** Appends the text that the file has now. */
void attributes_file_text(const struct attributes_file *file, struct buffer *text);

/** Writes the file anew and renames it into place, if anything changed. An empty one is removed.
 * Reports and returns -1 on failure. */
int attributes_file_save(struct attributes_file *file);
void attributes_file_free(struct attributes_file *file);

/** Calls each for every line's pattern, in order: tracked if the line says filter=brevis. */
void attributes_file_each(const struct attributes_file *file,
			  void (*each)(void *ctx, const char *pattern, bool tracked), void *ctx);

enum attributes_change { ATTRIBUTES_SAME = 0, ATTRIBUTES_CHANGED = 1, ATTRIBUTES_FAILED = -1 };

/**
 * Gives a pattern our attributes. A line for the pattern that is there keeps its place and its
 * other attributes but "binary", which would undo ours. Out of memory is reported.
 */
enum attributes_change attributes_file_track(struct attributes_file *file, const char *pattern);

/** The same with other words than ATTRIBUTES_OURS. */
enum attributes_change attributes_file_set(struct attributes_file *file, const char *pattern,
					   const char *words);

/** Takes our attributes from a pattern; a line that says nothing else goes. */
enum attributes_change attributes_file_untrack(struct attributes_file *file, const char *pattern);

/**
 * Turns what a user typed into a pattern for the file: without "./", white space as [[:space:]],
 * special first characters escaped; if literal is set, glob characters too. Caller frees. Returns
 * NULL when memory is short.
 */
char *attributes_pattern(const char *typed, bool literal);

/**
 * Why git could not read a pattern in this file, or would never match it, as the end of a sentence
 * that begins with the pattern; NULL if it is good.
 */
const char *attributes_pattern_fault(const char *pattern);

/** Warns of count files (none if it is 0), of which path is one, whose attributes hide their diff
 * (struct tracked_file says what that means). */
void attributes_warn_of_hidden(const char *path, size_t count);

#endif
