/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/json_parser.h"
#include "core/brevis.h"

#include <stdlib.h>
#include <string.h>

/* Where a block is noted; for NULL, where one may be. NULL if there is no such place. */
static void **place_of(struct json_parser *parser, const void *block)
{
	size_t i;

	for (i = 0; i < JSON_PARSER_BLOCKS; i++)
		if (parser->blocks[i] == block)
			return &parser->blocks[i];
	return NULL;
}

/* Leaves yajl if memory is short. What it left half done is only looked at to be freed. */
static void *take_again(void *ctx, void *old, size_t size)
{
	struct json_parser *parser = ctx;
	void **place = place_of(parser, old);
	void *block = place ? realloc(old, size) : NULL;

	if (!block)
		longjmp(parser->no_memory, 1);
	*place = block;
	return block;
}

static void *take(void *ctx, size_t size)
{
	return take_again(ctx, NULL, size);
}

static void give_back(void *ctx, void *old)
{
	void **place = old ? place_of(ctx, old) : NULL;

	if (place)
		*place = NULL;
	free(old);
}

static int status_of(yajl_status status)
{
	return status == yajl_status_ok ? BREVIS_OK : BREVIS_E_FORMAT;
}

/* Between each setjmp and what leaves to it are frames of yajl only, which hold nothing but memory.
 */

int json_parser_begin(struct json_parser *parser, const yajl_callbacks *callbacks, void *ctx)
{
	yajl_alloc_funcs memory = {take, take_again, give_back, parser};

	memset(parser, 0, sizeof(*parser));
	if (setjmp(parser->no_memory))
		return BREVIS_E_NOMEM;
	parser->yajl = yajl_alloc(callbacks, &memory, ctx);
	return BREVIS_OK;
}

int json_parser_feed(struct json_parser *parser, const void *text, size_t len)
{
	if (!len)
		return BREVIS_OK;
	if (setjmp(parser->no_memory))
		return BREVIS_E_NOMEM;
	return status_of(yajl_parse(parser->yajl, text, len));
}

int json_parser_end(struct json_parser *parser)
{
	if (setjmp(parser->no_memory))
		return BREVIS_E_NOMEM;
	return status_of(yajl_complete_parse(parser->yajl));
}

/* Not by yajl_free, which must not see what was left half done. */
void json_parser_release(struct json_parser *parser)
{
	size_t i;

	for (i = 0; i < JSON_PARSER_BLOCKS; i++)
		free(parser->blocks[i]);
	memset(parser, 0, sizeof(*parser));
}
