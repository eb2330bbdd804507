/* SPDX-License-Identifier: Apache-2.0 */
/**
 * One line on a terminal that shows how far long work has come: which file, how much of it, how
 * fast, how much smaller, how long still. It comes only if the work takes more than a second, is
 * renewed a few times a second, and goes when the work ends or anything else is reported.
 *
 * Where stderr is no terminal nothing is shown, unless the user forces it: then it is a line of its
 * own once a second. In the order in which they decide: --progress and --no-progress,
 * GIT_BREVIS_PROGRESS, GIT_LFS_FORCE_PROGRESS, lfs.forceprogress. GIT_PROGRESS_DELAY are the
 * seconds before the first line, as for git.
 *
 * There is one line. Work that begins within other work (a file that is restored as one of many, or
 * by another thread) is counted and not shown. All functions may be called by any thread.
 */
#ifndef FILTER_PROGRESS_H
#define FILTER_PROGRESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/brevis.h"

/** Progress is measured over so many lines. */
#define PROGRESS_SAMPLES 24

/** Bytes of a file's name that are kept. */
#define PROGRESS_NAME_SIZE 400

/** Zeroed memory is a progress that has not begun: nothing that is done to it has an effect. */
struct progress {
	bool is_shown; /* it has the line; the members below are of use only then */
	const char *what;
	char name[PROGRESS_NAME_SIZE];
	size_t number;
	size_t count;
	uint64_t total; /* bytes to come, 0 if that is not known */

	_Atomic uint64_t done;
	_Atomic uint64_t stored;
	_Atomic uint64_t next_ms; /* when the line is written next */

	uint64_t share_original; /* what is known of the share saved */
	uint64_t share_stored;
	uint64_t base_done; /* where the estimate of it began */
	uint64_t base_stored;

	struct progress_sample {
		uint64_t ms;
		uint64_t done;
	} samples[PROGRESS_SAMPLES];
	size_t sample_count; /* that were taken; the latest replace the oldest */
	uint64_t told;       /* done, when a line was written last */
};

/** --progress and --no-progress of a verb. Zeroed: neither was given. */
struct progress_choice {
	bool on;
	bool off;
};

/** The two rows of a verb's option table. */
#define PROGRESS_OPTIONS(choice)                                                                   \
	{.name = "progress",                                                                       \
	 .flag = &(choice).on,                                                                     \
	 .help = "show progress where stderr is no terminal, too"},                                \
	{                                                                                          \
		.name = "no-progress", .flag = &(choice).off, .help = "show no progress"           \
	}

/** Heeds what was chosen; of both, off counts. */
void progress_choose(const struct progress_choice *choice);

/** lfs.forceprogress. Call it before anything is shown. */
void progress_force(bool forced);

/** False if no line will ever be shown: then nobody needs to find out totals for it. */
bool progress_is_wanted(void);

/**
 * Begins work. what says what is done ("compressing") and must live until the end; name is a file's
 * path, as raw as it is, or "". total is in bytes, 0 if it is not known.
 */
void progress_begin(struct progress *progress, const char *what, const char *name, uint64_t total);

/** Goes on with another file, number number of count. The bytes count on. */
void progress_file(struct progress *progress, const char *name, size_t number, size_t count);

/** Goes on to number number, the name stays. */
void progress_number(struct progress *progress, size_t number);

/** Counts bytes of the original. */
void progress_add(struct progress *progress, uint64_t bytes);

/**
 * Counts bytes of the archive that is being made. The encoder holds back some of what it was given;
 * so the share saved is an estimate, and only told once that matters little.
 */
void progress_stored(struct progress *progress, uint64_t bytes);

/** Says how many bytes are stored instead of original ones: that share is told from now on. */
void progress_share(struct progress *progress, uint64_t original, uint64_t stored);

/** Says that something else is done now, with the same file. */
void progress_step(struct progress *progress, const char *what);

/** Takes the line away. Allowed at any time, more than once. */
void progress_end(struct progress *progress);

/**
 * Takes the line away, so that something else can go to stderr; until progress_resume nothing is
 * shown, and another thread that reports waits.
 */
void progress_pause(void);
void progress_resume(void);

/** A brevis_write_fn that counts bytes and drops them. */
int progress_write(void *progress, const void *data, size_t len);

/** A source whose bytes count when they are read. */
struct progress_source {
	struct progress *progress;
	const struct brevis_source *inner;
};

/** Makes a source of it. It must stay where it is. */
struct brevis_source progress_source(struct progress_source *source);

/** The clock, in milliseconds; tests have another. */
extern uint64_t (*progress_clock)(void);

#endif
