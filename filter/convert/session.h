/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
/**
 * git's long-running filter protocol, version 2, seen from the filter's side. The session speaks
 * the protocol; what clean and smudge do is the business of its actions.
 *
 *   START    git-filter-client, version=2; answered by git-filter-server, version=2
 *     |
 *   HELLO    capabilities offered; answered by those that we share
 *     |
 *     v
 *   IDLE  -----------------------------------------------> CLOSED   end of input
 *    |  ^
 *    |  +-- command=list_available_blobs; answered by the delayed paths that are ready
 *    |  ^
 *    |  |
 *    |  +------------------------------------------------------+
 *    |    status=delayed or status=error, nothing else         |
 *    v                                                         |
 *   CONTENT  command=clean|smudge, pathname=, [can-delay=1]; --+
 *    |       the action takes the packets of the content       |
 *    |                                                         |
 *    | first byte of the result: status=success                |
 *    v                                                         |
 *   ANSWER   bytes of the result, then the final status -------+
 *
 * Any state goes to BROKEN when the peer does not keep to this, or is gone.
 *
 * Before the first byte of an answer goes out, the whole content has been taken in: git reads
 * nothing before it has written all, and the two would wait for each other for ever.
 * An action that fails costs its own file only: the answer is status=error and the session goes on.
 */
/* clang-format on */
#ifndef FILTER_SESSION_H
#define FILTER_SESSION_H

#include <stdbool.h>
#include <stddef.h>

struct session;

enum session_result {
	SESSION_DONE = 0,    /* the content that was written is the result */
	SESSION_DELAYED = 1, /* nothing was written; the path will be named by list_available */
	SESSION_FAILED = -1  /* reported; what was written counts for nothing */
};

/** What is asked of clean and smudge. The path lives until the action returns. */
struct session_request {
	const char *path; /* relative to the top of the work tree */
	bool can_delay;
};

struct session_actions {
	void *ctx;
	/** Each reads the content with session_read and writes its result with session_write. */
	enum session_result (*clean)(void *ctx, const struct session_request *request,
				     struct session *session);
	enum session_result (*smudge)(void *ctx, const struct session_request *request,
				      struct session *session);
	/** Calls session_name_path for each delayed path that can be asked for again now. */
	void (*list_available)(void *ctx, struct session *session);
};

/**
 * Speaks the protocol until git closes its end. Returns 0, or -1 after reporting that the peer does
 * not speak it or that the connection broke.
 */
int session_run(int in, int out, const struct session_actions *actions);

/**
 * For an action: takes the next bytes of the content, which live until the next call. Returns 1, 0
 * at the content's end, or -1 when the connection broke (session_run reports that).
 */
int session_read(struct session *session, const void **data, size_t *len);

/** For an action: writes the next bytes of its result. A brevis_write_fn. */
int session_write(void *session, const void *data, size_t len);

/** For list_available. */
void session_name_path(struct session *session, const char *path);

#endif
