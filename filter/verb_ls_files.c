/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/cli/command.h"
#include "filter/cli/json_output.h"
#include "filter/cli/options.h"
#include "filter/cli/report.h"
#include "filter/convert/convert.h"
#include "filter/objects/stored.h"
#include "filter/cli/text.h"
#include "filter/work/work_file.h"

/* Hex digits of an oid in the short form. */
#define SHORT_OID 10

struct listing {
	struct workspace *ws;
	bool long_oid;
	bool sizes;
	bool name_only;
	bool nul;
	struct json_output *json; /* NULL: text */
};

/* True if the work file is there in full. */
static bool is_checked_out(const struct listing *l, const struct tracked_file *file)
{
	const char *top = repository_work_tree(l->ws->repository);
	struct work_look look;

	if (!top)
		return false;
	work_file_look(top, file->path, &look);
	return look.kind == WORK_CONTENT || (look.kind == WORK_EMPTY && file->pointer.size == 0);
}

static void print_json(const struct listing *l, const struct tracked_file *file,
		       const struct stored *stored)
{
	struct json_output *json = l->json;

	json_open(json, NULL, '{');
	json_string(json, "name", file->path);
	json_string(json, "oid", file->pointer.oid);
	json_string(json, "oid_type", "sha256");
	json_number(json, "size", file->pointer.size);
	if (stored->is_known)
		json_number(json, "original_size", stored->original_size);
	json_bool(json, "checkout", is_checked_out(l, file));
	json_bool(json, "downloaded", stored->is_here);
	json_bool(json, "archive", stored->is_archive);
	json_close(json);
}

static void print_sizes(const struct pointer *pointer, const struct stored *stored)
{
	char original[SIZE_TEXT];
	char size[SIZE_TEXT];
	char saved[SIZE_TEXT];

	size_text(pointer->size, size);
	if (!stored->is_archive || !stored->is_known)
		printf(" (%s stored)", size);
	else
		printf(" (%s, %s stored, %s)", size_text(stored->original_size, original), size,
		       saved_text(stored->original_size, pointer->size, saved));
}

static void print_text(const struct listing *l, const struct tracked_file *file,
		       const struct stored *stored)
{
	if (!l->name_only)
		printf("%.*s %c ", l->long_oid ? OID_HEX_SIZE : SHORT_OID, file->pointer.oid,
		       is_checked_out(l, file) ? '*' : '-');
	if (l->nul)
		fputs(file->path, stdout);
	else
		print_path(stdout, file->path);
	if (l->sizes)
		print_sizes(&file->pointer, stored);
	putchar(l->nul ? 0 : '\n');
}

static int list_file(void *ctx, const struct tracked_file *file)
{
	const struct listing *l = ctx;
	struct tracked_file shown = *file;
	struct stored stored = {.is_here = false};

	/* What is raw, git-brevis does not keep; `git brevis status` names it. Nothing needs no
	 * pointer: it is kept as it is. */
	if (!file->is_pointer && (file->blob_missing || file->blob_size > 0))
		return 0;
	if (!file->is_pointer)
		memcpy(shown.pointer.oid, STORED_EMPTY_OID, sizeof(shown.pointer.oid));
	if (l->json || l->sizes)
		stored_look(l->ws->store, &shown.pointer, &stored);
	if (l->json)
		print_json(l, &shown, &stored);
	else
		print_text(l, &shown, &stored);
	return 0;
}

static int list(struct listing *l, char **argv, int count, bool json)
{
	const char *revision = NULL;
	int rc;

	if (count && repository_is_revision(l->ws->repository, argv[0])) {
		revision = *argv++;
		count--;
	} else if (!repository_work_tree(l->ws->repository)) {
		/* Without an index to speak of, a bare repository lists its HEAD. */
		revision = "HEAD";
	}
	if (json) {
		l->json = json_begin();
		if (!l->json)
			return -1;
		json_open(l->json, NULL, '{');
		json_open(l->json, "files", '[');
	}
	rc = repository_each_tracked(l->ws->repository, revision, (const char *const *)argv,
				     (size_t)count, list_file, l);
	if (json) {
		json_close(l->json);
		json_close(l->json);
	}
	return json_end(l->json, rc);
}

int verb_ls_files(const struct command *self, int argc, char **argv)
{
	struct listing l = {.json = NULL};
	struct workspace ws;
	bool json = false;
	const struct option_spec table[] = {
		{.letter = 'l',
		 .name = "long",
		 .flag = &l.long_oid,
		 .help = "show whole object names, not 10 digits"},
		{.letter = 's',
		 .name = "size",
		 .flag = &l.sizes,
		 .help = "show sizes, and how much is saved"},
		{.letter = 'n',
		 .name = "name-only",
		 .flag = &l.name_only,
		 .help = "show paths only"},
		{.letter = 'z', .flag = &l.nul, .help = "end each path with NUL, unescaped"},
		{.name = "json", .flag = &json, .help = "write JSON"},
		{0}};
	int code;
	int count = options_parse(self, argc, argv, table, &code);

	if (count < 0)
		return code;
	if (workspace_open(&ws) < 0)
		return EXIT_FATAL;
	l.ws = &ws;
	code = list(&l, argv, count, json) < 0 ? EXIT_FATAL : EXIT_DONE;
	workspace_close(&ws);
	return code;
}
