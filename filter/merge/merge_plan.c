/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/merge/merge_plan.h"

#include <stdlib.h>
#include <string.h>

/* ---- comparing items ------------------------------------------------------------------------ */

static bool same_form(const struct merge_item *a, const struct merge_item *b)
{
	if (!a->dtype != !b->dtype || a->rank != b->rank || a->size != b->size)
		return false;
	if (a->dtype && strcmp(a->dtype, b->dtype) != 0)
		return false;
	return a->rank == 0 || memcmp(a->shape, b->shape, a->rank * sizeof(*a->shape)) == 0;
}

/* That a version does not have an item is something that can be changed, too. */
static bool same_item(const struct merge_item *a, const struct merge_item *b)
{
	if (!a || !b)
		return a == b;
	return same_form(a, b) && memcmp(a->sha256, b->sha256, sizeof(a->sha256)) == 0;
}

/* Bytes of a word of a tensor; 0 if elements are smaller than a byte, or if there are none. */
static uint64_t word_size(const struct merge_item *item)
{
	uint64_t elements = 1;

	if (!item->dtype || item->size == 0)
		return 0;
	for (size_t i = 0; i < item->rank; i++)
		elements *= item->shape[i];
	return elements ? item->size / elements : 0;
}

/* As the format's writers sort: wide types first, so that all data is aligned; then by name. */
static int compare_for_file(const struct merge_item *a, const struct merge_item *b)
{
	uint64_t x = word_size(a);
	uint64_t y = word_size(b);

	if (x != y)
		return x > y ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* ---- the union of names --------------------------------------------------------------------- */

/* A name, and what each version has of it. */
struct row {
	const char *name;
	const struct merge_item *item[MERGE_VERSIONS]; /* or NULL */
};

static int compare_rows(const void *a, const void *b)
{
	const struct row *x = a;
	const struct row *y = b;

	return strcmp(x->name, y->name);
}

/* Makes rows of all names, in their order. Returns NULL when memory is short. */
static struct row *make_rows(const struct merge_list lists[MERGE_VERSIONS], size_t *count)
{
	size_t all = lists[MERGE_BASE].count + lists[MERGE_OURS].count + lists[MERGE_THEIRS].count;
	struct row *rows = calloc(all ? all : 1, sizeof(*rows));
	size_t used = 0;

	*count = 0;
	if (!rows)
		return NULL;
	for (size_t v = 0; v < MERGE_VERSIONS; v++)
		for (size_t i = 0; i < lists[v].count; i++) {
			rows[used].name = lists[v].items[i].name;
			rows[used++].item[v] = &lists[v].items[i];
		}
	if (used)
		qsort(rows, used, sizeof(*rows), compare_rows);
	for (size_t i = 0; i < used; i++) {
		if (*count == 0 || strcmp(rows[*count - 1].name, rows[i].name) != 0) {
			rows[(*count)++] = rows[i];
			continue;
		}
		for (size_t v = 0; v < MERGE_VERSIONS; v++)
			if (rows[i].item[v])
				rows[*count - 1].item[v] = rows[i].item[v];
	}
	return rows;
}

/* ---- the decision --------------------------------------------------------------------------- */

/* Takes what a version has of a name, which may be nothing. */
static void pick(struct merge_plan *plan, const struct merge_list lists[MERGE_VERSIONS],
		 const struct row *row, enum merge_version version)
{
	const struct merge_item *item = row->item[version];

	for (size_t v = 0; v < MERGE_VERSIONS; v++)
		plan->equals[v] = plan->equals[v] && same_item(item, row->item[v]);
	if (item)
		plan->picks[plan->count++] =
			(struct merge_pick){version, (size_t)(item - lists[version].items)};
}

static void decide(struct merge_plan *plan, const struct merge_list lists[MERGE_VERSIONS],
		   const struct row *row)
{
	const struct merge_item *base = row->item[MERGE_BASE];
	const struct merge_item *ours = row->item[MERGE_OURS];
	const struct merge_item *theirs = row->item[MERGE_THEIRS];

	if (same_item(ours, theirs)) {
		pick(plan, lists, row, MERGE_OURS);
	} else if (same_item(base, theirs)) {
		pick(plan, lists, row, MERGE_OURS);
		plan->from_ours++;
	} else if (same_item(base, ours)) {
		pick(plan, lists, row, MERGE_THEIRS);
		plan->from_theirs++;
	} else if (!plan->conflicts++) {
		plan->conflict = row->name;
	}
}

/* ---- the order ------------------------------------------------------------------------------ */

/* A pick, with what it is sorted by. */
struct place {
	struct merge_pick pick;
	const struct merge_item *item;
	size_t rank; /* of its name in the version whose order is taken */
};

static int compare_ranks(const void *a, const void *b)
{
	const struct place *x = a;
	const struct place *y = b;

	return (x->rank > y->rank) - (x->rank < y->rank);
}

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a;
	const struct place *y = b;

	return compare_for_file(x->item, y->item);
}

