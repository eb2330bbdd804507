/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/remote/peek.h"

#include <stdlib.h>
#include <string.h>

/* An end is fetched in one step, which is large enough for nearly all archives: what is in it would
 * be a round trip each. What lies between is asked for as it is wanted. */
#define END_SIZE ((size_t)32 << 10)

/* An object far away, and what is here of it. */
struct distant {
	struct store *store;
	const char *oid;
	uint64_t size;
	size_t first_size;    /* 0: not fetched yet */
	uint64_t last_offset; /* its size: not fetched yet */
	struct fault *fault;
	uint8_t first[END_SIZE];
	uint8_t last[END_SIZE];
};

/* Fetches the last bytes: what the first ones do not hold, at most. */
static int fetch_last(struct distant *d)
{
	uint64_t left = d->size - d->first_size;
	size_t len = left < END_SIZE ? (size_t)left : END_SIZE;

	if (store_read(d->store, d->oid, d->size - len, d->last, len, d->fault) != 0)
		return -1;
	d->last_offset = d->size - len;
	return 0;
}

static int read_distant(void *ctx, void *buf, size_t len, uint64_t offset)
{
	struct distant *d = ctx;

	if (offset + len <= d->first_size) {
		memcpy(buf, d->first + offset, len);
		return 0;
	}
	if (d->last_offset == d->size && offset >= d->first_size && d->size - offset <= END_SIZE &&
	    fetch_last(d) != 0)
		return -1;
	if (offset >= d->last_offset) {
		memcpy(buf, d->last + (offset - d->last_offset), len);
		return 0;
	}
	return store_read(d->store, d->oid, offset, buf, len, d->fault);
}

static enum peek peek(struct distant *d, struct brevis_archive_info *info, struct brevis_error *err)
{
	const struct brevis_source source = {.read_at = read_distant, .ctx = d, .size = d->size};
	size_t len = d->size < END_SIZE ? (size_t)d->size : END_SIZE;

	if (len && store_read(d->store, d->oid, 0, d->first, len, d->fault) != 0)
		return PEEK_FAILED;
	d->first_size = len;
	if (!brevis_is_archive(d->first, len))
		return PEEK_PLAIN;
	if (brevis_archive_peek(&source, info, err) == BREVIS_OK)
		return PEEK_ARCHIVE;
	if (err->status == BREVIS_E_NOMEM)
		fault_nomem(d->fault);
	return d->fault->kind == FAULT_NONE ? PEEK_UNREADABLE : PEEK_FAILED;
}

enum peek peek_at(struct store *store, const char *oid, uint64_t size,
		  struct brevis_archive_info *info, struct brevis_error *err, struct fault *fault)
{
	struct distant *d = malloc(sizeof(*d));
	struct fault own = {.kind = FAULT_NONE};
	enum peek result;

	if (!d) {
		fault_nomem(fault);
		return PEEK_FAILED;
	}
	d->store = store;
	d->oid = oid;
	d->size = d->last_offset = size;
	d->first_size = 0;
	d->fault = &own;
	result = peek(d, info, err);
	if (result == PEEK_FAILED)
		*fault = own;
	free(d);
	return result;
}
