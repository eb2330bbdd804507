/* SPDX-License-Identifier: Apache-2.0 */
/** The bytes of a migration: what has to hold before it, and storing each file in its new form. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "filter/git/git_run.h"
#include "filter/objects/lfs.h"
#include "filter/migrate/migrate.h"
#include "filter/cli/progress.h"
#include "filter/cli/report.h"
#include "filter/objects/stored.h"
#include "filter/work/work_content.h"
#include "filter/stream.h"

/* ---- what has to hold ------------------------------------------------------------------------ */

static int check_filter(const struct migrate *m)
{
	static const char *const keys[][2] = {{"filter.brevis.clean", "filter.brevis.process"},
					      {"filter.lfs.clean", "filter.lfs.process"}};
	bool is_lfs = m->options->to == MIGRATE_LFS;
	char *clean;
	char *process;
	bool is_set;

	if (m->options->to == MIGRATE_RAW)
		return 0;
	clean = repository_config(m->ws->repository, keys[is_lfs][0]);
	process = repository_config(m->ws->repository, keys[is_lfs][1]);
	is_set = (clean && *clean) || (process && *process);
	free(clean);
	free(process);
	if (is_set)
		return 0;
	return report_error("the filter of %s is not set up, so git would take the moved files for "
			    "changed ones; run `git %s install` first; nothing was changed",
			    is_lfs ? "git-lfs" : "git-brevis", is_lfs ? "lfs" : "brevis");
}

/* Objects whose content has to be read, and that are not here, come by git-lfs. */
static int fetch_objects(struct migrate *m)
{
	size_t count;
	struct migrate_file *files = migrate_files(m, &count);
	struct lfs_want *want = calloc(count + 1, sizeof(*want));
	size_t wanted = 0;
	int rc;

	if (!want)
		return report_error("out of memory");
	for (size_t i = 0; i < count; i++)
		if (files[i].from != MIGRATE_RAW &&
		    !object_store_has(m->ws->store, &files[i].pointer))
			want[wanted++] = (struct lfs_want){files[i].path, files[i].pointer};
	rc = lfs_download(m->ws, want, wanted);
	free(want);
	return rc ? -1 : 0;
}

/* Now that the objects are here, they tell what they are. */
static int settle_forms(struct migrate *m)
{
	size_t count;
	struct migrate_file *files = migrate_files(m, &count);

	for (size_t i = 0; i < count; i++) {
		struct stored stored;

		if (files[i].from == MIGRATE_RAW)
			continue;
		stored_look(m->ws->store, &files[i].pointer, &stored);
		if (!stored.is_known)
			return report_error(
				"%s: its object %.12s is damaged; `git brevis fsck` and "
				"then `git brevis pull` replace it; nothing was changed",
				files[i].path, files[i].pointer.oid);
		files[i].from = stored.is_archive ? MIGRATE_BREVIS : MIGRATE_LFS;
		files[i].size = stored.original_size;
		files[i].is_kept = files[i].from == m->options->to;
	}
	return 0;
}

/* True if the work file is byte for byte what is committed. */
static bool holds_content(const struct migrate *m, const struct migrate_file *file)
{
	const char *top = repository_work_tree(m->ws->repository);
	char blob[BLOB_HEX_SIZE + 1];
	char *path;
	int rc;

	if ((uint64_t)file->look.stat.st_size != file->size)
		return false;
	if (file->from != MIGRATE_RAW)
		return work_file_matches(m->ws, &file->pointer, file->path,
					 (uint64_t)file->look.stat.st_size);
	if (asprintf(&path, "%s/%s", top, file->path) < 0)
		return false;
	rc = repository_hash_file(m->ws->repository, path, blob);
	free(path);
	return rc == 0 && strcmp(blob, file->blob) == 0;
}

/* Why the work file is no copy of what is committed; NULL if it is one. */
static const char *work_fault(const struct migrate *m, struct migrate_file *file)
{
	work_file_look(repository_work_tree(m->ws->repository), file->path, &file->look);
	if (file->look.kind == WORK_ABSENT)
		return file->skip_worktree ? NULL
					   : "its work file is deleted; `git restore` brings it "
					     "back";
	if (file->look.kind == WORK_OTHER)
		return "what stands there is no file that can be read; move it away and `git "
		       "restore` it";
	if (holds_content(m, file)) {
		file->is_written = true;
		return NULL;
	}
	/* An archive that another filter had: to clean it is to find its pointer. */
	if (file->is_kept && file->look.kind == WORK_ARCHIVE)
		return NULL;
	if (file->look.kind == WORK_POINTER)
		return file->is_kept
			       ? NULL
			       : "its work file is a pointer; `git brevis pull` (of git-lfs's "
				 "files: `git lfs pull`) writes the file";
	return "its work file differs from what is committed; commit the change, or `git restore` "
	       "it";
}

