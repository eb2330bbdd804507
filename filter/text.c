/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/text.h"

#include <inttypes.h>
#include <stdbool.h>

const char *size_text(uint64_t size, char text[SIZE_TEXT])
{
	static const char *const units[] = {"KB", "MB", "GB", "TB", "PB"};
	uint64_t tenths = size / 100; /* of a thousand bytes */
	size_t unit = 0;

	if (size < 1000) {
		snprintf(text, SIZE_TEXT, "%" PRIu64 " B", size);
		return text;
	}
	for (; tenths >= 10000 && unit < 4; unit++)
		tenths /= 1000;
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
	for (; *path; path++) {
		unsigned char c = (unsigned char)*path;

		if (c < 0x20 || c == 0x7f)
			fprintf(out, "\\x%02x", c);
		else
			putc(c, out);
	}
}
