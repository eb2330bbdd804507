/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Which files git-brevis is responsible for. git lists them and reads the attributes: only it knows
 * macros, nesting, sparse and split indexes and every kind of pathspec. libgit2 reads the blobs.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "filter/interrupt.h"
#include "filter/report.h"
#include "filter/repository_private.h"

/* A file found; its path is in list.paths. */
struct found_file {
	char blob[BLOB_HEX_SIZE + 1];
	bool executable;
	bool skip_worktree;
};

struct file_list {
	struct buffer paths; /* each ends with NUL, one after the other */
	struct buffer files; /* of struct found_file, in the same order */
};

static size_t list_count(const struct file_list *list)
{
	return list->files.size / sizeof(struct found_file);
}

static void list_add(struct file_list *list, const struct found_file *file, const char *path)
{
	buffer_append(&list->files, file, sizeof(*file));
	buffer_append(&list->paths, path, strlen(path) + 1);
}

static void list_release(struct file_list *list)
{
	buffer_release(&list->paths);
	buffer_release(&list->files);
}

/* ---- attributes ------------------------------------------------------------------------------ */

/* Reads "path NUL filter NUL value NUL" for each path, in the order we asked. */
static int read_answers(const struct buffer *text, bool *answers, size_t count)
{
	const char *at = (const char *)text->data;
	const char *end = at + text->size;

	for (size_t i = 0; i < count; i++) {
		const char *field[3];

		for (size_t f = 0; f < 3; f++) {
			const char *stop = at < end ? memchr(at, 0, (size_t)(end - at)) : NULL;

			if (!stop)
				return report_error("git check-attr gave fewer answers than asked");
			field[f] = at;
			at = stop + 1;
		}
		answers[i] = strcmp(field[2], "brevis") == 0;
	}
	return 0;
}

int repository_ask_attributes(const struct repository *repository, const char *index,
			      const struct buffer *paths, bool *answers, size_t count)
{
	const char *args[] = {"check-attr",
			      "-z",
			      "--stdin",
			      index ? "--cached" : "filter",
			      index ? "filter" : NULL,
			      NULL};
	struct buffer text = BUFFER_INIT;
	struct git_run run = {
		.args = args, .input = paths->data, .input_len = paths->size, .output = &text};
	int rc = 0;

	if (count == 0)
		return 0;
	if (repository_git(repository, index, run) != 0)
		rc = report_error("git cannot read the attributes of the files");
	else
		rc = read_answers(&text, answers, count);
	buffer_release(&text);
	return rc;
}

/* ---- a revision as an index ------------------------------------------------------------------ */

int scratch_index_make(const struct repository *repository, const char *revision,
		       struct scratch_index *out)
{
	const char *args[] = {"read-tree", revision, NULL};
	const char *tmp = getenv("TMPDIR");
	struct buffer errors = BUFFER_INIT;
	int rc = -1;
	int fd;

	out->guard = -1;
	if (revision[0] == '-')
		return report_error("'%s' is no revision", revision);
	if (asprintf(&out->path, "%s/git-brevis-XXXXXX", tmp && *tmp == '/' ? tmp : "/tmp") < 0) {
		out->path = NULL;
		return report_error("out of memory");
	}
	fd = mkstemp(out->path);
	if (fd < 0) {
		report_error("%s: cannot make a temporary file: %s", out->path, strerror(errno));
		free(out->path);
		out->path = NULL;
		return -1;
	}
	/* Only the name is wanted: git takes an empty file for a damaged index, and makes its own
	 * without following what might stand there by then. */
	close(fd);
	unlink(out->path);
	out->guard = interrupt_guard_file(out->path);
	rc = repository_git(repository, out->path,
			    (struct git_run){.args = args, .errors = &errors});
	if (rc > 0)
		rc = report_error("%s: %s", revision, git_errors_line(&errors));
	if (rc < 0)
		scratch_index_remove(out);
	buffer_release(&errors);
	return rc;
}

