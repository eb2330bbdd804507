/* SPDX-License-Identifier: Apache-2.0 */
/** Which pointers a repository holds: git lists the objects, small ones are looked at. */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "filter/cli/report.h"
#include "filter/git/repository_private.h"

/* ---- what no ref names ----------------------------------------------------------------------- */

/* Files of a git directory whose lines begin with the names of commits that git would miss, though
 * neither a ref nor a reflog need name them. */
static const char *const root_files[] = {"FETCH_HEAD",
					 "MERGE_HEAD",
					 "MERGE_AUTOSTASH",
					 "ORIG_HEAD",
					 "CHERRY_PICK_HEAD",
					 "REVERT_HEAD",
					 "REBASE_HEAD",
					 "BISECT_HEAD",
					 "AUTO_MERGE",
					 "sequencer/head",
					 "rebase-merge/onto",
					 "rebase-merge/orig-head",
					 "rebase-apply/onto",
					 "rebase-merge/autostash",
					 "rebase-apply/orig-head",
					 "rebase-apply/autostash"};

static size_t hex_digits(const char *text)
{
	size_t n = 0;

	while (isxdigit((unsigned char)text[n]))
		n++;
	return n;
}

static void add_roots_of_file(const char *dir, const char *name, struct buffer *roots)
{
	char line[1024];
	char *path;
	FILE *file;

	if (asprintf(&path, "%s/%s", dir, name) < 0)
		return;
	file = fopen(path, "re");
	free(path);
	while (file && fgets(line, sizeof(line), file)) {
		if (hex_digits(line) != BLOB_HEX_SIZE)
			continue;
		buffer_append(roots, line, BLOB_HEX_SIZE);
		buffer_u8(roots, '\n');
	}
	if (file)
		fclose(file);
}

static void add_roots_of_dir(const char *dir, struct buffer *roots)
{
	for (size_t i = 0; i < sizeof(root_files) / sizeof(root_files[0]); i++)
		add_roots_of_file(dir, root_files[i], roots);
}

/* Those of all worktrees. */
static int add_roots(const struct repository *repository, struct buffer *roots)
{
	struct dirent *entry;
	char *worktrees;
	DIR *dir;

	add_roots_of_dir(repository->common_dir, roots);
	if (asprintf(&worktrees, "%s/worktrees", repository->common_dir) < 0)
		return report_error("out of memory");
	dir = opendir(worktrees);
	while (dir && (entry = readdir(dir))) {
		char *path;

		if (entry->d_name[0] == '.')
			continue;
		if (asprintf(&path, "%s/%s", worktrees, entry->d_name) < 0) {
			buffer_release(roots);
			roots->failed = true;
			break;
		}
		add_roots_of_dir(path, roots);
		free(path);
	}
	if (dir)
		closedir(dir);
	free(worktrees);
	return buffer_failed(roots) ? report_error("out of memory") : 0;
}

/* ---- the list -------------------------------------------------------------------------------- */

/* What is replaced is kept, too: --no-replace-objects shows it, and its replacement is a ref. What
 * follows --ignore-missing and --missing heeds them. */
#define LIST_OPTIONS                                                                               \
	"rev-list", "--objects", "--ignore-missing", "--missing=print", "--filter=blob:limit=1024"

static int list_everything(const struct repository *repository, struct buffer *text)
{
	static const char *const args[] = {
		"--no-replace-objects", LIST_OPTIONS, "--stdin", "--all", "--reflog",
		"--indexed-objects",    NULL};
	struct buffer roots = BUFFER_INIT;
	int rc = add_roots(repository, &roots);

	if (rc == 0)
		rc = repository_git_reported(repository, NULL,
					     (struct git_run){.args = args,
							      .input = roots.data,
							      .input_len = roots.size,
							      .output = text},
					     "git cannot list what it keeps");
	buffer_release(&roots);
	return rc;
}

/* Of a range git walks the history all the same. */
static int list_revision(const struct repository *repository, const char *revision,
			 struct buffer *text)
{
	const char *args[] = {LIST_OPTIONS, "--no-walk", revision, "--", NULL};

	return repository_git_reported(repository, NULL,
				       (struct git_run){.args = args, .output = text},
				       "git cannot list the files of the revision");
}

/* Looks at an object. Returns 1 if it is a pointer, 0 if not, -1 if it cannot be read. */
static int read_pointer(git_odb *odb, const git_oid *oid, struct pointer *pointer)
{
	git_odb_object *object = NULL;
	git_object_t type;
	size_t size;
	int result;

	if (git_odb_read_header(&size, &type, odb, oid) < 0)
		return -1;
	if (type != GIT_OBJECT_BLOB || size >= POINTER_SIZE_LIMIT)
		return 0;
	if (git_odb_read(&object, odb, oid) < 0)
		return -1;
	result = pointer_parse(git_odb_object_data(object), git_odb_object_size(object), pointer);
	git_odb_object_free(object);
	return result;
}

/* Takes a line: "BLOB PATH", or "BLOB", or "?BLOB" for one that is not here. */
static int take_line(git_odb *odb, const char *line, size_t *missing,
		     int (*each)(void *ctx, const char *path, const struct pointer *pointer),
		     void *ctx)
{
	size_t digits = hex_digits(line);
	struct pointer pointer;
	git_oid oid;
	int found = -1;

	if (*line != '?') {
		if (digits != BLOB_HEX_SIZE || git_oid_fromstrn(&oid, line, digits) < 0)
			return report_error("git listed an object that is none: %.50s", line);
		found = read_pointer(odb, &oid, &pointer);
	}
	*missing += found < 0;
	return found > 0 ? each(ctx, line + digits + (line[digits] == ' '), &pointer) : 0;
}

int repository_each_pointer(struct repository *repository, const char *revision,
			    int (*each)(void *ctx, const char *path, const struct pointer *pointer),
			    void *ctx, size_t *missing)
{
	git_repository *git = repository_libgit2(repository);
	struct buffer text = BUFFER_INIT;
	git_odb *odb = NULL;
	char *rest;
	int rc;

	*missing = 0;
	if (!git)
		return -1;
	if (git_repository_odb(&odb, git) < 0)
		return report_error(
			"cannot read the objects of the repository: %s; `git fsck` may say more",
			libgit2_reason());
	rc = revision ? list_revision(repository, revision, &text)
		      : list_everything(repository, &text);
	buffer_u8(&text, 0);
	if (rc == 0 && buffer_failed(&text))
		rc = report_error("out of memory");
	for (char *line = rc ? NULL : strtok_r((char *)text.data, "\n", &rest); line && rc == 0;
	     line = strtok_r(NULL, "\n", &rest))
		rc = take_line(odb, line, missing, each, ctx);
	buffer_release(&text);
	git_odb_free(odb);
	return rc;
}
