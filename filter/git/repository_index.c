/* SPDX-License-Identifier: Apache-2.0 */
/** The index: what it holds for a path, and recording that a work file matches its entry. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <time.h>
#include <unistd.h>

#include "filter/objects/conflict_text.h"
#include "filter/cli/report.h"
#include "filter/git/index_lock.h"
#include "filter/git/repository_private.h"

void repository_look_at_blob(git_odb *odb, const git_oid *oid, struct tracked_file *file)
{
	char text[POINTER_TEXT_SIZE];
	git_odb_object *object = NULL;
	git_object_t type;
	size_t size;

	file->blob_missing = true;
	file->is_pointer = false;
	file->is_canonical = false;
	file->has_markers = false;
	file->blob_size = 0;
	if (git_odb_read_header(&size, &type, odb, oid) < 0 || type != GIT_OBJECT_BLOB)
		return;
	file->blob_size = size;
	if (size < POINTER_SIZE_LIMIT && git_odb_read(&object, odb, oid) < 0) {
		report_trace("libgit2 cannot read a blob: %s", libgit2_reason());
		return;
	}
	file->blob_missing = false;
	if (!object)
		return;
	if (pointer_parse(git_odb_object_data(object), size, &file->pointer)) {
		file->is_pointer = true;
		file->is_canonical = pointer_format(&file->pointer, text) == size &&
				     memcmp(text, git_odb_object_data(object), size) == 0;
	} else {
		file->has_markers = is_conflict_text(git_odb_object_data(object), size);
	}
	git_odb_object_free(object);
}

/* ---- one path's pointers --------------------------------------------------------------------- */

/* libgit2 takes an index that it cannot look at for one that is not there, and so for an empty one:
 * true if the file has more than that. */
static bool is_unread(git_index *index, const char *path)
{
	enum { EMPTY_SIZE = 32 };
	struct stat st;

	if (git_index_entrycount(index) > 0)
		return false;
	return stat(path, &st) == 0 ? st.st_size > EMPTY_SIZE : errno != ENOENT;
}

/* The blob of a path in the index as libgit2 reads it. */
static bool entry_in_index(struct repository *repository, const char *path, git_oid *oid)
{
	const git_index_entry *entry;

	if (!repository->index) {
		if (git_index_open(&repository->index, repository->index_path) < 0)
			goto refused;
	}
	/* Reads again only if the file has changed. */
	if (git_index_read(repository->index, 0) < 0 ||
	    is_unread(repository->index, repository->index_path))
		goto refused;
	entry = git_index_get_bypath(repository->index, path, 0);
	if (!entry)
		return false;
	*oid = entry->id;
	return true;
refused:
	report_trace("libgit2 cannot read the index: %s", libgit2_reason());
	repository->index_refused = true;
	return false;
}

/* The same asked of git: for split and sparse indexes, which libgit2 does not know. */
static bool entry_by_git(struct repository *repository, const char *path, git_oid *oid)
{
	const char *args[] = {"--literal-pathspecs", "ls-files", "-s", "-z", "--", path, NULL};
	struct buffer text = BUFFER_INIT;
	struct buffer errors = BUFFER_INIT;
	struct git_run run = {.args = args, .output = &text, .errors = &errors};
	char hex[BLOB_HEX_SIZE + 1];
	char stage[2];
	bool found = false;

	if (repository_git(repository, NULL, run) == 0) {
		buffer_u8(&text, 0);
		found = !buffer_failed(&text) &&
			sscanf((const char *)text.data, "%*s %40s %1s", hex, stage) == 2 &&
			*stage == '0' && git_oid_fromstr(oid, hex) == 0;
	}
	buffer_release(&text);
	buffer_release(&errors);
	return found;
}

/* The tree of HEAD, asked of git once: a filter's process does not outlive the command that started
 * it. An unborn HEAD has none. */
static bool find_head_tree(struct repository *repository)
{
	static const char *const args[] = {"rev-parse", "--verify", "--quiet", "HEAD^{tree}", NULL};
	struct buffer text = BUFFER_INIT;
	struct buffer errors = BUFFER_INIT;
	struct git_run run = {.args = args, .output = &text, .errors = &errors};

	if (repository->head_asked)
		return repository->has_head_tree;
	repository->head_asked = true;
	if (repository_git(repository, NULL, run) == 0)
		buffer_u8(&text, 0);
	repository->has_head_tree = text.size > BLOB_HEX_SIZE && !buffer_failed(&text) &&
				    git_oid_fromstrn(&repository->head_tree,
						     (const char *)text.data, BLOB_HEX_SIZE) == 0;
	buffer_release(&errors);
	buffer_release(&text);
	return repository->has_head_tree;
}