void scratch_index_remove(struct scratch_index *scratch)
{
	if (!scratch->path)
		return;
	unlink(scratch->path);
	interrupt_forget(scratch->guard);
	free(scratch->path);
	scratch->path = NULL;
}

/* ---- listing --------------------------------------------------------------------------------- */

/* Takes one "T MODE BLOB STAGE<tab>PATH" of `git ls-files -t -s -z`. */
static int take_entry(struct file_list *list, const char *entry)
{
	struct found_file file = {.blob = ""};
	const char *path = strchr(entry, '\t');
	unsigned mode;
	unsigned stage;
	char tag;

	if (!path || sscanf(entry, "%c %o %40s %u", &tag, &mode, file.blob, &stage) != 4)
		return report_error("git ls-files gave a line that cannot be read: %s", entry);
	if ((mode & S_IFMT) != S_IFREG || stage != 0)
		return 0;
	file.executable = (mode & 0100) != 0;
	file.skip_worktree = tag == 'S';
	list_add(list, &file, path + 1);
	return 0;
}

/* Lists with index (or the repository's own, if NULL) what the pathspecs select. */
static int list_files(const struct repository *repository, const char *index,
		      const char *const *pathspecs, size_t count, struct file_list *list)
{
	static const char *const first[] = {"ls-files", "-t", "-s", "-z", "--full-name", "--"};
	const size_t first_count = sizeof(first) / sizeof(first[0]);
	const char **args = calloc(first_count + count + 1, sizeof(*args));
	struct buffer text = BUFFER_INIT;
	struct git_run run = {.args = args, .output = &text};
	char *variable = NULL;
	int rc = -1;

	if (!args || (index && asprintf(&variable, "GIT_INDEX_FILE=%s", index) < 0)) {
		report_error("out of memory");
		goto out;
	}
	memcpy(args, first, sizeof(first));
	if (count)
		memcpy(args + first_count, pathspecs, count * sizeof(*args));
	if (count) {
		/* Pathspecs count from the user's directory, so git has to run there. */
		const char *env[] = {variable, NULL};

		run.env = env;
		rc = git_run(&run);
	} else {
		rc = repository_git(repository, index, run);
	}
	if (rc != 0) {
		rc = rc > 0 ? report_error("git cannot list the files of the repository") : rc;
		goto out;
	}
	for (size_t at = 0; at < text.size && rc == 0;) {
		const char *entry = (const char *)text.data + at;

		at += strlen(entry) + 1;
		rc = take_entry(list, entry);
	}
	if (rc == 0 && (buffer_failed(&list->files) || buffer_failed(&list->paths)))
		rc = report_error("out of memory");
out:
	buffer_release(&text);
	free(variable);
	free(args);
	return rc;
}

/* Calls each for the files of a list that have filter=brevis. */
static int each_filtered(struct repository *repository, const char *index,
			 const struct file_list *list,
			 int (*each)(void *ctx, const struct tracked_file *file), void *ctx)
{
	const struct found_file *found = (const struct found_file *)(const void *)list->files.data;
	const char *path = (const char *)list->paths.data;
	git_repository *git = repository_libgit2(repository);
	size_t count = list_count(list);
	bool *filtered = calloc(count + 1, sizeof(*filtered));
	git_odb *odb = NULL;
	int rc = -1;

	if (!git || !filtered || git_repository_odb(&odb, git) < 0) {
		if (git)
			report_error("cannot read the objects of the repository");
		goto out;
	}
	rc = repository_ask_attributes(repository, index, &list->paths, filtered, count);
	for (size_t i = 0; i < count && rc == 0; i++, path += strlen(path) + 1) {
		struct tracked_file file = {.path = path,
					    .executable = found[i].executable,
					    .skip_worktree = found[i].skip_worktree};
		git_oid oid;

		if (!filtered[i] || git_oid_fromstr(&oid, found[i].blob) < 0)
			continue;
		memcpy(file.blob, found[i].blob, sizeof(file.blob));
		repository_look_at_blob(odb, &oid, &file);
		rc = each(ctx, &file);
	}
out:
	git_odb_free(odb);
	free(filtered);
	return rc;
}

