/* SPDX-License-Identifier: Apache-2.0 */
#include "core/compress/revisions.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"

int revisions_init(struct revisions *r, const struct brevis_archive *const *archives, size_t count,
		   struct brevis_error *err)
{
	size_t i;
	uint64_t n;

	*r = (struct revisions){.archives = archives, .count = count};
	if (!count)
		return BREVIS_OK;
	r->equal = malloc(count * sizeof(*r->equal));
	if (!r->equal)
		return error_nomem(err);
	for (i = 0; i < count; i++) {
		r->equal[i] = true;
		for (n = 0;
		     n < archives[i]->info.records && r->records.used < REVISIONS_RECORDS_MAX; n++)
			if (record_table_add(&r->records, &archives[i]->records[n].head,
					     (uint64_t)i << 32 | n))
				return error_nomem(err);
	}
	r->followed = archives[0];
	return BREVIS_OK;
}

void revisions_release(struct revisions *r)
{
	record_table_release(&r->records);
	free(r->equal);
}

static bool has_piece(const struct brevis_archive *archive, uint64_t i,
		      const struct record_head *piece)
{
	return i < archive->info.pieces &&
	       record_head_equal(&archive->records[archive->pieces[i].record].head, piece);
}

bool revisions_follow(struct revisions *r, const struct record_head *piece)
{
	const struct brevis_archive *next = NULL;
	size_t i;

	for (i = r->count; i-- > 0;) {
		r->equal[i] = r->equal[i] && has_piece(r->archives[i], r->pieces, piece);
		if (r->equal[i])
			next = r->archives[i];
	}
	if (!next)
		return false;
	r->followed = next;
	r->pieces++;
	return true;
}

const struct brevis_archive *revisions_same(const struct revisions *r, enum brevis_layout layout,
					    const uint8_t sha256[BREVIS_SHA256_SIZE])
{
	size_t i;

	for (i = 0; i < r->count; i++) {
		const struct brevis_archive_info *info = &r->archives[i]->info;

		if (r->equal[i] && info->pieces == r->pieces && info->layout == layout &&
		    !memcmp(info->original_sha256, sha256, BREVIS_SHA256_SIZE))
			return r->archives[i];
	}
	return NULL;
}

bool revisions_find(const struct revisions *r, const struct record_head *piece,
		    const struct brevis_archive **archive, uint64_t *record)
{
	uint64_t value;

	if (!record_table_find(&r->records, piece, &value))
		return false;
	*archive = r->archives[value >> 32];
	*record = value & UINT32_MAX;
	return true;
}
