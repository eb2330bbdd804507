/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Memory between two pages that cannot be touched. Memory is taken from its beginning or from its
 * end, so that what reads or writes a byte before or behind it, on that side, crashes; what writes
 * on the other side is found by guarded_check.
 */
#ifndef TESTS_UNIT_GUARDED_H
#define TESTS_UNIT_GUARDED_H

#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/support.h"

/* Bytes beside what is taken that are checked. */
#define GUARDED_CHECKED 512
#define GUARDED_FILLING 0xa5

enum guarded_side { GUARDED_BEGIN, GUARDED_END, GUARDED_SIDES };

struct guarded {
	uint8_t *map;
	size_t page;
	size_t size; /* between the pages */
	uint8_t *data;
	size_t taken;
	size_t before; /* checked bytes before data */
	size_t behind;
};

/** At least `size` bytes, zero. */
static inline struct guarded guarded_new(size_t size)
{
	struct guarded g = {.page = (size_t)sysconf(_SC_PAGESIZE)};
	void *map;

	g.size = (size + g.page - 1) / g.page * g.page;
	map = mmap(NULL, g.size + 2 * g.page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		   -1, 0);
	assert_true(map != MAP_FAILED);
	g.map = map;
	assert_int_equal(mprotect(g.map, g.page, PROT_NONE), 0);
	assert_int_equal(mprotect(g.map + g.page + g.size, g.page, PROT_NONE), 0);
	g.data = g.map + g.page;
	g.taken = g.size;
	return g;
}

/** Gives up what was taken before. At the end, a size must be a multiple of what alignment needs.
 */
static inline void *guarded_take(struct guarded *g, size_t size, enum guarded_side side)
{
	size_t left = g->size - size;

	assert_true(size <= g->size);
	if (left > GUARDED_CHECKED)
		left = GUARDED_CHECKED;
	g->taken = size;
	g->data = g->map + g->page + (side == GUARDED_END ? g->size - size : 0);
	g->before = side == GUARDED_END ? left : 0;
	g->behind = side == GUARDED_END ? 0 : left;
	memset(g->data - g->before, GUARDED_FILLING, g->before + size + g->behind);
	return g->data;
}

static inline void guarded_check(const struct guarded *g)
{
	const uint8_t *before = g->data - g->before;
	size_t i;

	for (i = 0; i < g->before; i++)
		assert_int_equal(before[i], GUARDED_FILLING);
	for (i = 0; i < g->behind; i++)
		assert_int_equal(g->data[g->taken + i], GUARDED_FILLING);
}

static inline void guarded_free(struct guarded *g)
{
	assert_int_equal(munmap(g->map, g->size + 2 * g->page), 0);
}

#endif
