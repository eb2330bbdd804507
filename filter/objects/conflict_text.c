/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/objects/conflict_text.h"

#include <string.h>

#include "filter/cli/report.h"

/* Fewest characters of a marker: git's default, which an attribute may enlarge. */
#define MARKER_SIZE 7

static bool begins(const char *line, size_t len, const char *word)
{
	return len >= strlen(word) && memcmp(line, word, strlen(word)) == 0;
}

static bool is_marker(const char *line, size_t len, char c)
{
	size_t n = 0;

	while (n < len && line[n] == c)
		n++;
	return n >= MARKER_SIZE && (n == len || line[n] == ' ' || line[n] == '\r');
}

bool is_conflict_text(const void *data, size_t len)
{
	const char *at = data;
	const char *end = at + len;
	unsigned oids = 0;
	unsigned markers = 0; /* those that came, in their order */
	bool version = false;

	while (at < end) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		size_t size = (size_t)((stop ? stop : end) - at);

		if (is_marker(at, size, "<=>"[markers < 3 ? markers : 2]))
			markers++;
		else if (begins(at, size, "version https://"))
			version = true;
		else if (begins(at, size, "oid sha256:"))
			oids++;
		at += size + 1;
	}
	return version && oids > 0 && markers == 3;
}

void conflict_text_warn(const char *path, const void *data, size_t len)
{
	if (is_conflict_text(data, len))
		report_warning("%s: a merge has written conflict markers into its pointer, which "
			       "now stands for no file; " CONFLICT_TEXT_REMEDY,
			       path);
}