static int check_work_files(struct migrate *m)
{
	size_t count;
	struct migrate_file *files = migrate_files(m, &count);
	int rc = 0;

	for (size_t i = 0; i < count; i++) {
		const char *fault = work_fault(m, &files[i]);

		if (fault)
			rc = report_error("%s: %s; nothing was changed", files[i].path, fault);
	}
	return rc;
}

/* Room for all, as if nothing became smaller; a blob is written once more on its way. */
static int check_room(struct migrate *m)
{
	bool is_raw = m->options->to == MIGRATE_RAW;
	const char *dir = is_raw ? repository_common_dir(m->ws->repository)
				 : repository_lfs_dir(m->ws->repository);
	struct statvfs disk;
	uint64_t needed = 0;
	uint64_t largest = 0;
	uint64_t available;
	size_t count;
	const struct migrate_file *files = migrate_files(m, &count);

	for (size_t i = 0; i < count; i++) {
		if (files[i].is_kept)
			continue;
		needed += files[i].size;
		if (files[i].size > largest)
			largest = files[i].size;
	}
	needed += is_raw ? largest : 0;
	/* git-lfs's directory may not be there yet; then it will be made in that one. */
	if (statvfs(dir, &disk) != 0 &&
	    statvfs(repository_common_dir(m->ws->repository), &disk) != 0)
		return 0;
	available = (uint64_t)disk.f_bavail * disk.f_frsize;
	if (available >= needed)
		return 0;
	return report_error("%s: up to %" PRIu64 " bytes are needed there, %" PRIu64
			    " are free; nothing was changed; make room, or move fewer files at a "
			    "time",
			    dir, needed, available);
}

int migrate_check(struct migrate *m)
{
	if (check_filter(m) < 0 || fetch_objects(m) < 0 || settle_forms(m) < 0 ||
	    check_work_files(m) < 0)
		return -1;
	return check_room(m);
}

int migrate_recheck(void *ctx)
{
	const struct migrate *m = ctx;
	size_t count;
	const struct migrate_file *files = migrate_files(m, &count);

	for (size_t i = 0; i < count; i++) {
		const struct stat *was = &files[i].look.stat;
		struct work_look now;

		if (!files[i].is_written)
			continue;
		work_file_look(repository_work_tree(m->ws->repository), files[i].path, &now);
		if (now.kind == WORK_ABSENT || now.kind == WORK_OTHER ||
		    now.stat.st_ino != was->st_ino || now.stat.st_size != was->st_size ||
		    now.stat.st_mtim.tv_sec != was->st_mtim.tv_sec ||
		    now.stat.st_mtim.tv_nsec != was->st_mtim.tv_nsec)
			return report_error("%s: was changed meanwhile; nothing else was changed; "
					    "commit it and try again",
					    files[i].path);
	}
	return 0;
}

/* ---- the content ----------------------------------------------------------------------------- */

/* Hands the content to write, whose failure is reported by its owner. */
static int read_content(struct migrate *m, const struct migrate_file *file, brevis_write_fn write,
			void *ctx)
{
	if (file->from == MIGRATE_RAW)
		return git_read_blob(file->blob, file->path, write, ctx) == 0 ? 0 : -1;
	switch (smudge_pointer(m->ws, file->path, &file->pointer, write, ctx)) {
	case SMUDGE_DONE:
		return 0;
	case SMUDGE_MISSING:
		return report_error(
			"%s: its object %.12s vanished; nothing was changed; `git brevis "
			"pull` downloads it again",
			file->path, file->pointer.oid);
	default:
		return -1;
	}
}

/* ---- its new form ---------------------------------------------------------------------------- */

static int to_brevis(struct migrate *m, struct migrate_file *file)
{
	struct cleaning *cleaning = cleaning_begin(m->ws, file->path);
	struct pointer pointer = {.size = 0};
	const void *text;
	size_t len;
	int rc = cleaning ? read_content(m, file, cleaning_write, cleaning) : -1;

	if (rc == 0)
		rc = cleaning_finish(cleaning, &text, &len);
	if (rc == 0)
		rc = proposal_store(m->proposal, text, len, file->new_blob);
	if (rc == 0)
		file->stored = pointer_parse(text, len, &pointer) ? pointer.size : len;
	cleaning_free(cleaning);
	return rc;
}

