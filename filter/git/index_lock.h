/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The lock of git's index, as git takes it: a file whose name is the index's and ".lock". A kill
 * leaves it in place; but ours says that it is ours, and the kernel that nobody holds it any more,
 * so that whoever of us comes next takes it over.
 */
#ifndef FILTER_INDEX_LOCK_H
#define FILTER_INDEX_LOCK_H

struct index_lock {
	char *path;      /* of the lock */
	char *index;     /* of the index */
	char *copy;      /* a name beside it, which is ours alone while we hold the lock */
	char *copy_lock; /* by which libgit2 writes that */
	int fd;
	int guards[3];
};

/** A lock that is not held. index_lock_release may be called. */
#define INDEX_LOCK_NONE ((struct index_lock){.fd = -1})

/**
 * Takes the lock; looks at most so many times, some milliseconds apart, whether another one has let
 * go of it. Nothing has the name `copy` then. Returns 0, or -1 with errno, EEXIST if it is taken;
 * lock->path is set unless memory was short. In any case to be released.
 */
int index_lock_take(struct index_lock *lock, const char *index, int attempts);

/** Gives what has the name `copy` that of the index. Returns 0, or -1 with errno. */
int index_lock_replace(const struct index_lock *lock);

/** Lets go of the lock if it is held, removes what has the name `copy`, frees what was allocated.
 */
void index_lock_release(struct index_lock *lock);

/** Removes what a kill of one of us has left of a lock: for who does not need it. */
void index_lock_sweep(const char *index);

#endif
