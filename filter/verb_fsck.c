/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "filter/cli/command.h"
#include "filter/convert/convert.h"
#include "filter/cli/json_output.h"
#include "filter/cli/options.h"
#include "filter/cli/progress.h"
#include "filter/cli/report.h"
#include "filter/git/shared_mode.h"
#include "filter/objects/judgement.h"
#include "filter/cli/text.h"
#include "filter/string_table.h"

struct fsck {
	struct workspace *ws;
	bool objects;
	bool pointers;
	bool dry_run;
	bool nul;
	struct json_output *json; /* NULL: lines */
	struct string_table seen_objects;
	struct string_table seen_files;
	size_t files;    /* that were looked at */
	size_t unlooked; /* whose blob a partial clone lacks */
	size_t damage;
};

/* Tells of one finding on stdout, where what was asked for goes. kind is its word for scripts, oid
 * the object's, or NULL; moved_to is where it was put, or NULL. */
static void found(struct fsck *f, const char *path, const char *kind, const char *oid,
		  const char *what, const char *moved_to)
{
	f->damage++;
	if (f->json) {
		json_open(f->json, NULL, '{');
		json_string(f->json, "name", path);
		json_string(f->json, "kind", kind);
		if (oid)
			json_string(f->json, "oid", oid);
		json_string(f->json, "message", what);
		if (moved_to)
			json_string(f->json, "moved_to", moved_to);
		json_close(f->json);
	} else if (f->nul) {
		printf("%s %s\t%s%c", kind, oid ? oid : "-", path, 0);
	} else {
		print_path(stdout, path);
		printf(": ");
		print_path(stdout, what);
		putchar('\n');
	}
}

/* ---- objects --------------------------------------------------------------------------------- */

/* Notes a name. Returns 1 if it is new in the table, 0 if not, -1 after reporting. */
static int remember(struct string_table *table, const char *name)
{
	size_t *seen = string_table_at(table, name, strlen(name));

	if (!seen)
		return report_error("out of memory");
	return (*seen)++ == 0;
}

/* Moves an object that is not what its name says out of the way, where git-lfs moves them too. Then
 * it can be downloaded again. Returns where it is now, for the caller to free; NULL: where it was.
 */
static char *set_aside(const struct fsck *f, const struct pointer *pointer)
{
	const char *lfs_dir = repository_lfs_dir(f->ws->repository);
	char *from = object_store_path(f->ws->store, pointer->oid);
	char *dir = NULL;
	char *to = NULL;

	if (f->dry_run)
		goto out;
	if (!from || asprintf(&dir, "%s/bad", lfs_dir) < 0 ||
	    asprintf(&to, "%s/bad/%s", lfs_dir, pointer->oid) < 0) {
		report_error("out of memory");
		goto out;
	}
	if (shared_mkdir(dir) != 0 && errno != EEXIST) {
		report_error("%s: cannot make the directory: %s; make that above it writable", dir,
			     strerror(errno));
	} else if (rename(from, to) != 0) {
		report_error("%s: cannot move it to %s: %s; move it away by hand", from, to,
			     strerror(errno));
	} else {
		report_note("moved the damaged object to %s", to);
		goto out;
	}
	free(to);
	to = NULL;
out:
	free(dir);
	free(from);
	return to;
}

static void found_object(struct fsck *f, const char *path, const struct pointer *pointer,
			 const struct judgement *judgement)
{
	char *moved_to = judgement->verdict == VERDICT_DAMAGED ? set_aside(f, pointer) : NULL;
	const char *remedy = moved_to ? "`git brevis pull` downloads it again" : judgement->remedy;
	char text[JUDGEMENT_TEXT];
	char what[2 * JUDGEMENT_TEXT];

	judgement_text(judgement, pointer, text);
	snprintf(what, sizeof(what), "%s; %s", text, remedy);
	found(f, path, verdict_word(judgement->verdict), pointer->oid, what, moved_to);
	free(moved_to);
}

static int check_object(struct fsck *f, const char *path, const struct pointer *pointer)
{
	char text[POINTER_TEXT_SIZE];
	struct judgement judgement;
	struct progress progress;
	int is_new;

	if (pointer->size == 0)
		return 0;
	/* A pointer that gives the object another size is another question. */
	pointer_format(pointer, text);
	is_new = remember(&f->seen_objects, text);
	if (is_new <= 0)
		return is_new;
	progress_begin(&progress, "checking", path, pointer->size);
	object_judge_stored(f->ws->store, pointer, f->ws->threads, &progress, &judgement);
	progress_end(&progress);
	if (judgement.verdict != VERDICT_GOOD)
		found_object(f, path, pointer, &judgement);
	return 0;
}

/* ---- pointers -------------------------------------------------------------------------------- */

/* Counts a file. Returns 1 if it is new: revisions that hold the same one do not add up. */
static int count_file(struct fsck *f, const struct tracked_file *file)
{
	char *name;
	int is_new;

	if (asprintf(&name, "%s %s", file->blob, file->path) < 0)
		return report_error("out of memory");
	is_new = remember(&f->seen_files, name);
	free(name);
	if (is_new > 0) {
		f->files++;
		f->unlooked += file->blob_missing;
	}
	return is_new;
}

static int check_file(void *ctx, const struct tracked_file *file)
{
	struct fsck *f = ctx;
	int is_new = count_file(f, file);

	if (is_new <= 0 || file->blob_missing)
		return is_new < 0 ? -1 : 0;
	if (f->pointers && !file->is_pointer && file->blob_size > 0)
		found(f, file->path, "raw", NULL,
		      "is committed raw, not as a pointer; `git add --renormalize` and a commit "
		      "keep it",
		      NULL);
	if (f->pointers && file->is_pointer && !file->is_canonical)
		found(f, file->path, "not-canonical", file->pointer.oid,
		      "its pointer is not in the canonical form; `git add --renormalize` and a "
		      "commit rewrite it",
		      NULL);
	return f->objects && file->is_pointer ? check_object(f, file->path, &file->pointer) : 0;
}

