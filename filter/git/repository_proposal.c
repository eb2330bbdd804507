/* SPDX-License-Identifier: Apache-2.0 */
/** Making a proposal: its index, its blobs, and what git says about it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "filter/cli/report.h"
#include "filter/git/index_lock.h"
#include "filter/git/repository_proposal.h"
#include "filter/work/work_file.h"

/* ---- beginning ------------------------------------------------------------------------------- */

/* What git would add to a commit that is made now, or would not forget afterwards. */
static const char *operation_under_way(const struct repository *repository)
{
	static const char *const marks[][2] = {{"MERGE_HEAD", "merge"},
					       {"CHERRY_PICK_HEAD", "cherry-pick"},
					       {"REVERT_HEAD", "revert"},
					       {"rebase-merge", "rebase"},
					       {"rebase-apply", "rebase"}};

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		char *path;
		bool is_there;

		if (asprintf(&path, "%s/%s", repository->git_dir, marks[i][0]) < 0)
			return "command";
		is_there = access(path, F_OK) == 0;
		free(path);
		if (is_there)
			return marks[i][1];
	}
	return NULL;
}

static int refuse_staged(const struct repository *repository)
{
	struct buffer staged = BUFFER_INIT;
	int rc = repository_staged(repository, &staged);

	if (rc == 0 && staged.size)
		rc = report_error(
			"changes are staged (%s, for one); commit them, or take them back "
			"with `git restore --staged`, then try again; nothing was changed",
			(const char *)staged.data + 1);
	buffer_release(&staged);
	return rc;
}

int proposal_ask_name(const struct proposal *p, const char *index, struct git_run run,
		      const char *what, char name[BLOB_HEX_SIZE + 1])
{
	struct buffer text = BUFFER_INIT;
	int rc;

	run.output = &text;
	rc = repository_git_reported(p->repository, index, run, what);
	if (rc == 0 && text.size <= BLOB_HEX_SIZE)
		rc = report_error("%s", what);
	if (rc == 0) {
		memcpy(name, text.data, BLOB_HEX_SIZE);
		name[BLOB_HEX_SIZE] = 0;
	}
	buffer_release(&text);
	return rc;
}

int proposal_read_head(const struct proposal *p, char head[BLOB_HEX_SIZE + 1])
{
	static const char *const args[] = {"rev-parse", "--verify", "HEAD^{commit}", NULL};

	return proposal_ask_name(p, NULL, (struct git_run){.args = args},
				 "HEAD names no commit; make one first", head);
}

static int check_place(const struct repository *repository)
{
	const char *under_way;

	/* Under the lock of one of us that was killed nobody could take back what it left. */
	index_lock_sweep(repository->index_path);
	if (!repository->work_tree)
		return report_error("there is no work tree here, whose files could be compared; "
				    "work in a clone and push");
	if (!repository_has_head(repository))
		return report_error("there is no commit yet; make one first");
	if (repository_lacks_index(repository))
		return report_error(
			"the checkout of this clone was not completed; `git brevis pull` "
			"and then `git restore :/` complete it");
	under_way = operation_under_way(repository);
	if (under_way)
		return report_error("a %s is under way; complete or abort it first", under_way);
	return refuse_staged(repository);
}

int proposal_begin(struct repository *repository, struct proposal **out)
{
	struct proposal *p;

	if (check_place(repository) < 0)
		return -1;
	p = calloc(1, sizeof(*p));
	if (!p)
		return report_error("out of memory");
	p->repository = repository;
	if (scratch_file_name(repository, &p->index) < 0 || proposal_read_head(p, p->head) < 0 ||
	    proposal_apply(p) < 0) {
		proposal_free(p);
		return -1;
	}
	*out = p;
	return 0;
}

void proposal_free(struct proposal *p)
{
	if (!p)
		return;
	scratch_file_remove(&p->index);
	buffer_release(&p->skipped);
	buffer_release(&p->entries);
	free(p);
}

/* ---- its index ------------------------------------------------------------------------------- */

int proposal_put(struct proposal *p, const char *path, bool executable, bool skipped,
		 const char *blob)
{
	char head[64];
	int len = snprintf(head, sizeof(head), "%s %s 0\t", executable ? "100755" : "100644", blob);

	buffer_append(&p->entries, head, (size_t)len);
	buffer_append(&p->entries, path, strlen(path) + 1);
	if (skipped)
		buffer_append(&p->skipped, path, strlen(path) + 1);
	return buffer_failed(&p->entries) || buffer_failed(&p->skipped)
		       ? report_error("out of memory")
		       : 0;
}

