/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/stats/stats_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "filter/cli/text.h"

/* Digits of a commit's name, and of its date. */
#define SHORT_COMMIT 10
#define DAY          10

/* ---- columns --------------------------------------------------------------------------------- */

/* A size in 10 columns; a question mark if it is not known. */
static void print_size(uint64_t size, bool is_known)
{
	char text[SIZE_TEXT];

	printf("  %10s", is_known ? size_text(size, text) : "?");
}

/* How much smaller stored is than original, in tenths of a percent, in 8 columns. */
static void print_saved(uint64_t original, uint64_t stored, bool is_known)
{
	bool smaller = stored <= original;
	uint64_t tenths = per_mille(smaller ? original - stored : stored - original, original);
	char text[SIZE_TEXT];

	snprintf(text, sizeof(text), "%s%" PRIu64 ".%" PRIu64 " %%", smaller ? "" : "-",
		 tenths / 10, tenths % 10);
	printf("  %8s", !is_known ? "?" : original ? text : "-");
}

static void print_object(const struct stats_object *object)
{
	print_size(object->stored.original_size, object->stored.is_known);
	print_size(object->pointer.size, true);
	print_saved(object->stored.original_size, object->pointer.size, object->stored.is_known);
}

/* What is special about an object, behind the path of its file. */
static const char *remark(const struct stats_object *object)
{
	const struct stored *stored = &object->stored;

	if (object->pointer.size == 0)
		return "";
	if (stored->is_cut)
		return " (damaged here)";
	if (!stored->is_here)
		return " (not here)";
	if (!stored->is_archive)
		return " (plain Git LFS object)";
	return stored->is_known ? "" : " (archive that cannot be read)";
}

/* ---- revisions ------------------------------------------------------------------------------- */

static void print_change(const struct stats *s, const struct stats_change *change)
{
	const struct stats_object *object = stats_object(s, change->object);

	print_size(change->is_new ? object->pointer.size : 0, true);
	print_object(object);
	printf("  ");
	print_path(stdout, stats_file(s, change->file)->path);
	printf("%s%s\n", remark(object), change->is_new ? "" : " (known)");
}

static void print_revisions(const struct stats *s)
{
	size_t count = stats_revision_count(s);

	if (!count)
		return;
	printf("Revisions, oldest first:\n  %10s  %10s  %10s  %8s\n", "added", "original", "stored",
	       "saved");
	for (size_t i = 0; i < count; i++) {
		const struct stats_revision *revision = stats_revision(s, i);
		char text[SIZE_TEXT];

		printf("%.*s %.*s ", SHORT_COMMIT, revision->commit, DAY, revision->date);
		print_path(stdout, revision->subject);
		if (revision->count > 1)
			printf(" (%s)", size_text(revision->added.stored, text));
		putchar('\n');
		for (size_t c = 0; c < revision->count; c++)
			print_change(s, stats_change(s, revision->first + c));
	}
	putchar('\n');
}

/* ---- files ----------------------------------------------------------------------------------- */

static void print_file(const struct stats *s, const struct stats_file *file)
{
	bool has_object = file->current != STATS_NONE;

	if (has_object)
		print_object(stats_object(s, file->current));
	else
		printf("  %10s  %10s  %8s", "-", "-", "-");
	printf("  %9zu", file->revisions);
	print_size(file->sum.stored, true);
	printf("  ");
	print_path(stdout, file->path);
	if (has_object)
		fputs(remark(stats_object(s, file->current)), stdout);
	else if (!file->is_present)
		printf(" (deleted)");
	else
		printf(file->lacking ? " (pointer not here)" : " (no pointer now)");
	putchar('\n');
}

static void print_files(const struct stats *s)
{
	size_t count = stats_file_count(s);

	if (!count)
		return;
	printf("Files");
	if (s->tip)
		printf(" at %.*s", SHORT_COMMIT, s->tip);
	printf(", and what all their revisions take:\n  %10s  %10s  %8s  %9s  %10s\n", "original",
	       "stored", "saved", "revisions", "together");
	for (size_t i = 0; i < count; i++)
		print_file(s, stats_file(s, i));
	putchar('\n');
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void print_total(const struct stats *s)
{
	const struct stats_sum *total = &s->total;
	uint64_t known = total->stored - total->unknown_stored;
	char stored[SIZE_TEXT];
	char original[SIZE_TEXT];
	char saved[SIZE_TEXT];

	printf("%zu object%s, %s stored", total->objects, total->objects == 1 ? "" : "s",
	       size_text(total->stored, stored));
	if (total->objects > total->unknown_objects)
		printf("; plain Git LFS would store %s%s, so %s",
		       size_text(total->original, original),
		       total->unknown_objects ? " for those that are here" : "",
		       saved_text(total->original, known, saved));
	printf("\n");
}

static void print_limits(const struct stats *s)
{
	const struct stats_sum *total = &s->total;
	char size[SIZE_TEXT];

	if (total->unknown_objects)
		printf("%zu object%s of %s cannot be looked at here: what %s is not known\n",
		       total->unknown_objects, total->unknown_objects == 1 ? "" : "s",
		       size_text(total->unknown_stored, size),
		       total->unknown_objects == 1 ? "it restores" : "they restore");
	if (s->lacking)
		printf("%zu change%s not counted: the pointers are not in this partial clone\n",
		       s->lacking, s->lacking == 1 ? " is" : "s are");
	if (s->is_shallow)
		printf("this clone is shallow: what earlier revisions stored is not counted\n");
}

void stats_text(const struct stats *s, bool summary)
{
	if (!stats_file_count(s)) {
		printf("No revision here has a file that Git LFS keeps.\n");
		print_limits(s);
		return;
	}
	if (!summary)
		print_revisions(s);
	print_files(s);
	print_total(s);
	print_limits(s);
}
