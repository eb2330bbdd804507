/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/agent/holding.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of a beginning that are compared. */
#define START_SIZE 16

/* Both ends of an archive are read in one go each: their parts would be a round trip each. */
#define END_SIZE ((size_t)32 << 10)

/* An archive in a store, and what is here of it. */
struct distant {
	struct store *store;
	const char *oid;
	uint64_t size;
	uint64_t last_offset; /* where the last bytes begin; 0: they are all */
	bool has_first;
	bool has_last;
	struct fault fault;
	uint8_t first[END_SIZE];
	uint8_t last[END_SIZE];
};

/* Finds a range in one of the ends, which is read if it was not. NULL after a fault, or if the
 * range lies in neither. */
static const uint8_t *find_in_ends(struct distant *d, size_t len, uint64_t offset)
{
	bool is_last = offset >= d->last_offset;
	uint8_t *bytes = is_last ? d->last : d->first;
	bool *is_here = is_last ? &d->has_last : &d->has_first;
	uint64_t begin = is_last ? d->last_offset : 0;
	size_t size = is_last ? (size_t)(d->size - d->last_offset) : END_SIZE;

	if (offset - begin + len > size)
		return NULL;
	if (!*is_here && store_read(d->store, d->oid, begin, bytes, size, &d->fault) != 0)
		return NULL;
	*is_here = true;
	return bytes + (offset - begin);
}

static int read_distant(void *ctx, void *buf, size_t len, uint64_t offset)
{
	struct distant *d = ctx;
	const uint8_t *found = find_in_ends(d, len, offset);

	if (found)
		memcpy(buf, found, len);
	else if (d->fault.kind || store_read(d->store, d->oid, offset, buf, len, &d->fault) != 0)
		return -1;
	return 0;
}

int holding_fault(const struct brevis_error *err, struct fault *fault)
{
	switch (err->status) {
	case BREVIS_E_NOMEM:
		return fault_nomem(fault);
	case BREVIS_E_UNSUPPORTED:
	case BREVIS_E_LIMIT:
		return fault_set(fault, FAULT_UNSUPPORTED, "install a newer git-brevis",
				 "the archive there cannot be read: %s", err->message);
	default:
		return fault_set(fault, FAULT_DAMAGED, HOLDING_REMEDY,
				 "what is there is damaged, or something else: %s", err->message);
	}
}

int holding_check_archive(const struct brevis_archive_info *info, const struct pointer *pointer,
			  struct fault *fault)
{
	char hex[OID_HEX_SIZE + 1];

	digest_to_hex(info->original_sha256, hex);
	if (info->original_size == pointer->size && strcmp(hex, pointer->oid) == 0)
		return 0;
	return fault_set(fault, FAULT_DAMAGED, HOLDING_REMEDY,
			 "the archive there restores something else");
}

/* What has another size than the object has to be an archive of it. */
static int check_archive(struct distant *d, const struct pointer *pointer, struct fault *fault)
{
	const struct brevis_source source = {.read_at = read_distant, .ctx = d, .size = d->size};
	struct brevis_archive_info info;
	uint8_t magic[BREVIS_MAGIC_SIZE];
	struct brevis_error err;

	if (brevis_archive_peek(&source, &info, &err) == BREVIS_OK)
		return holding_check_archive(&info, pointer, fault);
	if (d->fault.kind == FAULT_NONE && d->size >= sizeof(magic) &&
	    read_distant(d, magic, sizeof(magic), 0) == 0 &&
	    brevis_is_archive(magic, sizeof(magic)))
		return holding_fault(&err, fault);
	if (d->fault.kind) {
		*fault = d->fault;
		return -1;
	}
	return fault_set(fault, FAULT_DAMAGED, HOLDING_REMEDY,
			 "what is there has %" PRIu64 " bytes instead of %" PRIu64
			 ", and is no archive",
			 d->size, pointer->size);
}

static int check_distant(struct store *store, const struct pointer *pointer, uint64_t stored,
			 struct fault *fault)
{
	struct distant *d = calloc(1, sizeof(*d));
	int result;

	if (!d)
		return fault_nomem(fault);
	d->store = store;
	d->oid = pointer->oid;
	d->size = stored;
	d->last_offset = stored > END_SIZE ? stored - END_SIZE : 0;
	result = check_archive(d, pointer, fault);
	free(d);
	return result;
}

int holding_check(struct store *store, const struct pointer *pointer, uint64_t stored,
		  const struct object_file *file, struct fault *fault)
{
	size_t len = stored < START_SIZE ? (size_t)stored : START_SIZE;
	uint8_t there[START_SIZE], here[START_SIZE];

	if (stored != pointer->size)
		return check_distant(store, pointer, stored, fault);
	if (len == 0)
		return 0;
	if (store_read(store, pointer->oid, 0, there, len, fault) != 0)
		return -1;
	if (file->source.read_at(file->source.ctx, here, len, 0) != 0)
		return fault_set(fault, FAULT_LOCAL, "check the disk",
				 "the object here cannot be read");
	if (memcmp(here, there, len) != 0)
		return fault_set(fault, FAULT_DAMAGED,
				 "`git brevis fsck` tells if it is the one here, `git brevis store "
				 "verify` if it is the one there; remove the damaged one",
				 "what is there begins in another way than the object here");
	return 0;
}
