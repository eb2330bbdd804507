/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/string_table.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

struct row {
	size_t number;
	char text[];
};

static int compare_rows(const void *a, const void *b)
{
	return strcmp(((const struct row *)a)->text, ((const struct row *)b)->text);
}

size_t *string_table_at(struct string_table *table, const char *text, size_t len)
{
	struct row *row = calloc(1, sizeof(*row) + len + 1);
	struct row **there;
	struct row *found;

	if (!row)
		return NULL;
	memcpy(row->text, text, len);
	there = tsearch(row, &table->root, compare_rows);
	found = there ? *there : NULL;
	if (found != row)
		free(row);
	return found ? &found->number : NULL;
}

void string_table_clear(struct string_table *table)
{
	tdestroy(table->root, free);
	table->root = NULL;
}
