/* SPDX-License-Identifier: Apache-2.0 */
/** Strings, each with a number that its owner gives a meaning, found in logarithmic time. */
#ifndef FILTER_STRING_TABLE_H
#define FILTER_STRING_TABLE_H

#include <stddef.h>

/** {NULL} is an empty one. */
struct string_table {
	void *root; /* of a tree, for tsearch */
};

/**
 * The number of a string of len bytes, none of them NUL. One that is not there is added, with 0.
 * Lives as long as the table. Returns NULL when memory is short, which is not reported.
 */
size_t *string_table_at(struct string_table *table, const char *text, size_t len);

/** Frees all that it holds; it is empty then. */
void string_table_clear(struct string_table *table);

#endif
