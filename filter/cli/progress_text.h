/* SPDX-License-Identifier: Apache-2.0 */
/** The words of a progress line. Nothing here knows of a clock or a terminal. */
#ifndef FILTER_PROGRESS_TEXT_H
#define FILTER_PROGRESS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Room for a line that is as wide as a line may be, final NUL included. */
#define PROGRESS_TEXT_SIZE 1024

/** Columns that a line takes at most, however wide the terminal is. */
#define PROGRESS_COLUMNS 240

/** What there is to tell. Sizes are in bytes. */
struct progress_facts {
	const char *what; /* "compressing" */
	const char *name; /* of the file, printable; "" if there is none */
	size_t number;    /* it is number number ... */
	size_t count;     /* ... of so many; 0 or 1: not told */
	uint64_t done;
	uint64_t total; /* 0, or less than done: not known */
	uint64_t rate;  /* per second, 0: not known */

	uint64_t original; /* share saved: stored instead of original; 0: not known */
	uint64_t stored;
	bool is_estimate; /* told in whole percents */
};

/** Columns that text takes on a terminal at most: what may be wide counts as two. */
size_t progress_text_columns(const char *text);

/**
 * Copies text, of at most that many columns and size - 1 bytes: what is longer loses its middle,
 * for "...". A name's end tells more than its beginning, so it keeps more of it.
 */
void progress_text_shorten(char *out, size_t size, const char *text, size_t columns);

/** Writes seconds as people say them: "42 s", "5 min 02 s", "3 h 07 min". Returns out. */
const char *progress_text_duration(uint64_t seconds, char *out, size_t size);

/**
 * Writes the line, of at most that many columns: "compressing model.safetensors: 1.2 of 4.3 GB,
 * 512.3 MB/s, 34 % saved, 6 s left". Where that is too long the name is shortened, then the share,
 * the rate and the time are left out, in this order.
 */
void progress_text(char out[PROGRESS_TEXT_SIZE], const struct progress_facts *facts,
		   size_t columns);

#endif
