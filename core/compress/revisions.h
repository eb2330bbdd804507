/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Archives of earlier revisions, as the encoder sees them: as long as the input equals the
 * beginning of one of them it is followed, and nothing is compressed; after that their records are
 * found by what they restore.
 */
#ifndef CORE_COMPRESS_REVISIONS_H
#define CORE_COMPRESS_REVISIONS_H

#include "core/archive/reader.h"
#include "core/archive/record_table.h"

/** Records of earlier archives that are looked up at most; it bounds the memory they take. */
#define REVISIONS_RECORDS_MAX (1u << 20)

struct revisions {
	const struct brevis_archive *const *archives;
	size_t count;
	struct record_table records;           /* value: archive << 32 | record */
	bool *equal;                           /* archives whose beginning the input still equals */
	const struct brevis_archive *followed; /* one of them, or the last there was */
	uint64_t pieces;                       /* followed so far */
};

int revisions_init(struct revisions *r, const struct brevis_archive *const *archives, size_t count,
		   struct brevis_error *err);
void revisions_release(struct revisions *r);

/**
 * Says that the next piece of the input is this one. True: an archive still begins with all the
 * pieces so far. False: none does; r->followed begins with the r->pieces pieces before this one.
 */
bool revisions_follow(struct revisions *r, const struct record_head *piece);

/** The archive that holds exactly the followed pieces and has this digest and layout, or NULL. */
const struct brevis_archive *revisions_same(const struct revisions *r, enum brevis_layout layout,
					    const uint8_t sha256[BREVIS_SHA256_SIZE]);

/** Finds a record that restores such a piece. */
bool revisions_find(const struct revisions *r, const struct record_head *piece,
		    const struct brevis_archive **archive, uint64_t *record);

#endif
