/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/git/attributes_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/buffer.h"
#include "filter/cli/interrupt.h"
#include "filter/cli/report.h"
#include "filter/stream.h"
#include "filter/string_table.h"

/* Lines without their line feed; a carriage return before it counts as a blank, as it does to git.
 */
struct attributes_file {
	char *path;
	char **lines;
	size_t count;
	bool is_indexed;
	struct string_table last; /* if so, of a pattern its last line, counted from 1 */
	bool crlf;                /* the first line ends with CR LF, so new ones do */
	bool bom;                 /* the file begins with a byte order mark, which git skips */
	bool changed;
};

#define BLANKS " \t\r"

static const char byte_order_mark[3] = {'\xef', '\xbb', '\xbf'};

/* ---- reading --------------------------------------------------------------------------------- */

static int insert_line(struct attributes_file *file, const char *text, size_t len)
{
	char **lines = realloc(file->lines, (file->count + 1) * sizeof(*lines));
	char *line;

	if (!lines)
		return -1;
	file->lines = lines;
	line = strndup(text, len);
	if (!line)
		return -1;
	lines[file->count++] = line;
	return 0;
}

static int split(struct attributes_file *file, const char *text, size_t size)
{
	const char *end = size ? text + size : text;

	if (size >= sizeof(byte_order_mark) &&
	    memcmp(text, byte_order_mark, sizeof(byte_order_mark)) == 0) {
		file->bom = true;
		text += sizeof(byte_order_mark);
	}
	while (text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		size_t len = (size_t)((stop ? stop : end) - text);

		if (file->count == 0)
			file->crlf = len && text[len - 1] == '\r';
		if (insert_line(file, text, len) < 0)
			return report_error("%s: out of memory", file->path);
		text = stop ? stop + 1 : end;
	}
	return 0;
}

static int read_all(const char *path, struct buffer *text)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	int rc;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return report_error("%s: cannot read it: %s", path,
				    errno == ELOOP
					    ? "it is a symbolic link; put a file in its place"
					    : strerror(errno));
	rc = stream_read(fd, stream_keep, text);
	if (rc < 0)
		report_error("%s: cannot read it: %s; make it a file that can be read", path,
			     strerror(errno));
	else if (rc > 0)
		rc = report_error("%s: out of memory", path);
	close(fd);
	return rc;
}

struct attributes_file *attributes_file_parse(const char *path, const void *text, size_t len)
{
	struct attributes_file *file = calloc(1, sizeof(*file));

	if (file)
		file->path = strdup(path);
	if (!file || !file->path)
		report_error("%s: out of memory", path);
	else if (split(file, text, len) == 0)
		return file;
	attributes_file_free(file);
	return NULL;
}

struct attributes_file *attributes_file_load(const char *path)
{
	struct attributes_file *file = NULL;
	struct buffer text = BUFFER_INIT;

	if (read_all(path, &text) == 0)
		file = attributes_file_parse(path, text.data, text.size);
	buffer_release(&text);
	return file;
}

void attributes_file_free(struct attributes_file *file)
{
	if (!file)
		return;
	for (size_t i = 0; i < file->count; i++)
		free(file->lines[i]);
	free(file->lines);
	string_table_clear(&file->last);
	free(file->path);
	free(file);
}

/* ---- writing --------------------------------------------------------------------------------- */

void attributes_file_text(const struct attributes_file *file, struct buffer *text)
{
	if (file->bom)
		buffer_append(text, byte_order_mark, sizeof(byte_order_mark));
	for (size_t i = 0; i < file->count; i++) {
		buffer_append(text, file->lines[i], strlen(file->lines[i]));
		buffer_u8(text, '\n');
	}
}

/* Writes beside the file, syncs, renames. Returns -1 with errno set. */
static int replace(const struct attributes_file *file, const char *temporary,
		   const struct buffer *text)
{
	int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	struct stat st;
	int reason = 0;

	if (fd < 0)
		return -1;
	if (stream_write(&fd, text->data, text->size) < 0 ||
	    (stat(file->path, &st) == 0 && fchmod(fd, st.st_mode & 0777) != 0) || fsync(fd) != 0)
		reason = errno;
	if (close(fd) != 0 && !reason)
		reason = errno;
	if (!reason && rename(temporary, file->path) != 0)
		reason = errno;
	if (reason)
		unlink(temporary);
	errno = reason;
	return reason ? -1 : 0;
}

