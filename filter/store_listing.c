/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/store_listing.h"

#include <stdlib.h>
#include <string.h>

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

/* An archive is told by its beginning and its end. Each is fetched once, in one step that is large
 * enough for nearly all; what lies outside is asked for as it is wanted. */
#define FIRST_SIZE ((size_t)8 << 10)
#define LAST_SIZE  ((size_t)64 << 10)

struct remote_object {
	struct store *store;
	const char *oid;
	struct fault *fault;
	uint8_t first[FIRST_SIZE];
	uint8_t last[LAST_SIZE];
	uint64_t first_end; /* what first holds ends here */
	uint64_t last_from; /* what last holds begins here, and goes to the end */
	uint64_t size;
};

static int read_at(void *ctx, void *buf, size_t len, uint64_t offset)
{
	struct remote_object *object = ctx;

	if (len <= object->first_end && offset <= object->first_end - len) {
		memcpy(buf, object->first + offset, len);
		return 0;
	}
	if (offset >= object->last_from && offset <= object->size && len <= object->size - offset) {
		memcpy(buf, object->last + (offset - object->last_from), len);
		return 0;
	}
	return store_read(object->store, object->oid, offset, buf, len, object->fault);
}

static int fetch_first(struct remote_object *object)
{
	size_t len = object->size < FIRST_SIZE ? (size_t)object->size : FIRST_SIZE;

	if (len && store_read(object->store, object->oid, 0, object->first, len, object->fault) < 0)
		return -1;
	object->first_end = len;
	return 0;
}

static int fetch_last(struct remote_object *object)
{
	uint64_t left = object->size - object->first_end;
	size_t len = left < LAST_SIZE ? (size_t)left : LAST_SIZE;
	uint64_t from = object->size - len;

	if (len &&
	    store_read(object->store, object->oid, from, object->last, len, object->fault) < 0)
		return -1;
	object->last_from = from;
	return 0;
}

/* Asks the archive what it is. Returns -1 if that is the store's fault. */
static int look_at_archive(struct remote_object *object, struct store_look *out)
{
	const struct brevis_source source = {
		.read_at = read_at, .ctx = object, .size = object->size};
	struct brevis_archive_info info;
	struct brevis_error err;
	char oid[OID_HEX_SIZE + 1];

	if (fetch_last(object) < 0)
		return -1;
	if (brevis_archive_peek(&source, &info, &err) != BREVIS_OK) {
		if (err.status == BREVIS_E_IO && object->fault->kind != FAULT_NONE)
			return -1;
		if (err.status == BREVIS_E_NOMEM)
			return fault_nomem(object->fault);
		out->content = STORE_UNREADABLE;
		return 0;
	}
	digest_to_hex(info.original_sha256, oid);
	out->content = strcmp(oid, object->oid) == 0 ? STORE_COMPRESSED : STORE_ARCHIVE;
	out->original_size = info.original_size;
	return 0;
}

int store_look(struct store *store, const struct store_entry *entry, struct store_look *out,
	       struct fault *fault)
{
	struct remote_object *object = calloc(1, sizeof(*object));
	int rc = -1;

	memset(out, 0, sizeof(*out));
	if (!object)
		return fault_nomem(fault);
	object->store = store;
	object->oid = entry->oid;
	object->size = entry->size;
	object->last_from = entry->size;
	object->fault = fault;
	if (fetch_first(object) < 0)
		goto out;
	out->content = STORE_PLAIN;
	out->original_size = entry->size;
	rc = 0;
	if (brevis_is_archive(object->first, (size_t)object->first_end))
		rc = look_at_archive(object, out);
out:
	free(object);
	return rc;
}