int repository_each_tracked(struct repository *repository, const char *revision,
			    const char *const *pathspecs, size_t count,
			    int (*each)(void *ctx, const struct tracked_file *file), void *ctx)
{
	struct file_list list = {BUFFER_INIT, BUFFER_INIT};
	struct scratch_index scratch = {NULL, -1};
	int rc = 0;

	if (revision)
		rc = scratch_index_make(repository, revision, &scratch);
	if (rc == 0)
		rc = list_files(repository, scratch.path, pathspecs, count, &list);
	if (rc == 0)
		rc = each_filtered(repository, scratch.path, &list, each, ctx);
	scratch_index_remove(&scratch);
	list_release(&list);
	return rc;
}

/* ---- what commits bring ---------------------------------------------------------------------- */

/* Runs `git rev-list --objects` for blobs, with arguments. */
static int list_objects(const struct repository *repository, const char *const *arguments,
			struct buffer *text)
{
	static const char *const first[] = {"rev-list", "--objects", "--ignore-missing",
					    "--filter=object:type=blob"};
	const size_t first_count = sizeof(first) / sizeof(first[0]);
	const char **args;
	size_t count = 0;
	int rc;

	while (arguments[count])
		count++;
	args = calloc(first_count + count + 1, sizeof(*args));
	if (!args)
		return report_error("out of memory");
	memcpy(args, first, sizeof(first));
	memcpy(args + first_count, arguments, count * sizeof(*args));
	rc = repository_git(repository, NULL, (struct git_run){.args = args, .output = text});
	free(args);
	if (rc > 0)
		rc = report_error("git cannot list the commits in question");
	buffer_u8(text, 0);
	if (rc == 0 && buffer_failed(text))
		rc = report_error("out of memory");
	return rc;
}

/* Lines are "OID PATH"; commits and trees named as starting points come without a path. */
static void take_objects(struct file_list *list, char *text)
{
	char *rest;

	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		struct found_file file = {.blob = ""};

		if (strlen(line) < BLOB_HEX_SIZE + 2 || line[BLOB_HEX_SIZE] != ' ')
			continue;
		memcpy(file.blob, line, BLOB_HEX_SIZE);
		list_add(list, &file, line + BLOB_HEX_SIZE + 1);
	}
}

int repository_each_new_blob(struct repository *repository, const char *tip,
			     const char *const *arguments,
			     int (*each)(void *ctx, const struct tracked_file *file), void *ctx)
{
	struct file_list list = {BUFFER_INIT, BUFFER_INIT};
	struct scratch_index scratch = {NULL, -1};
	struct buffer text = BUFFER_INIT;
	int rc = list_objects(repository, arguments, &text);

	if (rc < 0)
		goto out;
	take_objects(&list, (char *)text.data);
	if (buffer_failed(&list.files) || buffer_failed(&list.paths)) {
		rc = report_error("out of memory");
		goto out;
	}
	if (list_count(&list) == 0)
		goto out;
	rc = scratch_index_make(repository, tip, &scratch);
	if (rc == 0)
		rc = each_filtered(repository, scratch.path, &list, each, ctx);
out:
	scratch_index_remove(&scratch);
	list_release(&list);
	buffer_release(&text);
	return rc;
}

bool repository_remote_has_blob(struct repository *repository, const char *remote, const char *blob)
{
	struct buffer text = BUFFER_INIT;
	char *remotes = NULL;
	char *find = NULL;
	bool found = false;

	if (asprintf(&remotes, "--remotes=%s", remote) < 0)
		remotes = NULL;
	if (asprintf(&find, "--find-object=%s", blob) < 0)
		find = NULL;
	if (remotes && find) {
		const char *args[] = {"log", "--max-count=1", "--format=%H", find, remotes, NULL};
		struct git_run run = {.args = args, .output = &text};

		found = repository_git(repository, NULL, run) == 0 && text.size > 0;
	}
	buffer_release(&text);
	free(remotes);
	free(find);
	return found;
}
