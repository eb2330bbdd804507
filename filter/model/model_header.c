/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/model/model_header.h"

#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>

#include "filter/cli/report.h"

/* The library's callbacks return GO_ON, or STOP to end the parse. */
enum { STOP = 0, GO_ON = 1 };

struct parse {
	struct model_header *header;
	unsigned depth; /* of objects and arrays */
	bool in_metadata;
	char *key; /* of the metadata whose value comes next */
};

/* One more element; grows by doubling. */
static void *grow(void *array, size_t count, size_t element)
{
	if (count & (count - 1))
		return array;
	return realloc(array, (count ? 2 * count : 1) * element);
}

static char *copy(const unsigned char *text, size_t len)
{
	char *out = malloc(len + 1);
	char *nul;

	if (!out)
		return NULL;
	if (len)
		memcpy(out, text, len);
	out[len] = '\0';
	while ((nul = memchr(out, '\0', len)))
		*nul = '?';
	return out;
}

static int add_name(struct model_header *header, const unsigned char *text, size_t len)
{
	char **names = grow(header->names, header->count, sizeof(*names));

	if (!names)
		return STOP;
	header->names = names;
	names[header->count] = copy(text, len);
	return names[header->count++] ? GO_ON : STOP;
}

static int on_key(void *ctx, const unsigned char *text, size_t len)
{
	static const char metadata[] = "__metadata__";
	struct parse *p = ctx;

	if (p->depth == 1) {
		p->in_metadata = len == strlen(metadata) && memcmp(text, metadata, len) == 0;
		return p->in_metadata ? GO_ON : add_name(p->header, text, len);
	}
	if (p->depth == 2 && p->in_metadata) {
		free(p->key);
		p->key = copy(text, len);
		return p->key ? GO_ON : STOP;
	}
	return GO_ON;
}

static int on_string(void *ctx, const unsigned char *text, size_t len)
{
	struct parse *p = ctx;
	struct model_header *header = p->header;
	struct header_entry *entries;

	if (p->depth != 2 || !p->in_metadata)
		return GO_ON;
	entries = grow(header->metadata, header->metadata_count, sizeof(*entries));
	if (!entries)
		return STOP;
	header->metadata = entries;
	entries += header->metadata_count;
	*entries = (struct header_entry){p->key, copy(text, len), header->metadata_count};
	p->key = NULL;
	header->metadata_count++;
	return entries->value ? GO_ON : STOP;
}

static int on_open(void *ctx)
{
	((struct parse *)ctx)->depth++;
	return GO_ON;
}

static int on_close(void *ctx)
{
	((struct parse *)ctx)->depth--;
	return GO_ON;
}

static int compare_entries(const void *a, const void *b)
{
	const struct header_entry *x = a;
	const struct header_entry *y = b;
	int order = strcmp(x->key, y->key);

	if (!order)
		order = x->number < y->number ? -1 : 1;
	return order;
}

/* The core has found the header to be valid: only memory can be short. */
static int parse(struct model_header *header)
{
	static const yajl_callbacks callbacks = {.yajl_string = on_string,
						 .yajl_start_map = on_open,
						 .yajl_map_key = on_key,
						 .yajl_end_map = on_close,
						 .yajl_start_array = on_open,
						 .yajl_end_array = on_close};
	struct parse p = {.header = header};
	yajl_handle json = yajl_alloc(&callbacks, NULL, &p);
	bool good = json && yajl_config(json, yajl_dont_validate_strings, 1) &&
		    yajl_parse(json, header->text.data, header->text.size) == yajl_status_ok &&
		    yajl_complete_parse(json) == yajl_status_ok;

	if (json)
		yajl_free(json);
	free(p.key);
	return good ? 0 : -1;
}

int model_header_load(struct model_header *header, struct model_view *view)
{
	*header = (struct model_header){.text = BUFFER_INIT};
	if (!view || model_view_layout(view) == BREVIS_LAYOUT_OPAQUE)
		return 0;
	if (model_view_header_text(view, &header->text) != 0)
		return -1;
	if (parse(header) != 0)
		return report_error("%s: out of memory", model_view_label(view));
	if (header->metadata_count)
		qsort(header->metadata, header->metadata_count, sizeof(*header->metadata),
		      compare_entries);
	return 0;
}

void model_header_release(struct model_header *header)
{
	for (size_t i = 0; i < header->metadata_count; i++) {
		free(header->metadata[i].key);
		free(header->metadata[i].value);
	}
	for (size_t i = 0; i < header->count; i++)
		free(header->names[i]);
	free(header->metadata);
	free(header->names);
	buffer_release(&header->text);
}
