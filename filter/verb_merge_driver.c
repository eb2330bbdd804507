/* SPDX-License-Identifier: Apache-2.0 */
/**
 * git's merge driver: git gives three blobs in files, and takes what then is in that of "ours". It
 * stays what it was unless the merge succeeds, so that nothing that fails here loses a side: git
 * keeps the others in its index, and takes exit codes from 1 to 128 for a conflict.
 *
 * Of two merge bases, git would have drivers make one, and take what a conflict left there for what
 * both sides began with: then a side that equals it would silently lose. So such merges are left to
 * git's own driver "binary" (merge.brevis.recursive), which answers with what is older than both.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/git/caller.h"
#include "filter/cli/command.h"
#include "filter/git/git_run.h"
#include "filter/objects/lfs.h"
#include "filter/merge/merge_tensors.h"
#include "filter/cli/options.h"
#include "filter/cli/output_file.h"
#include "filter/cli/report.h"
#include "filter/cli/text.h"

struct merge {
	struct workspace *ws;
	const char *path;
	bool by_tensors;
	struct merge_side sides[MERGE_VERSIONS];
};

/* ---- telling of a conflict ------------------------------------------------------------------ */

static int conflict(const struct merge *m, const char *why)
{
	char *word = shell_word(m->path);
	const char *name = word ? word : "PATH";

	report_error("%s: conflict: %s; ours is kept: `git checkout --theirs -- %s` takes theirs, "
		     "`git brevis diff :2:%s :3:%s` compares them",
		     m->path, why, name, name, name);
	free(word);
	return EXIT_FOUND;
}

/* ---- the result ----------------------------------------------------------------------------- */

/* Puts bytes in the place of "ours", in one step. */
static int replace_ours(const struct merge *m, int (*fill)(struct output_file *, const void *),
			const void *ctx)
{
	struct output_file *output = output_file_open(m->sides[MERGE_OURS].file, true, 0600);
	int result = -1;

	if (output && fill(output, ctx) == 0 && output_file_flush(output) == 0 &&
	    output_file_commit(output) == 0)
		result = 0;
	output_file_free(output);
	return result;
}

static int fill_from_file(struct output_file *output, const void *ctx)
{
	const struct merge_side *side = ctx;

	return merge_side_copy(side, output_file_write, output);
}

static int fill_from_outcome(struct output_file *output, const void *ctx)
{
	const struct merge_outcome *outcome = ctx;

	return output_file_write(output, outcome->text, outcome->text_len);
}

static bool same(const struct merge *m, enum merge_version a, enum merge_version b)
{
	return merge_side_equal(&m->sides[a], &m->sides[b]);
}

/* The result is one of the versions, because two of them restore the same. */
static int take(const struct merge *m, enum merge_version result, enum merge_version a,
		enum merge_version b)
{
	if (!merge_side_is_same_blob(&m->sides[a], &m->sides[b]) &&
	    (merge_side_prove(m->ws, m->path, &m->sides[a]) != 0 ||
	     merge_side_prove(m->ws, m->path, &m->sides[b]) != 0))
		return conflict(m, "an object is damaged");
	report_trace("merge %s: %s, for %s and %s restore the same", m->path,
		     m->sides[result].title, m->sides[a].title, m->sides[b].title);
	if (result == MERGE_THEIRS && replace_ours(m, fill_from_file, &m->sides[result]) != 0)
		return conflict(m, "theirs would be the result, but cannot be written");
	return EXIT_DONE;
}

static int take_merged(const struct merge *m, const struct merge_outcome *outcome)
{
	if (replace_ours(m, fill_from_outcome, outcome) != 0)
		return conflict(m, "the merged file cannot be written");
	report_note("%s: merged by tensors: %zu changed by us, %zu by them", m->path,
		    outcome->from_ours, outcome->from_theirs);
	return EXIT_DONE;
}

/* ---- deciding ------------------------------------------------------------------------------- */

/* How git keeps a version: by its own blob, and for pointers with or without an archive. */
static int keeping(const struct merge_side *side)
{
	return side->blob == MERGE_POINTER && side->is_archive ? MERGE_RAW + 1 : (int)side->blob;
}

