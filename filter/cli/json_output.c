/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/cli/json_output.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "core/base/buffer.h"
#include "filter/cli/json_gen.h"
#include "filter/cli/report.h"

#define DEPTH_LIMIT 32

struct json_output {
	struct json_gen writer;
	yajl_gen gen;
	struct buffer text;     /* what is not handed over yet */
	char open[DEPTH_LIMIT]; /* '{' or '[' of each level */
	size_t depth;
	bool failed;
};

static void check(struct json_output *json, yajl_gen_status status)
{
	if (status != yajl_gen_status_ok && status != yajl_gen_generation_complete)
		json->failed = true;
}

/* Hands over what is ready, so that a long list takes no memory. */
static void flush(struct json_output *json)
{
	if (json->text.size)
		fwrite(json->text.data, 1, json->text.size, stdout);
	json->failed |= buffer_failed(&json->text);
	buffer_clear(&json->text);
}

struct json_output *json_begin(void)
{
	struct json_output *json = calloc(1, sizeof(*json));

	if (!json) {
		report_error("out of memory");
		return NULL;
	}
	json_gen_begin(&json->writer, &json->text);
	json->gen = json->writer.gen;
	yajl_gen_config(json->gen, yajl_gen_beautify, 1);
	yajl_gen_config(json->gen, yajl_gen_indent_string, "  ");
	return json;
}

/* The length of the UTF-8 sequence at text, or 0 if there is none. */
static size_t sequence(const unsigned char *text)
{
	size_t len;
	uint32_t code;

	if (text[0] < 0x80)
		return 1;
	if (text[0] >= 0xc2 && text[0] <= 0xdf)
		len = 2;
	else if (text[0] >= 0xe0 && text[0] <= 0xef)
		len = 3;
	else if (text[0] >= 0xf0 && text[0] <= 0xf4)
		len = 4;
	else
		return 0;
	code = text[0] & (0x7fu >> len);
	for (size_t i = 1; i < len; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (text[i] & 0x3fu);
	}
	if ((len == 3 && code < 0x800) || (len == 4 && (code < 0x10000 || code > 0x10ffff)) ||
	    (code >= 0xd800 && code <= 0xdfff))
		return 0;
	return len;
}

static void put_text(struct json_output *json, const char *value)
{
	const unsigned char *at = (const unsigned char *)value;
	struct buffer text = BUFFER_INIT;

	while (*at) {
		size_t len = sequence(at);

		if (len)
			buffer_append(&text, at, len);
		else
			buffer_append(&text, "\xef\xbf\xbd", 3);
		at += len ? len : 1;
	}
	if (buffer_failed(&text))
		json->failed = true;
	else
		check(json, yajl_gen_string(json->gen, text.size ? text.data : (const uint8_t *)"",
					    text.size));
	buffer_release(&text);
}

static void put_key(struct json_output *json, const char *key)
{
	if (key)
		put_text(json, key);
}

void json_open(struct json_output *json, const char *key, char kind)
{
	put_key(json, key);
	if (json->depth == DEPTH_LIMIT) {
		json->failed = true;
		return;
	}
	json->open[json->depth++] = kind;
	check(json, kind == '{' ? yajl_gen_map_open(json->gen) : yajl_gen_array_open(json->gen));
}

void json_close(struct json_output *json)
{
	if (json->depth == 0) {
		json->failed = true;
		return;
	}
	check(json, json->open[--json->depth] == '{' ? yajl_gen_map_close(json->gen)
						     : yajl_gen_array_close(json->gen));
	flush(json);
}

void json_string(struct json_output *json, const char *key, const char *value)
{
	put_key(json, key);
	if (value)
		put_text(json, value);
	else
		check(json, yajl_gen_null(json->gen));
}

void json_number(struct json_output *json, const char *key, uint64_t value)
{
	char text[24];
	int len = snprintf(text, sizeof(text), "%" PRIu64, value);

	put_key(json, key);
	check(json, yajl_gen_number(json->gen, text, (size_t)len));
}

void json_real(struct json_output *json, const char *key, double value)
{
	char text[40];
	int len = snprintf(text, sizeof(text), "%.17g", value);

	if (!isfinite(value)) {
		json_string(json, key, NULL);
		return;
	}
	put_key(json, key);
	check(json, yajl_gen_number(json->gen, text, (size_t)len));
}

void json_bool(struct json_output *json, const char *key, bool value)
{
	put_key(json, key);
	check(json, yajl_gen_bool(json->gen, value));
}

int json_end(struct json_output *json, int rc)
{
	bool failed;

	if (!json)
		return rc;
	flush(json);
	failed = json->failed || json->depth != 0;
	json_gen_end(&json->writer);
	buffer_release(&json->text);
	free(json);
	return failed && rc >= 0 ? report_error("out of memory") : rc;
}
