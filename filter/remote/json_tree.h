/* SPDX-License-Identifier: Apache-2.0 */
/** JSON that others wrote, as a tree. */
#ifndef FILTER_REMOTE_JSON_TREE_H
#define FILTER_REMOTE_JSON_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buffer.h"

/** Lists and objects within one another, at most. What we read has three. */
#define JSON_DEPTH_MAX 32

enum json_kind {
	JSON_NULL,
	JSON_FALSE,
	JSON_TRUE,
	JSON_NUMBER,
	JSON_STRING,
	JSON_LIST,
	JSON_OBJECT
};

/** Values stand in the order of the text: behind a list or an object what is in it, deeper. */
struct json_value {
	enum json_kind kind;
	unsigned depth;   /* 1: the root; 0: behind the last */
	const char *name; /* of an object's member; else NULL */
	const char *text; /* of a string, or of a number as it was written; else NULL */
};

struct json_tree {
	const struct json_value *root;
	struct buffer values;
	struct buffer texts;
};

/**
 * Parses a text. Returns BREVIS_OK; BREVIS_E_FORMAT if it is no JSON, has comments or is nested
 * more deeply than JSON_DEPTH_MAX; or BREVIS_E_NOMEM. Release the tree in any case.
 */
int json_tree_parse(struct json_tree *tree, const void *text, size_t len);
void json_tree_release(struct json_tree *tree);

/** The first value in a list or an object, and the one beside a value. NULL if there is none. */
const struct json_value *json_tree_first(const struct json_value *parent);
const struct json_value *json_tree_next(const struct json_value *value);

/** An object's member; NULL if it is not there, or null, or if there is no such object. */
const struct json_value *json_tree_member(const struct json_value *object, const char *name);

/** Whether it is of that kind; value may be NULL. */
bool json_tree_is(const struct json_value *value, enum json_kind kind);

/** The text of a string; NULL if it is none. value may be NULL. */
const char *json_tree_string(const struct json_value *value);

/** Sets *number and returns true if value, which may be NULL, is a whole number below 2^63. */
bool json_tree_whole_number(const struct json_value *value, uint64_t *number);

#endif
