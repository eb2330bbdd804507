/* SPDX-License-Identifier: Apache-2.0 */
#include "core/safetensors/metadata_list.h"

/* While the text grows, places in it are counted from its beginning. */
struct metadata_entry {
	size_t key;
	size_t key_size;
	size_t value;
	size_t value_size;
};

void metadata_list_release(struct metadata_list *list)
{
	buffer_release(&list->text);
	buffer_release(&list->entries);
}

void metadata_list_key(struct metadata_list *list, const void *key, size_t len)
{
	struct metadata_entry entry = {.key = list->text.size, .key_size = len};

	buffer_append(&list->text, key, len);
	buffer_u8(&list->text, 0);
	entry.value = list->text.size;
	buffer_append(&list->entries, &entry, sizeof(entry));
}

void metadata_list_value(struct metadata_list *list, const void *value, size_t len)
{
	if (metadata_list_failed(list))
		return;
	((struct metadata_entry *)(void *)(list->entries.data + list->entries.size) - 1)
		->value_size = len;
	buffer_append(&list->text, value, len);
	buffer_u8(&list->text, 0);
}

bool metadata_list_failed(const struct metadata_list *list)
{
	return buffer_failed(&list->text) || buffer_failed(&list->entries);
}

size_t metadata_list_count(const struct metadata_list *list)
{
	return list->entries.size / sizeof(struct metadata_entry);
}

bool metadata_list_is_full(const struct metadata_list *list)
{
	return metadata_list_count(list) >= METADATA_MAX;
}

struct brevis_metadata_info metadata_list_at(const struct metadata_list *list, size_t i)
{
	const struct metadata_entry *entry =
		(const struct metadata_entry *)(const void *)list->entries.data + i;
	const char *text = (const char *)list->text.data;

	return (struct brevis_metadata_info){text + entry->key, entry->key_size,
					     text + entry->value, entry->value_size};
}
