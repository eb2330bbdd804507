/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <search.h>
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
#include "filter/stream.h"
#include "filter/cli/text.h"

/* What to do about a damaged object: fsck itself moves it away, unless it is a dry run. */
#define MOVED_OBJECT "`git brevis pull` downloads it again"
#define LEFT_OBJECT  "`git brevis fsck` and then `git brevis pull` replace it"

/* What can be found, and its word for scripts. */
enum finding {
	FOUND_NOTHING,
	FOUND_MISSING,      /* an object is not here */
	FOUND_DAMAGED,      /* its bytes are not those that its name stands for */
	FOUND_MISMATCHED,   /* they are, but the pointer gives another size */
	FOUND_UNRESTORABLE, /* they are, but do not restore what they promise */
	FOUND_UNREADABLE,   /* nobody knows what they are */
	FOUND_RAW,          /* a file that should be a pointer */
	FOUND_NOT_CANONICAL /* a pointer in other words than git-lfs writes */
};

static const char *const finding_words[] = {"",           "missing",      "damaged",
					    "mismatched", "unrestorable", "unreadable",
					    "raw",        "not-canonical"};

struct fsck {
	struct workspace *ws;
	bool objects;
	bool pointers;
	bool dry_run;
	bool nul;
	struct json_output *json; /* NULL: lines */
	void *seen_objects;       /* trees of strings, for tsearch */
	void *seen_files;
	size_t files;    /* that were looked at */
	size_t unlooked; /* whose blob a partial clone lacks */
	size_t damage;
};

/* Tells of one finding on stdout, where what was asked for goes. oid is the object's, or NULL;
 * moved_to is where it was put, or NULL. */
static void found(struct fsck *f, const char *path, enum finding finding, const char *oid,
		  const char *what, const char *moved_to)
{
	f->damage++;
	if (f->json) {
		json_open(f->json, NULL, '{');
		json_string(f->json, "name", path);
		json_string(f->json, "kind", finding_words[finding]);
		if (oid)
			json_string(f->json, "oid", oid);
		json_string(f->json, "message", what);
		if (moved_to)
			json_string(f->json, "moved_to", moved_to);
		json_close(f->json);
	} else if (f->nul) {
		printf("%s %s\t%s%c", finding_words[finding], oid ? oid : "-", path, 0);
	} else {
		print_path(stdout, path);
		printf(": %s\n", what);
	}
}

/* ---- objects --------------------------------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* Adds a name to a tree. Returns 1 if it is new there, 0 if not, -1 after reporting. */
static int remember(void **tree, const char *name)
{
	char *copy = strdup(name);
	char **node = copy ? tsearch(copy, tree, compare_names) : NULL;

	if (!node) {
		free(copy);
		return report_error("out of memory");
	}
	if (*node == copy)
		return 1;
	free(copy);
	return 0;
}

/* Decodes an archive without keeping what comes out. Returns a BREVIS_... code. */
static int decode(const struct workspace *ws, const char *path, const struct object_file *file,
		  struct brevis_error *err)
{
	struct brevis_decode_options options = {.threads = ws->threads};
	const struct brevis_archive_info *info;
	struct brevis_archive *archive;
	struct progress progress;
	int rc = brevis_archive_open(&file->source, &archive, err);

	if (rc != BREVIS_OK)
		return rc;
	info = brevis_archive_info(archive);
	progress_begin(&progress, "checking", path, info->original_size);
	progress_share(&progress, info->original_size, info->archive_size);
	rc = brevis_archive_decode(archive, &options, progress_write, &progress, err);
	progress_end(&progress);
	brevis_archive_free(archive);
	return rc;
}

