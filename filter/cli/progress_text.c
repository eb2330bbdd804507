/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/cli/progress_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "filter/cli/text.h"

/* A name is shortened to so many columns before something else is left out. */
#define NAME_COLUMNS 14

#define GAP "..."

/* ---- columns --------------------------------------------------------------------------------- */

/* True for the bytes within a UTF-8 character. */
static bool continues(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80;
}

/* Columns of the character at text. From U+1100 on there are wide ones: some letters are counted
 * twice there, but no line gets longer than we think. */
static size_t columns_at(const char *text)
{
	unsigned char first = (unsigned char)text[0];

	if (first < 0xe1)
		return 1;
	return first > 0xe1 || (unsigned char)text[1] >= 0x84 ? 2 : 1;
}

static size_t bytes_at(const char *text)
{
	size_t bytes = 1;

	while (text[bytes] && continues(text[bytes]))
		bytes++;
	return bytes;
}

size_t progress_text_columns(const char *text)
{
	size_t columns = 0;

	for (; *text; text += bytes_at(text))
		columns += columns_at(text);
	return columns;
}

/* Bytes of the beginning of text that fit. */
static size_t head_of(const char *text, size_t columns, size_t bytes)
{
	const char *at = text;

	while (*at && columns_at(at) <= columns && bytes_at(at) <= bytes) {
		columns -= columns_at(at);
		bytes -= bytes_at(at);
		at += bytes_at(at);
	}
	return (size_t)(at - text);
}

/* Bytes of its end that fit. */
static size_t tail_of(const char *text, size_t columns, size_t bytes)
{
	const char *end = text + strlen(text);
	const char *at = end;

	while (at > text) {
		const char *before = at - 1;

		while (before > text && continues(*before))
			before--;
		if (columns_at(before) > columns || (size_t)(at - before) > bytes)
			break;
		columns -= columns_at(before);
		bytes -= (size_t)(at - before);
		at = before;
	}
	return (size_t)(end - at);
}

void progress_text_shorten(char *out, size_t size, const char *text, size_t columns)
{
	const size_t gap = strlen(GAP);
	size_t len = strlen(text);
	size_t head;
	size_t tail;

	if (len < size && progress_text_columns(text) <= columns) {
		memcpy(out, text, len + 1);
		return;
	}
	if (columns <= gap || size <= gap + 1) {
		head = head_of(text, columns, size - 1);
		memcpy(out, text, head);
		out[head] = '\0';
		return;
	}
	columns -= gap;
	size -= gap + 1;
	head = head_of(text, columns * 2 / 5, size * 2 / 5);
	columns -= columns * 2 / 5;
	tail = tail_of(text, columns, size - head);
	memcpy(out, text, head);
	memcpy(out + head, GAP, gap);
	memcpy(out + head + gap, text + len - tail, tail);
	out[head + gap + tail] = '\0';
}

/* ---- words ----------------------------------------------------------------------------------- */

const char *progress_text_duration(uint64_t seconds, char *out, size_t size)
{
	if (seconds < 60)
		snprintf(out, size, "%" PRIu64 " s", seconds);
	else if (seconds < 3600)
		snprintf(out, size, "%" PRIu64 " min %02" PRIu64 " s", seconds / 60, seconds % 60);
	else
		snprintf(out, size, "%" PRIu64 " h %02" PRIu64 " min", seconds / 3600,
			 seconds / 60 % 60);
	return out;
}

static void share_text(const struct progress_facts *facts, char *out, size_t size)
{
	bool smaller = facts->stored <= facts->original;
	uint64_t difference =
		smaller ? facts->original - facts->stored : facts->stored - facts->original;
	char exact[SIZE_TEXT];

	if (facts->is_estimate)
		snprintf(out, size, ", %" PRIu64 " %% %s",
			 (per_mille(difference, facts->original) + 5) / 10,
			 smaller ? "saved" : "more");
	else
		snprintf(out, size, ", %s", saved_text(facts->original, facts->stored, exact));
}

/* What follows the name, in the order in which it is given up; "" where it is not known. */
struct parts {
	char share[64];
	char rate[64];
	char left[64];
};

static void fill_parts(const struct progress_facts *facts, struct parts *parts)
{
	char text[SIZE_TEXT];

	memset(parts, 0, sizeof(*parts));
	if (facts->original)
		share_text(facts, parts->share, sizeof(parts->share));
	if (facts->rate)
		snprintf(parts->rate, sizeof(parts->rate), ", %s/s", size_text(facts->rate, text));
	if (facts->rate && facts->total > facts->done) {
		uint64_t rest = facts->total - facts->done;

		snprintf(parts->left, sizeof(parts->left), ", %s left",
			 progress_text_duration(rest / facts->rate + (rest % facts->rate != 0),
						text, sizeof(text)));
	}
}

/* "1.2 of 4.3 GB", "934.0 MB of 4.3 GB", or what is done alone. */
static void sizes_text(uint64_t done, uint64_t total, char *out, size_t size)
{
	char done_text[SIZE_TEXT];
	char total_text[SIZE_TEXT];
	const char *total_unit;
	char *unit;

	size_text(done, done_text);
	if (!total || total < done) {
		snprintf(out, size, "%s", done_text);
		return;
	}
	size_text(total, total_text);
	unit = strchr(done_text, ' ');
	total_unit = strchr(total_text, ' ');
	if (unit && total_unit && strcmp(unit, total_unit) == 0)
		*unit = '\0';
	snprintf(out, size, "%s of %s", done_text, total_text);
}

/* ": 1.2 of 4.3 GB" and what is left of the parts. */
static void tail_text(const struct progress_facts *facts, const struct parts *parts, char *out,
		      size_t size)
{
	char count[64] = "";
	char sizes[2 * SIZE_TEXT + 8];

	if (facts->count > 1)
		snprintf(count, sizeof(count), " (%zu of %zu)", facts->number, facts->count);
	sizes_text(facts->done, facts->total, sizes, sizeof(sizes));
	snprintf(out, size, "%s: %s%s%s%s", count, sizes, parts->rate, parts->share, parts->left);
}

void progress_text(char out[PROGRESS_TEXT_SIZE], const struct progress_facts *facts, size_t columns)
{
	size_t wanted = progress_text_columns(facts->name);
	size_t least = wanted < NAME_COLUMNS ? wanted : NAME_COLUMNS;
	size_t around;
	char name[PROGRESS_TEXT_SIZE / 2];
	char line[PROGRESS_TEXT_SIZE];
	char tail[320];
	struct parts parts;
	char *const order[] = {parts.share, parts.rate, parts.left};

	if (columns > PROGRESS_COLUMNS)
		columns = PROGRESS_COLUMNS;
	fill_parts(facts, &parts);
	for (size_t given_up = 0;; given_up++) {
		tail_text(facts, &parts, tail, sizeof(tail));
		around = strlen(facts->what) + (wanted > 0) + strlen(tail);
		if (around + least <= columns || given_up == sizeof(order) / sizeof(order[0]))
			break;
		*order[given_up] = '\0';
	}
	progress_text_shorten(name, sizeof(name), facts->name,
			      columns > around ? columns - around : 0);
	snprintf(line, sizeof(line), "%s%s%s%s", facts->what, *name ? " " : "", name, tail);
	/* On the narrowest of terminals something of it still stands there. */
	progress_text_shorten(out, PROGRESS_TEXT_SIZE, line, columns);
}
