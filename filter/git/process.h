/* SPDX-License-Identifier: Apache-2.0 */
/** A child that is talked to through pipes (git_run.h is for asking git one question). It is told
 * to end if we are. */
#ifndef FILTER_PROCESS_H
#define FILTER_PROCESS_H

#include <sys/types.h>

struct process_options {
	const char *dir;          /* where it runs; NULL: where we are */
	const char *const *unset; /* environment variables it does not get; NULL-terminated */
	const char *const *set;   /* "NAME=value" that it gets; NULL-terminated */
	int error_fd;             /* its stderr; -1: ours */
};

struct process {
	pid_t pid;
	int in;  /* write end of its stdin */
	int out; /* read end of its stdout */
	int guard;
};

/**
 * Starts argv (found by PATH, NULL-terminated) with pipes at its stdin and stdout. options may be
 * NULL. Returns -1 with errno set if it cannot be run at all (ENOENT: no such program).
 */
int process_start(struct process *process, const char *const *argv,
		  const struct process_options *options);

/**
 * Closes both pipes, waits for the end, and returns the exit code: 128 + N for a death by signal N,
 * -1 if it cannot be told.
 */
int process_finish(struct process *process);

/** Becomes another program, which has the streams of this one. Returns, with errno set, only if
 * that cannot be run. */
void process_become(const char *const *argv);

#endif
