/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/agent/holding.h"

#include <inttypes.h>
#include <string.h>

#include "filter/agent/outgoing.h"
#include "filter/remote/peek.h"

/* Bytes of a beginning that are compared. */
#define START_SIZE 16

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
static int check_archive(struct store *store, const struct pointer *pointer, uint64_t stored,
			 struct fault *fault)
{
	struct brevis_archive_info info;
	struct brevis_error err;

	switch (peek_at(store, pointer->oid, stored, &info, &err, fault)) {
	case PEEK_ARCHIVE:
		return holding_check_archive(&info, pointer, fault);
	case PEEK_UNREADABLE:
		return holding_fault(&err, fault);
	case PEEK_PLAIN:
		return fault_set(fault, FAULT_DAMAGED, HOLDING_REMEDY,
				 "what is there has %" PRIu64 " bytes instead of %" PRIu64
				 ", and is no archive",
				 stored, pointer->size);
	default:
		return -1;
	}
}

int holding_check(struct store *store, const struct pointer *pointer, uint64_t stored,
		  const struct object_file *file, struct fault *fault)
{
	size_t len = stored < START_SIZE ? (size_t)stored : START_SIZE;
	uint8_t there[START_SIZE], here[START_SIZE];

	if (stored != pointer->size)
		return check_archive(store, pointer, stored, fault);
	if (len == 0)
		return 0;
	if (store_read(store, pointer->oid, 0, there, len, fault) != 0)
		return -1;
	if (file->source.read_at(file->source.ctx, here, len, 0) != 0)
		return outgoing_unreadable(file, fault);
	if (memcmp(here, there, len) != 0)
		return fault_set(fault, FAULT_DAMAGED,
				 "`git brevis fsck` tells if it is the one here, `git brevis store "
				 "verify` if it is the one there; remove the damaged one",
				 "what is there begins in another way than the object here");
	return 0;
}
