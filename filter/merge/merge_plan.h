/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The three-way decision over tensors: which of them the merged file has, and from which side.
 * Pure: it knows names and digests, and reads nothing.
 */
#ifndef FILTER_MERGE_PLAN_H
#define FILTER_MERGE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/brevis.h"

/** The versions; also the numbers of their lists. */
enum merge_version { MERGE_BASE = 0, MERGE_OURS = 1, MERGE_THEIRS = 2, MERGE_VERSIONS = 3 };

/** A tensor, or, without type and shape, an entry of __metadata__. The strings are the caller's. */
struct merge_item {
	const char *name;
	const char *dtype; /* NULL for metadata */
	const uint64_t *shape;
	size_t rank;
	const char *value; /* of metadata: size bytes */
	uint64_t size;     /* of its data in bytes */
	uint8_t sha256[BREVIS_SHA256_SIZE];
};

/** Items of one version; names are unique. */
struct merge_list {
	struct merge_item *items;
	size_t count;
};

/** An item of the merged file. */
struct merge_pick {
	enum merge_version version; /* ours, where both have the same */
	size_t item;                /* number in that version's list */
};

struct merge_plan {
	struct merge_pick *picks;
	size_t count;
	bool equals[MERGE_VERSIONS]; /* the items are those of that version, whatever their order */
	size_t from_ours;            /* items that only we added or changed, or have removed */
	size_t from_theirs;
	size_t conflicts;
	const char *conflict; /* the name of one that both sides changed differently, the first in
				 the order of names; or NULL */
};

/**
 * Decides, item by item: what both have alike, or one has as the base does, is no conflict. Picks
 * are in the order of one side if that has just these items: of ours, unless only theirs changed
 * the order that the base has. Else they are sorted as the format's writers do: wide types first,
 * then by name. Returns 0, or -1 when memory is short. Release it in either case.
 */
int merge_plan_make(const struct merge_list lists[MERGE_VERSIONS], struct merge_plan *plan);
void merge_plan_release(struct merge_plan *plan);

/** True if the picks are the items of this version, in its order, with their types and shapes. Data
 * does not matter. */
bool merge_plan_follows(const struct merge_plan *plan,
			const struct merge_list lists[MERGE_VERSIONS], enum merge_version version);

/** The item of a pick. */
static inline const struct merge_item *
merge_plan_item(const struct merge_plan *plan, const struct merge_list lists[MERGE_VERSIONS],
		size_t i)
{
	return &lists[plan->picks[i].version].items[plan->picks[i].item];
}

#endif