static int hash(const char *path, const struct object_file *file,
		uint8_t sha256[BREVIS_SHA256_SIZE])
{
	struct progress progress;
	struct progress_source counted = {&progress, &file->source};
	struct brevis_source source = progress_source(&counted);
	int rc;

	progress_begin(&progress, "hashing", path, source.size);
	rc = source_digest(&source, sha256);
	progress_end(&progress);
	return rc;
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

/* What to do about an object that has the right hash and does not decode. */
static const char *decode_remedy(int status)
{
	switch (status) {
	case BREVIS_E_UNSUPPORTED:
	case BREVIS_E_LIMIT:
		return "a newer git-brevis may do it";
	case BREVIS_E_NOMEM:
		return "try again with fewer threads (brevis.threads)";
	case BREVIS_E_IO:
		return "check the disk and try again";
	default:
		return "it was stored so: add the original file again";
	}
}

/* Writes what is wrong with the object into text, and returns it. */
static enum finding find_fault(const struct fsck *f, const char *path,
			       const struct pointer *pointer, const struct object_file *file,
			       char *text, size_t len)
{
	uint8_t sha256[BREVIS_SHA256_SIZE];
	char hex[OID_HEX_SIZE + 1];
	struct brevis_error err = {.message = ""};
	bool has_size = file->source.size == pointer->size;
	const char *remedy = f->dry_run ? LEFT_OBJECT : MOVED_OBJECT;
	int rc;

	if (hash(path, file, sha256) < 0) {
		snprintf(text, len, "object %.12s cannot be read: %s; make it readable",
			 pointer->oid, strerror(file->failure ? file->failure : EIO));
		return FOUND_UNREADABLE;
	}
	digest_to_hex(sha256, hex);
	if (strcmp(hex, pointer->oid) != 0 && !has_size) {
		snprintf(text, len,
			 "object %.12s is damaged: wrong size, %" PRIu64
			 " bytes instead of %" PRIu64 "; %s",
			 pointer->oid, file->source.size, pointer->size, remedy);
		return FOUND_DAMAGED;
	}
	if (strcmp(hex, pointer->oid) != 0) {
		snprintf(text, len, "object %.12s is damaged: its SHA-256 is %.12s...; %s",
			 pointer->oid, hex, remedy);
		return FOUND_DAMAGED;
	}
	if (!has_size) {
		snprintf(text, len,
			 "its pointer is wrong: object %.12s has %" PRIu64 " bytes, not %" PRIu64
			 "; add the original file again",
			 pointer->oid, file->source.size, pointer->size);
		return FOUND_MISMATCHED;
	}
	rc = file->is_archive ? decode(f->ws, path, file, &err) : BREVIS_OK;
	if (rc == BREVIS_OK)
		return FOUND_NOTHING;
	snprintf(text, len, "object %.12s does not restore: %s; %s", pointer->oid, err.message,
		 decode_remedy(rc));
	return FOUND_UNRESTORABLE;
}

/* Tells of an object that cannot be opened. */
static void found_no_object(struct fsck *f, const char *path, const struct pointer *pointer)
{
	char text[400];
	bool is_missing = errno == ENOENT;

	if (is_missing)
		snprintf(text, sizeof(text),
			 "object %.12s is not here; `git brevis pull` downloads it", pointer->oid);
	else
		snprintf(text, sizeof(text),
			 "object %.12s cannot be read: %s; make it a file that can be read",
			 pointer->oid, strerror(errno));
	found(f, path, is_missing ? FOUND_MISSING : FOUND_UNREADABLE, pointer->oid, text, NULL);
}

static int check_object(struct fsck *f, const char *path, const struct pointer *pointer)
{
	struct object_file file;
	enum finding finding;
	char *moved_to = NULL;
	char text[400];
	int is_new;

	if (pointer->size == 0)
		return 0;
	/* A pointer that gives the object another size is another question. */
	snprintf(text, sizeof(text), "%s %" PRIu64, pointer->oid, pointer->size);
	is_new = remember(&f->seen_objects, text);
	if (is_new <= 0)
		return is_new;
	if (object_file_open(&file, f->ws->store, pointer->oid) < 0) {
		found_no_object(f, path, pointer);
		return 0;
	}
	finding = find_fault(f, path, pointer, &file, text, sizeof(text));
	object_file_close(&file);
	if (finding == FOUND_NOTHING)
		return 0;
	if (finding == FOUND_DAMAGED)
		moved_to = set_aside(f, pointer);
	found(f, path, finding, pointer->oid, text, moved_to);
	free(moved_to);
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
		found(f, file->path, FOUND_RAW, NULL,
		      "is committed raw, not as a pointer; `git add --renormalize` and a commit "
		      "keep it",
		      NULL);
	if (f->pointers && file->is_pointer && !file->is_canonical)
		found(f, file->path, FOUND_NOT_CANONICAL, file->pointer.oid,
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
	f->json = json_begin(stdout);
	if (!f->json)
		return report_error("out of memory");
	json_open(f->json, NULL, '{');
	json_open(f->json, "findings", '[');
	return 0;
}

/* Ends the document, whatever happened before. */
static int end_json(struct fsck *f)
{
	if (!f->json)
		return 0;
	json_close(f->json);
	json_number(f->json, "checked", f->files - f->unlooked);
	json_number(f->json, "unchecked", f->unlooked);
	json_close(f->json);
	return json_end(f->json) < 0 ? report_error("out of memory") : 0;
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
	if (end_json(&f) < 0)
		rc = -1;
	code = rc < 0 ? EXIT_FATAL : tell_result(&f);
	tdestroy(f.seen_objects, free);
	tdestroy(f.seen_files, free);
	workspace_close(&ws);
	return code;
}