static bool entry_in_head(struct repository *repository, const char *path, git_oid *oid)
{
	git_tree *tree = NULL;
	git_tree_entry *entry = NULL;
	bool found = false;

	if (find_head_tree(repository) &&
	    git_tree_lookup(&tree, repository->git, &repository->head_tree) == 0 &&
	    git_tree_entry_bypath(&entry, tree, path) == 0) {
		*oid = *git_tree_entry_id(entry);
		found = true;
	}
	git_tree_entry_free(entry);
	git_tree_free(tree);
	return found;
}

/* The blobs of a path, in the index and in HEAD. */
static size_t path_blobs(struct repository *repository, const char *path, git_oid oids[2])
{
	size_t found = 0;

	if (!repository->index_refused && entry_in_index(repository, path, &oids[found]))
		found++;
	else if (repository->index_refused && entry_by_git(repository, path, &oids[found]))
		found++;
	if (entry_in_head(repository, path, &oids[found]))
		found++;
	return found;
}

bool repository_path_holds(struct repository *repository, const char *path, const void *data,
			   size_t len)
{
	git_oid wanted;
	git_oid oids[2];
	size_t found;

	if (!repository_libgit2(repository) ||
	    git_odb_hash(&wanted, data, len, GIT_OBJECT_BLOB) < 0)
		return false;
	found = path_blobs(repository, path, oids);
	for (size_t i = 0; i < found; i++)
		if (git_oid_equal(&oids[i], &wanted))
			return true;
	return false;
}

int repository_hash_file(struct repository *repository, const char *path,
			 char blob[BLOB_HEX_SIZE + 1])
{
	git_oid oid;

	if (!repository_libgit2(repository) || git_odb_hashfile(&oid, path, GIT_OBJECT_BLOB) < 0)
		return -1;
	git_oid_tostr(blob, BLOB_HEX_SIZE + 1, &oid);
	return 0;
}

/* Looks at the blobs of a path, with their names. Returns how many it has. */
static size_t look_at_path(struct repository *repository, const char *path,
			   struct tracked_file files[2])
{
	git_repository *git = repository_libgit2(repository);
	git_odb *odb = NULL;
	git_oid oids[2];
	size_t found;

	if (!git || git_repository_odb(&odb, git) < 0)
		return 0;
	found = path_blobs(repository, path, oids);
	for (size_t i = 0; i < found; i++) {
		repository_look_at_blob(odb, &oids[i], &files[i]);
		git_oid_tostr(files[i].blob, sizeof(files[i].blob), &oids[i]);
	}
	git_odb_free(odb);
	return found;
}

size_t repository_path_pointers(struct repository *repository, const char *path,
				struct pointer out[2])
{
	struct tracked_file files[2];
	size_t found = look_at_path(repository, path, files);
	size_t count = 0;

	for (size_t i = 0; i < found; i++)
		if (files[i].is_pointer &&
		    (count == 0 || !pointer_equal(&out[0], &files[i].pointer)))
			out[count++] = files[i].pointer;
	return count;
}

/* Reads a blob that stands for an empty file. Returns false if it is another. */
static bool read_empty(git_odb *odb, const git_oid *oid, uint8_t text[POINTER_SIZE_LIMIT],
		       size_t *len)
{
	git_odb_object *object = NULL;
	struct tracked_file file;

	*len = 0;
	repository_look_at_blob(odb, oid, &file);
	if (file.blob_missing || (file.blob_size && !(file.is_pointer && file.pointer.size == 0)))
		return false;
	if (file.blob_size == 0)
		return true;
	if (git_odb_read(&object, odb, oid) < 0)
		return false;
	*len = git_odb_object_size(object);
	memcpy(text, git_odb_object_data(object), *len);
	git_odb_object_free(object);
	return true;
}

size_t repository_path_empty(struct repository *repository, const char *path,
			     uint8_t text[POINTER_SIZE_LIMIT])
{
	git_repository *git = repository_libgit2(repository);
	git_odb *odb = NULL;
	git_oid oids[2];
	size_t found;
	size_t len = 0;

	if (!git || git_repository_odb(&odb, git) < 0)
		return 0;
	found = path_blobs(repository, path, oids);
	for (size_t i = 0; i < found; i++)
		if (read_empty(odb, &oids[i], text, &len))
			break;
	git_odb_free(odb);
	return len;
}

