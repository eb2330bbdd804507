/* SPDX-License-Identifier: Apache-2.0 */
/** git as a child that is asked a question: arguments and input in, exit code and output out. */
#ifndef FILTER_GIT_RUN_H
#define FILTER_GIT_RUN_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buffer.h"
#include "core/brevis.h"

/** First arguments for a git that reads or stores blobs: one that is large goes through it in parts
 * unless it is stored as a difference, and of its pack it has a part in memory. */
#define GIT_LARGE_BLOBS                                                                            \
	"-c", "core.bigFileThreshold=16m", "-c", "core.packedGitWindowSize=16m", "-c",             \
		"core.packedGitLimit=64m"

struct git_run {
	const char *const *args; /* after "git", ends with NULL */
	const char *directory;   /* where to run; NULL means here */
	const char *const *env;  /* NAME=VALUE to set, NAME to unset; ends with NULL; may be NULL */
	const void *input;       /* on its stdin, which is empty if NULL */
	size_t input_len;
	int input_fd;          /* a file for its stdin instead, if it is greater than 0 */
	struct buffer *output; /* takes its stdout; NULL leaves ours */
	struct buffer *errors; /* takes its stderr; NULL leaves ours */
};

/**
 * Runs git and waits for it. Returns its exit code, 128 + N if signal N ended it, or -1 after
 * reporting that it could not be run. Input and output of any size cannot block each other.
 */
int git_run(const struct git_run *run);

/** Short form: git with these arguments (ends with NULL), here, its stdout appended to output. */
int git_ask(struct buffer *output, const char *const *args);

/**
 * Hands the bytes of a blob, named in hex, to write. label is for messages. Returns 0, 1 if write
 * failed, or -1 after reporting.
 */
int git_read_blob(const char *blob, const char *label, brevis_write_fn write, void *ctx);

/** Makes one line of what a child wrote on stderr: no "fatal: ", white space runs become blanks. */
const char *git_errors_line(struct buffer *errors);

#endif
