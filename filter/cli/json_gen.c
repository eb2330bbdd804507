/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/cli/json_gen.h"

#include <stdlib.h>

/* The few things that yajl allocates, all of them when it begins: they are as large as the program
 * that was built. */
static void *take(void *ctx, size_t size)
{
	struct json_gen *json = ctx;
	size_t align = _Alignof(max_align_t);
	void *at = json->room + json->used;

	if (size > JSON_GEN_ROOM - json->used)
		abort();
	json->used += (size + align - 1) / align * align;
	return at;
}

/* Of its own buffer, which is never used. */
static void *take_again(void *ctx, void *old, size_t size)
{
	(void)ctx;
	(void)old;
	(void)size;
	abort();
}

static void give_back(void *ctx, void *old)
{
	(void)ctx;
	(void)old;
}

static void append(void *ctx, const char *text, size_t len)
{
	buffer_append(ctx, text, len);
}

void json_gen_begin(struct json_gen *json, struct buffer *out)
{
	json->memory = (yajl_alloc_funcs){take, take_again, give_back, json};
	json->used = 0;
	json->gen = yajl_gen_alloc(&json->memory);
	yajl_gen_config(json->gen, yajl_gen_print_callback, append, out);
}

void json_gen_end(struct json_gen *json)
{
	yajl_gen_free(json->gen);
}
