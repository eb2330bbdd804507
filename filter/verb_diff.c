/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/cli/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "filter/diff/diff_changes.h"
#include "filter/diff/diff_report.h"
#include "filter/git/git_run.h"
#include "filter/cli/options.h"
#include "filter/cli/report.h"

struct diff {
	const struct workspace *ws;
	struct json_output *json; /* NULL: text */
	bool found;
	bool failed; /* something could not be compared */
};

/* ---- one file -------------------------------------------------------------------------------- */

static void report(struct diff *d, const struct diff_file *file)
{
	enum diff_result result =
		d->json ? diff_json(file, d->json) : diff_text(file, false, stdout);

	if (result == DIFF_UNKNOWN) {
		fflush(stdout);
		diff_report_missing(file);
		d->failed = true;
	}
	d->found = d->found || result == DIFF_FOUND;
}

/* True if anything about it concerns us: git itself shows what is no model. */
static bool is_model(const struct diff_side *side)
{
	return side->view && (model_view_is_promised(side->view) ||
			      model_view_layout(side->view) != BREVIS_LAYOUT_OPAQUE);
}

/* ---- two files ------------------------------------------------------------------------------- */

static bool is_file(const char *name)
{
	struct stat st;

	return stat(name, &st) == 0 && !S_ISDIR(st.st_mode);
}

/* True if git knows a blob by this name. */
static bool is_blob(const struct workspace *ws, const char *name)
{
	const char *const args[] = {"cat-file", "-t", name, NULL};
	struct buffer type = BUFFER_INIT;
	struct buffer errors = BUFFER_INIT;
	bool blob = false;

	if (ws->repository && *name != '-')
		blob = git_run(&(struct git_run){
			       .args = args, .output = &type, .errors = &errors}) == 0 &&
		       type.size == 5 && memcmp(type.data, "blob\n", 5) == 0;
	buffer_release(&type);
	buffer_release(&errors);
	return blob;
}

static bool is_content(const struct workspace *ws, const char *name)
{
	return is_file(name) || is_blob(ws, name);
}

static int open_named(const struct workspace *ws, const char *name, struct model_view **view)
{
	if (!ws->repository || is_file(name))
		return model_view_open_file(ws, name, NULL, view);
	return model_view_open_blob(ws, name, NULL, view);
}

static int diff_pair(struct diff *d, char **names)
{
	struct diff_file file = {.note = NULL};
	int rc = 0;

	for (int i = 0; i < 2 && rc == 0; i++) {
		file.sides[i].name = names[i];
		rc = open_named(d->ws, names[i], &file.sides[i].view);
	}
	if (rc == 0)
		report(d, &file);
	model_view_free(file.sides[0].view);
	model_view_free(file.sides[1].view);
	return rc;
}

/* ---- what git finds to be changed ------------------------------------------------------------ */

/* Opens a side, if it is a regular file. Failures are reported, and the view stays NULL. */
static void open_side(const struct diff *d, const struct changed_side *changed, const char *label,
		      struct diff_side *side)
{
	int rc;

	if (strncmp(changed->mode, "100", 3) != 0)
		return;
	side->name = label;
	side->mode = changed->mode;
	if (*changed->blob)
		rc = model_view_open_blob(d->ws, changed->blob, label, &side->view);
	else
		rc = model_view_open_work(d->ws, changed->path, changed->path, &side->view);
	if (rc != 0)
		side->view = NULL;
}

/* What git says of files that have moved. Caller frees; NULL: nothing. */
static char *moved_note(const struct changed_file *file)
{
	const char *what = file->letter == 'R' ? "rename" : "copy";
	char *note = NULL;

	if (file->letter != 'R' && file->letter != 'C')
		return NULL;
	if (asprintf(&note, "similarity index %lu%%\n%s from %s\n%s to %s\n",
		     strtoul(file->score, NULL, 10), what, file->sides[0].path, what,
		     file->sides[1].path) < 0)
		return NULL;
	return note;
}

