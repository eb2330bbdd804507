/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/merge/merge_header.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_gen.h>
#include <yajl/yajl_parse.h>

#include "core/base/bytes.h"

/* ---- reading -------------------------------------------------------------------------------- */

struct merge_header {
	uint64_t skip; /* bytes of the prefix that are still to come */
	yajl_handle json;
	unsigned depth;   /* 1 within the header's object */
	bool in_metadata; /* what comes at depth 2 is metadata */
	bool plain;
	bool failed;

	struct buffer text;    /* of each entry: key, NUL, value, NUL */
	struct buffer entries; /* struct entry */
	struct merge_list metadata;
};

/* While the text grows, places in it are counted from its beginning. */
struct entry {
	size_t key;
	size_t value;
	size_t value_size;
};

static bool text_is(const unsigned char *text, size_t len, const char *word)
{
	return len == strlen(word) && memcmp(text, word, len) == 0;
}

/* The JSON library's callbacks return 1 to go on. */
static int on_key(void *ctx, const unsigned char *text, size_t len)
{
	struct merge_header *h = ctx;
	struct entry entry = {.key = h->text.size};

	if (h->depth == 1) {
		h->in_metadata = text_is(text, len, "__metadata__");
	} else if (!h->in_metadata) {
		if (!text_is(text, len, "dtype") && !text_is(text, len, "shape") &&
		    !text_is(text, len, "data_offsets"))
			h->plain = false;
	} else {
		h->plain = h->plain && !memchr(text, 0, len);
		buffer_append(&h->text, text, len);
		buffer_u8(&h->text, 0);
		entry.value = h->text.size;
		buffer_append(&h->entries, &entry, sizeof(entry));
	}
	return 1;
}

static int on_string(void *ctx, const unsigned char *text, size_t len)
{
	struct merge_header *h = ctx;
	struct entry *last;

	if (h->depth != 2 || !h->in_metadata || buffer_failed(&h->entries))
		return 1;
	last = (struct entry *)(void *)(h->entries.data + h->entries.size) - 1;
	last->value_size = len;
	buffer_append(&h->text, text, len);
	buffer_u8(&h->text, 0);
	return 1;
}

static int on_start_map(void *ctx)
{
	((struct merge_header *)ctx)->depth++;
	return 1;
}

static int on_end_map(void *ctx)
{
	((struct merge_header *)ctx)->depth--;
	return 1;
}

static const yajl_callbacks callbacks = {
	.yajl_string = on_string,
	.yajl_map_key = on_key,
	.yajl_start_map = on_start_map,
	.yajl_end_map = on_end_map,
};

struct merge_header *merge_header_new(void)
{
	struct merge_header *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->skip = MERGE_HEADER_PREFIX;
	h->plain = true;
	h->json = yajl_alloc(&callbacks, NULL, h);
	if (!h->json) {
		free(h);
		return NULL;
	}
	yajl_config(h->json, yajl_dont_validate_strings, 1);
	return h;
}

void merge_header_free(struct merge_header *h)
{
	if (!h)
		return;
	yajl_free(h->json);
	buffer_release(&h->text);
	buffer_release(&h->entries);
	free(h->metadata.items);
	free(h);
}

int merge_header_write(void *header, const void *data, size_t len)
{
	struct merge_header *h = header;
	size_t skip = len < h->skip ? len : (size_t)h->skip;

	h->skip -= skip;
	if (len > skip &&
	    yajl_parse(h->json, (const uint8_t *)data + skip, len - skip) != yajl_status_ok)
		h->failed = true;
	return h->failed ? -1 : 0;
}

/* Makes items of the entries, now that the text stays where it is. */
static int make_items(struct merge_header *h)
{
	const struct entry *entries = (const struct entry *)(const void *)h->entries.data;
	size_t count = h->entries.size / sizeof(*entries);

	h->metadata.items = calloc(count ? count : 1, sizeof(*h->metadata.items));
	if (!h->metadata.items)
		return -1;
	for (size_t i = 0; i < count; i++) {
		struct merge_item *item = &h->metadata.items[i];
		struct brevis_sha256 *sha = brevis_sha256_new();

		if (!sha)
			return -1;
		item->name = (const char *)h->text.data + entries[i].key;
		item->size = entries[i].value_size;
		brevis_sha256_update(sha, h->text.data + entries[i].value, entries[i].value_size);
		brevis_sha256_final(sha, item->sha256);
		brevis_sha256_free(sha);
	}
	h->metadata.count = count;
	return 0;
}

static int compare_names(const void *a, const void *b)
{
	const struct merge_item *const *x = a;
	const struct merge_item *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

/* Sees whether a key comes twice. */
static int check_keys(struct merge_header *h)
{
	const struct merge_item **sorted = calloc(h->metadata.count + 1, sizeof(*sorted));

	if (!sorted)
		return -1;
	for (size_t i = 0; i < h->metadata.count; i++)
		sorted[i] = &h->metadata.items[i];
	qsort(sorted, h->metadata.count, sizeof(*sorted), compare_names);
	for (size_t i = 1; i < h->metadata.count; i++)
		if (strcmp(sorted[i - 1]->name, sorted[i]->name) == 0)
			h->plain = false;
	free(sorted);
	return 0;
}

int merge_header_finish(struct merge_header *h)
{
	if (h->failed || yajl_complete_parse(h->json) != yajl_status_ok ||
	    buffer_failed(&h->text) || buffer_failed(&h->entries))
		return -1;
	return make_items(h) == 0 && check_keys(h) == 0 ? 0 : -1;
}

const struct merge_list *merge_header_metadata(const struct merge_header *h)
{
	return &h->metadata;
}

bool merge_header_is_plain(const struct merge_header *h)
{
	return h->plain;
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
		/* The value stands behind the key (struct merge_header). */
		put_string(gen, item->name + strlen(item->name) + 1, (size_t)item->size);
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

static void append(void *ctx, const char *text, size_t len)
{
	buffer_append(ctx, text, len);
}

int merge_header_compose(const struct merge_plan *tensors,
			 const struct merge_list tensor_lists[MERGE_VERSIONS],
			 const struct merge_plan *metadata,
			 const struct merge_list metadata_lists[MERGE_VERSIONS], struct buffer *out)
{
	yajl_gen gen = yajl_gen_alloc(NULL);
	size_t begin = out->size;
	uint64_t offset = 0;

	if (!gen)
		return -1;
	yajl_gen_config(gen, yajl_gen_print_callback, append, out);
	buffer_le64(out, 0);
	yajl_gen_map_open(gen);
	put_metadata(gen, metadata, metadata_lists);
	for (size_t i = 0; i < tensors->count; i++) {
		const struct merge_item *item = merge_plan_item(tensors, tensor_lists, i);

		put_tensor(gen, item, offset);
		offset += item->size;
	}
	yajl_gen_map_close(gen);
	yajl_gen_free(gen);
	while ((out->size - begin) % 8)
		buffer_u8(out, ' ');
	if (buffer_failed(out))
		return -1;
	store_le64(out->data + begin, out->size - begin - MERGE_HEADER_PREFIX);
	return 0;
}
