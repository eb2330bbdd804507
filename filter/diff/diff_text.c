/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/diff/diff_report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/escape.h"
#include "filter/cli/text.h"

/* Bytes of a metadata value that are shown. */
#define VALUE_SHOWN 200

struct printer {
	const struct diff_file *file;
	FILE *out;
	bool begun;
};

/* ---- the head of a file's text --------------------------------------------------------------- */

static const char *shown_name(const struct diff_side *side)
{
	return side->name ? side->name : "/dev/null";
}

/* Lines as git prints them. */
static void print_modes(const struct printer *p)
{
	const char *before = p->file->sides[0].mode;
	const char *after = p->file->sides[1].mode;

	if (!p->file->sides[0].name && after)
		fprintf(p->out, "new file mode %s\n", after);
	else if (!p->file->sides[1].name && before)
		fprintf(p->out, "deleted file mode %s\n", before);
	else if (before && after && strcmp(before, after) != 0)
		fprintf(p->out, "old mode %s\nnew mode %s\n", before, after);
}

/* What git says, line by line: names in it are strangers' names. */
static void print_note(const struct printer *p)
{
	const char *at = p->file->note;

	while (at && *at) {
		size_t len = strcspn(at, "\n");
		char *line = strndup(at, len);

		print_path(p->out, line ? line : "?");
		fputc('\n', p->out);
		free(line);
		at += len + (at[len] == '\n');
	}
}

static void begin(struct printer *p)
{
	if (p->begun)
		return;
	p->begun = true;
	fputs("diff --brevis ", p->out);
	print_path(p->out, shown_name(&p->file->sides[0]));
	fputc(' ', p->out);
	print_path(p->out, shown_name(&p->file->sides[1]));
	fputc('\n', p->out);
	print_modes(p);
	print_note(p);
}

/* ---- metadata and frame ---------------------------------------------------------------------- */

/* A string of the header in quotes, shortened. */
static void print_string(const struct printer *p, const char *text)
{
	char *shown = strndup(text, VALUE_SHOWN);

	fputc('"', p->out);
	print_path(p->out, shown ? shown : "?");
	fprintf(p->out, strlen(text) > VALUE_SHOWN ? "...\"" : "\"");
	free(shown);
}

static void print_metadata(void *ctx, const struct metadata_change *change)
{
	struct printer *p = ctx;

	begin(p);
	fprintf(p->out, "  %c metadata ", !change->before ? '+' : !change->after ? '-' : '~');
	print_string(p, change->key);
	fputs(": ", p->out);
	if (change->before)
		print_string(p, change->before);
	if (change->before && change->after)
		fputs(" -> ", p->out);
	if (change->after)
		print_string(p, change->after);
	fputc('\n', p->out);
}

static void print_frame(void *ctx, const struct frame_change *change)
{
	const struct {
		bool found;
		const char *text;
	} lines[] = {
		{change->metadata_order, "header: the metadata is in another order"},
		{change->header_order, "header: the tensors are listed in another order"},
		{change->data_order, "the tensors' data is in another order"},
		{change->header_text, "header: its text differs, its meaning does not"},
		{change->rest, "the bytes behind the last tensor differ"},
	};
	struct printer *p = ctx;

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		if (!lines[i].found)
			continue;
		begin(p);
		fprintf(p->out, "  ~ %s\n", lines[i].text);
	}
}

/* ---- tensors --------------------------------------------------------------------------------- */

static void print_kind(const struct printer *p, const struct brevis_tensor_info *tensor)
{
	print_path(p->out, tensor->dtype);
	fputs(" [", p->out);
	for (size_t i = 0; i < tensor->rank; i++)
		fprintf(p->out, "%s%" PRIu64, i ? ", " : "", tensor->shape[i]);
	fputc(']', p->out);
}

static void print_pair(const struct printer *p, const char *what, const uint64_t counts[2])
{
	if (counts[0] || counts[1])
		fprintf(p->out, ", %s %" PRIu64 " -> %" PRIu64, what, counts[0], counts[1]);
}

static void print_difference(const struct printer *p, const struct tensor_change *change)
{
	const struct tensor_difference *d = &change->difference;
	bool packed = d->elements == change->before->size && !d->has_values;

	fprintf(p->out, ": %" PRIu64 " of %" PRIu64 " %s changed", d->changed, d->elements,
		packed ? "bytes" : "elements");
	if (d->finite && d->is_integer)
		fprintf(p->out, ", largest difference %" PRIu64 ", mean %g", d->largest_integer,
			d->mean);
	else if (d->finite)
		fprintf(p->out, ", largest difference %g, mean %g", d->largest, d->mean);
	print_pair(p, "NaN", d->nan);
	print_pair(p, "infinite", d->infinite);
	if (change->cut)
		fputs(", cut short", p->out);
}

