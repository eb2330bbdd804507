/* SPDX-License-Identifier: Apache-2.0 */
/**
 * `export`: the files of a revision, as they are without git-brevis, in a directory of their own.
 * What pointers stand for is restored as checkout restores it; git itself writes all others.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "filter/cli/command.h"
#include "filter/cli/options.h"
#include "filter/cli/report.h"
#include "filter/work/restore.h"

struct export
{
	struct workspace *ws;
	const char *revision;
	const char *const *paths;
	size_t count;
	bool local;
	char *dir; /* absolute */
	struct restore restore;
	struct buffer models; /* paths that are restored here, in git's order, "PATH NUL" each */
	struct lacking_blobs lacking;
};

/* ---- the directory --------------------------------------------------------------------------- */

/* Returns 1 if a directory holds something, -1 with errno set. */
static int holds_something(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	int found = 0;

	if (!dir)
		return -1;
	while (!found && (entry = readdir(dir)))
		found = strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	closedir(dir);
	return found;
}

/* Makes the directory, or makes sure that it is empty. */
static int open_directory(struct export *e, const char *name)
{
	int found;

	if (mkdir(name, 0777) != 0 && errno != EEXIST)
		return report_error("%s: cannot make the directory: %s; choose another one", name,
				    strerror(errno));
	found = holds_something(name);
	if (found < 0)
		return report_error("%s: cannot be used: %s; choose another directory", name,
				    strerror(errno));
	if (found && !e->restore.replace)
		return report_error("%s: is not empty; nothing was written; choose another "
				    "directory, or write over files there with --force",
				    name);
	e->dir = realpath(name, NULL);
	e->restore.top = e->dir;
	return e->dir ? 0
		      : report_error("%s: cannot be found: %s; choose another directory", name,
				     strerror(errno));
}

/* ---- the files ------------------------------------------------------------------------------- */

static int take_model(void *ctx, const struct tracked_file *file)
{
	struct export *e = ctx;
	struct work_look look;

	if (file->blob_missing)
		return repository_note_lacking(&e->lacking, file) ? -1 : 0;
	/* Pointers of git-lfs's that name extensions need git-lfs. */
	if (!file->is_pointer || (file->is_lfs && !file->is_canonical))
		return 0;
	buffer_append(&e->models, file->path, strlen(file->path) + 1);
	if (buffer_failed(&e->models))
		return report_error("out of memory");
	work_file_look(e->dir, file->path, &look);
	if (!e->local && restore_want(&e->restore, file) < 0)
		return -1;
	return restore_add(&e->restore, file, &look);
}

static int take_models(struct export *e)
{
	struct repository *repository = e->ws->repository;
	int rc = repository_each_large(repository, e->revision, e->paths, e->count, take_model, e);

	if (rc < 0 || !repository_fetch_lacking(repository, &e->lacking))
		return rc;
	restore_clear(&e->restore);
	buffer_clear(&e->models);
	return repository_each_large(repository, e->revision, e->paths, e->count, take_model, e);
}

/* Takes the models out of a list. Both are in git's order. */
static int leave_out(const struct buffer *models, const struct buffer *all, struct buffer *others)
{
	size_t model = 0;

	for (size_t at = 0; at < all->size;) {
		const char *path = (const char *)all->data + at;
		size_t len = strlen(path) + 1;

		while (model < models->size && strcmp((const char *)models->data + model, path) < 0)
			model += strlen((const char *)models->data + model) + 1;
		if (model == models->size || strcmp((const char *)models->data + model, path) != 0)
			buffer_append(others, path, len);
		at += len;
	}
	return buffer_failed(others) ? report_error("out of memory") : 0;
}

static int write_others(const struct export *e, const struct buffer *all)
{
	struct git_write how = {.dir = e->dir, .replace = e->restore.replace, .local = e->local};
	struct buffer others = BUFFER_INIT;
	int rc = leave_out(&e->models, all, &others);

	if (rc == 0)
		rc = repository_write_paths(e->ws->repository, e->revision, &others, &how);
	buffer_release(&others);
	return rc;
}

/* Returns an exit code. */
static int run(struct export *e, const char *name)
{
	struct buffer all = BUFFER_INIT;
	int code = EXIT_FATAL;

	if (!repository_is_commit(e->ws->repository, e->revision) &&
	    !repository_is_revision(e->ws->repository, e->revision)) {
		report_error("there is no commit yet whose files could be written; make one first");
		goto out;
	}
	if (repository_list_paths(e->ws->repository, e->revision, e->paths, e->count, &all) < 0 ||
	    open_directory(e, name) < 0 || take_models(e) < 0)
		goto out;
	if (!e->local && restore_download(&e->restore) < 0)
		goto out;
	if (write_others(e, &all) < 0)
		e->restore.failed++;
	restore_write(&e->restore, e->local);
	if (buffer_failed(&e->restore.written))
		report_error("out of memory");
	else
		code = e->restore.failed ? EXIT_FOUND : EXIT_DONE;
out:
	restore_clear(&e->restore);
	buffer_release(&e->lacking.names);
	buffer_release(&e->models);
	buffer_release(&all);
	free(e->dir);
	return code;
}

int verb_export(const struct command *self, int argc, char **argv)
{
	struct export e = {.revision = "HEAD"};
	struct progress_choice progress = {.on = false};
	const struct option_spec table[] = {
		{.letter = 'f',
		 .name = "force",
		 .flag = &e.restore.replace,
		 .help = "write into a directory that is not empty, over files there"},
		{.name = "no-fetch",
		 .flag = &e.local,
		 .help = "download nothing; what is not here is told and left out"},
		PROGRESS_OPTIONS(progress),
		{0}};
	struct workspace ws;
	int code;
	int count = options_parse(self, argc, argv, table, &code);

	if (count < 0)
		return code;
	if (count == 0)
		return command_usage(self, 0);
	progress_choose(&progress);
	if (workspace_open(&ws) < 0)
		return EXIT_FATAL;
	e.ws = e.restore.ws = &ws;
	e.paths = (const char *const *)argv + 1;
	e.count = (size_t)count - 1;
	/* A file is a file, whatever else its name might mean. */
	if (e.count && repository_is_revision(ws.repository, argv[1])) {
		e.revision = argv[1];
		e.paths++;
		e.count--;
	}
	code = run(&e, argv[0]);
	workspace_close(&ws);
	return code;
}
