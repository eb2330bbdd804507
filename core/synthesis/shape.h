/* SPDX-License-Identifier: Apache-2.0 */
/** The shape of a stream of words: what the search knows of rows and columns. */
#ifndef CORE_SYNTHESIS_SHAPE_H
#define CORE_SYNTHESIS_SHAPE_H

#include <stddef.h>

#define SHAPE_RANK_MAX 5

/**
 * Extents of at least 2, the outermost first; their product is the number of words. A stream
 * without a known shape has one extent, a stream of one word none.
 */
struct shape {
	unsigned rank;
	size_t extents[SHAPE_RANK_MAX];
};

/** The shape of count words in a row. */
static inline struct shape shape_of_row(size_t count)
{
	struct shape s = {0};

	if (count > 1) {
		s.rank = 1;
		s.extents[0] = count;
	}
	return s;
}

/** Adds an inner extent; extents of 1 are left out, outer ones are joined when there are many. */
static inline void shape_add(struct shape *s, size_t extent)
{
	unsigned i;

	if (extent == 1)
		return;
	if (s->rank == SHAPE_RANK_MAX) {
		s->extents[0] *= s->extents[1];
		for (i = 1; i + 1 < SHAPE_RANK_MAX; i++)
			s->extents[i] = s->extents[i + 1];
		s->rank--;
	}
	s->extents[s->rank++] = extent;
}

#endif
