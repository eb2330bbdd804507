/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The map of known content: for an original file (size and SHA-256) the pointer that stands for it.
 * Kept beside the LFS objects as <lfs dir>/brevis/known/<size>/<sha256>, each a small file that
 * holds the pointer's text (<sha256>-<user> is what that user wrote before another did); filled by
 * clean and by smudge. A cache: damaged or missing entries cost time, never data; an entry is
 * trusted only for what was proven when it was written.
 */
#ifndef FILTER_KNOWN_H
#define FILTER_KNOWN_H

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

#include "filter/objects/pointer.h"

struct known;

/** lfs_dir is copied. Creates nothing. Returns NULL when memory is short (reported). */
struct known *known_new(const char *lfs_dir);
void known_free(struct known *known);

/** Looks up the pointer of exactly this content. */
bool known_find(const struct known *known, uint64_t size, const uint8_t sha256[BREVIS_SHA256_SIZE],
		struct pointer *out);

/**
 * True if the map says that this content has this pointer, and its object, whose inode changed last
 * at that time, was not touched since: an entry is written after its object was proven. But only
 * if this user wrote it, as others may say what they like, and since the system was started: what
 * was proven before may have been in memory only, and what a loss of power made of it on the disk
 * shows in no time of the file.
 *
 * Who shares the directory can give an entry another name, and it says of its object only that it
 * was proven: size and sha256 must be what the object itself, an archive, says that it restores.
 */
bool known_vouches(const struct known *known, uint64_t size,
		   const uint8_t sha256[BREVIS_SHA256_SIZE], const struct pointer *pointer,
		   const struct timespec *changed);

/** Stores up to max pointers of contents of this size in out, the newest first; returns how many.
 */
size_t known_of_size(const struct known *known, uint64_t size, struct pointer *out, size_t max);

/** Remembers what was proven: that the pointer's object is an archive, which restores this, as it
 * says. Atomic, idempotent; failure to do so is traced and otherwise ignored. */
void known_add(const struct known *known, uint64_t size, const uint8_t sha256[BREVIS_SHA256_SIZE],
	       const struct pointer *pointer);

/** When the system was started, in seconds since 1970; tests say otherwise. */
extern int64_t (*known_boot)(void);

/** Who we are; tests say otherwise. */
extern uid_t (*known_user)(void);

#endif
