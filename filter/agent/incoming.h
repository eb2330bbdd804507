/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Files that downloads write:
 *
 *   <lfs dir>/brevis/incoming/<oid>.part   what came of an object so far; it stays for next time
 *   <lfs dir>/tmp/brevis-<random>          what git-lfs is given; it moves that to its place
 *
 * The first is locked by the process that writes it; another that wants the same object at the same
 * time gets a file of the second kind.
 */
#ifndef FILTER_AGENT_INCOMING_H
#define FILTER_AGENT_INCOMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "filter/remote/fault.h"

struct incoming {
	int fd;
	char *path;
	const char *lfs_dir;
	bool is_part;      /* it stays when it is closed, unless it was dropped */
	int guard;         /* against signals, if it must not stay */
	uint64_t size;     /* bytes that it has */
	uint64_t expected; /* bytes that it will have, if that was said */
};

/** Opens what came of an object so far, or begins with nothing. lfs_dir must live as long. Returns
 * 0, or -1 with *fault. */
int incoming_resume(struct incoming *in, const char *lfs_dir, const char *oid, struct fault *fault);

/** Begins a file in <lfs dir>/tmp. */
int incoming_create(struct incoming *in, const char *lfs_dir, struct fault *fault);

/** Says what size it will have, and makes sure that it fits, where the filesystem can tell. */
int incoming_reserve(struct incoming *in, uint64_t size, struct fault *fault);

/** Appends bytes. Returns 0, or -1 with *fault. */
int incoming_write(struct incoming *in, const void *data, size_t len, struct fault *fault);

/** Throws away what it has. */
int incoming_empty(struct incoming *in, struct fault *fault);

/** A complete file in <lfs dir>/tmp. Until it is released, a signal that ends us removes it. */
struct landed {
	char *path; /* or NULL */
	int guard;
};

/** Closes it, complete and in <lfs dir>/tmp: *out. Returns 0, or -1 with *fault, and then it is
 * still to be closed. */
int incoming_land(struct incoming *in, struct landed *out, struct fault *fault);

/** From here on it is git-lfs's. */
void landed_release(struct landed *landed);

/** git-lfs has not taken it, and will not. */
void landed_drop(struct landed *landed);

/** Closes it. Nothing stays with drop set, and of the second kind. */
void incoming_close(struct incoming *in, bool drop);

/** Removes what has been waiting for more than a week. */
void incoming_sweep(const char *lfs_dir);

#endif
