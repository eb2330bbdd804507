/* SPDX-License-Identifier: Apache-2.0 */
/** What an object in a store says of itself by its two ends, which are a few KB. */
#ifndef FILTER_REMOTE_PEEK_H
#define FILTER_REMOTE_PEEK_H

#include "filter/remote/store.h"

enum peek {
	PEEK_FAILED = -1, /* the store did not hand it out: *fault says why */
	PEEK_PLAIN,       /* it does not begin as an archive */
	PEEK_ARCHIVE,     /* *info is what it says; its records are not proven */
	PEEK_UNREADABLE   /* it begins as an archive, and cannot be one: *err says why */
};

/** Looks at an object of so many stored bytes. */
enum peek peek_at(struct store *store, const char *oid, uint64_t size,
		  struct brevis_archive_info *info, struct brevis_error *err, struct fault *fault);

#endif