static int take_changed(void *ctx, const struct changed_file *changed)
{
	struct diff *d = ctx;
	struct diff_file file = {.unmerged = changed->letter == 'U'};
	char *labels[2] = {NULL, NULL};
	char *note = moved_note(changed);
	int rc = 0;

	for (int i = 0; i < 2 && rc == 0; i++)
		if (asprintf(&labels[i], "%c/%s", "ab"[i], changed -> sides[i].path) < 0)
			rc = report_error("out of memory");
	if (rc == 0 && file.unmerged)
		file.sides[1].name = changed->sides[1].path;
	for (int i = 0; i < 2 && rc == 0 && !file.unmerged; i++)
		open_side(d, &changed->sides[i], labels[i], &file.sides[i]);
	file.note = note;
	if (rc == 0 && (file.unmerged || is_model(&file.sides[0]) || is_model(&file.sides[1])))
		report(d, &file);
	for (int i = 0; i < 2; i++) {
		d->failed = d->failed || (file.sides[i].mode && !file.sides[i].view);
		model_view_free(file.sides[i].view);
		free(labels[i]);
	}
	free(note);
	return rc;
}

/* ---- the verb -------------------------------------------------------------------------------- */

static int run(struct diff *d, bool json, bool pair, char **words, const char *const *arguments)
{
	int rc;

	if (json) {
		d->json = json_begin();
		if (!d->json)
			return -1;
		json_open(d->json, NULL, '[');
	}
	rc = pair ? diff_pair(d, words) : diff_each_changed(arguments, take_changed, d);
	if (!d->json)
		return rc;
	json_close(d->json);
	rc = json_end(d->json, rc);
	putchar('\n');
	return rc;
}

/* Arguments for `git diff`: [--cached] [WORD...] [-- PATH...], words and paths from words. */
static const char **make_arguments(bool cached, char **words, size_t count, size_t paths,
				   bool parted)
{
	const char **arguments = calloc(count + 3, sizeof(*arguments));
	size_t n = 0;

	if (!arguments)
		return NULL;
	if (cached)
		arguments[n++] = "--cached";
	for (size_t i = 0; i < count - paths; i++)
		arguments[n++] = words[i];
	if (parted)
		arguments[n++] = "--";
	for (size_t i = count - paths; i < count; i++)
		arguments[n++] = words[i];
	return arguments;
}

/* Where the paths begin that "--" parts from what is before them; count if there is no "--". */
static size_t parting(int argc, char **argv)
{
	int i = 1;

	while (i < argc && strcmp(argv[i], "--") != 0)
		i++;
	return (size_t)i;
}

int verb_diff(const struct command *self, int argc, char **argv)
{
	bool json = false;
	bool cached = false;
	const struct option_spec options[] = {
		{.name = "json", .flag = &json, .help = "write JSON"},
		{.name = "cached", .flag = &cached, .help = "compare the index, not the work tree"},
		{.name = "staged", .flag = &cached, .help = "the same"},
		{0}};
	size_t words = (size_t)argc;
	size_t dashes = parting(argc, argv);
	struct workspace ws;
	struct diff d = {.ws = &ws};
	const char **arguments;
	size_t paths;
	bool pair;
	int code;
	int rc;

	argc = options_parse(self, argc, argv, options, &code);
	if (argc < 0)
		return code;
	paths = dashes < words ? words - dashes - 1 : 0;
	if (workspace_open_if_any(&ws) != 0)
		return EXIT_FATAL;
	pair = argc == 2 && dashes == words && !cached &&
	       (!ws.repository || (is_content(&ws, argv[0]) && is_content(&ws, argv[1])));
	arguments = make_arguments(cached, argv, (size_t)argc, paths, dashes < words);
	if (!arguments)
		rc = report_error("out of memory");
	else if (!pair && !ws.repository)
		rc = report_error("there is no repository here; name two files that are there");
	else
		rc = run(&d, json, pair, argv, arguments);
	free(arguments);
	workspace_close(&ws);
	if (rc != 0 || d.failed)
		return EXIT_FATAL;
	return d.found ? EXIT_FOUND : EXIT_DONE;
}
