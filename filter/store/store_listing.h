/* SPDX-License-Identifier: Apache-2.0 */
/** What a store has, sorted, and what its objects say that they restore. */
#ifndef FILTER_STORE_LISTING_H
#define FILTER_STORE_LISTING_H

#include "core/base/buffer.h"
#include "filter/objects/pointer.h"
#include "filter/remote/store.h"

struct store_listing {
	struct buffer objects;    /* of struct store_entry, by oid */
	struct buffer incomplete; /* likewise, by key; what uploads left */
	struct fault fault;       /* why it could not be read */
};

/** Asks the store for all of its objects and, if asked to, what is incomplete. Returns -1 with the
 * fault in listing; release it in any case. */
int store_listing_read(struct store_listing *listing, struct store *store, bool incomplete);
void store_listing_release(struct store_listing *listing);

static inline size_t store_listing_count(const struct buffer *list)
{
	return list->size / sizeof(struct store_entry);
}

static inline const struct store_entry *store_listing_at(const struct buffer *list, size_t i)
{
	return (const struct store_entry *)(const void *)list->data + i;
}

enum store_content {
	STORE_PLAIN,      /* the bytes as they are, no archive */
	STORE_ARCHIVE,    /* an archive that is the object: filter=brevis made it */
	STORE_COMPRESSED, /* an archive that restores the object: the upload made it */
	STORE_UNREADABLE  /* not handed out, or an archive that is damaged or of a later version */
};

/** What an object's beginning and end say; its bytes are not proven. */
struct store_look {
	enum store_content content;
	uint64_t original_size; /* unless STORE_UNREADABLE */
};

/** Looks at an object. Returns -1 with *fault if it is not there, or the store is not to be had. */
int store_look(struct store *store, const struct store_entry *entry, struct store_look *out,
	       struct fault *fault);

#endif