int attributes_file_save(struct attributes_file *file)
{
	struct buffer text = BUFFER_INIT;
	char *temporary = NULL;
	int guard;
	int rc = 0;

	if (!file->changed)
		return 0;
	attributes_file_text(file, &text);
	if (file->count == 0) {
		if (unlink(file->path) != 0 && errno != ENOENT)
			rc = -1;
	} else if (buffer_failed(&text) ||
		   asprintf(&temporary, "%s.brevis-%ld", file->path, (long)getpid()) < 0) {
		temporary = NULL;
		errno = ENOMEM;
		rc = -1;
	} else {
		guard = interrupt_guard_file(temporary);
		rc = replace(file, temporary, &text);
		interrupt_forget(guard);
	}
	if (rc < 0)
		report_error("%s: cannot write it: %s; make it and its directory writable",
			     file->path, strerror(errno));
	else
		file->changed = false;
	free(temporary);
	buffer_release(&text);
	return rc;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Finds the end of the pattern that a line begins with (at *start). A quoted one, as git allows,
 * ends with its closing quote. Returns NULL for blank lines, comments and macros. */
static const char *pattern_end(const char *line, const char **start)
{
	const char *at = line + strspn(line, BLANKS);

	*start = at;
	if (!*at || *at == '#' || strncmp(at, "[attr]", 6) == 0)
		return NULL;
	if (*at != '"')
		return at + strcspn(at, BLANKS);
	for (at++; *at && *at != '"'; at++)
		if (*at == '\\' && at[1])
			at++;
	return *at ? at + 1 : at;
}

static bool has_pattern(const char *line, const char *pattern)
{
	const char *start;
	const char *end = pattern_end(line, &start);

	return end && strlen(pattern) == (size_t)(end - start) &&
	       strncmp(start, pattern, (size_t)(end - start)) == 0;
}

/* The attribute that a word sets, unsets or leaves unspecified: "filter" for "-filter". */
static bool word_is_about(const char *word, size_t len, const char *name)
{
	if (len && (*word == '-' || *word == '!')) {
		word++;
		len--;
	}
	return len >= strlen(name) && strncmp(word, name, strlen(name)) == 0 &&
	       (len == strlen(name) || word[strlen(name)] == '=');
}

/* "binary" is git's macro for -diff -merge -text. */
static bool is_ours(const char *word, size_t len)
{
	static const char *const names[] = {"filter", "diff", "merge", "text", "binary"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (word_is_about(word, len, names[i]))
			return true;
	return false;
}

/* True if the line's last word about an attribute, which is the one that counts, is wanted. */
static bool says(const char *line, const char *name, const char *wanted)
{
	const char *start;
	const char *at = pattern_end(line, &start);
	bool found = false;

	while (at && *at) {
		size_t len;

		at += strspn(at, BLANKS);
		len = strcspn(at, BLANKS);
		if (word_is_about(at, len, name))
			found = len == strlen(wanted) && strncmp(at, wanted, len) == 0;
		at += len;
	}
	return found;
}

/* The line with its words about our attributes replaced by ours (a string, or "" to drop them), at
 * its end: a word or macro before them then counts for nothing. Returns NULL when memory is short.
 */
static char *rewritten(const char *line, const char *ours)
{
	const char *start;
	const char *at = pattern_end(line, &start);
	size_t line_len = strlen(line);
	struct buffer text = BUFFER_INIT;

	if (!at)
		return strdup(line);
	buffer_append(&text, line, (size_t)(at - line));
	while (*at) {
		size_t len;

		at += strspn(at, BLANKS);
		len = strcspn(at, BLANKS);
		if (len && !is_ours(at, len)) {
			buffer_u8(&text, ' ');
			buffer_append(&text, at, len);
		}
		at += len;
	}
	if (*ours) {
		buffer_u8(&text, ' ');
		buffer_append(&text, ours, strlen(ours));
	}
	if (line_len && line[line_len - 1] == '\r')
		buffer_u8(&text, '\r');
	buffer_u8(&text, 0);
	if (!buffer_failed(&text))
		return (char *)text.data;
	buffer_release(&text);
	return NULL;
}

static bool has_all_of_ours(const char *line)
{
	return says(line, "filter", "filter=brevis") && says(line, "diff", "diff=brevis") &&
	       says(line, "merge", "merge=brevis") && says(line, "text", "-text") &&
	       !says(line, "binary", "binary");
}

void attributes_file_each(const struct attributes_file *file,
			  void (*each)(void *ctx, const char *pattern, bool tracked), void *ctx)
{
	for (size_t i = 0; i < file->count; i++) {
		const char *start;
		const char *end = pattern_end(file->lines[i], &start);
		char *pattern = end ? strndup(start, (size_t)(end - start)) : NULL;

		if (pattern)
			each(ctx, pattern, says(file->lines[i], "filter", "filter=brevis"));
		free(pattern);
	}
}

static enum attributes_change nomem(const struct attributes_file *file)
{
	report_error("%s: out of memory", file->path);
	return ATTRIBUTES_FAILED;
}

static int index_lines(struct attributes_file *file)
{
	for (size_t i = 0; i < file->count; i++) {
		const char *start;
		const char *end = pattern_end(file->lines[i], &start);
		size_t *last =
			end ? string_table_at(&file->last, start, (size_t)(end - start)) : NULL;

		if (last)
			*last = i + 1;
		else if (end)
			return -1;
	}
	file->is_indexed = true;
	return 0;
}

static void forget_index(struct attributes_file *file)
{
	string_table_clear(&file->last);
	file->is_indexed = false;
}

/* The last line for a pattern, which is the one that counts, from 1; 0 if there is none, and then
 * the caller says which it becomes. NULL when memory is short. A file may have a line for each of
 * thousands of files, so they are not gone through for each. */
static size_t *find_line(struct attributes_file *file, const char *pattern)
{
	if (!file->is_indexed && index_lines(file) < 0)
		return NULL;
	return string_table_at(&file->last, pattern, strlen(pattern));
}

static int add_line(struct attributes_file *file, const char *pattern)
{
	char *line;
	int rc;

	if (asprintf(&line, "%s%s", pattern, file->crlf ? "\r" : "") < 0)
		return -1;
	rc = insert_line(file, line, strlen(line));
	free(line);
	return rc;
}

enum attributes_change attributes_file_set(struct attributes_file *file, const char *pattern,
					   const char *words)
{
	size_t *at = find_line(file, pattern);
	char **old;
	char *line;

	if (!at)
		return nomem(file);
	if (*at == 0) {
		if (add_line(file, pattern) < 0)
			return nomem(file);
		*at = file->count;
	}
	old = &file->lines[*at - 1];
	line = rewritten(*old, words);
	if (!line)
		return nomem(file);
	if (strcmp(line, *old) == 0) {
		free(line);
		return ATTRIBUTES_SAME;
	}
	free(*old);
	*old = line;
	file->changed = true;
	return ATTRIBUTES_CHANGED;
}

enum attributes_change attributes_file_track(struct attributes_file *file, const char *pattern)
{
	const size_t *at = find_line(file, pattern);

	if (at && *at && has_all_of_ours(file->lines[*at - 1]))
		return ATTRIBUTES_SAME;
	return attributes_file_set(file, pattern, ATTRIBUTES_OURS);
}

/* True if nothing follows the pattern. */
static bool says_nothing(const char *line)
{
	const char *start;
	const char *end = pattern_end(line, &start);

	return end && !end[strspn(end, BLANKS)];
}

enum attributes_change attributes_file_untrack(struct attributes_file *file, const char *pattern)
{
	enum attributes_change result = ATTRIBUTES_SAME;
	size_t kept = 0;

	forget_index(file);
	for (size_t i = 0; i < file->count; i++) {
		char *line = file->lines[i];

		if (has_pattern(line, pattern) && says(line, "filter", "filter=brevis")) {
			char *shorter = rewritten(line, "");

			if (shorter) {
				free(line);
				line = shorter;
				result = ATTRIBUTES_CHANGED;
			} else {
				result = nomem(file);
			}
			if (says_nothing(line)) {
				free(line);
				continue;
			}
		}
		file->lines[kept++] = line;
	}
	file->count = kept;
	file->changed = file->changed || result == ATTRIBUTES_CHANGED;
	return result;
}

char *attributes_pattern(const char *typed, bool literal)
{
	struct buffer text = BUFFER_INIT;

	while (typed[0] == '.' && typed[1] == '/')
		typed += 2 + strspn(typed + 2, "/");
	/* These would begin a comment, a quoted pattern or a forbidden negation. */
	if (strchr("#\"!", *typed) && *typed)
		buffer_u8(&text, '\\');
	for (; *typed; typed++) {
		if (strchr(" \t\n\r\v\f", *typed)) {
			buffer_append(&text, "[[:space:]]", 11);
			continue;
		}
		if (literal && strchr("\\*?[]", *typed))
			buffer_u8(&text, '\\');
		buffer_u8(&text, (uint8_t)*typed);
	}
	buffer_u8(&text, 0);
	if (!buffer_failed(&text))
		return (char *)text.data;
	buffer_release(&text);
	return NULL;
}

/* True if some component of the pattern is "..". */
static bool leads_up(const char *pattern)
{
	while (*pattern) {
		size_t len = strcspn(pattern, "/");

		if (len == 2 && pattern[0] == '.' && pattern[1] == '.')
			return true;
		pattern += len + (pattern[len] == '/');
	}
	return false;
}

const char *attributes_pattern_fault(const char *pattern)
{
	const char *start;

	if (!*pattern)
		return "is empty and matches nothing";
	if (!pattern_end(pattern, &start))
		return "would begin a macro, no pattern";
	if (leads_up(pattern))
		return "leads out of this directory, where a pattern matches nothing; change to "
		       "the directory that holds the files and run it there";
	return NULL;
}

void attributes_warn_of_hidden(const char *path, size_t count)
{
	if (count)
		report_warning(
			"%s%s: git shows no diff of it (-diff, binary or a binary diff driver in "
			"force; see `git check-attr -a`), and then `git lfs prune` deletes "
			"objects that were never pushed; give it diff=brevis in a later line",
			path ? path : "some file", count > 1 ? " and others" : "");
}
