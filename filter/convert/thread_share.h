/* SPDX-License-Identifier: Apache-2.0 */
/**
 * One budget of threads for all git-brevis processes of a user that convert files at the same time:
 * the filters of submodules that are cloned side by side, one-shot filters that run in parallel,
 * commands in two terminals. Each process may always use one thread, its own; further ones it takes
 * from what the others leave, for as long as one file lasts.
 */
#ifndef FILTER_THREAD_SHARE_H
#define FILTER_THREAD_SHARE_H

/** What a process has taken. All zeros: nothing. */
struct thread_share {
	unsigned threads; /* to work with, its own included */
	int lock;         /* descriptor that holds the further ones, plus 1; 0: there are none */
};

/**
 * Takes up to wanted threads (0: one for each processor), at least one. Never waits and cannot
 * fail: where there is no place to keep the budget in, all that is wanted is taken.
 */
void thread_share_take(struct thread_share *share, unsigned wanted);

/** Gives back what was taken. A process that ends in whatever way gives it back, too. */
void thread_share_return(struct thread_share *share);

#endif
