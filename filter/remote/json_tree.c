/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/remote/json_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json_parser.h"
#include "core/brevis.h"

/* yajl's callbacks return GO_ON, or STOP to end the parse. */
enum { STOP = 0, GO_ON = 1 };

struct reader {
	struct buffer *values;
	struct buffer *texts; /* each with a NUL behind it */
	unsigned depth;       /* lists and objects that are open */
	const char *name;     /* of the value that comes next */
};

/* Never moves what is there, for which there are pointers. */
static const char *keep(struct reader *reader, const void *text, size_t len)
{
	const uint8_t *at = reader->texts->data + reader->texts->size;

	if (len >= reader->texts->capacity - reader->texts->size)
		return NULL;
	buffer_append(reader->texts, text, len);
	buffer_u8(reader->texts, 0);
	return (const char *)at;
}

static int add(struct reader *reader, enum json_kind kind, const char *text)
{
	struct json_value value = {kind, reader->depth + 1, reader->name, text};

	reader->name = NULL;
	buffer_append(reader->values, &value, sizeof(value));
	return buffer_failed(reader->values) ? STOP : GO_ON;
}

static int add_text(struct reader *reader, enum json_kind kind, const void *text, size_t len)
{
	const char *kept = keep(reader, text, len);

	return kept ? add(reader, kind, kept) : STOP;
}

static int add_parent(struct reader *reader, enum json_kind kind)
{
	int result = add(reader, kind, NULL);

	reader->depth++;
	return reader->depth > JSON_DEPTH_MAX ? STOP : result;
}

static int on_null(void *ctx)
{
	return add(ctx, JSON_NULL, NULL);
}

static int on_boolean(void *ctx, int value)
{
	return add(ctx, value ? JSON_TRUE : JSON_FALSE, NULL);
}

static int on_number(void *ctx, const char *text, size_t len)
{
	return add_text(ctx, JSON_NUMBER, text, len);
}

static int on_string(void *ctx, const unsigned char *text, size_t len)
{
	return add_text(ctx, JSON_STRING, text, len);
}

static int on_key(void *ctx, const unsigned char *text, size_t len)
{
	struct reader *reader = ctx;

	reader->name = keep(reader, text, len);
	return reader->name ? GO_ON : STOP;
}

static int on_start_list(void *ctx)
{
	return add_parent(ctx, JSON_LIST);
}

static int on_start_object(void *ctx)
{
	return add_parent(ctx, JSON_OBJECT);
}

static int on_end(void *ctx)
{
	struct reader *reader = ctx;

	reader->depth--;
	return GO_ON;
}

static const yajl_callbacks callbacks = {
	.yajl_null = on_null,
	.yajl_boolean = on_boolean,
	.yajl_number = on_number,
	.yajl_string = on_string,
	.yajl_start_map = on_start_object,
	.yajl_map_key = on_key,
	.yajl_end_map = on_end,
	.yajl_start_array = on_start_list,
	.yajl_end_array = on_end,
};

static int read_values(struct reader *reader, const void *text, size_t len)
{
	static const struct json_value behind = {0};
	struct json_parser parser;
	int status = json_parser_begin(&parser, &callbacks, reader);

	if (!status)
		status = json_parser_feed(&parser, text, len);
	if (!status)
		status = json_parser_end(&parser);
	json_parser_release(&parser);
	buffer_append(reader->values, &behind, sizeof(behind));
	return buffer_failed(reader->values) ? BREVIS_E_NOMEM : status;
}

int json_tree_parse(struct json_tree *tree, const void *text, size_t len)
{
	struct reader reader = {.values = &tree->values, .texts = &tree->texts};
	int status;

	memset(tree, 0, sizeof(*tree));
	/* Texts are no longer than they were written, where something stands behind each. */
	if (!buffer_reserve(&tree->texts, len + 1))
		return BREVIS_E_NOMEM;
	status = read_values(&reader, text, len);
	if (!status)
		tree->root = (const struct json_value *)tree->values.data;
	return status;
}

void json_tree_release(struct json_tree *tree)
{
	buffer_release(&tree->values);
	buffer_release(&tree->texts);
	tree->root = NULL;
}

const struct json_value *json_tree_first(const struct json_value *parent)
{
	return parent[1].depth > parent->depth ? parent + 1 : NULL;
}

const struct json_value *json_tree_next(const struct json_value *value)
{
	const struct json_value *next = value + 1;

	while (next->depth > value->depth)
		next++;
	return next->depth == value->depth ? next : NULL;
}

bool json_tree_is(const struct json_value *value, enum json_kind kind)
{
	return value && value->kind == kind;
}

const struct json_value *json_tree_member(const struct json_value *object, const char *name)
{
	const struct json_value *value =
		json_tree_is(object, JSON_OBJECT) ? json_tree_first(object) : NULL;

	while (value && strcmp(value->name, name) != 0)
		value = json_tree_next(value);
	return json_tree_is(value, JSON_NULL) ? NULL : value;
}

const char *json_tree_string(const struct json_value *value)
{
	return json_tree_is(value, JSON_STRING) ? value->text : NULL;
}

bool json_tree_whole_number(const struct json_value *value, uint64_t *number)
{
	long long read;
	char *end;

	if (!json_tree_is(value, JSON_NUMBER))
		return false;
	errno = 0;
	read = strtoll(value->text, &end, 10);
	if (errno || *end || read < 0)
		return false;
	*number = (uint64_t)read;
	return true;
}
