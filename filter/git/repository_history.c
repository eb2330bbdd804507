/* SPDX-License-Identifier: Apache-2.0 */
/** Which pointers the revisions of a history brought. git walks it: only it knows shallow clones,
 * grafts and replacements, and what paths mean in it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "filter/cli/report.h"
#include "filter/git/repository_private.h"

/* A revision begins with this; then come its name, date and subject, each ends with NUL. */
#define MARK '\1'

bool repository_is_history(const struct repository *repository, const char *text)
{
	const char *args[] = {"rev-list", "--max-count=1", text, "--", NULL};
	struct buffer output = BUFFER_INIT;
	struct buffer errors = BUFFER_INIT;
	int rc;

	if (text[0] == '-' || repository_is_file(repository, text))
		return false;
	if (!strstr(text, ".."))
		return repository_is_commit(repository, text + (text[0] == '^'));
	rc = repository_git(repository, NULL,
			    (struct git_run){.args = args, .output = &output, .errors = &errors});
	buffer_release(&output);
	buffer_release(&errors);
	return rc == 0;
}

bool repository_is_shallow(const struct repository *repository)
{
	bool is_shallow;
	char *path;

	if (asprintf(&path, "%s/shallow", repository->common_dir) < 0)
		return false;
	is_shallow = access(path, F_OK) == 0;
	free(path);
	return is_shallow;
}

/* ---- git's answer ---------------------------------------------------------------------------- */

static int log_history(const struct repository *repository, const char *const *revisions,
		       const char *const *pathspecs, size_t count, struct buffer *text)
{
	/* Whatever the user configured, the answer has to look like this. Of merges the files are
	 * told that are as in none of the parents. */
	/* clang-format off */
	static const char *const first[] = {
		"-c", "log.showRoot=true", "-c", "log.follow=false",
		"log", "--reverse", "--topo-order", "--full-history",
		"-c", "--raw", "--no-abbrev", "--no-renames", "--no-ext-diff", "--no-relative",
		"-z", "--no-color", "--no-mailmap", "--no-notes", "--no-decorate",
		"--no-show-signature", "--encoding=UTF-8",
		"--format=tformat:%x01%H%x00%aI%x00%s",
	};
	/* clang-format on */
	const size_t first_count = sizeof(first) / sizeof(first[0]);
	struct git_run run = {.output = text};
	struct buffer errors = BUFFER_INIT;
	size_t revision_count = 0;
	const char **args;
	int rc = -1;

	while (revisions[revision_count])
		revision_count++;
	args = calloc(first_count + revision_count + count + 2, sizeof(*args));
	if (!args)
		return report_error("out of memory");
	memcpy(args, first, sizeof(first));
	memcpy(args + first_count, revisions, revision_count * sizeof(*args));
	args[first_count + revision_count] = "--";
	if (count)
		memcpy(args + first_count + revision_count + 1, pathspecs, count * sizeof(*args));
	run.args = args;
	run.errors = &errors;
	/* Pathspecs count from the user's directory, so git has to run there. */
	rc = count ? git_run(&run) : repository_git(repository, NULL, run);
	if (rc > 0)
		rc = report_error("git cannot walk the history: %s", git_errors_line(&errors));
	buffer_release(&errors);
	free(args);
	return rc;
}

/* Takes the next string of a text. Returns NULL at its end. */
static char *next_field(char **at, const char *end)
{
	char *field = *at;
	char *stop = field < end ? memchr(field, 0, (size_t)(end - field)) : NULL;

	if (!stop)
		return NULL;
	*at = stop + 1;
	return field;
}

/* Reads ":MODE MODE BLOB BLOB LETTER"; of a merge there is a colon, a mode and a blob for each
 * parent. Returns true if the revision has a regular file there, with its mode and blob. */
static bool read_change(const char *entry, unsigned *mode, char blob[BLOB_HEX_SIZE + 1])
{
	size_t parents = strspn(entry, ":");
	const char *at = entry + parents;

	for (size_t i = 0; at && i < parents; i++, at += at != NULL)
		at = strchr(at, ' ');
	*mode = at ? (unsigned)strtoul(at, NULL, 8) : 0;
	if (!at || !S_ISREG(*mode))
		return false;
	for (size_t i = 0; at && i <= parents; i++, at += at != NULL)
		at = strchr(at, ' ');
	if (!at || strcspn(at, " ") != BLOB_HEX_SIZE)
		return false;
	memcpy(blob, at, BLOB_HEX_SIZE);
	blob[BLOB_HEX_SIZE] = '\0';
	return true;
}

/* ---- telling of it --------------------------------------------------------------------------- */

struct walk {
	git_odb *odb;
	struct buffer missing; /* paths of blobs that are not here, each ends with NUL */
	size_t missing_count;
	struct revision revision;
	int (*each)(void *ctx, const struct revision *revision, const struct tracked_file *file);
	void *ctx;
};

