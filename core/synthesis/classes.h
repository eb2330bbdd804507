/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Classes of rows and columns: weights of one row, or of one column, share a scale, and words of
 * the same scale are best coded with a table of their own. Finds the grid and the classes of a
 * route (docs/FORMAT.md, "Classes of route") that make a stream of symbols small.
 */
#ifndef CORE_SYNTHESIS_CLASSES_H
#define CORE_SYNTHESIS_CLASSES_H

#include "core/brevis.h"
#include "core/program/program.h"
#include "core/synthesis/alphabet.h"
#include "core/synthesis/expand.h"
#include "core/synthesis/shape.h"

/** Low bits that classes_find may leave out of the symbols: 0 to CLASSES_DROPS - 1. */
#define CLASSES_DROPS 3

/** Classes of a route at most. */
#define CLASSES_ARITY_MAX 32

/** Shared by streams: route_plan_share adds an owner, route_plan_free takes one away. */
struct route_plan {
	unsigned references;
	struct grid grid;
	struct route_classes classes; /* at least 2; its arrays belong to the plan */
	unsigned dropped;             /* low bits left out of the symbols */
	uint64_t cost; /* of all classes' words, tables and the parameters, in bits */
	uint64_t gain; /* what that is less than with one class, in bits */
	/* 256 for each class: of all words, where those are codes of 8 bits that were all counted;
	 * or NULL. */
	uint32_t *counts;
};

/**
 * Finds the cheapest route for symbols of at most 12 bits. rest[d] is what the d dropped bits cost
 * elsewhere; only numbers d < drops are tried. The lowest `fold` bits of symbols are not looked at:
 * the cost leaves them out, while the gain is hardly different. histogram is that of the symbols,
 * or NULL. *out is NULL if there is no grid or one class is best. Deterministic. Time: a pass over
 * the words, and over a sample; memory: that of the sample, and histograms.
 */
int classes_find(const struct words *symbols, const struct shape *shape, const uint32_t *histogram,
		 enum symbol_scale scale, unsigned fold, const uint64_t *rest, unsigned drops,
		 struct route_plan **out, struct brevis_error *err);

struct route_plan *route_plan_share(struct route_plan *plan);
void route_plan_free(struct route_plan *plan);

#endif
