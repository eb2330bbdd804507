/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What must not outlive the program: temporary files and children. When a signal ends it, children
 * registered here are told to end, and for a second at most waited for, and files are removed,
 * before the signal takes its course. After a second signal it is a quarter of a second, and then
 * they are killed.
 */
#ifndef FILTER_INTERRUPT_H
#define FILTER_INTERRUPT_H

#include <signal.h>
#include <sys/types.h>

/** Number of files or children that can be registered at the same time; more are not guarded. */
#define INTERRUPT_SLOTS 64

/** Takes over SIGINT, SIGTERM, SIGHUP and SIGQUIT where they are not ignored. Call once. */
void interrupt_install(void);

/**
 * Registers the path of a temporary file, absolute unless the program never changes its directory.
 * The string must live until interrupt_forget. Returns a handle, or -1 when all slots are taken.
 */
int interrupt_guard_file(const char *path);

/** Lets these signals wait until interrupt_resume: for a moment in which guards and files differ.
 */
void interrupt_hold(sigset_t *before);

void interrupt_resume(const sigset_t *before);

/** The same in a child that was made meanwhile: a signal ends it, and does not clean up for its
 * parent, which goes on. */
void interrupt_leave(const sigset_t *before);

/** Registers a child process. Returns a handle, or -1 when all slots are taken. */
int interrupt_guard_child(pid_t pid);

/** Call it before the file gets its final name. -1 is allowed. */
void interrupt_forget(int handle);

/**
 * Removes a file that is not wanted any more, by a path from where we are, and forgets it (-1 is
 * allowed). What fails is tried once more: nobody else removes such a file soon. Keeps errno.
 */
void interrupt_remove_file(int handle, const char *path);

/**
 * Waits for a child, which stays guarded until it has ended, and forgets it. Returns its exit code,
 * 128 and the number of the signal that ended it, or -1 with errno.
 */
int interrupt_wait_child(int handle, pid_t pid);

#endif
