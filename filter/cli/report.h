/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What the user reads on stderr. Each failure is one line: what, which path, why, what to do.
 * Control characters in formatted text come out escaped.
 */
#ifndef FILTER_REPORT_H
#define FILTER_REPORT_H

/** "git-brevis: error: ..." */
void report_failure(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** The same, and -1, so that a failing function ends with it. A macro, so that compilers and
 * analyzers see that. */
#define report_error(...) (report_failure(__VA_ARGS__), report_failed())

static inline int report_failed(void)
{
	return -1;
}

/** "git-brevis: warning: ..." */
void report_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** "git-brevis: note: ..." */
void report_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** A line of the trace, if GIT_BREVIS_TRACE asks for it: 1 or 2 mean stderr, an absolute path a
 * file. */
void report_trace(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
