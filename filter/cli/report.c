/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/cli/report.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/escape.h"
#include "filter/cli/progress.h"

/* Writes all of a line, so that lines of several processes do not mix. Nobody is left to tell if
 * that fails. */
static void write_line(int fd, const char *line, size_t len)
{
	progress_pause();
	while (len) {
		ssize_t n = write(fd, line, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		line += n;
		len -= (size_t)n;
	}
	progress_resume();
}

static void print(int fd, const char *prefix, const char *format, va_list args)
	__attribute__((format(printf, 3, 0)));

static void print(int fd, const char *prefix, const char *format, va_list args)
{
	size_t used = strlen(prefix);
	size_t size;
	char *text = NULL;
	char *line = NULL;

	if (vasprintf(&text, format, args) < 0) {
		write_line(fd, "git-brevis: out of memory\n", 26);
		return;
	}
	size = ESCAPE_GROWTH * strlen(text) + 1;
	line = malloc(used + size + 1);
	if (line) {
		memcpy(line, prefix, used);
		/* Paths and messages come from strangers: nothing in them may move the cursor. */
		used += escape_text(line + used, size, text);
		line[used++] = '\n';
		write_line(fd, line, used);
	} else {
		write_line(fd, text, strlen(text));
	}
	free(line);
	free(text);
}

void report_failure(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print(STDERR_FILENO, "git-brevis: error: ", format, args);
	va_end(args);
}

void report_warning(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print(STDERR_FILENO, "git-brevis: warning: ", format, args);
	va_end(args);
}

void report_note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print(STDERR_FILENO, "git-brevis: note: ", format, args);
	va_end(args);
}

static int trace_fd = -1;

static void trace_open(void)
{
	const char *where = getenv("GIT_BREVIS_TRACE");

	if (!where)
		return;
	if (strcmp(where, "1") == 0 || strcmp(where, "2") == 0 || strcmp(where, "true") == 0)
		trace_fd = STDERR_FILENO;
	else if (where[0] == '/')
		trace_fd = open(where, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
}

void report_trace(const char *format, ...)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int saved = errno;
	va_list args;

	pthread_once(&once, trace_open);
	if (trace_fd >= 0) {
		va_start(args, format);
		print(trace_fd, "git-brevis: trace: ", format, args);
		va_end(args);
	}
	errno = saved;
}
