/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Which files git-brevis is responsible for. git lists them and reads the attributes: only it knows
 * macros, nesting, sparse and split indexes and every kind of pathspec. libgit2 reads the blobs.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter/cli/report.h"
#include "filter/git/repository_private.h"

size_t file_list_count(const struct file_list *list)
{
	return list->files.size / sizeof(struct found_file);
}

static void list_add(struct file_list *list, const struct found_file *file, const char *path)
{
	buffer_append(&list->files, file, sizeof(*file));
	buffer_append(&list->paths, path, strlen(path) + 1);
}

void file_list_release(struct file_list *list)
{
	buffer_release(&list->paths);
	buffer_release(&list->files);
}

/* ---- attributes ------------------------------------------------------------------------------ */

/* Takes the next string of a text. Returns NULL at its end. */
static const char *next_field(const char **at, const char *end)
{
	const char *field = *at;
	const char *stop = field < end ? memchr(field, 0, (size_t)(end - field)) : NULL;

	if (stop)
		*at = stop + 1;
	return stop ? field : NULL;
}

/* True if git shows no diff of what has this value of the diff attribute. */
static bool hides_diff(const struct repository *repository, const char *value)
{
	char *key;
	bool hides;

	if (strcmp(value, "unset") == 0)
		return true;
	if (strcmp(value, "set") == 0 || strcmp(value, "unspecified") == 0 ||
	    asprintf(&key, "diff.%s.binary", value) < 0)
		return false;
	hides = repository_config_bool(repository, key, false);
	free(key);
	return hides;
}

/* Reads "path NUL filter NUL value NUL path NUL diff NUL value NUL" for each path, in the order we
 * asked. */
static int read_answers(const struct repository *repository, const struct buffer *text,
			struct path_attributes *answers, size_t count)
{
	const char *at = (const char *)text->data;
	const char *end = at + text->size;

	for (size_t i = 0; i < count; i++) {
		const char *field[6];

		for (size_t f = 0; f < 6; f++) {
			field[f] = next_field(&at, end);
			if (!field[f])
				return report_error("git check-attr gave fewer answers than asked");
		}
		answers[i].filtered =
			strcmp(field[2], "brevis") == 0 && !path_is_left_alone(field[0]);
		answers[i].is_lfs = strcmp(field[2], "lfs") == 0;
		answers[i].diff_hidden = answers[i].filtered && hides_diff(repository, field[5]);
	}
	return 0;
}

int repository_ask_attributes(const struct repository *repository, const char *index,
			      const struct buffer *paths, struct path_attributes *answers,
			      size_t count)
{
	const char *args[] = {"check-attr", "-z", "--stdin", "filter", "diff", NULL, NULL};
	struct buffer text = BUFFER_INIT;
	struct git_run run = {
		.args = args, .input = paths->data, .input_len = paths->size, .output = &text};
	int rc = 0;

	if (count == 0)
		return 0;
	if (index) {
		args[3] = "--cached";
		args[4] = "filter";
		args[5] = "diff";
	}
	rc = repository_git_reported(repository, index, run,
				     "git cannot read the attributes of the files");
	if (rc == 0 && buffer_failed(&text))
		rc = report_error("out of memory");
	if (rc == 0)
		rc = read_answers(repository, &text, answers, count);
	buffer_release(&text);
	return rc;
}

int repository_path_attributes(const struct repository *repository, const char *path,
			       bool *filtered, bool *diff_hidden)
{
	struct path_attributes answer = {.filtered = false};
	struct buffer paths = BUFFER_INIT;
	int rc;

	buffer_append(&paths, path, strlen(path) + 1);
	rc = buffer_failed(&paths)
		     ? report_error("out of memory")
		     : repository_ask_attributes(repository, NULL, &paths, &answer, 1);
	buffer_release(&paths);
	*filtered = answer.filtered;
	*diff_hidden = answer.diff_hidden;
	return rc;
}

bool path_is_left_alone(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	return strncmp(name, ".git", 4) == 0 || strcmp(name, ".lfsconfig") == 0;
}

/* ---- a revision as an index ------------------------------------------------------------------ */

int scratch_index_make(const struct repository *repository, const char *revision,
		       struct scratch_file *out)
{
	const char *args[] = {"read-tree", revision, NULL};
	int rc;

	*out = SCRATCH_FILE_NONE;
	if (revision[0] == '-')
		return report_error("'%s' is no revision; name a commit, a branch or a tag",
				    revision);
	if (scratch_file_name(repository, out) < 0)
		return -1;
	rc = repository_git_reported(repository, out->path, (struct git_run){.args = args},
				     revision);
	if (rc < 0)
		scratch_file_remove(out);
	return rc;
}

/* ---- listing --------------------------------------------------------------------------------- */

