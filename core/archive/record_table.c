/* SPDX-License-Identifier: Apache-2.0 */
#include "core/archive/record_table.h"

#include <stdlib.h>

/*
 * Slots that are looked at for one head. Honest checksums never need so many in a table that is at
 * most half full; those of a hostile archive cannot make the table slow.
 */
#define PROBES_MAX 512

/* The slot of head, or the free slot where it belongs, or NULL if its neighbourhood is crowded. */
static struct record_slot *probe(const struct record_table *table, const struct record_head *head)
{
	size_t i;

	for (i = 0; i < PROBES_MAX && i < table->capacity; i++) {
		size_t at = ((size_t)head->checksum + i) & (table->capacity - 1);
		struct record_slot *slot = &table->slots[at];

		if (!slot->head.raw_size || record_head_equal(&slot->head, head))
			return slot;
	}
	return NULL;
}

static int enlarge(struct record_table *table)
{
	struct record_table larger = {.capacity = table->capacity ? 2 * table->capacity : 64};
	struct record_slot *slot;
	size_t i;

	larger.slots = calloc(larger.capacity, sizeof(*larger.slots));
	if (!larger.slots)
		return -1;
	for (i = 0; i < table->capacity; i++) {
		if (!table->slots[i].head.raw_size)
			continue;
		slot = probe(&larger, &table->slots[i].head);
		if (slot) {
			*slot = table->slots[i];
			larger.used++;
		}
	}
	free(table->slots);
	*table = larger;
	return 0;
}

int record_table_add(struct record_table *table, const struct record_head *head, uint64_t value)
{
	struct record_slot *slot;

	if (2 * (table->used + 1) > table->capacity && enlarge(table))
		return -1;
	slot = probe(table, head);
	if (!slot || slot->head.raw_size)
		return 0;
	*slot = (struct record_slot){*head, value};
	table->used++;
	return 0;
}

bool record_table_find(const struct record_table *table, const struct record_head *head,
		       uint64_t *value)
{
	const struct record_slot *slot;

	if (!table->capacity)
		return false;
	slot = probe(table, head);
	if (!slot || !slot->head.raw_size)
		return false;
	*value = slot->value;
	return true;
}

void record_table_release(struct record_table *table)
{
	free(table->slots);
	*table = (struct record_table){0};
}