/* Ranks picks by the place that their names have in a version. Picks and rows come in the order of
 * names. Returns false if that version does not have just these names. */
static bool rank(struct place *places, const struct merge_plan *plan, const struct merge_list *list,
		 const struct row *rows, size_t count, enum merge_version version)
{
	size_t at = 0;

	if (list->count != plan->count)
		return false;
	for (size_t i = 0; i < plan->count; i++) {
		while (at < count && strcmp(rows[at].name, places[i].item->name) != 0)
			at++;
		if (at == count || !rows[at].item[version])
			return false;
		places[i].rank = (size_t)(rows[at].item[version] - list->items);
	}
	return true;
}

static bool same_order(const struct merge_list *a, const struct merge_list *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (strcmp(a->items[i].name, b->items[i].name) != 0)
			return false;
	return true;
}

static int arrange(struct merge_plan *plan, const struct merge_list lists[MERGE_VERSIONS],
		   const struct row *rows, size_t count)
{
	struct place *places = calloc(plan->count + 1, sizeof(*places));
	bool ours_kept = same_order(&lists[MERGE_BASE], &lists[MERGE_OURS]);
	enum merge_version first = ours_kept ? MERGE_THEIRS : MERGE_OURS;
	enum merge_version second = ours_kept ? MERGE_OURS : MERGE_THEIRS;
	bool ranked;

	if (!places)
		return -1;
	for (size_t i = 0; i < plan->count; i++)
		places[i] = (struct place){plan->picks[i], merge_plan_item(plan, lists, i), 0};
	ranked = rank(places, plan, &lists[first], rows, count, first) ||
		 rank(places, plan, &lists[second], rows, count, second);
	qsort(places, plan->count, sizeof(*places), ranked ? compare_ranks : compare_places);
	for (size_t i = 0; i < plan->count; i++)
		plan->picks[i] = places[i].pick;
	free(places);
	return 0;
}

int merge_plan_make(const struct merge_list lists[MERGE_VERSIONS], struct merge_plan *plan)
{
	struct row *rows;
	size_t count;
	int result = -1;

	memset(plan, 0, sizeof(*plan));
	rows = make_rows(lists, &count);
	plan->picks = calloc(count ? count : 1, sizeof(*plan->picks));
	if (!rows || !plan->picks)
		goto out;
	for (size_t v = 0; v < MERGE_VERSIONS; v++)
		plan->equals[v] = true;
	for (size_t i = 0; i < count; i++)
		decide(plan, lists, &rows[i]);
	result = arrange(plan, lists, rows, count);
out:
	free(rows);
	return result;
}

void merge_plan_release(struct merge_plan *plan)
{
	free(plan->picks);
	plan->picks = NULL;
}

bool merge_plan_follows(const struct merge_plan *plan,
			const struct merge_list lists[MERGE_VERSIONS], enum merge_version version)
{
	const struct merge_list *list = &lists[version];

	if (plan->count != list->count)
		return false;
	for (size_t i = 0; i < plan->count; i++) {
		const struct merge_item *item = merge_plan_item(plan, lists, i);

		if (strcmp(item->name, list->items[i].name) != 0 ||
		    !same_form(item, &list->items[i]))
			return false;
	}
	return true;
}