/* Takes one "T MODE BLOB STAGE<tab>PATH" of `git ls-files -t -s -z`. */
static int take_entry(struct file_list *list, const char *entry)
{
	struct found_file file = {.blob = ""};
	const char *path = strchr(entry, '\t');
	char octal[8];
	char stage[2];
	unsigned mode;
	char tag;

	if (!path || sscanf(entry, "%c %7s %40s %1s", &tag, octal, file.blob, stage) != 4)
		return report_error("git ls-files gave a line that cannot be read: %s", entry);
	mode = (unsigned)strtoul(octal, NULL, 8);
	if (!S_ISREG(mode) || *stage != '0')
		return 0;
	file.executable = (mode & 0100) != 0;
	file.skip_worktree = tag == 'S';
	list_add(list, &file, path + 1);
	return 0;
}

int repository_list_files(const struct repository *repository, const char *index,
			  const char *const *pathspecs, size_t count, struct file_list *list)
{
	static const char *const first[] = {"ls-files", "-t", "-s", "-z", "--full-name", "--"};
	const size_t first_count = sizeof(first) / sizeof(first[0]);
	const char **args = calloc(first_count + count + 1, sizeof(*args));
	struct buffer text = BUFFER_INIT;
	struct buffer errors = BUFFER_INIT;
	struct git_run run = {.args = args, .output = &text, .errors = &errors};
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
	if (rc > 0)
		rc = report_error("git cannot list the files: %s", git_errors_line(&errors));
	if (rc < 0)
		goto out;
	for (size_t at = 0; at < text.size && rc == 0;) {
		const char *entry = (const char *)text.data + at;

		at += strlen(entry) + 1;
		rc = take_entry(list, entry);
	}
	if (rc == 0 && (buffer_failed(&list->files) || buffer_failed(&list->paths)))
		rc = report_error("out of memory");
out:
	buffer_release(&errors);
	buffer_release(&text);
	free(variable);
	free(args);
	return rc;
}

/* Which files count beside those with filter=brevis. */
struct also {
	bool lfs;       /* those with filter=lfs */
	uint64_t large; /* those of more bytes; UINT64_MAX: none */
};

/* Looks at a blob that has no filter=brevis, and only at its size. */
static bool is_large(git_odb *odb, const git_oid *oid, uint64_t large, struct tracked_file *file)
{
	git_object_t type;
	size_t size;

	if (large == UINT64_MAX || git_odb_read_header(&size, &type, odb, oid) < 0 || size <= large)
		return false;
	file->blob_size = size;
	file->is_large = true;
	return true;
}

/* Calls each for the files of a list that have filter=brevis, and what else counts. */
static int each_filtered(struct repository *repository, const char *index,
			 const struct file_list *list, const struct also *also,
			 int (*each)(void *ctx, const struct tracked_file *file), void *ctx)
{
	const struct found_file *found = (const struct found_file *)(const void *)list->files.data;
	const char *path = (const char *)list->paths.data;
	git_repository *git = repository_libgit2(repository);
	size_t count = file_list_count(list);
	struct path_attributes *attributes = calloc(count + 1, sizeof(*attributes));
	git_odb *odb = NULL;
	int rc = -1;

	if (!git || !attributes || git_repository_odb(&odb, git) < 0) {
		if (git)
			report_error("cannot read the objects of the repository; `git fsck` may "
				     "say why");
		goto out;
	}
	rc = repository_ask_attributes(repository, index, &list->paths, attributes, count);
	for (size_t i = 0; i < count && rc == 0; i++, path += strlen(path) + 1) {
		struct tracked_file file = {.path = path,
					    .executable = found[i].executable,
					    .skip_worktree = found[i].skip_worktree,
					    .is_lfs = attributes[i].is_lfs,
					    .diff_hidden = attributes[i].diff_hidden};
		git_oid oid;

		if (git_oid_fromstr(&oid, found[i].blob) < 0)
			continue;
		memcpy(file.blob, found[i].blob, sizeof(file.blob));
		if (attributes[i].filtered || (also->lfs && attributes[i].is_lfs))
			repository_look_at_blob(odb, &oid, &file);
		else if (!is_large(odb, &oid, also->large, &file))
			continue;
		rc = each(ctx, &file);
	}
out:
	git_odb_free(odb);
	free(attributes);
	return rc;
}

static int each_file(struct repository *repository, const char *revision,
		     const char *const *pathspecs, size_t count, bool with_lfs,
		     int (*each)(void *ctx, const struct tracked_file *file), void *ctx)
{
	struct file_list list = {BUFFER_INIT, BUFFER_INIT};
	struct scratch_file scratch = SCRATCH_FILE_NONE;
	int rc = 0;

	if (revision)
		rc = scratch_index_make(repository, revision, &scratch);
	if (rc == 0)
		rc = repository_list_files(repository, scratch.path, pathspecs, count, &list);
	if (rc == 0)
		rc = each_filtered(repository, scratch.path, &list,
				   &(struct also){with_lfs, UINT64_MAX}, each, ctx);
	scratch_file_remove(&scratch);
	file_list_release(&list);
	return rc;
}