bool repository_remote_has_pointer(struct repository *repository, const char *path,
				   const struct pointer *pointer)
{
	struct remote_blob blobs[2];
	struct tracked_file files[2];
	size_t found = look_at_path(repository, path, files);
	size_t count = 0;

	for (size_t i = 0; i < found; i++)
		if (files[i].is_pointer && pointer_equal(&files[i].pointer, pointer))
			memcpy(blobs[count++].blob, files[i].blob, sizeof(blobs[0].blob));
	if (count == 0 || repository_find_on_remotes(repository, blobs, count) < 0)
		return false;
	return blobs[0].found || blobs[count - 1].found;
}

/* ---- recording work files -------------------------------------------------------------------- */

/* Copies of the stat fields in the widths that an index has. */
static void set_stat(git_index_entry *entry, const struct stat *st)
{
	entry->ctime.seconds = (int32_t)st->st_ctim.tv_sec;
	entry->ctime.nanoseconds = (uint32_t)st->st_ctim.tv_nsec;
	entry->mtime.seconds = (int32_t)st->st_mtim.tv_sec;
	entry->mtime.nanoseconds = (uint32_t)st->st_mtim.tv_nsec;
	entry->dev = (uint32_t)st->st_dev;
	entry->ino = (uint32_t)st->st_ino;
	entry->uid = (uint32_t)st->st_uid;
	entry->gid = (uint32_t)st->st_gid;
	/* 0 would mean "look at the content"; for multiples of 4 GiB newer git writes this. */
	entry->file_size = (uint32_t)st->st_size;
	if (st->st_size && !entry->file_size)
		entry->file_size = UINT32_C(0x80000000);
}

/* An entry as young as the index itself may have changed since without a trace in its stat data, as
 * git records them to the second. git knows by the index's own time whom to doubt; the index that
 * we write is younger, so the doubt has to be written down: a size of 0 makes git look at the file.
 */
static int doubt_young_entries(git_index *index, const struct stat *st)
{
	size_t count = git_index_entrycount(index);

	for (size_t i = 0; i < count; i++) {
		const git_index_entry *found = git_index_get_byindex(index, i);
		git_index_entry entry = *found;

		if (found->mtime.seconds < (int32_t)st->st_mtim.tv_sec || found->file_size == 0 ||
		    found->mode == GIT_FILEMODE_COMMIT || git_index_entry_stage(found) != 0)
			continue;
		entry.file_size = 0;
		if (git_index_add(index, &entry) < 0)
			return -1;
	}
	return 0;
}

static int update_entries(git_index *index, const struct written_file *files, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const git_index_entry *found = git_index_get_bypath(index, files[i].path, 0);
		git_index_entry entry;
		git_oid blob;

		if (!found || git_oid_fromstr(&blob, files[i].blob) < 0 ||
		    !git_oid_equal(&found->id, &blob))
			continue;
		entry = *found;
		set_stat(&entry, &files[i].stat);
		if (git_index_add(index, &entry) < 0)
			return -1;
	}
	return 0;
}

int repository_copy_file(const char *from, const char *to)
{
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int out = -1;
	struct stat st;
	ssize_t n = -1;

	if (in < 0)
		return -1;
	if (fstat(in, &st) == 0)
		out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (out >= 0) {
		do
			n = sendfile(out, in, NULL, (size_t)1 << 30);
		while (n > 0 || (n < 0 && errno == EINTR));
		if (fchmod(out, st.st_mode & 0777) != 0)
			n = -1;
		if (close(out) != 0)
			n = -1;
	}
	close(in);
	return n < 0 ? -1 : 0;
}

enum rewrite { REWRITTEN = 0, REWRITE_FAILED = -1, REWRITE_REFUSED = 1 };

/* Others hold the lock for moments only, so it is worth waiting. */
#define LOCK_ATTEMPTS 40

/* libgit2 takes a lock only to write, so that a change between its reading and its writing would be
 * lost. It works on a copy while we hold the index's lock. */