static int tell(struct walk *w, const char *path, unsigned mode, const char *blob)
{
	struct tracked_file file = {.path = path, .executable = (mode & 0100) != 0};
	git_oid oid;

	if (git_oid_fromstr(&oid, blob) < 0)
		return report_error("git named a blob that is none: %s", blob);
	memcpy(file.blob, blob, sizeof(file.blob));
	repository_look_at_blob(w->odb, &oid, &file);
	if (file.is_pointer)
		return w->each(w->ctx, &w->revision, &file);
	if (!file.blob_missing)
		return 0;
	buffer_append(&w->missing, path, strlen(path) + 1);
	w->missing_count++;
	return buffer_failed(&w->missing) ? report_error("out of memory") : 0;
}

/* Tells of the blobs that are not here: of those that the attributes say are pointers. */
static int tell_missing(const struct repository *repository, struct walk *w, const char *tip)
{
	const char *path = (const char *)w->missing.data;
	struct path_attributes *attributes;
	struct scratch_file scratch;
	int rc;

	if (!w->missing_count || !tip)
		return 0;
	attributes = calloc(w->missing_count, sizeof(*attributes));
	if (!attributes)
		return report_error("out of memory");
	rc = scratch_index_make(repository, tip, &scratch);
	if (rc == 0)
		rc = repository_ask_attributes(repository, scratch.path, &w->missing, attributes,
					       w->missing_count);
	scratch_file_remove(&scratch);
	for (size_t i = 0; i < w->missing_count && rc == 0; i++, path += strlen(path) + 1) {
		struct tracked_file file = {.path = path, .blob_missing = true};

		if (attributes[i].filtered)
			rc = w->each(w->ctx, NULL, &file);
	}
	free(attributes);
	return rc;
}

static int take_history(struct walk *w, char *at, const char *end)
{
	char *field;
	int rc = 0;

	while (rc == 0 && (field = next_field(&at, end))) {
		char blob[BLOB_HEX_SIZE + 1];
		const char *path;
		unsigned mode;

		/* git puts an empty line between a revision and its changes. */
		field += strspn(field, "\n");
		if (*field == MARK) {
			w->revision.commit = field + 1;
			w->revision.date = next_field(&at, end);
			w->revision.subject = next_field(&at, end);
			if (!w->revision.date || !w->revision.subject)
				return report_error("git log gave half a revision");
		} else if (*field == ':') {
			path = next_field(&at, end);
			if (!path || !w->revision.commit)
				return report_error("git log gave half a change");
			if (read_change(field, &mode, blob))
				rc = tell(w, path, mode, blob);
		}
	}
	return rc;
}

int repository_each_change(struct repository *repository, const char *const *revisions,
			   const char *tip, const char *const *pathspecs, size_t count,
			   int (*each)(void *ctx, const struct revision *revision,
				       const struct tracked_file *file),
			   void *ctx)
{
	git_repository *git = repository_libgit2(repository);
	struct walk w = {.each = each, .ctx = ctx};
	struct buffer text = BUFFER_INIT;
	int rc = -1;

	if (!git)
		return -1;
	if (git_repository_odb(&w.odb, git) < 0)
		return report_error(
			"cannot read the objects of the repository: %s; `git fsck` may say more",
			libgit2_reason());
	rc = log_history(repository, revisions, pathspecs, count, &text);
	if (rc == 0)
		rc = take_history(&w, (char *)text.data, (const char *)text.data + text.size);
	if (rc == 0)
		rc = tell_missing(repository, &w, tip);
	buffer_release(&w.missing);
	buffer_release(&text);
	git_odb_free(w.odb);
	return rc;
}

/* ---- a revision as it is --------------------------------------------------------------------- */

int repository_resolve(const struct repository *repository, const char *const *revisions,
		       struct buffer *names)
{
	static const char *const first[] = {"rev-parse", "--revs-only"};
	const size_t first_count = sizeof(first) / sizeof(first[0]);
	size_t count = 0;
	const char **args;
	int rc;

	while (revisions[count])
		count++;
	args = calloc(first_count + count + 1, sizeof(*args));
	if (!args)
		return report_error("out of memory");
	memcpy(args, first, sizeof(first));
	memcpy(args + first_count, revisions, count * sizeof(*args));
	rc = repository_git_reported(repository, NULL,
				     (struct git_run){.args = args, .output = names},
				     "git cannot read the revisions");
	for (size_t i = 0; i < names->size; i++)
		if (names->data[i] == '\n')
			names->data[i] = '\0';
	free(args);
	return rc;
}

int repository_each_blob(const struct repository *repository, const char *revision,
			 int (*each)(void *ctx, const char *path, const char *blob), void *ctx)
{
	const char *args[] = {"ls-tree", "-r", "-z", "--full-tree", revision, NULL};
	struct buffer text = BUFFER_INIT;
	char *field;
	const char *end;
	char *at;
	int rc = repository_git_reported(repository, NULL,
					 (struct git_run){.args = args, .output = &text},
					 "git cannot list the files of the revision");

	at = (char *)text.data;
	end = at + text.size;
	/* "MODE blob BLOB<tab>PATH" */
	while (rc == 0 && (field = next_field(&at, end))) {
		char blob[BLOB_HEX_SIZE + 1];
		const char *path = strchr(field, '\t');
		unsigned mode = (unsigned)strtoul(field, NULL, 8);

		if (!path || !S_ISREG(mode) || sscanf(field, "%*s blob %40s", blob) != 1)
			continue;
		rc = each(ctx, path + 1, blob);
	}
	buffer_release(&text);
	return rc;
}
