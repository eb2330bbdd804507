/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/store/store_listing.h"

#include <stdlib.h>
#include <string.h>

#include "filter/remote/peek.h"

/* ---- the list -------------------------------------------------------------------------------- */

/* Takes a copy: what the store tells of lives as long as the call. */
static int take(void *ctx, const struct store_entry *entry)
{
	struct store_listing *listing = ctx;
	struct buffer *list = entry->oid ? &listing->objects : &listing->incomplete;
	struct store_entry copy = *entry;

	copy.key = strdup(entry->key);
	copy.oid = entry->oid ? strdup(entry->oid) : NULL;
	if (copy.key && (copy.oid || !entry->oid))
		buffer_append(list, &copy, sizeof(copy));
	if (copy.key && (copy.oid || !entry->oid) && !buffer_failed(list))
		return 0;
	free((char *)(uintptr_t)copy.key);
	free((char *)(uintptr_t)copy.oid);
	return fault_nomem(&listing->fault);
}

static int compare(const void *a, const void *b)
{
	const struct store_entry *x = a;
	const struct store_entry *y = b;

	return x->oid ? strcmp(x->oid, y->oid) : strcmp(x->key, y->key);
}

static void sort(struct buffer *list)
{
	if (list->size)
		qsort(list->data, store_listing_count(list), sizeof(struct store_entry), compare);
}

int store_listing_read(struct store_listing *listing, struct store *store, bool incomplete)
{
	struct fault fault = {.kind = FAULT_NONE};

	memset(listing, 0, sizeof(*listing));
	if (store_each(store, incomplete, take, listing, &fault) < 0) {
		/* What take says goes before "it was cancelled". */
		if (listing->fault.kind == FAULT_NONE)
			listing->fault = fault;
		return -1;
	}
	sort(&listing->objects);
	sort(&listing->incomplete);
	return 0;
}

static void release(struct buffer *list)
{
	for (size_t i = 0; i < store_listing_count(list); i++) {
		free((char *)(uintptr_t)store_listing_at(list, i)->key);
		free((char *)(uintptr_t)store_listing_at(list, i)->oid);
	}
	buffer_release(list);
}

void store_listing_release(struct store_listing *listing)
{
	release(&listing->objects);
	release(&listing->incomplete);
}

/* ---- one object ------------------------------------------------------------------------------ */

int store_look(struct store *store, const struct store_entry *entry, struct store_look *out,
	       struct fault *fault)
{
	struct brevis_archive_info info;
	struct brevis_error err;
	char oid[OID_HEX_SIZE + 1];

	memset(out, 0, sizeof(*out));
	switch (peek_at(store, entry->oid, entry->size, &info, &err, fault)) {
	case PEEK_PLAIN:
		out->content = STORE_PLAIN;
		out->original_size = entry->size;
		return 0;
	case PEEK_ARCHIVE:
		digest_to_hex(info.original_sha256, oid);
		out->content = strcmp(oid, entry->oid) == 0 ? STORE_COMPRESSED : STORE_ARCHIVE;
		out->original_size = info.original_size;
		return 0;
	case PEEK_UNREADABLE:
		out->content = STORE_UNREADABLE;
		return 0;
	default:
		break;
	}
	/* What is wrong with one object says nothing of the others. */
	if (fault->kind != FAULT_DAMAGED && fault->kind != FAULT_DENIED &&
	    fault->kind != FAULT_LOCAL)
		return -1;
	out->content = STORE_UNREADABLE;
	return 0;
}
