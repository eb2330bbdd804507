/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/diff/diff_changes.h"

#include <stdlib.h>
#include <string.h>

#include "filter/git/git_run.h"
#include "filter/cli/report.h"

/* What git has said, string by string. */
struct reader {
	const char *at;
	const char *end;
};

static const char *next(struct reader *r)
{
	const char *text = r->at;

	if (text == r->end)
		return NULL;
	r->at += strlen(text) + 1;
	return text;
}

/* Takes "MODE " or "BLOB ": len characters and a blank. */
static bool take(const char **text, char *out, size_t len)
{
	if (strnlen(*text, len + 1) <= len || (*text)[len] != ' ')
		return false;
	memcpy(out, *text, len);
	out[len] = '\0';
	*text += len + 1;
	return true;
}

/* Blobs of work files, and of files that are not there, are zeros. */
static void forget_zeros(char *blob)
{
	if (blob[strspn(blob, "0")] == '\0')
		*blob = '\0';
}

/* Takes ":MODE MODE BLOB BLOB LETTER[SCORE]", and one path or two. */
static bool take_file(struct reader *r, const char *text, struct changed_file *file)
{
	struct changed_side *before = &file->sides[0];
	struct changed_side *after = &file->sides[1];

	*file = (struct changed_file){.letter = 0};
	if (*text++ != ':' || !take(&text, before->mode, 6) || !take(&text, after->mode, 6) ||
	    !take(&text, before->blob, BLOB_HEX_SIZE) || !take(&text, after->blob, BLOB_HEX_SIZE))
		return false;
	forget_zeros(before->blob);
	forget_zeros(after->blob);
	file->letter = *text;
	for (size_t i = 0; i < 3 && text[1]; i++)
		file->score[i] = *++text;
	before->path = next(r);
	after->path = before->path;
	if (file->letter == 'R' || file->letter == 'C')
		after->path = next(r);
	return before->path && after->path;
}

static int each_file(const struct buffer *text,
		     int (*each)(void *ctx, const struct changed_file *file), void *ctx)
{
	const char *begin = text->size ? (const char *)text->data : "";
	struct reader r = {begin, begin + text->size};
	struct changed_file file;
	const char *line;
	int rc = 0;

	while (rc == 0 && (line = next(&r))) {
		if (!take_file(&r, line, &file))
			return report_error("git diff says '%s', which is not understood; name at "
					    "most two revisions",
					    line);
		rc = each(ctx, &file);
	}
	return rc;
}

int diff_each_changed(const char *const *arguments,
		      int (*each)(void *ctx, const struct changed_file *file), void *ctx)
{
	/* Whether a work file is as in the index we find out ourselves, without a filter. */
	static const char *const first[] = {"-c",
					    "diff.autoRefreshIndex=false",
					    "diff",
					    "--raw",
					    "-z",
					    "--no-abbrev",
					    "--no-ext-diff",
					    "--no-textconv",
					    "--no-color",
					    "--no-relative",
					    "--ignore-submodules"};
	const size_t first_count = sizeof(first) / sizeof(first[0]);
	struct buffer text = BUFFER_INIT;
	struct buffer errors = BUFFER_INIT;
	struct git_run run = {.output = &text, .errors = &errors};
	const char **args;
	size_t count = 0;
	int rc = -1;

	while (arguments[count])
		count++;
	args = calloc(first_count + count + 1, sizeof(*args));
	if (!args)
		return report_error("out of memory");
	memcpy(args, first, sizeof(first));
	memcpy(args + first_count, arguments, count * sizeof(*args));
	run.args = args;
	rc = git_run(&run);
	if (rc > 0)
		rc = report_error("git diff fails: %s", git_errors_line(&errors));
	if (rc == 0 && buffer_failed(&text))
		rc = report_error("out of memory");
	if (rc == 0)
		rc = each_file(&text, each, ctx);
	buffer_release(&text);
	buffer_release(&errors);
	free(args);
	return rc;
}
