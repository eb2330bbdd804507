/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Whether storing an object waits for the disk. An object is to git-lfs what a loose object is to
 * git, so git's own settings decide (core.fsync, core.fsyncMethod, core.fsyncObjectFiles);
 * brevis.fsync goes before them.
 */
#ifndef FILTER_SYNC_POLICY_H
#define FILTER_SYNC_POLICY_H

#include <stdbool.h>

struct repository;

enum sync_policy {
	SYNC_BEGIN = 0, /* the disk is told to begin, and nobody waits: git's way by default */
	SYNC_WRITE_OUT, /* wait until the disk has been handed the bytes of the file */
	SYNC_DURABLE    /* wait until the file and its name outlive a loss of power */
};

/** True if a value of core.fsync (NULL: it is not set) has git sync loose objects. */
bool sync_policy_has_loose_objects(const char *core_fsync);

/** What the configuration says. */
enum sync_policy sync_policy_read(const struct repository *repository);

/** Its name, for `git brevis env`. */
const char *sync_policy_name(enum sync_policy policy);

#endif
