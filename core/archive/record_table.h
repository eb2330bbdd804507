/* SPDX-License-Identifier: Apache-2.0 */
/** Finds records by what they restore: a hash table from record heads to numbers. */
#ifndef CORE_ARCHIVE_RECORD_TABLE_H
#define CORE_ARCHIVE_RECORD_TABLE_H

#include "core/archive/record.h"

struct record_slot {
	struct record_head head; /* raw_size 0: the slot is free */
	uint64_t value;
};

struct record_table {
	struct record_slot *slots;
	size_t capacity; /* a power of two, or 0 */
	size_t used;
};

/**
 * Remembers value for head, unless head is there already, or too many others have almost the same
 * checksum. Returns -1 when memory is short.
 */
int record_table_add(struct record_table *table, const struct record_head *head, uint64_t value);

bool record_table_find(const struct record_table *table, const struct record_head *head,
		       uint64_t *value);

void record_table_release(struct record_table *table);

#endif