/* A plain object in the making. */
struct plain {
	struct new_object *object;
	struct brevis_sha256 *sha;
	uint64_t size;
	struct progress progress;
};

static int write_plain(void *ctx, const void *data, size_t len)
{
	struct plain *plain = ctx;

	brevis_sha256_update(plain->sha, data, len);
	plain->size += len;
	progress_add(&plain->progress, len);
	return new_object_write(plain->object, data, len);
}

static int to_lfs(struct migrate *m, struct migrate_file *file)
{
	struct plain plain = {
		new_object_create(m->ws->store, file->path), brevis_sha256_new(), 0, {0}};
	uint8_t sha256[BREVIS_SHA256_SIZE];
	char text[POINTER_TEXT_SIZE];
	struct pointer pointer;
	int rc = -1;

	if (!plain.sha)
		report_error("%s: out of memory", file->path);
	if (!plain.sha || !plain.object)
		goto out;
	progress_begin(&plain.progress, "copying", file->path, file->size);
	rc = read_content(m, file, write_plain, &plain);
	progress_end(&plain.progress);
	if (new_object_failure(plain.object))
		rc = new_object_report(plain.object, file->size);
	if (rc < 0)
		goto out;
	brevis_sha256_final(plain.sha, sha256);
	pointer.size = plain.size;
	pointer_set_oid(&pointer, sha256);
	rc = new_object_place(plain.object, &pointer);
	if (rc == 0)
		rc = proposal_store(m->proposal, text, pointer_format(&pointer, text),
				    file->new_blob);
	file->stored = pointer.size;
out:
	brevis_sha256_free(plain.sha);
	new_object_free(plain.object);
	return rc;
}

/* git reads a file of any size in bounded memory, but keeps all that comes by a pipe. */
static int to_raw(struct migrate *m, struct migrate_file *file)
{
	int fd = object_store_scratch(m->ws->store);
	int rc;

	if (fd < 0)
		return report_error("cannot make a temporary file in %s/tmp: %s; make that a "
				    "directory that can be written",
				    repository_lfs_dir(m->ws->repository), strerror(errno));
	rc = read_content(m, file, stream_write, &fd);
	if (rc == 0)
		rc = proposal_store_file(m->proposal, fd, file->new_blob);
	file->stored = file->size;
	close(fd);
	return rc;
}

static int move_one(struct migrate *m, struct migrate_file *file)
{
	if (file->is_kept) {
		memcpy(file->new_blob, file->blob, sizeof(file->new_blob));
		file->stored = file->pointer.size;
		return 0;
	}
	switch (m->options->to) {
	case MIGRATE_BREVIS:
		return to_brevis(m, file);
	case MIGRATE_LFS:
		return to_lfs(m, file);
	default:
		return to_raw(m, file);
	}
}

int migrate_move(struct migrate *m)
{
	size_t count;
	struct migrate_file *files = migrate_files(m, &count);
	struct progress progress;
	int rc = 0;

	progress_begin(&progress, "moving", "", 0);
	m->ws->no_plain = true;
	for (size_t i = 0; i < count && rc == 0; i++) {
		progress_file(&progress, files[i].path, i + 1, count);
		rc = move_one(m, &files[i]);
		if (rc == 0)
			rc = proposal_put(m->proposal, files[i].path, files[i].executable,
					  files[i].skip_worktree, files[i].new_blob);
	}
	m->ws->no_plain = false;
	progress_end(&progress);
	return rc;
}

int migrate_refresh(const struct migrate *m)
{
	size_t count;
	const struct migrate_file *files = migrate_files(m, &count);
	struct buffer written = BUFFER_INIT;
	int rc;

	for (size_t i = 0; i < count; i++) {
		struct written_file file = {.path = files[i].path, .stat = files[i].look.stat};

		if (!files[i].is_written)
			continue;
		memcpy(file.blob, files[i].new_blob, sizeof(file.blob));
		buffer_append(&written, &file, sizeof(file));
	}
	rc = buffer_failed(&written)
		     ? report_error("out of memory")
		     : repository_refresh_index(m->ws->repository,
						(const struct written_file *)(void *)written.data,
						written.size / sizeof(struct written_file));
	buffer_release(&written);
	return rc;
}
