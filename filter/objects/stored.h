/* SPDX-License-Identifier: Apache-2.0 */
/** What a local object restores. */
#ifndef FILTER_STORED_H
#define FILTER_STORED_H

#include "filter/objects/object_store.h"

/** The SHA-256 of nothing: what an empty file's object would be called. */
#define STORED_EMPTY_OID "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

/** What is known of the content behind a pointer. */
struct stored {
	bool is_cut;     /* a file stands in the object's place, but of another size */
	bool is_here;    /* the object is in the local store, in the right size */
	bool is_archive; /* and is a brevis archive */
	bool is_known;   /* and the original's size and digest are known (below) */
	uint64_t original_size;
	char original_oid[OID_HEX_SIZE + 1]; /* its SHA-256 in hex */
};

/** Looks at the object of a pointer; of size 0 there is nothing to have: it is here. Decodes and
 * hashes nothing. Reports nothing. */
void stored_look(const struct object_store *store, const struct pointer *pointer,
		 struct stored *out);

#endif
