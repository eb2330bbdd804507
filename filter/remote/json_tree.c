/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/remote/json_tree.h"

#include <stdbool.h>
#include <string.h>

/* From the quote that begins a string to the one that ends it, or to the end of the text. */
static const char *skip_string(const char *text)
{
	for (text++; *text && *text != '"'; text++)
		if (*text == '\\' && text[1])
			text++;
	return text;
}

/* Of a text that is no JSON it may say anything: that is refused anyhow. But for comments, which
 * yajl takes, and in which a quote begins no string. */
static bool is_shallow(const char *text)
{
	size_t depth = 0;

	for (; *text; text++) {
		if (*text == '"')
			text = skip_string(text);
		else if (*text == '[' || *text == '{')
			depth++;
		else if (depth && (*text == ']' || *text == '}'))
			depth--;
		if (!*text)
			break;
		if (depth > JSON_DEPTH_MAX || *text == '/')
			return false;
	}
	return true;
}

yajl_val json_tree_parse(const char *text)
{
	char error[8]; /* its text has many lines, and shows the input: of no use here */

	return is_shallow(text) ? yajl_tree_parse(text, error, sizeof(error)) : NULL;
}