int repository_each_tracked(struct repository *repository, const char *revision,
			    const char *const *pathspecs, size_t count,
			    int (*each)(void *ctx, const struct tracked_file *file), void *ctx)
{
	return each_file(repository, revision, pathspecs, count, false, each, ctx);
}

int repository_each_large(struct repository *repository, const char *revision,
			  const char *const *pathspecs, size_t count,
			  int (*each)(void *ctx, const struct tracked_file *file), void *ctx)
{
	return each_file(repository, revision, pathspecs, count, true, each, ctx);
}

/* ---- what commits bring ---------------------------------------------------------------------- */

/* Runs `git rev-list --objects` for blobs, with arguments. */
static int list_objects(const struct repository *repository, const char *const *arguments,
			struct buffer *text)
{
	static const char *const first[] = {"rev-list", "--objects", "--filter=object:type=blob"};
	const size_t first_count = sizeof(first) / sizeof(first[0]);
	const char **args;
	size_t count = 0;
	int rc;

	while (arguments[count])
		count++;
	args = calloc(first_count + count + 2, sizeof(*args));
	if (!args)
		return report_error("out of memory");
	memcpy(args, first, sizeof(first));
	memcpy(args + first_count, arguments, count * sizeof(*args));
	args[first_count + count] = "--"; /* none of them is a path */
	rc = repository_git_reported(repository, NULL,
				     (struct git_run){.args = args, .output = text},
				     "git cannot list the commits in question");
	free(args);
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

/* git tells the blobs of commits without their modes. A small one that is no pointer may be the
 * target of a symbolic link; those wait here. */
struct new_blobs {
	int (*each)(void *ctx, const struct tracked_file *file);
	void *ctx;
	struct buffer files; /* of struct tracked_file, whose paths are the list's */
	struct buffer blobs; /* of struct remote_blob, one for each */
};

static int hold_back_links(void *ctx, const struct tracked_file *file)
{
	struct new_blobs *n = ctx;
	struct remote_blob blob = {.found = false};

	if (file->is_pointer || file->blob_missing || file->blob_size >= PATH_MAX)
		return n->each(n->ctx, file);
	memcpy(blob.blob, file->blob, sizeof(blob.blob));
	buffer_append(&n->files, file, sizeof(*file));
	buffer_append(&n->blobs, &blob, sizeof(blob));
	return 0;
}

/* Tells of what was held back and is no link. */
static int tell_held_back(const struct repository *repository, const char *const *arguments,
			  struct new_blobs *n)
{
	const struct tracked_file *file = (const struct tracked_file *)(void *)n->files.data;
	struct remote_blob *blob = (struct remote_blob *)(void *)n->blobs.data;
	size_t count = n->files.size / sizeof(*file);
	int rc = 0;

	if (buffer_failed(&n->files) || buffer_failed(&n->blobs))
		return report_error("out of memory");
	if (count)
		rc = repository_find_links(repository, arguments, blob, count);
	for (size_t i = 0; i < count && rc == 0; i++)
		if (!blob[i].found)
			rc = n->each(n->ctx, &file[i]);
	return rc;
}

int repository_each_new_or_large_blob(struct repository *repository, const char *tip,
				      const char *const *arguments, uint64_t large,
				      int (*each)(void *ctx, const struct tracked_file *file),
				      void *ctx)
{
	struct file_list list = {BUFFER_INIT, BUFFER_INIT};
	struct scratch_file scratch = SCRATCH_FILE_NONE;
	struct new_blobs new_blobs = {.each = each, .ctx = ctx};
	struct buffer text = BUFFER_INIT;
	int rc = list_objects(repository, arguments, &text);

	if (rc < 0)
		goto out;
	take_objects(&list, (char *)text.data);
	if (buffer_failed(&list.files) || buffer_failed(&list.paths)) {
		rc = report_error("out of memory");
		goto out;
	}
	if (file_list_count(&list) == 0)
		goto out;
	rc = repository_complete_names(repository, arguments, &list);
	if (rc == 0)
		rc = scratch_index_make(repository, tip, &scratch);
	if (rc == 0)
		rc = each_filtered(repository, scratch.path, &list, &(struct also){false, large},
				   hold_back_links, &new_blobs);
	if (rc == 0)
		rc = tell_held_back(repository, arguments, &new_blobs);
out:
	buffer_release(&new_blobs.files);
	buffer_release(&new_blobs.blobs);
	scratch_file_remove(&scratch);
	file_list_release(&list);
	buffer_release(&text);
	return rc;
}

int repository_each_new_blob(struct repository *repository, const char *tip,
			     const char *const *arguments,
			     int (*each)(void *ctx, const struct tracked_file *file), void *ctx)
{
	return repository_each_new_or_large_blob(repository, tip, arguments, UINT64_MAX, each, ctx);
}
