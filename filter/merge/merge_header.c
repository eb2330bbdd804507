/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/merge/merge_header.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/bytes.h"
#include "filter/cli/json_gen.h"
#include "filter/model/model_metadata.h"

#define PREFIX_SIZE 8 /* the length of the text */

/* ---- what it lists -------------------------------------------------------------------------- */

/* Begins a list of so many items. */
static int list_new(struct merge_list *list, uint64_t count)
{
	list->count = 0;
	list->items = calloc((size_t)count + 1, sizeof(*list->items));
	return list->items ? 0 : -1;
}

int merge_header_tensors(const struct brevis_header *header, struct merge_list *list)
{
	uint64_t count = brevis_header_tensors(header);
	struct brevis_tensor_info info;

	if (list_new(list, count) != 0)
		return -1;
	for (uint64_t i = 0; i < count; i++) {
		if (brevis_header_tensor(header, i, &info, NULL) != BREVIS_OK)
			return -1;
		list->items[list->count++] = (struct merge_item){.name = info.name,
								 .dtype = info.dtype,
								 .shape = info.shape,
								 .rank = info.rank,
								 .size = info.size};
	}
	return 0;
}

int merge_header_metadata(const struct brevis_header *header, struct merge_list *list)
{
	uint64_t count = brevis_header_metadata_count(header);
	struct brevis_metadata_info info;

	if (list_new(list, count) != 0)
		return -1;
	for (uint64_t i = 0; i < count; i++) {
		struct merge_item *item = &list->items[i];
		struct brevis_sha256 *sha = brevis_sha256_new();

		if (!sha)
			return -1;
		if (brevis_header_metadata(header, i, &info, NULL) == BREVIS_OK) {
			item->name = info.key;
			item->value = info.value;
			item->size = info.value_size;
			list->count++;
		}
		brevis_sha256_update(sha, item->value, (size_t)item->size);
		brevis_sha256_final(sha, item->sha256);
		brevis_sha256_free(sha);
	}
	return 0;
}

int merge_header_is_plain(const struct brevis_header *header, bool *plain)
{
	struct metadata metadata;
	int rc = metadata_load(&metadata, header);

	*plain = !brevis_header_has_more(header);
	for (size_t i = 0; i < metadata.count && rc == 0; i++) {
		const struct metadata_entry *entry = &metadata.entries[i];

		if (memchr(entry->info.key, 0, entry->info.key_size) ||
		    (i && metadata_compare_keys(entry - 1, entry) == 0))
			*plain = false;
	}
	metadata_release(&metadata);
	return rc;
}

/* ---- composing ------------------------------------------------------------------------------ */

static void put_string(yajl_gen gen, const char *text, size_t len)
{
	yajl_gen_string(gen, (const unsigned char *)text, len);
}

static void put_word(yajl_gen gen, const char *word)
{
	put_string(gen, word, strlen(word));
}

static void put_number(yajl_gen gen, uint64_t value)
{
	char text[24];
	int len = snprintf(text, sizeof(text), "%" PRIu64, value);

	yajl_gen_number(gen, text, (size_t)len);
}

static void put_metadata(yajl_gen gen, const struct merge_plan *plan,
			 const struct merge_list lists[MERGE_VERSIONS])
{
	if (plan->count == 0)
		return;
	put_word(gen, "__metadata__");
	yajl_gen_map_open(gen);
	for (size_t i = 0; i < plan->count; i++) {
		const struct merge_item *item = merge_plan_item(plan, lists, i);

		put_word(gen, item->name);
		put_string(gen, item->value, (size_t)item->size);
	}
	yajl_gen_map_close(gen);
}

static void put_tensor(yajl_gen gen, const struct merge_item *item, uint64_t offset)
{
	put_word(gen, item->name);
	yajl_gen_map_open(gen);
	put_word(gen, "dtype");
	put_word(gen, item->dtype);
	put_word(gen, "shape");
	yajl_gen_array_open(gen);
	for (size_t i = 0; i < item->rank; i++)
		put_number(gen, item->shape[i]);
	yajl_gen_array_close(gen);
	put_word(gen, "data_offsets");
	yajl_gen_array_open(gen);
	put_number(gen, offset);
	put_number(gen, offset + item->size);
	yajl_gen_array_close(gen);
	yajl_gen_map_close(gen);
}

/* Appends the text, and its length before it. Returns its tensors' bytes. */
static uint64_t put_header(yajl_gen gen, const struct merge_plan *tensors,
			   const struct merge_list tensor_lists[MERGE_VERSIONS],
			   const struct merge_plan *metadata,
			   const struct merge_list metadata_lists[MERGE_VERSIONS])
{
	uint64_t offset = 0;

	yajl_gen_map_open(gen);
	put_metadata(gen, metadata, metadata_lists);
	for (size_t i = 0; i < tensors->count; i++) {
		const struct merge_item *item = merge_plan_item(tensors, tensor_lists, i);

		put_tensor(gen, item, offset);
		offset += item->size;
	}
	yajl_gen_map_close(gen);
	return offset;
}

static int read_composed(void *ctx, void *buf, size_t len, uint64_t offset)
{
	memcpy(buf, (const uint8_t *)ctx + offset, len);
	return 0;
}

/* Reads it as the merged file's readers will: with a limit of theirs, or an overflow, it would be
 * something else to them. */
static enum merge_composed check(const uint8_t *data, size_t size, const struct merge_plan *tensors,
				 const struct merge_plan *metadata, uint64_t bytes)
{
	struct brevis_source source = {.read_at = read_composed, .ctx = (void *)data, .size = size};
	struct brevis_header *header;
	struct brevis_tensor_info last = {.offset = size};
	uint64_t count;
	bool good;

	if (brevis_header_read(&source, &header, NULL) != BREVIS_OK)
		return MERGE_NO_MEMORY;
	count = brevis_header_tensors(header);
	if (count)
		brevis_header_tensor(header, count - 1, &last, NULL);
	good = brevis_header_layout(header) != BREVIS_LAYOUT_OPAQUE && count == tensors->count &&
	       brevis_header_metadata_count(header) == metadata->count &&
	       last.offset + last.size - size == bytes;
	brevis_header_free(header);
	return good ? MERGE_COMPOSED : MERGE_TOO_LARGE;
}

enum merge_composed merge_header_compose(const struct merge_plan *tensors,
					 const struct merge_list tensor_lists[MERGE_VERSIONS],
					 const struct merge_plan *metadata,
					 const struct merge_list metadata_lists[MERGE_VERSIONS],
					 struct buffer *out)
{
	struct json_gen json;
	size_t begin = out->size;
	uint64_t bytes;

	buffer_le64(out, 0);
	json_gen_begin(&json, out);
	bytes = put_header(json.gen, tensors, tensor_lists, metadata, metadata_lists);
	json_gen_end(&json);
	while ((out->size - begin) % 8)
		buffer_u8(out, ' ');
	if (buffer_failed(out))
		return MERGE_NO_MEMORY;
	store_le64(out->data + begin, out->size - begin - PREFIX_SIZE);
	return check(out->data + begin, out->size - begin, tensors, metadata, bytes);
}
