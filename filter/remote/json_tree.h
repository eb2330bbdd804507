/* SPDX-License-Identifier: Apache-2.0 */
/** JSON that others wrote, as a tree. */
#ifndef FILTER_REMOTE_JSON_TREE_H
#define FILTER_REMOTE_JSON_TREE_H

#include <yajl/yajl_tree.h>

/** Lists and objects within one another, at most. What we read has three. */
#define JSON_DEPTH_MAX 32

/** Parses a text that ends with NUL. Returns NULL if it is no JSON or nested more deeply: yajl
 * frees a tree by recursion, and keeps hundreds of bytes for each level. For yajl_tree_free. */
yajl_val json_tree_parse(const char *text);

#endif