/* ---- what the words name --------------------------------------------------------------------- */

/* The end of a range from its first commit to its last, "HEAD" if it is left out. Returns NULL if
 * the word is none: both have to be commits. */
static const char *range_tip(const struct repository *repository, const char *word)
{
	const char *dots = strstr(word, "..");
	const char *tip = dots ? dots + 2 + (dots[2] == '.') : NULL;
	char *base;
	bool is_range;

	if (!dots || *word == '-')
		return NULL;
	tip = *tip ? tip : "HEAD";
	base = dots == word ? strdup("HEAD") : strndup(word, (size_t)(dots - word));
	is_range = base && repository_is_commit(repository, base) &&
		   repository_is_commit(repository, tip);
	free(base);
	return is_range ? tip : NULL;
}

/* Checks a word that names revisions. Returns 1 if it does not, -1 after reporting. */
static int check_revisions(struct fsck *f, const char *word)
{
	struct repository *repository = f->ws->repository;
	const char *args[] = {word, NULL};
	const char *tip;

	/* A file is a file, whatever else its name might mean. */
	if (repository_is_file(repository, word))
		return 1;
	tip = range_tip(repository, word);
	if (tip)
		return repository_each_new_blob(repository, tip, args, check_file, f);
	if (repository_is_revision(repository, word))
		return repository_each_tracked(repository, word, NULL, 0, check_file, f);
	return 1;
}

/* Checks what the words name: ranges, revisions, and at the end paths. */
static int check_named(struct fsck *f, char **words, size_t count)
{
	const char *const *paths;
	const char *unmatched;
	size_t i;
	int rc = 0;

	for (i = 0; i < count && rc == 0; i++)
		rc = check_revisions(f, words[i]);
	if (rc <= 0)
		return rc;
	i--; /* the first that names none */
	paths = (const char *const *)words + i;
	unmatched = repository_unmatched(paths, count - i);
	if (unmatched)
		return report_error(
			"'%s' is neither a revision, nor a range of revisions, nor a path "
			"that git tracks",
			unmatched);
	return repository_each_tracked(f->ws->repository, NULL, paths, count - i, check_file, f);
}

/* Checks the index and HEAD. What both hold is told once. */
static int check_here(struct fsck *f)
{
	struct repository *repository = f->ws->repository;
	int rc = 0;

	if (repository_work_tree(repository))
		rc = repository_each_tracked(repository, NULL, NULL, 0, check_file, f);
	if (rc == 0 && repository_has_head(repository))
		rc = repository_each_tracked(repository, "HEAD", NULL, 0, check_file, f);
	return rc;
}

/* The last line: a check that looked at nothing has to show that. */
static int tell_result(const struct fsck *f)
{
	int code = f->damage || f->unlooked ? EXIT_FOUND : EXIT_DONE;

	if (f->json || f->nul)
		return code;
	printf("git-brevis fsck: %zu file%s checked", f->files - f->unlooked,
	       f->files - f->unlooked == 1 ? "" : "s");
	if (f->unlooked)
		printf(", %zu not: their blobs are not in this partial clone", f->unlooked);
	printf(f->damage || f->unlooked ? "\n" : ", all in order\n");
	return code;
}

static int begin_json(struct fsck *f, bool wanted)
{
	if (!wanted)
		return 0;
	f->json = json_begin();
	if (!f->json)
		return -1;
	json_open(f->json, NULL, '{');
	json_open(f->json, "findings", '[');
	return 0;
}

static int end_json(struct fsck *f, int rc)
{
	if (!f->json)
		return rc;
	json_close(f->json);
	json_number(f->json, "checked", f->files - f->unlooked);
	json_number(f->json, "unchecked", f->unlooked);
	json_close(f->json);
	return json_end(f->json, rc);
}

int verb_fsck(const struct command *self, int argc, char **argv)
{
	struct fsck f = {.dry_run = false};
	bool json = false;
	struct workspace ws;
	struct progress_choice progress = {.on = false};
	const struct option_spec table[] = {
		{.name = "objects",
		 .flag = &f.objects,
		 .help = "check objects only: read, hash and decode each"},
		{.name = "pointers",
		 .flag = &f.pointers,
		 .help = "check pointers only, reading no object"},
		{.letter = 'd',
		 .name = "dry-run",
		 .flag = &f.dry_run,
		 .help = "leave damaged objects where they are"},
		{.letter = 'j', .name = "json", .flag = &json, .help = "write JSON"},
		{.letter = 'z',
		 .flag = &f.nul,
		 .help = "for scripts: what is wrong, the object, the path, NUL"},
		PROGRESS_OPTIONS(progress),
		{0}};
	int code;
	int count = options_parse(self, argc, argv, table, &code);
	int rc;

	if (count < 0)
		return code;
	progress_choose(&progress);
	if (!f.objects && !f.pointers)
		f.objects = f.pointers = true;
	if (workspace_open(&ws) < 0)
		return EXIT_FATAL;
	f.ws = &ws;
	rc = begin_json(&f, json);
	if (rc == 0)
		rc = count ? check_named(&f, argv, (size_t)count) : check_here(&f);
	rc = end_json(&f, rc);
	code = rc < 0 ? EXIT_FATAL : tell_result(&f);
	string_table_clear(&f.seen_objects);
	string_table_clear(&f.seen_files);
	workspace_close(&ws);
	return code;
}