/* Takes the side that changed the content. If the other one changed how git keeps the file (`git
 * brevis migrate`, and .gitattributes with it), that side's pointer would be merged with attributes
 * under which nothing restores it; what the user adds is kept as they say. */
static int take_changed(const struct merge *m, enum merge_version changed, enum merge_version other)
{
	int kept = keeping(&m->sides[other]);

	if (kept != keeping(&m->sides[MERGE_BASE]) && kept != keeping(&m->sides[changed]))
		return conflict(m, "one side changed its content, the other how git keeps it (raw, "
				   "by Git LFS or as an archive)");
	return take(m, changed, MERGE_BASE, other);
}

/* Decides by whole contents, as far as they are known. Returns an exit code, or -1: undecided. */
static int decide_by_content(const struct merge *m)
{
	/* Where both sides have the same content a pointer is better than raw bytes. */
	bool ours_is_raw = m->sides[MERGE_OURS].blob == MERGE_RAW;

	if (same(m, MERGE_OURS, MERGE_THEIRS))
		return take(m, ours_is_raw ? MERGE_THEIRS : MERGE_OURS, MERGE_OURS, MERGE_THEIRS);
	if (same(m, MERGE_BASE, MERGE_OURS))
		return take_changed(m, MERGE_THEIRS, MERGE_OURS);
	if (same(m, MERGE_BASE, MERGE_THEIRS))
		return take_changed(m, MERGE_OURS, MERGE_THEIRS);
	return -1;
}

static int look(struct merge *m)
{
	for (size_t v = 0; v < MERGE_VERSIONS; v++)
		if (merge_side_look(m->ws, &m->sides[v]) != 0)
			return -1;
	return 0;
}

/* The base is asked for only where its tensors are: it is the oldest, and rarely decides. */
static bool is_wanted(const struct merge *m, enum merge_version version)
{
	return m->by_tensors || version != MERGE_BASE;
}

/* The first version that is wanted, and whose object is not here; or NULL. */
static const struct merge_side *first_missing(const struct merge *m)
{
	for (size_t v = MERGE_VERSIONS; v-- > 0;)
		if (is_wanted(m, (enum merge_version)v) && !m->sides[v].is_here)
			return &m->sides[v];
	return NULL;
}

/* Downloads what is missing, as a checkout would. What stays missing was reported. */
static void fetch(struct merge *m)
{
	struct lfs_want want[MERGE_VERSIONS];
	size_t count = 0;

	for (size_t v = 0; v < MERGE_VERSIONS; v++)
		if (is_wanted(m, (enum merge_version)v) && !m->sides[v].is_here)
			want[count++] = (struct lfs_want){m->path, m->sides[v].pointer};
	if (count)
		lfs_download(m->ws, want, count);
}

/* What stands against looking into the contents; or NULL. */
static const char *obstacle(const struct merge *m, char room[128])
{
	const struct merge_side *missing = first_missing(m);

	if (missing) {
		snprintf(room, 128, "the object of %s is not here%s", missing->title,
			 smudge_is_skipped(m->ws) ? ", and skipping smudge means no download" : "");
		return room;
	}
	for (size_t v = 0; v < MERGE_VERSIONS; v++) {
		if (!is_wanted(m, (enum merge_version)v) || m->sides[v].is_known)
			continue;
		snprintf(room, 128, "the object of %s is damaged (`git brevis fsck`)",
			 m->sides[v].title);
		return room;
	}
	return NULL;
}

/* Both sides changed the same thing: a conflict, unless the user has said which one to take of
 * such, and then it is taken whole, as git itself does of binary files. */
static int contradiction(const struct merge *m, const char *why)
{
	switch (caller_favors()) {
	case FAVOR_OURS:
		return EXIT_DONE;
	case FAVOR_THEIRS:
		if (replace_ours(m, fill_from_file, &m->sides[MERGE_THEIRS]) != 0)
			return conflict(m, "theirs was asked for, but cannot be written");
		return EXIT_DONE;
	default:
		return conflict(m, why);
	}
}

