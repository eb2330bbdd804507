/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/model/model_metadata.h"

#include <stdlib.h>
#include <string.h>

int metadata_compare_keys(const struct metadata_entry *a, const struct metadata_entry *b)
{
	size_t x = a->info.key_size;
	size_t y = b->info.key_size;
	int order = memcmp(a->info.key, b->info.key, x < y ? x : y);

	return order ? order : (x > y) - (x < y);
}

static int compare_entries(const void *a, const void *b)
{
	const struct metadata_entry *x = a;
	const struct metadata_entry *y = b;
	int order = metadata_compare_keys(x, y);

	return order ? order : (x->number > y->number) - (x->number < y->number);
}

int metadata_load(struct metadata *metadata, const struct brevis_header *header)
{
	size_t count = header ? (size_t)brevis_header_metadata_count(header) : 0;

	metadata->count = 0;
	metadata->entries = calloc(count + 1, sizeof(*metadata->entries));
	if (!metadata->entries)
		return -1;
	for (size_t i = 0; i < count; i++) {
		struct metadata_entry *entry = &metadata->entries[i];

		entry->number = i;
		if (brevis_header_metadata(header, i, &entry->info, NULL) != BREVIS_OK)
			return -1;
	}
	metadata->count = count;
	qsort(metadata->entries, count, sizeof(*metadata->entries), compare_entries);
	return 0;
}

void metadata_release(struct metadata *metadata)
{
	free(metadata->entries);
	*metadata = (struct metadata){0};
}

char *metadata_shown(const char *text, size_t size)
{
	char *out = malloc(size + 1);
	char *nul;

	if (!out)
		return NULL;
	memcpy(out, text, size + 1);
	while ((nul = memchr(out, '\0', size)))
		*nul = '?';
	return out;
}