/* Runs `git update-index` on the proposal's index. */
static int update(const struct proposal *p, const char *const *args, const struct buffer *input)
{
	struct git_run run = {.args = args, .input = input->data, .input_len = input->size};

	if (!input->size)
		return 0;
	return repository_git_reported(p->repository, p->index.path, run,
				       "git cannot write an index");
}

int proposal_apply(struct proposal *p)
{
	static const char *const put[] = {"update-index", "-z", "--index-info", NULL};
	/* What is put anew loses that mark. */
	static const char *const skip[] = {"update-index", "--skip-worktree", "-z", "--stdin",
					   NULL};

	/* Anew each time: the index may have been refreshed by others. */
	if (stat(p->repository->index_path, &p->copied) != 0 ||
	    repository_copy_file(p->repository->index_path, p->index.path) < 0)
		return report_error("%s: cannot copy the index to %s: %s; make room there, or make "
				    "its directory writable",
				    p->repository->index_path, p->index.path, strerror(errno));
	if (update(p, put, &p->entries) < 0)
		return -1;
	return update(p, skip, &p->skipped);
}

/* ---- blobs ----------------------------------------------------------------------------------- */

static int store(const struct proposal *p, struct git_run run, char blob[BLOB_HEX_SIZE + 1])
{
	static const char *const args[] = {GIT_LARGE_BLOBS, "hash-object", "-w",
					   "--no-filters",  "--stdin",     NULL};

	run.args = args;
	return proposal_ask_name(p, NULL, run,
				 "git cannot store a file; make room in its directory", blob);
}

int proposal_store(const struct proposal *p, const void *data, size_t len,
		   char blob[BLOB_HEX_SIZE + 1])
{
	return store(p, (struct git_run){.input = len ? data : NULL, .input_len = len}, blob);
}

int proposal_store_file(const struct proposal *p, int fd, char blob[BLOB_HEX_SIZE + 1])
{
	if (lseek(fd, 0, SEEK_SET) != 0)
		return report_error("cannot read a temporary file again: %s", strerror(errno));
	return store(p, (struct git_run){.input_fd = fd}, blob);
}

/* ---- attributes ------------------------------------------------------------------------------ */

/* Of "path NUL attribute NUL value NUL" keeps the values. */
static int take_values(const struct buffer *text, struct buffer *values)
{
	size_t field = 0;

	for (size_t at = 0; at < text->size; field++) {
		const char *word = (const char *)text->data + at;
		size_t len = strnlen(word, text->size - at);

		if (field % 3 == 2) {
			buffer_append(values, word, len);
			buffer_u8(values, 0);
		}
		at += len + 1;
	}
	return buffer_failed(values) ? report_error("out of memory") : 0;
}

static int ask(const struct proposal *p, const char *index, const char *attribute,
	       struct buffer *paths, struct buffer *values)
{
	const char *args[] = {"check-attr", "-z", "--cached", "--stdin", attribute, NULL};
	struct file_list list = {BUFFER_INIT, BUFFER_INIT};
	struct buffer text = BUFFER_INIT;
	int rc = repository_list_files(p->repository, p->index.path, NULL, 0, &list);

	if (rc == 0 && list.paths.size)
		rc = repository_git_reported(p->repository, index,
					     (struct git_run){.args = args,
							      .input = list.paths.data,
							      .input_len = list.paths.size,
							      .output = &text},
					     "git cannot read the attributes of the files");
	if (rc == 0)
		rc = take_values(&text, values);
	if (rc == 0)
		buffer_append(paths, list.paths.data, list.paths.size);
	buffer_release(&text);
	file_list_release(&list);
	return rc;
}

int proposal_attribute(const struct proposal *p, const char *attribute, struct buffer *paths,
		       struct buffer *values)
{
	return ask(p, p->index.path, attribute, paths, values);
}

int proposal_try_lines(const struct proposal *p, const char *prefix, const char *lines,
		       const char *attribute, struct buffer *paths, struct buffer *values)
{
	const char *args[] = {"update-index", "--add", "-z", "--index-info", NULL};
	char blob[BLOB_HEX_SIZE + 1];
	struct scratch_file index;
	char *entry;
	int len;
	int rc = proposal_store(p, lines, strlen(lines), blob);

	if (rc < 0)
		return rc;
	len = asprintf(&entry, "100644 %s 0\t%s.gitattributes", blob, prefix);
	if (len < 0)
		return report_error("out of memory");
	/* An index with nothing else in it: git is asked what these lines alone say. */
	rc = scratch_file_name(p->repository, &index);
	if (rc == 0)
		rc = repository_git_reported(p->repository, index.path,
					     (struct git_run){.args = args,
							      .input = entry,
							      .input_len = (size_t)len + 1},
					     "git cannot write an index");
	if (rc == 0)
		rc = ask(p, index.path, attribute, paths, values);
	scratch_file_remove(&index);
	free(entry);
	return rc;
}

