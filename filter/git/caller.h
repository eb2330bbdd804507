/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What the git that has started us is doing, by its command line.
 *
 * git smudges blobs before it hands them to a diff driver or a textconv: each `git log -p` would
 * download checkpoints and hold them in memory, to show some lines about them. Who only shows wants
 * the pointer, behind which driver and textconv find what they need.
 */
#ifndef FILTER_CALLER_H
#define FILTER_CALLER_H

#include <stdbool.h>
#include <stddef.h>

enum caller {
	CALLER_ANY,     /* wants content, or we cannot tell */
	CALLER_SHOWS,   /* diff, log, show, ...: writes no work file of what it reads */
	CALLER_BLAMES,  /* blame, annotate: does so, too, and cleans what the textconv has said */
	CALLER_COMPARES /* difftool: shows content by programs that know of no pointers */
};

/** True for those that are to be given pointers. */
bool caller_wants_pointers(enum caller caller);

/** Looks at the process that has started us; a shell in between does not count. */
enum caller caller_look(void);

/** True if that process is how git-lfs finds pointers in a history: it must be given them. */
bool caller_seeks_pointers(void);

/** Which side a merge is told to take of what is in conflict: -X ours, -X theirs. */
enum caller_favor { FAVOR_NONE, FAVOR_OURS, FAVOR_THEIRS };

/** What that process, if it merges, was told. git tells no merge driver. */
enum caller_favor caller_favors(void);

/** The same of a command line as /proc has it: words, each with a final NUL. in_difftool: git was
 * started by difftool. */
enum caller caller_of(const char *words, size_t size, bool in_difftool);
bool caller_words_seek_pointers(const char *words, size_t size);
enum caller_favor caller_words_favor(const char *words, size_t size);

#endif
