/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/git/hook_files.h"

#include <ctype.h>
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

/* A hook that is longer is somebody's own; what it runs is looked for in this much of it. */
#define HOOK_SIZE_LIMIT (1024 * 1024)

static char *hook_path(const char *dir, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", dir, name) < 0 ? NULL : path;
}

/* Reads a hook. Returns its text, or NULL with errno set. Caller frees. */
static char *read_hook(const char *path)
{
	struct buffer text = BUFFER_INIT;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint8_t block[4096];
	int reason = 0;
	ssize_t n;

	if (fd < 0)
		return NULL;
	do {
		n = read(fd, block, sizeof(block));
		if (n > 0)
			buffer_append(&text, block, (size_t)n);
	} while ((n > 0 && text.size < HOOK_SIZE_LIMIT) || (n < 0 && errno == EINTR));
	if (n < 0)
		reason = errno;
	buffer_u8(&text, 0);
	if (!reason && buffer_failed(&text))
		reason = ENOMEM;
	if (reason)
		buffer_release(&text);
	close(fd);
	errno = reason;
	return (char *)text.data;
}

/* What stands at a path that cannot be read, by errno. */
static enum hook_state state_of_failure(const char *path)
{
	struct stat st;

	if (errno == ENOTDIR)
		return HOOK_OFF;
	if (errno != ENOENT)
		return HOOK_UNREADABLE;
	/* A link to what is not there (yet) was put there by somebody. */
	return lstat(path, &st) == 0 ? HOOK_FOREIGN : HOOK_MISSING;
}

/* Takes the next line of *at that is not blank, without white space around it. */
static bool next_line(const char **at, const char **line, size_t *len)
{
	while (**at) {
		const char *start = *at;
		size_t n = strcspn(start, "\n");

		*at += n + (start[n] != 0);
		while (n && isspace((unsigned char)*start)) {
			start++;
			n--;
		}
		while (n && isspace((unsigned char)start[n - 1]))
			n--;
		if (n) {
			*line = start;
			*len = n;
			return true;
		}
	}
	return false;
}

static bool line_is(const char *line, size_t len, const char *wanted)
{
	return len == strlen(wanted) && strncmp(line, wanted, len) == 0;
}

/* git-lfs's hooks of all versions: "#!/bin/sh", mostly one line that tests for git-lfs, and the
 * call. The wording of the test changed over time; nothing else did. */
static bool is_stock(const char *text, const char *name)
{
	static const char test[] = "command -v git-lfs >/dev/null 2>&1 || {";
	char call[64];
	const char *line;
	size_t len;

	if (!next_line(&text, &line, &len) || !line_is(line, len, "#!/bin/sh") ||
	    !next_line(&text, &line, &len))
		return false;
	if (len > strlen(test) && strncmp(line, test, strlen(test)) == 0 && line[len - 1] == '}' &&
	    !next_line(&text, &line, &len))
		return false;
	snprintf(call, sizeof(call), "git lfs %s \"$@\"", name);
	return line_is(line, len, call) && !next_line(&text, &line, &len);
}

/* True if some line that is no comment contains the words. */
static bool runs(const char *text, const char *words)
{
	const char *line;
	size_t len;

	while (next_line(&text, &line, &len))
		if (*line != '#' && memmem(line, len, words, strlen(words)))
			return true;
	return false;
}

static bool runs_all_that_is_needed(const char *text, const struct hook_text *hook)
{
	static const char *const callers[] = {"git lfs", "git brevis hook"};

	for (size_t i = 0; i < sizeof(callers) / sizeof(callers[0]); i++) {
		char call[64];

		snprintf(call, sizeof(call), "%s %s", callers[i], hook->name);
		if (runs(hook->text, call) && !runs(text, call))
			return false;
	}
	return true;
}

enum hook_state hook_file_state(const char *dir, const struct hook_text *hook)
{
	char *path = hook_path(dir, hook->name);
	char *text = path ? read_hook(path) : NULL;
	enum hook_state state = HOOK_FOREIGN;

	if (!path)
		state = HOOK_UNREADABLE;
	else if (!text)
		state = state_of_failure(path);
	else if (strcmp(text, hook->text) == 0)
		state = HOOK_OURS;
	else if (is_stock(text, hook->name))
		state = HOOK_STOCK;
	else if (runs_all_that_is_needed(text, hook))
		state = HOOK_MERGED;
	free(text);
	free(path);
	return state;
}

bool hook_file_uploads(const char *dir)
{
	char *path = hook_path(dir, "pre-push");
	char *text = path ? read_hook(path) : NULL;
	bool uploads = text && runs(text, "git lfs pre-push");

	free(text);
	free(path);
	return uploads;
}

/* Writes all of it to a new file. Returns -1 with errno set. */
static int write_new(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0777);
	size_t len = strlen(text);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = write(fd, text, len);
	if (n >= 0 && (size_t)n < len)
		errno = ENOSPC;
	if (close(fd) != 0)
		return -1;
	return n >= 0 && (size_t)n == len ? 0 : -1;
}

int hook_file_write(const char *dir, const struct hook_text *hook)
{
	char *path = hook_path(dir, hook->name);
	char *temporary = NULL;
	int reason = 0;
	int guard;

	if (path && asprintf(&temporary, "%s.brevis-%ld", path, (long)getpid()) < 0)
		temporary = NULL;
	if (!temporary) {
		reason = ENOMEM;
	} else if (mkdir(dir, 0777) != 0 && errno != EEXIST) {
		reason = errno;
	} else {
		guard = interrupt_guard_file(temporary);
		if (write_new(temporary, hook->text) != 0 || rename(temporary, path) != 0) {
			reason = errno;
			unlink(temporary);
		}
		interrupt_forget(guard);
	}
	free(temporary);
	free(path);
	errno = reason;
	return reason ? -1 : 0;
}

int hook_file_remove(const char *dir, const struct hook_text *hook)
{
	char *path = hook_path(dir, hook->name);
	int reason = ENOMEM;

	if (path)
		reason = unlink(path) == 0 || errno == ENOENT ? 0 : errno;
	free(path);
	errno = reason;
	return reason ? -1 : 0;
}

char *hook_lines(const struct hook_text *hook)
{
	struct buffer lines = BUFFER_INIT;
	const char *at = hook->text;

	while (*at) {
		size_t len = strcspn(at, "\n") + 1;

		if (*at != '#') {
			buffer_u8(&lines, '\t');
			buffer_append(&lines, at, len);
		}
		at += len;
	}
	buffer_u8(&lines, 0);
	if (!buffer_failed(&lines))
		return (char *)lines.data;
	buffer_release(&lines);
	return NULL;
}

const char *hook_state_name(enum hook_state state)
{
	switch (state) {
	case HOOK_MISSING:
		return "missing; run `git brevis install`";
	case HOOK_OURS:
		return "in place";
	case HOOK_STOCK:
		return "git-lfs's own; run `git brevis install`";
	case HOOK_MERGED:
		return "your own, runs what is needed";
	case HOOK_FOREIGN:
		return "your own, lacks lines; run `git brevis install --manual`";
	case HOOK_OFF:
		return "off: the hooks path is no directory";
	default:
		return "unreadable";
	}
}