static int merge_by_tensors(const struct merge *m)
{
	struct merge_outcome outcome;
	bool filtered;
	bool hidden;

	/* What is merged becomes an archive and its pointer: only where a checkout restores that.
	 */
	if (repository_path_attributes(m->ws->repository, m->path, &filtered, &hidden) != 0 ||
	    !filtered)
		return conflict(m, "both sides changed it, and it has no filter=brevis that would "
				   "restore what is merged");
	switch (merge_tensors(m->ws, m->path, m->sides, &outcome)) {
	case MERGE_DONE:
		return take_merged(m, &outcome);
	case MERGE_CONFLICT:
		return contradiction(m, outcome.why);
	default:
		return conflict(m, "its tensors could not be merged");
	}
}

static int merge_models(struct merge *m)
{
	char room[128];
	const char *why;
	int code;

	for (size_t v = 0; v < MERGE_VERSIONS; v++)
		if (merge_side_read(&m->sides[v]) != 0)
			return EXIT_FATAL;
	if (look(m) != 0)
		return EXIT_FATAL;
	code = decide_by_content(m);
	if (code < 0 && first_missing(m) && !smudge_is_skipped(m->ws)) {
		fetch(m);
		if (look(m) != 0)
			return EXIT_FATAL;
		code = decide_by_content(m);
	}
	if (code >= 0)
		return code;
	why = obstacle(m, room);
	if (why)
		return conflict(m, why);
	return m->by_tensors ? merge_by_tensors(m) : contradiction(m, "both sides changed it");
}

/* Files that git reads itself are text and no pointers, whatever pattern matches them. */
static int merge_text(const struct merge *m, const char *marker_size)
{
	const char *args[] = {
		"merge-file", "--marker-size", marker_size, "-L", "ours", "-L", "base",
		"-L",         "theirs",        "--",        NULL, NULL,   NULL, NULL};
	struct buffer errors = BUFFER_INIT;
	int rc;

	args[10] = m->sides[MERGE_OURS].file;
	args[11] = m->sides[MERGE_BASE].file;
	args[12] = m->sides[MERGE_THEIRS].file;
	rc = git_run(&(struct git_run){.args = args, .errors = &errors});
	/* It exits with the number of conflicts, which are in the file now. */
	if (rc > 127)
		report_error("%s: git cannot merge it: %s; ours is kept", m->path,
			     git_errors_line(&errors));
	buffer_release(&errors);
	return rc == 0 ? EXIT_DONE : rc > 0 && rc < 128 ? EXIT_FOUND : EXIT_FATAL;
}

/* How many of the words are options. What comes behind them are git's names: a path may begin with
 * a dash. */
static int leading_options(int argc, char **argv)
{
	int i = 1;

	while (i < argc && argv[i][0] == '-' && strcmp(argv[i], "--") != 0)
		i++;
	return i < argc && strcmp(argv[i], "--") == 0 ? i + 1 : i;
}

int verb_merge_driver(const struct command *self, int argc, char **argv)
{
	bool tensors = false;
	const struct option_spec table[] = {
		{.name = "tensors",
		 .flag = &tensors,
		 .help = "merge what differs tensor by tensor, as brevis.mergeTensors=true does"},
		{0}};
	int options = leading_options(argc, argv);
	char **names = argv + options;
	struct workspace ws;
	struct merge m = {.ws = &ws};
	int code;

	if (options_parse(self, options, argv, table, &code) < 0)
		return code;
	if (argc - options != 5)
		return command_usage(self, 0);
	if (workspace_open(&ws) != 0)
		return EXIT_FATAL;
	m.path = names[4];
	m.sides[MERGE_BASE] =
		(struct merge_side){.title = "base", .file = names[0], .may_be_nothing = true};
	m.sides[MERGE_OURS] = (struct merge_side){.title = "ours", .file = names[1]};
	m.sides[MERGE_THEIRS] = (struct merge_side){.title = "theirs", .file = names[2]};
	m.by_tensors =
		tensors || repository_config_bool(ws.repository, "brevis.mergeTensors", false);
	code = path_is_left_alone(m.path) ? merge_text(&m, names[3]) : merge_models(&m);
	workspace_close(&ws);
	return code;
}
