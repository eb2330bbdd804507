/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/cli/text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/escape.h"

const char *size_text(uint64_t size, char text[SIZE_TEXT])
{
	static const char *const units[] = {"KB", "MB", "GB", "TB", "PB"};
	uint64_t step = 100; /* a tenth of the unit */
	uint64_t tenths;
	size_t unit = 0;

	if (size < 1000) {
		snprintf(text, SIZE_TEXT, "%" PRIu64 " B", size);
		return text;
	}
	for (; size / step >= 10000 && unit < 4; unit++)
		step *= 1000;
	tenths = size / step + (size % step >= step / 2);
	snprintf(text, SIZE_TEXT, "%" PRIu64 ".%" PRIu64 " %s", tenths / 10, tenths % 10,
		 units[unit]);
	return text;
}

uint64_t per_mille(uint64_t part, uint64_t whole)
{
	if (!whole)
		return 0;
	return whole >= UINT64_C(1) << 50 ? part / (whole / 1000) : part * 1000 / whole;
}

const char *saved_text(uint64_t original, uint64_t stored, char text[SIZE_TEXT])
{
	bool smaller = stored <= original;
	uint64_t difference = smaller ? original - stored : stored - original;
	uint64_t tenths = per_mille(difference, original);

	snprintf(text, SIZE_TEXT, "%" PRIu64 ".%" PRIu64 " %% %s", tenths / 10, tenths % 10,
		 smaller ? "saved" : "more");
	return text;
}

void print_path(FILE *out, const char *path)
{
	size_t size = ESCAPE_GROWTH * strlen(path) + 1;
	char *text = malloc(size);

	if (text)
		escape_text(text, size, path);
	fputs(text ? text : "?", out);
	free(text);
}

char *shell_word(const char *path)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "./_-+@%,=";
	char *word = malloc(4 * strlen(path) + 3);
	char *at = word;

	if (!word)
		return NULL;
	if (!path[strspn(path, plain)])
		return strcpy(word, path);
	*at++ = '\'';
	for (; *path; path++)
		if (*path == '\'')
			at = stpcpy(at, "'\\''");
		else
			*at++ = *path;
	strcpy(at, "'");
	return word;
}