static enum rewrite rewrite_copy(const struct index_lock *lock, const struct written_file *files,
				 size_t count)
{
	git_index *index = NULL;
	enum rewrite result = REWRITE_REFUSED;
	struct stat st;

	if (stat(lock->index, &st) != 0 || repository_copy_file(lock->index, lock->copy) < 0) {
		report_error("%s: cannot copy the index: %s; the files are written, `git status` "
			     "will look at them again",
			     lock->copy, strerror(errno));
		return REWRITE_FAILED;
	}
	if (git_index_open(&index, lock->copy) < 0 || is_unread(index, lock->copy))
		goto out;
	if (doubt_young_entries(index, &st) < 0 || update_entries(index, files, count) < 0 ||
	    git_index_write(index) < 0)
		goto out;
	result = REWRITTEN;
	if (index_lock_replace(lock) != 0) {
		report_error("%s: cannot replace the index: %s; the files are written, `git "
			     "status` will look at them again",
			     lock->index, strerror(errno));
		result = REWRITE_FAILED;
	}
out:
	if (result == REWRITE_REFUSED)
		report_trace("libgit2 cannot write the index: %s", libgit2_reason());
	git_index_free(index);
	return result;
}

static enum rewrite rewrite_index(const struct repository *repository,
				  const struct written_file *files, size_t count)
{
	enum rewrite result = REWRITE_FAILED;
	struct index_lock lock;

	if (index_lock_take(&lock, repository->index_path, LOCK_ATTEMPTS) == 0)
		result = rewrite_copy(&lock, files, count);
	else
		report_error("%s: cannot lock the index: %s; the files are written, `git status` "
			     "will look at them again%s",
			     lock.path ? lock.path : repository->index_path, strerror(errno),
			     errno == EEXIST ? "; if no git is at work here, remove it" : "");
	index_lock_release(&lock);
	return result;
}

/* Lists, for `git update-index --index-info`, the entries of files that have not changed since. */
static int list_unchanged(const struct repository *repository, const struct written_file *files,
			  size_t count, struct buffer *entries, struct buffer *paths)
{
	static const char *const args[] = {"ls-files", "-s", "-z", NULL};
	struct buffer text = BUFFER_INIT;
	size_t next = 0;
	int rc = repository_git_reported(repository, NULL,
					 (struct git_run){.args = args, .output = &text},
					 "git cannot list the index");

	/* "MODE BLOB STAGE<tab>PATH"; both lists are in git's order. */
	for (size_t at = 0; rc == 0 && at < text.size && next < count;) {
		const char *entry = (const char *)text.data + at;
		const char *path = strchr(entry, '\t');

		at += strlen(entry) + 1;
		while (path && next < count && strcmp(files[next].path, path + 1) < 0)
			next++;
		if (!path || next == count || strcmp(files[next].path, path + 1) != 0 ||
		    path - entry != 49 || memcmp(entry + 7, files[next].blob, BLOB_HEX_SIZE) != 0)
			continue;
		buffer_append(entries, entry, strlen(entry) + 1);
		buffer_append(paths, path + 1, strlen(path + 1) + 1);
	}
	buffer_release(&text);
	if (rc == 0 && (buffer_failed(entries) || buffer_failed(paths)))
		rc = report_error("out of memory");
	return rc;
}

/* git does it itself, at the price of cleaning the files once more. It would take an entry that has
 * the size of another file for changed without a look: putting the same entry anew clears that. */
static int refresh_by_git(const struct repository *repository, const struct written_file *files,
			  size_t count)
{
	static const char *const put[] = {"update-index", "-z", "--index-info", NULL};
	static const char *const add[] = {"--literal-pathspecs", "add",
					  "--refresh",           "--pathspec-from-file=-",
					  "--pathspec-file-nul", NULL};
	static const char failure[] = "the files are written, but git cannot refresh the index, so "
				      "`git status` will look at them again";
	struct buffer entries = BUFFER_INIT;
	struct buffer paths = BUFFER_INIT;
	int rc = list_unchanged(repository, files, count, &entries, &paths);

	if (rc == 0 && paths.size)
		rc = repository_git_reported(repository, NULL,
					     (struct git_run){.args = put,
							      .input = entries.data,
							      .input_len = entries.size},
					     failure);
	if (rc == 0 && paths.size)
		rc = repository_git_reported(
			repository, NULL,
			(struct git_run){.args = add, .input = paths.data, .input_len = paths.size},
			failure);
	buffer_release(&entries);
	buffer_release(&paths);
	return rc;
}

int repository_refresh_index(struct repository *repository, const struct written_file *files,
			     size_t count)
{
	if (count == 0) {
		index_lock_sweep(repository->index_path);
		return 0;
	}
	if (!repository_libgit2(repository))
		return -1;
	switch (rewrite_index(repository, files, count)) {
	case REWRITTEN:
		return 0;
	case REWRITE_REFUSED:
		return refresh_by_git(repository, files, count);
	default:
		return -1;
	}
}