static void print_tensor(void *ctx, const struct tensor_change *change)
{
	static const char marks[] = {'+', '-', '!', '~'};
	const struct brevis_tensor_info *tensor = change->before ? change->before : change->after;
	struct printer *p = ctx;

	begin(p);
	fprintf(p->out, "  %c ", marks[change->kind]);
	print_path(p->out, tensor->name);
	fputs("  ", p->out);
	print_kind(p, tensor);
	if (change->kind == TENSOR_RETYPED) {
		fputs(" -> ", p->out);
		print_kind(p, change->after);
	} else if (change->kind == TENSOR_CHANGED) {
		print_difference(p, change);
	}
	fputc('\n', p->out);
}

/* ---- all of a file --------------------------------------------------------------------------- */

/* One line that says what a file is. */
static int print_content(const struct printer *p, char mark, struct model_view *view)
{
	static const char *const layouts[] = {"opaque bytes", "safetensors",
					      "safetensors, irregular"};
	char hex[OID_HEX_SIZE + 1];

	if (model_view_sha256(view, hex) != 0)
		return -1;
	fprintf(p->out, "  %c %s, %" PRIu64 " bytes, SHA-256 %s\n", mark,
		layouts[model_view_layout(view)], model_view_size(view), hex);
	return 0;
}

static int print_contents(struct printer *p)
{
	struct model_view *before = p->file->sides[0].view;
	struct model_view *after = p->file->sides[1].view;

	begin(p);
	if (before && print_content(p, '-', before) != 0)
		return -1;
	return after ? print_content(p, '+', after) : 0;
}

static void print_summary(const struct printer *p, const struct model_changes *changes)
{
	static const struct {
		enum tensor_change_kind kind;
		const char *text;
	} parts[] = {{TENSOR_CHANGED, "changed"},
		     {TENSOR_ADDED, "added"},
		     {TENSOR_REMOVED, "removed"},
		     {TENSOR_RETYPED, "of another type or shape"}};

	fputs("  tensors: ", p->out);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (changes->tensors[parts[i].kind])
			fprintf(p->out, "%" PRIu64 " %s, ", changes->tensors[parts[i].kind],
				parts[i].text);
	fprintf(p->out, "%" PRIu64 " the same\n", changes->tensors_same);
}

/* Says why there is nothing to see. */
static void print_unknown(struct printer *p, bool quiet)
{
	begin(p);
	for (int i = 0; i < 2; i++) {
		const struct diff_side *side = &p->file->sides[i];
		const struct pointer *pointer = side->view ? model_view_pointer(side->view) : NULL;

		if (!side->name || (side->view && model_view_is_here(side->view)))
			continue;
		fputs("  ", p->out);
		print_path(p->out, side->name);
		if (pointer && quiet)
			fprintf(p->out,
				": its object %.12s (%" PRIu64 " bytes) is not here; "
				"`git brevis pull` or `git lfs fetch` downloads it",
				pointer->oid, pointer->size);
		else
			fputs(" cannot be compared", p->out);
		fputc('\n', p->out);
	}
}

static enum diff_result compare(struct printer *p)
{
	const struct change_taker taker = {print_metadata, print_frame, print_tensor, p};
	struct model_view *before = p->file->sides[0].view;
	struct model_view *after = p->file->sides[1].view;
	struct model_changes changes;

	if (!before != !after && print_contents(p) != 0)
		return DIFF_UNKNOWN;
	if (model_compare(before, after, &taker, &changes) != 0)
		return DIFF_UNKNOWN;
	if (changes.same)
		return DIFF_SAME;
	if (changes.opaque && before && after)
		return print_contents(p) == 0 ? DIFF_FOUND : DIFF_UNKNOWN;
	if (!changes.opaque && before && after)
		print_summary(p, &changes);
	return DIFF_FOUND;
}

enum diff_result diff_text(const struct diff_file *file, bool quiet, FILE *out)
{
	struct printer p = {file, out, false};
	enum diff_result result = DIFF_SAME;
	const char *modes[2] = {file->sides[0].mode, file->sides[1].mode};

	if (file->unmerged) {
		fputs("* Unmerged path ", out);
		print_path(out, shown_name(&file->sides[1]));
		fputc('\n', out);
		return DIFF_FOUND;
	}
	if ((modes[0] && modes[1] && strcmp(modes[0], modes[1]) != 0) ||
	    (file->note && *file->note)) {
		begin(&p);
		result = DIFF_FOUND;
	}
	if (diff_is_same_object(file))
		return result;
	if (diff_is_unknown(file)) {
		print_unknown(&p, quiet);
		return DIFF_UNKNOWN;
	}
	if (file->sides[0].view || file->sides[1].view) {
		enum diff_result content = compare(&p);

		if (content != DIFF_SAME)
			result = content;
	}
	return result;
}