int proposal_each(struct proposal *p, const bool *wanted,
		  int (*each)(void *ctx, size_t i, const struct tracked_file *file), void *ctx)
{
	struct file_list list = {BUFFER_INIT, BUFFER_INIT};
	git_repository *git = repository_libgit2(p->repository);
	const struct found_file *found;
	const char *path;
	git_odb *odb = NULL;
	int rc;

	if (!git || git_repository_odb(&odb, git) < 0)
		return report_error(
			"cannot read the objects of the repository; `git fsck` may say why");
	rc = repository_list_files(p->repository, p->index.path, NULL, 0, &list);
	found = (const struct found_file *)(const void *)list.files.data;
	path = (const char *)list.paths.data;
	for (size_t i = 0; rc == 0 && i < file_list_count(&list); i++, path += strlen(path) + 1) {
		struct tracked_file file = {.path = path,
					    .executable = found[i].executable,
					    .skip_worktree = found[i].skip_worktree};
		git_oid oid;

		if (!wanted[i] || git_oid_fromstr(&oid, found[i].blob) < 0)
			continue;
		memcpy(file.blob, found[i].blob, sizeof(file.blob));
		repository_look_at_blob(odb, &oid, &file);
		rc = each(ctx, i, &file);
	}
	git_odb_free(odb);
	file_list_release(&list);
	return rc;
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* True if git finds no change of path in the work tree, and it is no untracked file. */
static int refuse_changed(const struct proposal *p, const char *path)
{
	const char *args[] = {
		"--literal-pathspecs",   "--no-optional-locks", "status", "--porcelain", "-z",
		"--untracked-files=all", "--ignored",           "--",     path,          NULL};
	struct buffer text = BUFFER_INIT;
	int rc = repository_git_reported(p->repository, NULL,
					 (struct git_run){.args = args, .output = &text},
					 "git cannot tell whether files have changed");

	if (rc == 0 && text.size)
		rc = report_error("%s: differs from what is committed; commit it, or take the "
				  "change back, then try again; nothing was changed",
				  path);
	buffer_release(&text);
	return rc;
}

int proposal_load(const struct proposal *p, struct proposed_edit *edit)
{
	const char *list[] = {
		"--literal-pathspecs", "ls-files", "-t", "-s", "-z", "--", edit->path, NULL};
	const char *show[] = {"cat-file", "blob", NULL, NULL};
	char blob[BLOB_HEX_SIZE + 1];
	struct buffer entry = BUFFER_INIT;
	char octal[8] = "";
	unsigned mode = 0;
	char tag;
	int rc = refuse_changed(p, edit->path);

	if (rc == 0)
		rc = repository_git_reported(p->repository, NULL,
					     (struct git_run){.args = list, .output = &entry},
					     "git cannot list the index");
	buffer_u8(&entry, 0);
	edit->is_new = entry.size < 2;
	if (rc < 0 || edit->is_new)
		goto out;
	if (sscanf((const char *)entry.data, "%c %7s %40s", &tag, octal, blob) == 3)
		mode = (unsigned)strtoul(octal, NULL, 8);
	if (!S_ISREG(mode)) {
		rc = report_error("%s: is no regular file; put a file in its place", edit->path);
		goto out;
	}
	edit->executable = (mode & 0100) != 0;
	edit->skip_worktree = tag == 'S';
	show[2] = blob;
	rc = repository_git_reported(p->repository, NULL,
				     (struct git_run){.args = show, .output = &edit->text},
				     "git cannot read a file that it has");
out:
	buffer_release(&entry);
	return rc;
}

int proposal_edit(struct proposal *p, struct proposed_edit *edit)
{
	if (buffer_failed(&edit->text))
		return report_error("out of memory");
	if (proposal_store(p, edit->text.data, edit->text.size, edit->blob) < 0)
		return -1;
	return proposal_put(p, edit->path, edit->executable, edit->skip_worktree, edit->blob);
}

void proposal_release(struct proposed_edit *edit)
{
	free(edit->path);
	buffer_release(&edit->text);
}
