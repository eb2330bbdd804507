/* SPDX-License-Identifier: Apache-2.0 */
/**
 * yajl's parser of JSON. yajl does not look whether it was given memory, and crashes where it was
 * not: here it never learns of that, but is left, and not gone back to.
 */
#ifndef CORE_BASE_JSON_PARSER_H
#define CORE_BASE_JSON_PARSER_H

#include <setjmp.h>
#include <stddef.h>
#include <yajl/yajl_parse.h>

/** More than yajl holds at a time: itself, its lexer, its stack, and two buffers of two each. */
#define JSON_PARSER_BLOCKS 16

struct json_parser {
	yajl_handle yajl;                 /* for yajl_config */
	void *blocks[JSON_PARSER_BLOCKS]; /* all that yajl allocated */
	jmp_buf no_memory;                /* where it is left to */
};

/**
 * Begins, feeds and ends a parse. Callbacks must not feed the parser that calls them; it must not
 * be moved. Comments are refused.
 *
 * Returns BREVIS_OK; BREVIS_E_FORMAT if the text is no JSON or a callback stopped the parse;
 * BREVIS_E_NOMEM if yajl had no memory. After a failure nothing is left to do but release it.
 */
int json_parser_begin(struct json_parser *parser, const yajl_callbacks *callbacks, void *ctx);
int json_parser_feed(struct json_parser *parser, const void *text, size_t len);
int json_parser_end(struct json_parser *parser);

/** Frees what it holds, in whatever state it is; also if it is all zeros. */
void json_parser_release(struct json_parser *parser);

#endif
