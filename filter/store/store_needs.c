/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/store/store_needs.h"

#include <stdlib.h>
#include <string.h>

#include "filter/cli/report.h"

static struct store_need *at(const struct store_needs *needs, size_t i)
{
	return (struct store_need *)(void *)needs->list.data + i;
}

const struct store_need *store_needs_at(const struct store_needs *needs, size_t i)
{
	return at(needs, i);
}

static int take(void *ctx, const char *path, const struct pointer *pointer)
{
	struct store_needs *needs = ctx;
	struct store_need need = {.pointer = *pointer};

	/* Nothing needs no object. */
	if (pointer->size == 0)
		return 0;
	need.path = strdup(path);
	if (need.path)
		buffer_append(&needs->list, &need, sizeof(need));
	if (!need.path || buffer_failed(&needs->list)) {
		free(need.path);
		return report_error("out of memory");
	}
	needs->count++;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct store_need *x = a;
	const struct store_need *y = b;

	return strcmp(x->pointer.oid, y->pointer.oid);
}

/* Sorts the list, and of several that name the same object keeps one. */
static void tidy(struct store_needs *needs)
{
	size_t kept = 0;

	if (needs->count)
		qsort(needs->list.data, needs->count, sizeof(struct store_need), compare);
	for (size_t i = 0; i < needs->count; i++) {
		if (kept && compare(at(needs, kept - 1), at(needs, i)) == 0)
			free(at(needs, i)->path);
		else
			*at(needs, kept++) = *at(needs, i);
	}
	needs->count = kept;
}

int store_needs_read(struct store_needs *needs, struct repository *repository, const char *revision)
{
	int rc;

	memset(needs, 0, sizeof(*needs));
	rc = repository_each_pointer(repository, revision, take, needs, &needs->missing);
	tidy(needs);
	return rc;
}

const struct store_need *store_needs_find(const struct store_needs *needs, const char *oid)
{
	struct store_need wanted;

	if (!needs->count || strlen(oid) != OID_HEX_SIZE)
		return NULL;
	memcpy(wanted.pointer.oid, oid, sizeof(wanted.pointer.oid));
	return bsearch(&wanted, needs->list.data, needs->count, sizeof(wanted), compare);
}

void store_needs_release(struct store_needs *needs)
{
	for (size_t i = 0; i < needs->count; i++)
		free(at(needs, i)->path);
	buffer_release(&needs->list);
	memset(needs, 0, sizeof(*needs));
}
