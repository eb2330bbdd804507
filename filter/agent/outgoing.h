/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The content that is uploaded for an object: its bytes as they are, which are hashed meanwhile, or
 * an archive that is made of them meanwhile. A thread does it, and lets a feed grow by what is
 * ready; the feed is finished only if the object's SHA-256 proved to be its oid, and the archive to
 * restore it.
 */
#ifndef FILTER_AGENT_OUTGOING_H
#define FILTER_AGENT_OUTGOING_H

#include "filter/convert/convert.h"
#include "filter/remote/store.h"

struct outgoing;

/** Says why a read of the object's file failed. Returns -1. */
int outgoing_unreadable(const struct object_file *file, struct fault *fault);

/**
 * Starts it. All that is passed must live, and the workspace be left alone, until outgoing_end. An
 * archive grows in the store, if that is near, else here. Returns NULL with *fault on failure.
 */
struct outgoing *outgoing_start(struct workspace *ws, struct store *store,
				const struct pointer *pointer, const struct object_file *file,
				bool compress, struct fault *fault);

struct feed *outgoing_feed(const struct outgoing *outgoing);

/** How many bytes of the object so many bytes of the feed stand for; an estimate for archives. */
uint64_t outgoing_share(const struct outgoing *outgoing, uint64_t sent);

enum outgoing_result {
	OUTGOING_GOOD,       /* the feed was finished */
	OUTGOING_NO_SMALLER, /* an archive of it would take as many bytes: send it as it is */
	OUTGOING_STOPPED,    /* outgoing_end came first */
	OUTGOING_FAILED      /* *fault says why */
};

/** Stops what is still at work, frees it with its feed, and tells how it ended. */
enum outgoing_result outgoing_end(struct outgoing *outgoing, struct fault *fault);

#endif
